"""Converters for elementwise operations, of StableHLO and of CHLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend import formulas
from relax_mlir.relax.frontend.fourier import Complex
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.stablehlo import fold
from relax_mlir.relax.frontend.stablehlo.importer import ProgramImporter
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.relax.frontend.stablehlo.values import Spread, equal_dims, source_of

Function = Callable[..., Any]
"""Makes an expression of expressions."""


def elementwise(importer: ProgramImporter, function: Function, values: Sequence[Any]) -> Any:
    """The result of a function on values of one shape, scalars aside.

    Computed on what is repeated, not on the repetitions; the result is repeated in turn if none of
    the operands has its shape.
    """
    dims = [importer.dims_of(value) for value in values]
    known = [d for d in dims if d is not None]
    result = importer.bound(function(*(importer.expr(source_of(value)) for value in values)))
    whole = max(known, key=len, default=None)
    if whole is None:
        return result
    made = importer.dims_of(result)
    if made is None:
        importer.sizes[result] = whole
        return result
    return result if equal_dims(made, whole) else Spread(result, tuple(whole))


def converter(function: Callable[[Any], Function] | str) -> Converter:
    """A converter from the name of a Relax operator, or from `function(importer)`."""

    def convert(operation: Operation) -> Any:
        folded = fold.elementwise(operation.name, operation.operands, operation.importer)
        if folded is not None:
            return folded
        importer = operation.importer
        if isinstance(function, str):
            return elementwise(importer, getattr(importer.op, function), operation.operands)
        return elementwise(importer, function(importer), operation.operands)

    return convert


# -- functions of one operand -----------------------------------------------------------------


def _formula(formula: Callable[[Any, Any], Any]) -> Converter:
    return converter(lambda importer: lambda x: formula(importer, x))


def _cbrt(importer: Any, x: Any) -> Any:
    ops = importer.ops
    third = ops.power(ops.abs(x), importer.scalar_like(1 / 3, x))
    root = ops.where(ops.less(x, importer.scalar_like(0.0, x)), ops.negative(third), third)
    # One step of Newton's method, where it is defined, for the rounding of a third.
    square = ops.multiply(root, root)
    excess = ops.divide(ops.subtract(ops.multiply(square, root), x), square)
    better = ops.subtract(root, ops.multiply(excess, importer.scalar_like(1 / 3, x)))
    return ops.where(ops.isfinite(better), better, root)


def _round_away(importer: Any, x: Any) -> Any:
    """Halves away from zero."""
    ops = importer.ops
    whole = ops.trunc(x)
    rest = ops.abs(ops.subtract(x, whole))
    step = ops.where(
        ops.less(x, importer.scalar_like(0.0, x)),
        importer.scalar_like(-1.0, x),
        importer.scalar_like(1.0, x),
    )
    rounded = ops.where(
        ops.greater_equal(rest, importer.scalar_like(0.5, x)), ops.add(whole, step), whole
    )
    return ops.where(ops.isfinite(x), rounded, x)


def _sign(importer: Any, x: Any) -> Any:
    """NaN has no sign but itself."""
    if not dtypes.is_float(x.struct_info.dtype):
        return importer.op.sign(x)
    return importer.op.where(importer.ops.isnan(x), x, importer.ops.sign(x))


def _not(importer: Any, x: Any) -> Any:
    if x.struct_info.dtype == "bool":
        return importer.op.logical_not(x)
    return importer.op.bitwise_not(x)


def _counted(name: str) -> Callable[[Any, Any], Any]:
    """Bits of integers, by TensorIR's functions on one element."""

    def count(importer: Any, x: Any) -> Any:
        from relax_mlir import te

        def of_elements(data: Any) -> Any:
            bits = int(dtypes.canonical(data.dtype).lstrip("uint"))
            unsigned, wide = f"uint{bits}", f"int{max(bits, 32)}"

            def count_of(*at: Any) -> Any:
                # Sign extension would count too: the bits first, then the wider integer.
                value = data(*at).astype(unsigned).astype(wide)
                if name == "popcount":
                    return te.popcount(value).astype(data.dtype)
                leading = te.clz(value) - (max(bits, 32) - bits)
                return te.if_then_else(value == 0, bits, leading).astype(data.dtype)

            return te.compute(data.shape, count_of, name=name)

        return importer.block_builder.emit_te(of_elements, x)

    return count


