"""What each scalar intrinsic is in MLIR: one operation of `arith` or `math`, or its expansion.

An emitter takes the operands and the TVM dtype of the first, and returns the result.  All work
lane by lane on vectors too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.mlir import arith, ir, math, vector
from relax_mlir.tir.lanes import lanes_of, scalar_dtype, vector_type

Emit = Callable[[Sequence[ir.Value], str], ir.Value]


def constant_like(value: ir.Value, number: float | int) -> ir.Value:
    """A constant of the type of `value`."""
    return arith.constant(value.type, constant_attribute(value.type, number))


def constant_attribute(kind: ir.Type, number: float | int) -> ir.Attribute:
    """`number` as an attribute of a scalar or vector type; integers wrap to their width."""
    if isinstance(kind, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(kind, constant_attribute(kind.element_type, number))
    if isinstance(kind, ir.FloatType):
        return ir.FloatAttr.get(kind, float(number))
    if isinstance(kind, ir.IntegerType):
        half = 1 << (kind.width - 1)
        wrapped = (int(number) + half) % (2 * half) - half
        return ir.IntegerAttr.get(kind, -wrapped if kind.width == 1 else wrapped)
    return ir.IntegerAttr.get(kind, int(number))


def _unary(op: Callable[[ir.Value], ir.Value]) -> Emit:
    return lambda args, dtype: op(args[0])


def _binary(op: Callable[[ir.Value, ir.Value], ir.Value]) -> Emit:
    return lambda args, dtype: op(args[0], args[1])


def compare(predicate: str, a: ir.Value, b: ir.Value, dtype: str) -> ir.Value:
    """`a predicate b` for predicate eq, ne, lt, le, gt, ge; NaN compares as IEEE says."""
    scalar = scalar_dtype(dtype)
    if dtypes.is_float(scalar):
        ordered = "une" if predicate == "ne" else f"o{predicate}"
        return arith.cmpf(getattr(arith.CmpFPredicate, ordered.upper()), a, b)
    if predicate not in ("eq", "ne"):
        unsigned = scalar == "bool" or dtypes.is_unsigned(scalar)
        predicate = ("u" if unsigned else "s") + predicate
    return arith.cmpi(getattr(arith.CmpIPredicate, predicate), a, b)


def _sigmoid(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    x = args[0]
    one = constant_like(x, 1.0)
    return arith.divf(one, arith.addf(one, math.exp(arith.negf(x))))


def _exp10(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    return math.powf(constant_like(args[0], 10.0), args[0])


def _hypot(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    """Scaled by the larger magnitude, so that squares neither overflow nor vanish."""
    x, y = math.absf(args[0]), math.absf(args[1])
    large, small = arith.maximumf(x, y), arith.minimumf(x, y)
    zero, one = constant_like(x, 0.0), constant_like(x, 1.0)
    degenerate = arith.ori(
        compare("eq", large, zero, "float32"),
        compare("eq", large, constant_like(x, float("inf")), "float32"),
    )
    ratio = arith.divf(small, large)
    scaled = arith.mulf(large, math.sqrt(arith.addf(one, arith.mulf(ratio, ratio))))
    return arith.select(degenerate, large, scaled)


def _ldexp(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    """In two halves, since 2**e alone may overflow where x * 2**e does not."""
    x, exponent = args
    one = constant_like(exponent, 1)
    half = arith.shrsi(exponent, one)
    rest = arith.subi(exponent, half)
    powers = [math.exp2(arith.sitofp(x.type, e)) for e in (half, rest)]
    return arith.mulf(arith.mulf(x, powers[0]), powers[1])


def _nextafter(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    """The neighbour of x towards y, by stepping the bit pattern; NaN if either is NaN."""
    x, y = args
    bits_type = _like(x.type, ir.IntegerType.get_signless(dtypes.bits(scalar_dtype(dtype))))
    bits = arith.bitcast(bits_type, x)
    zero, one = constant_like(x, 0.0), constant_like(bits, 1)
    away = arith.xori(compare("lt", x, y, dtype), compare("lt", x, zero, dtype))
    step = arith.select(away, arith.addi(bits, one), arith.subi(bits, one))
    sign = arith.bitcast(bits_type, math.copysign(zero, y))
    result = arith.select(compare("eq", x, zero, dtype), arith.ori(sign, one), step)
    moved = arith.bitcast(x.type, result)
    same = arith.select(compare("eq", x, y, dtype), y, moved)
    unordered = arith.cmpf(arith.CmpFPredicate.UNO, x, y)
    return arith.select(unordered, arith.addf(x, y), same)


def _like(kind: ir.Type, element: ir.Type) -> ir.Type:
    if isinstance(kind, ir.VectorType):
        return ir.VectorType.get(kind.shape, element, scalable=kind.scalable_dims)
    return element


def _isnan(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    return arith.cmpf(arith.CmpFPredicate.UNO, args[0], args[0])


def _fabs(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    return math.absf(args[0]) if dtypes.is_float(scalar_dtype(dtype)) else math.absi(args[0])


def _power(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    if dtypes.is_float(scalar_dtype(dtype)):
        return math.powf(args[0], args[1])
    return math.ipowi(args[0], args[1])


def _shift_right(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    unsigned = dtypes.is_unsigned(scalar_dtype(dtype))
    return (arith.shrui if unsigned else arith.shrsi)(args[0], args[1])


def _bitwise_not(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    return arith.xori(args[0], constant_like(args[0], -1))


def _fmod(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    if dtypes.is_float(scalar_dtype(dtype)):
        return arith.remf(args[0], args[1])
    return arith.remsi(args[0], args[1])


def _q_multiply_shift(args: Sequence[ir.Value], dtype: str) -> ir.Value:
    """`round(x * y * 2**-(q + s))` of int32 fixed-point numbers, in 64 bits; halves go up."""
    x, y, q, s = args
    wide = _like(x.type, ir.IntegerType.get_signless(64))
    factor, fraction, shift = _known(y), _known(q), _known(s)
    widened = arith.extsi(wide, x)
    # Constants are of the wide type, and made where they are used: text shows them so.
    product = arith.muli(
        widened, arith.extsi(wide, y) if factor is None else constant_like(widened, factor)
    )
    if fraction is not None and shift is not None:
        places = fraction + max(-shift, 0)
        product = arith.shli(product, constant_like(product, max(shift, 0)))
        rounded = arith.addi(product, constant_like(product, (1 << places) >> 1))
        result = arith.trunci(x.type, arith.shrsi(rounded, constant_like(product, places)))
    else:
        zero = constant_like(s, 0)
        left = arith.extsi(wide, arith.maxsi(s, zero))
        right = arith.extsi(wide, arith.addi(q, arith.maxsi(arith.subi(zero, s), zero)))
        one = constant_like(product, 1)
        rounding = arith.shrsi(arith.shli(one, right), one)
        product = arith.shli(product, left)
        result = arith.trunci(x.type, arith.shrsi(arith.addi(product, rounding), right))
    _erase_unused((y, q, s))
    return result


def _erase_unused(values: Sequence[ir.Value]) -> None:
    """Erase constants that nothing uses: text would not bring them back."""
    for value in values:
        if _known(value) is not None and not list(value.uses):
            value.owner.erase()


def _known(value: ir.Value) -> int | None:
    owner = value.owner
    if not isinstance(owner, (ir.Operation, ir.OpView)) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def reinterpret(value: ir.Value, dtype: str) -> ir.Value:
    """The bits of a value as another dtype; lanes may be joined or split."""
    kind = dtypes.storage(scalar_dtype(dtype))
    lanes = lanes_of(dtype)
    target = kind if lanes == 1 else vector_type(lanes, kind)
    pointer = dtypes.storage("handle")
    if pointer in (target, value.type):
        name = "llvm.inttoptr" if target == pointer else "llvm.ptrtoint"
        return value if target == value.type else _create(name, target, [value])
    vectors = isinstance(target, ir.VectorType), isinstance(value.type, ir.VectorType)
    if vectors == (False, False) or (all(vectors) and target.shape == value.type.shape):
        return arith.bitcast(target, value)
    if not vectors[1]:
        value = vector.from_elements(ir.VectorType.get([1], value.type), [value])
    whole = vector.bitcast(target if vectors[0] else ir.VectorType.get([1], target), value)
    return whole if vectors[0] else vector.extract(whole, [], [0])


def _create(name: str, kind: ir.Type, operands: list[ir.Value]) -> ir.Value:
    return ir.Operation.create(name, results=[kind], operands=operands).result


EMITTERS: dict[str, Emit] = {
    **{
        name: _unary(getattr(math, name))
        for name in (
            "acos acosh asin asinh atan atanh ceil cos cosh erf exp exp2 floor log log10 log1p log2"
            " rsqrt sin sinh sqrt tan tanh trunc"
        ).split()
    },
    "round": _unary(math.roundeven),
    "nearbyint": _unary(math.roundeven),
    "popcount": _unary(math.ctpop),
    "clz": _unary(math.ctlz),
    "likely": lambda args, dtype: args[0],
    "fabs": _fabs,
    "isnan": _isnan,
    "sigmoid": _sigmoid,
    "exp10": _exp10,
    "atan2": _binary(math.atan2),
    "copysign": _binary(math.copysign),
    "pow": _power,
    "fmod": _fmod,
    "hypot": _hypot,
    "ldexp": _ldexp,
    "nextafter": _nextafter,
    "bitwise_and": _binary(arith.andi),
    "bitwise_or": _binary(arith.ori),
    "bitwise_xor": _binary(arith.xori),
    "bitwise_not": _bitwise_not,
    "shift_left": _binary(arith.shli),
    "shift_right": _shift_right,
    "q_multiply_shift": _q_multiply_shift,
}
"""Intrinsic name -> how to emit it."""


def floormod(a: ir.Value, b: ir.Value, floordiv: Callable[[ir.Value, ir.Value], ir.Value]):
    """`a - a // b * b`."""
    return arith.subi(a, arith.muli(floordiv(a, b), b))


_FLOAT = {
    "Add": arith.addf, "Sub": arith.subf, "Mul": arith.mulf, "Div": arith.divf, "Mod": arith.remf,
    "Min": arith.minimumf, "Max": arith.maximumf,
}  # fmt: skip
_SIGNED = {
    "Add": arith.addi, "Sub": arith.subi, "Mul": arith.muli, "Div": arith.divsi,
    "Mod": arith.remsi, "FloorDiv": arith.floordivsi, "Min": arith.minsi, "Max": arith.maxsi,
    "And": arith.andi, "Or": arith.ori,
    "FloorMod": lambda a, b: floormod(a, b, arith.floordivsi),
}  # fmt: skip
_UNSIGNED = {
    **_SIGNED, "Div": arith.divui, "Mod": arith.remui, "FloorDiv": arith.divui,
    "FloorMod": arith.remui, "Min": arith.minui, "Max": arith.maxui,
}  # fmt: skip


def binary(name: str, a: ir.Value, b: ir.Value, dtype: str) -> ir.Value:
    """The binary node `name` ("Add", "FloorDiv", ...) on operands of `dtype`."""
    scalar = scalar_dtype(dtype)
    if dtypes.is_float(scalar):
        return _FLOAT[name](a, b)
    unsigned = scalar == "bool" or dtypes.is_unsigned(scalar)
    return (_UNSIGNED if unsigned else _SIGNED)[name](a, b)


def convert(value: ir.Value, source: str, target: str, kind: ir.Type) -> ir.Value:
    """`value` of dtype `source` in dtype `target`, whose MLIR type is `kind`."""
    source, target = scalar_dtype(source), scalar_dtype(target)
    if source == target:
        return value
    if target == "bool":
        return compare("ne", value, constant_like(value, 0), source)
    unsigned_source = source == "bool" or dtypes.is_unsigned(source)
    if dtypes.is_float(source):
        if dtypes.is_float(target):
            return _float_to_float(value, source, target, kind)
        unsigned = dtypes.is_unsigned(target)
        return (arith.fptoui if unsigned else arith.fptosi)(kind, value)
    if dtypes.is_float(target):
        return (arith.uitofp if unsigned_source else arith.sitofp)(kind, value)
    source_bits = 1 if source == "bool" else dtypes.bits(source)
    if source_bits == dtypes.bits(target):
        return value
    if source_bits > dtypes.bits(target):
        return arith.trunci(kind, value)
    return (arith.extui if unsigned_source else arith.extsi)(kind, value)


def _float_to_float(value: ir.Value, source: str, target: str, kind: ir.Type) -> ir.Value:
    source_bits, target_bits = dtypes.bits(source), dtypes.bits(target)
    if source_bits < target_bits:
        return arith.extf(kind, value)
    if source_bits > target_bits:
        return arith.truncf(kind, value)
    # f16 and bf16 (and the f8 kinds) contain neither the other: go through float32.
    wide = arith.extf(_like(value.type, ir.F32Type.get()), value)
    return arith.truncf(kind, wide)
