"""relax-quantized-to-integer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import CONVOLUTIONS, spatial_rank
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    defining,
    dims_of,
    dtype_of,
    erase_dead,
    replace,
)
from relax_mlir.mlir import ir

_BYTES = ("int8", "uint8")
# Channels of the data that the instruction multiplies together.
_GROUP = 4


@register_pass("relax-quantized-to-integer")
@dataclass(frozen=True)
class QuantizedToInteger(Pass):
    """Compute products of quantized data and constant quantized weights from their bytes.

    `(a - za) * sa` times `(w - zw) * sw`, as programs write them out, in float32 or (without the
    scales) in int32, or as `dequantize` says it, becomes a convolution or matrix product of a and
    w - zw in int32, from which za times the sum of the weights is subtracted and which is scaled
    then.  Borders are filled with za.  Where the CPU has no instruction for it, everything stays as
    it is.

    always: also on CPUs without.
    """

    always: bool = False

    def run(self, state: ModuleState) -> None:
        if not self.always and "avx512_vnni" not in host_cpu().features:
            return
        for function in relax_functions(state):
            values = ConstantValues(state)
            factors: list[ir.Value] = []
            for op in list(walk(function)):
                spec = spec_of(op)
                product = None if spec is None else _product(op, spec.name, values)
                if product is not None:
                    factors += list(op.operands)
                    replace(op, _rewrite(op, product, OperatorWriter(op, state.constants)))
            if factors:
                made = _makers(factors)
                erase_dead([op for op in walk(function) if op.results and op.results[0] in made])


@dataclass(frozen=True)
class _Product:
    """A product of `(data - zero) * scale` and integers: `weight`, whose axis `column` is that of
    the outputs; scale is one number or one an output, None for integers."""

    name: str
    data: ir.Value
    zero: int
    weight: np.ndarray
    column: int
    scale: np.ndarray | None


def _product(op: ir.Operation, name: str, values: ConstantValues) -> _Product | None:
    is_convolution = name in CONVOLUTIONS and not name.endswith("_transpose")
    if not is_convolution and name != "matmul":
        return None
    dtype = dtype_of(op.results[0])
    if dtype not in ("float32", "int32") or any(dtype_of(v) != dtype for v in op.operands):
        return None
    column = 1
    if is_convolution:
        attributes = attributes_of(op)
        if not f"{attributes['data_layout']}{attributes['out_layout'] or ''}".isupper():
            return None  # channels in blocks
        column = attributes["kernel_layout"].find("O")
    found = _data(op.operands[0], values)
    weight = None if found is None else _weight(op.operands[1], column, values)
    if found is None or weight is None or (name == "matmul" and weight[0].ndim != 2):
        return None
    data, zero, scale = found
    array, own_scale = weight
    scales = None if scale is None or own_scale is None else (scale * own_scale).reshape(-1)
    return _Product(name, data, zero, array, column, scales)


def _data(
    value: ir.Value, values: ConstantValues
) -> tuple[ir.Value, int, np.ndarray | None] | None:
    """The bytes, zero point and scale of quantized data."""
    dequantized = _dequantized(value, values)
    if dequantized is not None:
        data, shift, factor = dequantized
        is_plain = dtype_of(data) in _BYTES and shift.size == factor.size == 1 and dims_of(data)
        return (data, int(shift.reshape(())), factor) if is_plain else None
    scale = None
    if dtype_of(value) == "float32":
        found = _unscaled(value, values)
        if found is None or found[1].size != 1:
            return None
        value, scale = found
    zero = 0
    shifted = defining(value, "relax.subtract")
    if shifted is not None:
        array = values.of(shifted.operands[1])
        if array is None or array.size != 1:
            return None
        value, zero = shifted.operands[0], int(array.reshape(()))
    cast = defining(value, "relax.astype")
    if cast is None or dtype_of(value) != "int32" or dtype_of(cast.operands[0]) not in _BYTES:
        return None
    return (cast.operands[0], zero, scale) if dims_of(cast.operands[0]) else None


def _dequantized(
    value: ir.Value, values: ConstantValues
) -> tuple[ir.Value, np.ndarray, np.ndarray] | None:
    """What `dequantize` converts, and its zero point and scale, which are constants, as they
    broadcast."""
    op = defining(value, "relax.dequantize")
    rank = 0 if op is None else len(dims_of(op.operands[0]) or ())
    if op is None or not rank or dtype_of(value) != "float32":
        return None
    scale, zero = (values.of(operand) for operand in op.operands[1:3])
    if scale is None or zero is None:
        return None
    axis = attributes_of(op)["axis"] % rank
    shape = [-1 if i == axis else 1 for i in range(rank)]
    return op.operands[0], zero.astype(np.int32).reshape(shape), scale.reshape(shape)


def _unscaled(value: ir.Value, values: ConstantValues) -> tuple[ir.Value, np.ndarray] | None:
    """The int32 values that are converted to float32 and multiplied by a constant, and that."""
    product = defining(value, "relax.multiply")
    if product is None:
        return None
    scale, cast = values.of(product.operands[1]), defining(product.operands[0], "relax.astype")
    if scale is None or cast is None or dtype_of(cast.operands[0]) != "int32":
        return None
    if dims_of(value) != dims_of(cast.operands[0]):
        return None
    return cast.operands[0], scale


def _weight(
    value: ir.Value, column: int, values: ConstantValues
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """A constant weight as int8, and its scale: one number, or one an output."""
    scale = None
    dequantized = _dequantized(value, values)
    if dequantized is not None:
        data, shift, scale = dequantized
        array = values.of(data)
        array = None if array is None else array.astype(np.int32) - shift
    else:
        if dtype_of(value) == "float32":
            found = _unscaled(value, values)
            if found is None:
                return None
            value, scale = found
        array = values.of(value)
    if array is None or not array.size or array.min() < -128 or array.max() > 127:
        return None
    if scale is not None and scale.size != 1:
        wide = scale.reshape((1,) * (array.ndim - scale.ndim) + scale.shape)
        if any(size != 1 for axis, size in enumerate(wide.shape) if axis != column):
            return None
    return array.astype(np.int8), scale


def _rewrite(op: ir.Operation, product: _Product, write: OperatorWriter) -> ir.Value:
    attributes = attributes_of(op) | {"out_dtype": "int32"}
    data, weight, out_axis = product.data, product.weight, -1
    if product.name != "matmul":
        layout = attributes["out_layout"] or attributes["data_layout"]
        out_axis = layout.index("C")
        data, weight = _padded(product, attributes, write)
    total = write.op(product.name, data, write.constant(weight, "int8"), **attributes)
    rank = len(dims_of(op.results[0]) or ())

    def each_output(array: np.ndarray) -> np.ndarray:
        return array if array.size == 1 else array.reshape(
            [-1 if axis == out_axis % rank else 1 for axis in range(rank)]
        )  # fmt: skip

    if product.zero:
        others = tuple(axis for axis in range(weight.ndim) if axis != product.column)
        sums = product.zero * weight.sum(axis=others, dtype=np.int32)
        total = write.op("subtract", total, write.constant(each_output(sums), "int32"))
    if product.scale is None:
        return total
    scale = write.constant(each_output(product.scale), "float32")
    return write.op("multiply", write.op("astype", total, dtype="float32"), scale)


def _padded(
    product: _Product, attributes: dict[str, Any], write: OperatorWriter
) -> tuple[ir.Value, np.ndarray]:
    """The data with borders of their zero point, where that is not zero, and as many channels as
    are multiplied together, and the weight with as many."""
    layout, kernel_layout = attributes["data_layout"], attributes["kernel_layout"]
    ndim = spatial_rank(product.name)
    widths = dict.fromkeys(layout, (0, 0))
    around = layouts.padding_pairs(attributes["padding"], ndim)
    if product.zero and any(map(any, around)):
        widths |= dict(zip(layouts.SPATIAL[ndim], around, strict=True))
        attributes["padding"] = [0] * ndim
    weight, inputs = product.weight, kernel_layout.index("I")
    if attributes["groups"] == 1:
        missing = -weight.shape[inputs] % _GROUP
        widths["C"] = (0, missing)
        weight = np.pad(weight, [(0, missing * (axis == inputs)) for axis in range(weight.ndim)])
    flat = [n for letter in layout for n in widths[letter]]
    if not any(flat):
        return product.data, weight
    return write.op("nn.pad", product.data, pad_width=flat, pad_value=float(product.zero)), weight


# What dequantizes.
_DEQUANTIZING = (
    "multiply", "astype", "subtract", "reshape", "constant", "bind", "dequantize",
)  # fmt: skip


def _makers(values: list[ir.Value]) -> set[ir.Value]:
    """The values, and what they are dequantized from and by."""
    found: set[ir.Value] = set()
    while values:
        value = values.pop()
        if value in found or isinstance(value, ir.BlockArgument):
            continue
        op = value.owner.operation
        if op.name.removeprefix("relax.") in _DEQUANTIZING:
            found.add(value)
            values += list(op.operands)
    return found


__all__ = ["QuantizedToInteger"]