def _infinite(comparison: str) -> Callable[[Any, Any], Any]:
    def convert(importer: Any, x: Any) -> Any:
        signed = getattr(importer.ops, comparison)(x, importer.scalar_like(0.0, x))
        return importer.op.logical_and(importer.ops.isinf(x), signed)

    return convert


def _square(importer: Any, x: Any) -> Any:
    return importer.op.multiply(x, x)


def _erf_inv(importer: Any, x: Any) -> Any:
    """Giles' approximation ("Approximating the erfinv function", 2012) and a step of Newton's
    method, which doubles its digits."""
    ops = importer.ops

    def number(value: float) -> Any:
        return importer.scalar_like(value, x)

    def polynomial(t: Any, coefficients: Sequence[float]) -> Any:
        total = number(coefficients[0])
        for coefficient in coefficients[1:]:
            total = ops.add(ops.multiply(total, t), number(coefficient))
        return total

    inside = ops.multiply(ops.subtract(number(1.0), x), ops.add(number(1.0), x))
    w = ops.negative(ops.log(inside))
    central = polynomial(ops.subtract(w, number(2.5)), _ERF_INV_CENTRAL)
    tail = polynomial(ops.subtract(ops.sqrt(w), number(3.0)), _ERF_INV_TAIL)
    first = ops.multiply(ops.where(ops.less(w, number(5.0)), central, tail), x)
    bell = ops.exp(ops.negative(ops.multiply(first, first)))
    slope = ops.multiply(number(2 / np.sqrt(np.pi)), bell)
    step = ops.divide(ops.subtract(ops.erf(first), x), slope)
    refined = ops.subtract(first, ops.where(ops.less(w, number(5.0)), step, number(0.0)))
    edge = ops.equal(ops.abs(x), number(1.0))
    return ops.where(edge, ops.multiply(x, number(np.inf)), refined)


_ERF_INV_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_ERF_INV_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


# -- functions of several operands ---------------------------------------------------------------


def _logical(logical: str, bitwise: str) -> Converter:
    """and, or, xor: of truth values or of bits."""

    def pick(importer: ProgramImporter) -> Function:
        def apply(x: Any, y: Any) -> Any:
            name = logical if x.struct_info.dtype == "bool" else bitwise
            return getattr(importer.op, name)(x, y)

        return apply

    return converter(pick)


def _arithmetic(name: str, of_bools: str) -> Converter:
    """Arithmetic; of truth values, StableHLO's sum is "or" and its product "and"."""

    def pick(importer: ProgramImporter) -> Function:
        def apply(x: Any, y: Any) -> Any:
            both = x.struct_info.dtype == "bool"
            return getattr(importer.op, of_bools if both else name)(x, y)

        return apply

    return converter(pick)


def _shift(name: str, arithmetic: bool = False) -> Converter:
    """A shift by as many bits as there are, or more, leaves no bit of the operand."""

    def pick(importer: ProgramImporter) -> Function:
        def apply(x: Any, amount: Any) -> Any:
            ops, dtype = importer.ops, x.struct_info.dtype
            bits = int(dtype.lstrip("uint"))
            unsigned = f"uint{bits}"
            within = ops.less(ops.astype(amount, unsigned), importer.constant(bits, unsigned))
            if arithmetic:
                amount = ops.where(within, amount, importer.scalar_like(bits - 1, x))
                pair = (ops.astype(v, f"int{bits}") for v in (x, amount))
                return importer.op.astype(ops.right_shift(*pair), dtype)
            amount = ops.where(within, amount, importer.scalar_like(0, x))
            if name == "right_shift":  # zeros come in from the left
                pair = (ops.astype(v, unsigned) for v in (x, amount))
                shifted = ops.astype(ops.right_shift(*pair), dtype)
            else:
                shifted = ops.left_shift(x, amount)
            return importer.op.where(within, shifted, importer.scalar_like(0, x))

        return apply

    return converter(pick)


def _power(importer: ProgramImporter) -> Function:
    def apply(x: Any, y: Any) -> Any:
        return importer.op.power(x, y)

    return apply


