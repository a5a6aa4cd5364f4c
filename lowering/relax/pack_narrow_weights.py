"""relax-pack-narrow-weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relax_mlir import te, topi
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.linalg_to_vector.contraction.tile_config import choose_tile
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    VECTOR_COUNTS,
    choose_register_tile,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import is_channels_last
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    dims_of,
    dtype_of,
    erase_dead,
    replace,
)
from relax_mlir.lowering.relax_to_tir.convolution import all_sides
from relax_mlir.lowering.relax_to_tir.operands import call_tensors
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.mlir import ir

# Lanes of 32 bits, and what the instruction of a dtype multiplies together.
_LANES = 16
_GROUPS = {"bfloat16": 2, "int8": 4, "uint8": 4}
_FEATURES = {"bfloat16": "avx512_bf16", "int8": "avx512_vnni", "uint8": "avx512_vnni"}
_LEAST_DEPTH, _LEAST_COLUMNS = 16, 16


@register_pass("relax-pack-narrow-weights")
@dataclass(frozen=True)
class PackNarrowWeights(Pass):
    """Lay out constant weights of bfloat16 and of bytes as dot-product instructions read them.

    A matmul, or a convolution of one group with its channels last, becomes a call of a TensorIR
    function that takes the weight in panels of output channels, in which groups of neighbours along
    the reduction, two bfloat16 or four bytes, are innermost: `topi.nn.weight_groups`.  Kernels then
    read the weight where it lies, and have nothing to pack when they are called.  The instruction
    takes unsigned bytes of data: signed ones of matmuls are shifted by 128 before.

    An operator stays where the CPU has no instruction for its dtypes, where its input channels are
    no whole number of groups, or one, and where what it sums or its outputs are few.
    """

    def run(self, state: ModuleState) -> None:
        if not {*_FEATURES.values()} & set(host_cpu().features):
            return
        values, made = ConstantValues(state), PrimFuncs(state)
        for function in relax_functions(state):
            weights: list[ir.Operation] = []
            for op in list(walk(function)):
                product = _product(op, values)
                if product is None:
                    continue
                before = op.operands[1].owner.operation
                if before not in weights:
                    weights.append(before)
                replace(op, _rewrite(op, product, state, made))
            erase_dead(weights)


def _rewrite(op: ir.Operation, product: _Product, state: ModuleState, made: PrimFuncs) -> ir.Value:
    """The call that takes the place of an operator, with what a shift adds taken off."""
    write = OperatorWriter(op, state.constants)
    data, kind = op.operands[0], op.results[0].type
    if product.shift is not None:
        as_unsigned = write.op("astype", data, dtype="uint8")
        data = write.op("bitwise_xor", as_unsigned, write.constant(128, "uint8"))
    operands = [data, write.constant(product.weight, product.dtype)]
    total = call_tensors(op, *product.function, operands, kind, state, made)
    if product.shift is None:
        return total
    return write.op("subtract", total, write.constant(product.shift, "int32"))


@dataclass(frozen=True)
class _Product:
    """What an operator becomes: a function by its name and what it computes, and the weight that it
    takes.  shift: what is to be taken off of each column if the data are to be shifted by 128."""

    function: tuple[str, Callable[..., te.Tensor]]
    weight: np.ndarray
    dtype: str
    shift: np.ndarray | None = None


def _product(op: ir.Operation, values: ConstantValues) -> _Product | None:
    """None for an operator that stays."""
    spec = spec_of(op)
    if spec is None or spec.name not in ("matmul", "nn.conv2d"):
        return None
    data, out = (dims_of(value) for value in (op.operands[0], op.results[0]))
    dtype = dtype_of(op.results[0])
    if data is None or out is None or not dtype or not _has_instruction(op):
        return None
    attributes = attributes_of(op)
    if spec.name == "nn.conv2d" and not is_channels_last(attributes, 2):
        return None
    weight = _signed(values.of(op.operands[1]))
    rank = 2 if spec.name == "matmul" else 4
    group = _GROUPS[dtype_of(op.operands[0]) or ""]
    if weight is None or weight.ndim != rank or len(data) < 2 or not _pays(weight, group):
        return None
    own = dtype_of(op.operands[1]) or ""
    panel = _panel(_rows(out, rank), weight.shape[-1], rank == 4)
    packed = topi.nn.weight_groups(weight, group, panel)
    stored = "int8" if own == "uint8" else own
    if rank == 4:
        function = ("conv2d_groups", partial(_conv2d, attributes=attributes, dtype=dtype))
        return _Product(function, packed, stored)
    # Rows are shifted once for all columns; borders of images would have to be shifted zeros.
    is_shifted = dtype_of(op.operands[0]) == "int8"
    shift = 128 * weight.sum(axis=0, dtype=np.int32) if is_shifted else None
    return _Product(("matmul_groups", partial(_matmul, dtype=dtype)), packed, stored, shift)


def _has_instruction(op: ir.Operation) -> bool:
    """Whether the host multiplies such operands and sums them up in such results."""
    data, weight, out = (dtype_of(v) for v in (*op.operands, op.results[0]))
    if data not in _FEATURES or _FEATURES[data] not in host_cpu().features:
        return False
    if data == "bfloat16":
        return weight == data and out in ("bfloat16", "float32")
    return weight in ("int8", "uint8") and out == "int32"


def _signed(weight: np.ndarray | None) -> np.ndarray | None:
    """A weight of bytes as signed ones, which the instruction takes; None if it has larger ones."""
    if weight is None or weight.dtype != np.uint8:
        return weight
    return weight.astype(np.int8) if weight.max(initial=0) < 128 else None


def _pays(weight: np.ndarray, group: int) -> bool:
    """Whether the input channels are several groups, and what is summed and the outputs enough."""
    *_, channels, columns = weight.shape
    deep = columns > 0 and weight.size // columns >= _LEAST_DEPTH
    several = channels % group == 0 and channels > group
    return several and deep and columns >= _LEAST_COLUMNS


def _rows(out: Sequence[Dim], rank: int) -> int | None:
    """Rows of a register tile: those of the product, or the positions of a row of an image; None if
    only run time knows them."""
    if rank == 4:
        return out[-2] if isinstance(out[-2], int) else None
    rows = 1
    for dim in out[:-1]:
        if not isinstance(dim, int):
            return None
        rows *= dim
    return rows


def _panel(rows: int | None, columns: int, is_image: bool) -> int:
    """The width of a panel: that of the register tile for so many rows if it divides the columns,
    else of fewer vectors, at last of one."""
    target = host_cpu()
    if is_image:
        vectors = choose_register_tile(rows, columns, _LANES, target).vectors
    else:
        vectors = choose_tile(rows, columns, _LANES, target).vectors
    counts = (vectors, *(n for n in reversed(VECTOR_COUNTS) if n < vectors))
    return next((n * _LANES for n in counts if columns % (n * _LANES) == 0), _LANES)


def _matmul(data: te.Tensor, weight: te.Tensor, shape: list[Any], *, dtype: str) -> te.Tensor:
    return topi.nn.matmul_groups(data, weight, shape, dtype)


def _conv2d(
    data: te.Tensor,
    weight: te.Tensor,
    shape: list[Any],
    *,
    attributes: dict[str, Any],
    dtype: str,
) -> te.Tensor:
    strides, dilation = (
        layouts.per_dimension(attributes[name], 2, name) for name in ("strides", "dilation")
    )
    sides = all_sides(attributes["padding"], 2)
    return topi.nn.conv2d_nhwc_groups(data, weight, strides, sides, dilation, shape, dtype)


__all__ = ["PackNarrowWeights"]