def _remainder(importer: ProgramImporter) -> Function:
    """The sign is the dividend's, as in C."""

    def apply(x: Any, y: Any) -> Any:
        return importer.op.mod(x, y)

    return apply


_COMPARISONS = {
    "EQ": "equal",
    "NE": "not_equal",
    "GE": "greater_equal",
    "GT": "greater",
    "LE": "less_equal",
    "LT": "less",
}


def compare(operation: Operation) -> Any:
    direction = operation.attr("comparison_direction")
    importer = operation.importer
    folded = fold.elementwise(f"compare {direction}", operation.operands, importer)
    if folded is not None:
        return folded
    function = getattr(importer.op, _COMPARISONS[direction])
    if operation.attr("compare_type") == "TOTALORDER":
        return elementwise(
            importer,
            lambda x, y: function(*(_rank(importer, v) for v in (x, y))),
            operation.operands,
        )
    return elementwise(importer, function, operation.operands)


def _rank(importer: ProgramImporter, x: Any) -> Any:
    """Integers in the total order of floats: their bits, those of negative ones reversed."""
    from relax_mlir import te, tir

    bits = int(x.struct_info.dtype.lstrip("bfloat"))
    dtype = f"int{bits}"

    def ranks(data: Any) -> Any:
        def rank(*at: Any) -> Any:
            raw = tir.reinterpret(dtype, data(*at))
            mask = tir.const((1 << (bits - 1)) - 1, dtype)
            return tir.bitwise_xor(raw, tir.bitwise_and(raw >> (bits - 1), mask))

        return te.compute(data.shape, rank, name="total_order")

    return importer.block_builder.emit_te(ranks, x)


def select(operation: Operation) -> Any:
    folded = fold.select(operation.operands, operation.importer)
    if folded is not None:
        return folded
    return elementwise(operation.importer, operation.importer.op.where, operation.operands)


def clamp(operation: Operation) -> Any:
    """min(max(x, low), high); the bounds may be scalars."""
    low, x, high = operation.operands
    importer = operation.importer
    results: list[Any] = [x]
    for name, bound in (("maximum", low), ("minimum", high)):
        pair = [results[-1], bound]
        folded = fold.elementwise(f"stablehlo.{name}", pair, importer)
        made = elementwise(importer, getattr(importer.op, name), pair) if folded is None else folded
        results.append(made)
    return results[-1]


def convert_dtype(operation: Operation) -> Any:
    value, dtype = operation.operands[0], operation.result_dtype()
    importer = operation.importer
    if importer.dtype_of(value) == dtype:
        return value
    folded = fold.converted(value, dtype)
    if folded is not None:
        return folded

    def cast(x: Any) -> Any:
        if dtype == "bool":
            return importer.op.not_equal(x, importer.scalar_like(0, x))
        return importer.op.astype(x, dtype)

    return elementwise(importer, cast, [value])


def bitcast_convert(operation: Operation) -> Any:
    """The same bits as another type of the same width."""
    from relax_mlir import te, tir

    x, dtype = operation.tensor(0), operation.result_dtype()
    if len(operation.dims()) != operation.result_type().rank:
        operation.refuse("conversions between elements of different width are not supported")

    def reinterpreted(data: Any) -> Any:
        return te.compute(data.shape, lambda *at: tir.reinterpret(dtype, data(*at)), name="bitcast")

    return operation.te(reinterpreted, x)


def reduce_precision(operation: Operation) -> Any:
    """Through the narrower type that has the exponent and mantissa asked for."""
    wanted = (operation.attr("exponent_bits"), operation.attr("mantissa_bits"))
    kinds = {(5, 10): "float16", (8, 7): "bfloat16", (8, 23): "float32", (11, 52): "float64"}
    if wanted not in kinds:
        operation.refuse(f"{wanted[0]} bits of exponent and {wanted[1]} of mantissa")
    ops, dtype = operation.ops, operation.result_dtype()
    return elementwise(
        operation.importer,
        lambda x: x if kinds[wanted] == dtype else ops.astype(ops.astype(x, kinds[wanted]), dtype),
        operation.operands,
    )


def map_region(operation: Operation) -> Any:
    """The computation of its region, on whole tensors."""
    return operation.apply(0, operation.operands)[0]


def identity(operation: Operation) -> Any:
    values = operation.operands
    return values[0] if len(operation.source.results) == 1 else values


def constant(operation: Operation) -> Any:
    from relax_mlir.relax.frontend.stablehlo.attributes import (
        complex_constant,
        constant_array,
        part_of,
    )

    if part_of(ir.RankedTensorType(operation.source.results[0].type).element_type) is not None:
        parts = complex_constant(operation.source)
        return Complex(*(Known(np.ascontiguousarray(parts[..., i])) for i in (0, 1)))
    array = constant_array(
        operation.source.attributes["value"], lambda: operation.importer.resources
    )
    repeats = array.ndim > 0 and array.size > 1 and not any(array.strides)
    if not repeats:
        return Known(array)
    return Spread(Known(array[(0,) * array.ndim]), array.shape)


_SAME_NAMES = {
    "stablehlo": (
        "abs ceil floor tan tanh rsqrt sqrt atan2 cosine:cos exponential:exp is_finite:isfinite "
        "log logistic:sigmoid negate:negative round_nearest_even:round sine:sin subtract divide"
    ),
    "chlo": (
        "acos acosh asin asinh atan atanh cosh erf sinh tan is_inf:isinf broadcast_atan2:atan2 "
        "broadcast_divide:divide broadcast_subtract:subtract broadcast_maximum:maximum "
        "broadcast_minimum:minimum broadcast_power:power"
    ),
}

CONVERTERS: dict[str, Converter] = {
    **{
        f"{dialect}.{theirs}": converter(ours or theirs)
        for dialect, names in _SAME_NAMES.items()
        for theirs, _, ours in (name.partition(":") for name in names.split())
    },
    "stablehlo.cosh": converter("cosh"),
    "stablehlo.add": _arithmetic("add", "logical_or"),
    "stablehlo.multiply": _arithmetic("multiply", "logical_and"),
    "stablehlo.maximum": _arithmetic("maximum", "logical_or"),
    "stablehlo.minimum": _arithmetic("minimum", "logical_and"),
    "chlo.broadcast_add": _arithmetic("add", "logical_or"),
    "chlo.broadcast_multiply": _arithmetic("multiply", "logical_and"),
    "chlo.broadcast_compare": compare,
    "chlo.broadcast_select": select,
    "stablehlo.and": _logical("logical_and", "bitwise_and"),
    "stablehlo.or": _logical("logical_or", "bitwise_or"),
    "stablehlo.xor": _logical("logical_xor", "bitwise_xor"),
    "stablehlo.not": _formula(_not),
    "stablehlo.power": converter(_power),
    "stablehlo.remainder": converter(_remainder),
    "stablehlo.shift_left": _shift("left_shift"),
    "stablehlo.shift_right_arithmetic": _shift("right_shift", arithmetic=True),
    "stablehlo.shift_right_logical": _shift("right_shift"),
    "stablehlo.cbrt": _formula(_cbrt),
    "stablehlo.sign": _formula(_sign),
    "stablehlo.round_nearest_afz": _formula(_round_away),
    "stablehlo.exponential_minus_one": _formula(formulas.expm1),
    "stablehlo.log_plus_one": _formula(formulas.log1p),
    "stablehlo.popcnt": _formula(_counted("popcount")),
    "stablehlo.count_leading_zeros": _formula(_counted("clz")),
    "chlo.erfc": _formula(formulas.erfc),
    "chlo.lgamma": _formula(formulas.lgamma),
    "chlo.digamma": _formula(formulas.digamma),
    "chlo.erf_inv": _formula(_erf_inv),
    "chlo.is_pos_inf": _formula(_infinite("greater")),
    "chlo.is_neg_inf": _formula(_infinite("less")),
    "chlo.square": _formula(_square),
    "stablehlo.compare": compare,
    "stablehlo.select": select,
    "stablehlo.clamp": clamp,
    "stablehlo.convert": convert_dtype,
    "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.reduce_precision": reduce_precision,
    "stablehlo.map": map_region,
    "stablehlo.optimization_barrier": identity,
    "stablehlo.constant": constant,
    "chlo.constant": constant,
}
"""By operation; see `operation.Converter`."""
