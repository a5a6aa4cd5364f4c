"""Elementary functions of f32 in arithmetic operations, for scalars and for vectors of any width.

The coefficients are minimax fits (Remez exchange or Chebyshev interpolation, for relative error)
of the functions on the reduced ranges named beside them.  Errors measured on random f32 inputs of
the whole range: exp, exp2, log and pow within 1 ulp, tanh, erf, log2, rsqrt, sin and cos within 2,
log1p and expm1 within 3.  NaN, infinities, signed zeros and subnormals come out as IEEE 754 and
C99 ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.to_llvm.pieces import (
    ERF_END,
    PIECES,
    TANH_END,
    TANH_SCALE,
    erf_pieces,
    tanh_pieces,
)
from relax_mlir.mlir import ir

__all__ = ["AVX512_LANES", "EXPANSIONS", "Emitter"]

AVX512_LANES = 16
"""How many f32 a register of AVX-512 holds."""

# e^r, |r| <= ln(2)/2
_EXP = (
    1.0,
    1.0,
    0.49999993449848906,
    0.1666652066232506,
    0.04166838768662832,
    0.008368713163780716,
    0.0013814606267084628,
)
# 2^r, |r| <= 1/2
_EXP2 = (
    1.0,
    0.6931472149680403,
    0.24022652782876697,
    0.05550310550994471,
    0.00961769297481435,
    0.0013406643905500447,
    0.00015594677570834696,
)
# (e^x - 1 - x) / x^2, |x| <= 1/2
_EXPM1 = (
    0.5,
    0.16666667139493868,
    0.04166666713918727,
    0.00833318207157127,
    0.0013888737719339266,
    0.00019962176231201414,
    2.4922436685821075e-05,
)
# (tanh(x) - x) / x^3 in x^2, |x| <= 0.6
_TANH = (
    -0.33333298002156214,
    0.1333192412778596,
    -0.05378383036584912,
    0.020795971945303943,
    -0.005895158389894463,
)
# (log(1 + f) - f + f^2 / 2) / f^3, -1/4 <= f <= 1/2
_LOG = (
    0.3333342552667566,
    -0.25000144385366363,
    0.19992950676903457,
    -0.16648038469913407,
    0.14426576522595752,
    -0.1306417870906038,
    0.10803709672985704,
    -0.056800240527555806,
    0.009371899057097278,
)
# (sin(x) - x) / x^3 in x^2 and (cos(x) - 1 + x^2 / 2) / x^4 in x^2, |x| <= pi/4
_SIN = (-0.16666666636664443, 0.0083333288322527, -0.0001983916234202272, 2.716712141511771e-06)
_COS = (0.04166664318290308, -0.0013887194230418236, 2.4419196786790227e-05)
# erf(x) / x in x^2, |x| <= 0.95, log2(1 - erf(x)), 0.92 <= x <= 4, and 2^r, |r| <= 1/2, as exactly
# as erf needs it
_ERF_SMALL = (
    1.128379166408494,
    -0.37612631613482345,
    0.11283663998532795,
    -0.02685770511155073,
    0.005196952107617934,
    -0.0008097703568402599,
    8.185093850859931e-05,
)
_ERF_LARGE = (
    -0.00029866320589100326,
    -1.6268224014803476,
    -0.9193802431655513,
    -0.14983298050109736,
    0.032013031721469506,
    -0.0043766798514171,
    0.000281247291802262,
)
_ERF_EXP2 = (
    1.0000000716546724,
    0.6931469670643541,
    0.24022119723881533,
    0.05550713274155091,
    0.009675541332788327,
    0.0013276471780573097,
)
# In f64, for pow: log2((1 + s) / (1 - s)) / s in s^2, |s| <= 0.2, and 2^r, |r| <= 1/2
_LOG2_F64 = (
    2.885390081777931,
    0.9617966939150853,
    0.5770780206838194,
    0.4121979387083907,
    0.32064448153893826,
    0.26066095861311095,
    0.2511024950130195,
)
_EXP2_F64 = (
    0.9999999999997623,
    0.6931471805465141,
    0.24022650698880368,
    0.05550410939341715,
    0.00961812854286242,
    0.0013333452062245389,
    0.000154038517487133,
    1.5309737422698976e-05,
    1.317585811647013e-06,
)

_LN2 = math.log(2)
# ln(2) in two parts; the first has few bits, so that its products with small integers are exact.
_LN2_HIGH = 0.693359375
_LN2_LOW = _LN2 - _LN2_HIGH
# pi/2 in three f32 parts
_HALF_PI = (float(np.float32(math.pi / 2)), -4.371139000186243e-08, -1.7151245100059187e-15)
# Beyond this, the three parts of pi/2 do not reduce the argument exactly enough.
_TRIG_LIMIT = 70000.0

_FLOAT = {
    "oeq": 1,
    "ogt": 2,
    "oge": 3,
    "olt": 4,
    "ole": 5,
    "one": 6,
    "ord": 7,
    "ult": 11,
    "uge": 10,
    "une": 13,
    "uno": 14,
}
_INT = {"eq": 0, "ne": 1, "slt": 2}


class Emitter:
    """Emits arithmetic on values of one shape: scalars, or vectors of `shape`.

    `portable` code has no instructions of this CPU: it may be for a GPU.
    """

    def __init__(self, shape: Sequence[int] | None, *, portable: bool = False):
        self.shape = shape
        self.portable = portable
        self.f32 = self._typed(ir.F32Type.get())
        self.f64 = self._typed(ir.F64Type.get())
        self.i32 = self._typed(ir.IntegerType.get_signless(32))
        self.i64 = self._typed(ir.IntegerType.get_signless(64))
        self.i1 = self._typed(ir.IntegerType.get_signless(1))
        self._i64 = ir.IntegerType.get_signless(64)

    def _typed(self, element: ir.Type) -> ir.Type:
        return element if self.shape is None else ir.VectorType.get(self.shape, element)

    def op(self, name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute):
        return ir.Operation.create(
            name, results=[type_], operands=operands, attributes=attributes
        ).result

    def constant(self, value: float, type_: ir.Type) -> ir.Value:
        element = type_.element_type if isinstance(type_, ir.VectorType) else type_
        if isinstance(element, ir.FloatType):
            scalar: ir.Attribute = ir.FloatAttr.get(element, value)
        else:
            scalar = ir.IntegerAttr.get(element, int(value))
        if isinstance(type_, ir.VectorType):
            scalar = ir.DenseElementsAttr.get_splat(type_, scalar)
        return self.op("arith.constant", type_, value=scalar)

    def k(self, value: float) -> ir.Value:
        return self.constant(value, self.f32)

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.addf", a.type, a, b)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.subf", a.type, a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.mulf", a.type, a, b)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.divf", a.type, a, b)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        return self.op("math.fma", a.type, a, b, c)

    def neg(self, a: ir.Value) -> ir.Value:
        return self.op("arith.negf", a.type, a)

    def abs(self, a: ir.Value) -> ir.Value:
        return self.op("math.absf", a.type, a)

    def round(self, a: ir.Value) -> ir.Value:
        return self.op("math.roundeven", a.type, a)

    def to_int(self, a: ir.Value) -> ir.Value:
        return self.op("arith.fptosi", self.i32, a)

    def bits(self, a: ir.Value) -> ir.Value:
        return self.op("arith.bitcast", self.i32, a)

    def from_bits(self, a: ir.Value) -> ir.Value:
        return self.op("arith.bitcast", self.f32, a)

    def int_op(self, name: str, a: ir.Value, b: ir.Value | int) -> ir.Value:
        other = self.constant(b, a.type) if isinstance(b, int) else b
        return self.op(f"arith.{name}", a.type, a, other)

    def is_(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        attribute = ir.IntegerAttr.get(self._i64, _FLOAT[predicate])
        return self.op("arith.cmpf", self.i1, a, b, predicate=attribute)

    def int_is(self, predicate: str, a: ir.Value, b: int) -> ir.Value:
        attribute = ir.IntegerAttr.get(self._i64, _INT[predicate])
        return self.op("arith.cmpi", self.i1, a, self.constant(b, a.type), predicate=attribute)

    def both(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.andi", self.i1, a, b)

    def either(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.ori", self.i1, a, b)

    def where(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.select", a.type, condition, a, b)

    def at_least(self, x: ir.Value, low: float) -> ir.Value:
        """max(x, low) that keeps NaN."""
        bound = self.constant(low, x.type)
        return self.where(self.is_("olt", x, bound), bound, x)

    def at_most(self, x: ir.Value, high: float) -> ir.Value:
        """min(x, high) that keeps NaN."""
        bound = self.constant(high, x.type)
        return self.where(self.is_("ogt", x, bound), bound, x)

    def polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        result = self.constant(coefficients[-1], x.type)
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.constant(coefficient, x.type))
        return result

    def with_sign_of(self, x: ir.Value, source: ir.Value) -> ir.Value:
        sign = self.int_op("andi", self.bits(source), -(2**31))
        magnitude = self.int_op("andi", self.bits(x), 2**31 - 1)
        return self.from_bits(self.int_op("ori", sign, magnitude))

    def times_power_of_two(self, x: ir.Value, n: ir.Value) -> ir.Value:
        """x * 2^n for a whole n; results may be subnormal or overflow.

        AVX-512 has an instruction for it; elsewhere it takes two steps.
        """
        if self.is_register:
            return self._scaled_by_avx512(x, n)
        exponent = self.to_int(n)
        half = self.int_op("shrsi", exponent, 1)
        rest = self.int_op("subi", exponent, half)

        def power(e: ir.Value) -> ir.Value:
            return self.from_bits(self.int_op("shli", self.int_op("addi", e, 127), 23))

        return self.mul(self.mul(x, power(half)), power(rest))

    def normal_times_power_of_two(self, x: ir.Value, n: ir.Value) -> ir.Value:
        """x * 2^n for a whole n where both x and the result are normal numbers."""
        if self.is_register:
            return self._scaled_by_avx512(x, n)
        exponent = self.int_op("shli", self.to_int(n), 23)
        return self.from_bits(self.int_op("addi", self.bits(x), exponent))

    @property
    def registers(self) -> int:
        """How many whole registers of this CPU's AVX-512 the values are; 0 if they are none."""
        if self.portable or host_cpu().vector_bits != 512 or len(self.shape or ()) != 1:
            return 0
        lanes = math.prod(self.shape or ())
        return 0 if lanes % AVX512_LANES else lanes // AVX512_LANES

    @property
    def is_register(self) -> bool:
        """Whether instructions of AVX-512 take the values as they are."""
        return self.registers == 1

    def _scaled_by_avx512(self, x: ir.Value, n: ir.Value) -> ir.Value:
        all_lanes = self.constant(-1, ir.IntegerType.get_signless(16))
        as_mode_says = self.constant(4, ir.IntegerType.get_signless(32))
        operands = (x, n, x, all_lanes, as_mode_says)
        return self._intrinsic("llvm.x86.avx512.mask.scalef.ps.512", x.type, *operands)

    def looked_up(self, table: Sequence[float], position: ir.Value) -> ir.Value:
        """The element of a table of 16 that the low four bits of `position` (i32) name, where there
        is AVX-512."""
        values = ir.DenseElementsAttr.get(np.asarray(table, np.float32), type=self.f32)
        register = self.op("arith.constant", self.f32, value=values)
        return self._intrinsic("llvm.x86.avx512.permvar.sf.512", self.f32, register, position)

    def _intrinsic(self, name: str, type_: ir.Type, *operands: ir.Value) -> ir.Value:
        return self.op(
            "llvm.call_intrinsic",
            type_,
            *operands,
            intrin=ir.StringAttr.get(name),
            op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
        )


def _exp(e: Emitter, x: ir.Value) -> ir.Value:
    x = e.at_most(e.at_least(x, -104.0), 89.0)
    n = e.round(e.mul(x, e.k(1 / _LN2)))
    r = e.fma(n, e.k(-_LN2_LOW), e.fma(n, e.k(-_LN2_HIGH), x))
    return e.times_power_of_two(e.polynomial(r, _EXP), n)


def _exp2(e: Emitter, x: ir.Value) -> ir.Value:
    x = e.at_most(e.at_least(x, -151.0), 129.0)
    n = e.round(x)
    return e.times_power_of_two(e.polynomial(e.sub(x, n), _EXP2), n)


def _expm1(e: Emitter, x: ir.Value) -> ir.Value:
    small = e.fma(e.mul(x, x), e.polynomial(x, _EXPM1), x)
    large = e.sub(_exp(e, x), e.k(1))
    small = e.where(e.is_("oeq", x, e.k(0)), x, small)
    return e.where(e.is_("olt", e.abs(x), e.k(0.5)), small, large)


def _tanh(e: Emitter, x: ir.Value) -> ir.Value:
    if e.is_register:
        return _tanh_by_pieces(e, x)
    a = e.at_most(e.abs(x), 9.5)
    square = e.mul(a, a)
    small = e.fma(e.mul(square, a), e.polynomial(square, _TANH), a)
    power = _exp(e, e.add(a, a))
    large = e.sub(e.k(1), e.div(e.k(2), e.add(power, e.k(1))))
    return e.with_sign_of(e.where(e.is_("olt", a, e.k(0.6)), small, large), x)


def _tanh_by_pieces(e: Emitter, x: ir.Value) -> ir.Value:
    a = e.at_most(e.abs(x), TANH_END)
    # From 1 to 16: two bits of the exponent and two of the mantissa are the piece, turned by the
    # exponent of 1, whose low bits are both set.
    place = e.fma(a, e.k(TANH_SCALE), e.k(1))
    piece = e.int_op("shrui", e.bits(place), 21)
    first = PIECES // 4
    rows = [(*row[first:], *row[:first]) for row in tanh_pieces()]
    center, *coefficients = (e.looked_up(row, piece) for row in rows)
    r = e.sub(a, center)
    power = coefficients.pop()
    for coefficient in reversed(coefficients):
        power = e.fma(power, r, coefficient)
    return e.with_sign_of(power, x)


def _erf(e: Emitter, x: ir.Value) -> ir.Value:
    if e.is_register:
        return _erf_by_pieces(e, x)
    a = e.at_most(e.abs(x), 4.0)
    # x + x * (c0 - 1 + ...) keeps the leading term exact.
    series = (_ERF_SMALL[0] - 1, *_ERF_SMALL[1:])
    small = e.fma(a, e.polynomial(e.mul(a, a), series), a)
    power = e.polynomial(a, _ERF_LARGE)
    n = e.round(power)
    complement = e.normal_times_power_of_two(e.polynomial(e.sub(power, n), _ERF_EXP2), n)
    large = e.sub(e.k(1), complement)
    return e.with_sign_of(e.where(e.is_("oge", a, e.k(0.93)), large, small), x)


def _erf_by_pieces(e: Emitter, x: ir.Value) -> ir.Value:
    a = e.at_most(e.abs(x), ERF_END)
    # Floats of this size lie a quarter apart, and their last four bits count the quarters.
    shift = e.k(1.5 * 2.0**21)
    shifted = e.add(a, shift)
    r = e.sub(a, e.sub(shifted, shift))
    first, *others = (e.looked_up(row, e.bits(shifted)) for row in erf_pieces())
    power = others.pop()
    for coefficient in reversed(others):
        power = e.fma(power, r, coefficient)
    return e.with_sign_of(e.fma(power, r, e.add(r, first)), x)


def _exponent_and_mantissa(e: Emitter, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x = m * 2^n with n whole (as f32) and m in [3/4, 3/2), for positive x."""
    subnormal = e.is_("olt", x, e.k(2.0**-126))
    x = e.where(subnormal, e.mul(x, e.k(2.0**23)), x)
    three_quarters = 0x3F400000
    offset = e.int_op("subi", e.bits(x), three_quarters)
    n = e.op("arith.sitofp", e.f32, e.int_op("shrsi", offset, 23))
    n = e.add(n, e.where(subnormal, e.k(-23), e.k(0)))
    mantissa = e.int_op("addi", e.int_op("andi", offset, 0x7FFFFF), three_quarters)
    return n, e.from_bits(mantissa)


def _log_specials(e: Emitter, x: ir.Value, result: ir.Value) -> ir.Value:
    """Logarithms of zero, negative numbers, NaN and infinity."""
    result = e.where(e.is_("oeq", x, e.k(0)), e.k(-math.inf), result)
    result = e.where(e.is_("ult", x, e.k(0)), e.k(math.nan), result)
    return e.where(e.is_("oeq", x, e.k(math.inf)), x, result)


def _log_of_mantissa(e: Emitter, f: ir.Value, tail: ir.Value) -> ir.Value:
    """log(1 + f) - f + tail."""
    square = e.mul(f, f)
    cubic = e.mul(e.mul(square, f), e.polynomial(f, _LOG))
    return e.fma(square, e.k(-0.5), e.add(cubic, tail))


def _log(e: Emitter, x: ir.Value) -> ir.Value:
    n, m = _exponent_and_mantissa(e, x)
    f = e.sub(m, e.k(1))
    rest = _log_of_mantissa(e, f, e.mul(n, e.k(_LN2_LOW)))
    result = e.fma(n, e.k(_LN2_HIGH), e.add(f, rest))
    return _log_specials(e, x, result)


def _log2(e: Emitter, x: ir.Value) -> ir.Value:
    n, m = _exponent_and_mantissa(e, x)
    f = e.sub(m, e.k(1))
    natural = e.add(f, _log_of_mantissa(e, f, e.k(0)))
    result = e.fma(natural, e.k(1 / _LN2), n)
    return _log_specials(e, x, result)


def _log1p(e: Emitter, x: ir.Value) -> ir.Value:
    # log(u) * x / (u - 1) with u = 1 + x rounded: the rounding error cancels.
    u = e.add(x, e.k(1))
    corrected = e.mul(_log(e, u), e.div(x, e.sub(u, e.k(1))))
    result = e.where(e.is_("oeq", u, e.k(1)), x, corrected)
    return e.where(e.is_("oeq", x, e.k(math.inf)), x, result)


def _rsqrt(e: Emitter, x: ir.Value) -> ir.Value:
    return e.div(e.k(1), e.op("math.sqrt", e.f32, x))


def _quadrant(e: Emitter, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """n (i32) and r in about [-pi/4, pi/4] with x = n * pi/2 + r, for moderate x."""
    n = e.round(e.mul(x, e.k(2 / math.pi)))
    r = x
    for part in _HALF_PI:
        r = e.fma(n, e.k(-part), r)
    return e.to_int(n), r


def _sin_cos(e: Emitter, x: ir.Value, shift: int) -> ir.Value:
    # fptosi of what is out of range is poison: large arguments take another way.
    large = e.is_("uge", e.abs(x), e.k(_TRIG_LIMIT))
    n, r = _quadrant(e, e.where(large, e.k(0), x))
    if shift:
        n = e.int_op("addi", n, shift)
    square = e.mul(r, r)
    sin = e.fma(e.mul(square, r), e.polynomial(square, _SIN), r)
    cos = e.fma(e.mul(square, square), e.polynomial(square, _COS), e.fma(square, e.k(-0.5), e.k(1)))
    value = e.where(e.int_is("ne", e.int_op("andi", n, 1), 0), cos, sin)
    sign = e.int_op("shli", e.int_op("andi", n, 2), 30)
    value = e.from_bits(e.int_op("xori", e.bits(value), sign))
    if not shift:
        value = e.where(e.is_("oeq", x, e.k(0)), x, value)
    return _where_large(e, large, x, value, "math.cos" if shift else "math.sin")


def _where_large(
    e: Emitter, large: ir.Value, x: ir.Value, value: ir.Value, function: str
) -> ir.Value:
    """`value`, but the library's function in f64 if any lane is large."""
    i1 = ir.IntegerType.get_signless(1)
    any_large = large
    if e.shape is not None:
        flat = ir.VectorType.get([math.prod(e.shape)], i1)
        if len(e.shape) > 1:
            any_large = e.op("vector.shape_cast", flat, large)
        kind = ir.Attribute.parse("#vector.kind<or>")
        any_large = e.op("vector.reduction", i1, any_large, kind=kind)
    branch = ir.Operation.create("scf.if", results=[e.f32], operands=[any_large], regions=2)
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        exact = e.op(function, e.f64, e.op("arith.extf", e.f64, x))
        chosen = e.where(large, e.op("arith.truncf", e.f32, exact), value)
        ir.Operation.create("scf.yield", results=[], operands=[chosen])
    with ir.InsertionPoint(branch.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", results=[], operands=[value])
    return branch.result


def _sin(e: Emitter, x: ir.Value) -> ir.Value:
    return _sin_cos(e, x, 0)


def _cos(e: Emitter, x: ir.Value) -> ir.Value:
    return _sin_cos(e, x, 1)


def _log2_of_magnitude(e: Emitter, x: ir.Value) -> ir.Value:
    """log2(|x|) in f64, infinities and NaN included."""
    magnitude = e.abs(x)
    n, m = _exponent_and_mantissa(e, magnitude)
    one = e.constant(1, e.f64)
    mantissa, exponent = (e.op("arith.extf", e.f64, v) for v in (m, n))
    s = e.div(e.sub(mantissa, one), e.add(mantissa, one))
    result = e.fma(s, e.polynomial(e.mul(s, s), _LOG2_F64), exponent)
    wide = e.op("arith.extf", e.f64, x)
    result = e.where(e.is_("oeq", magnitude, e.k(0)), e.constant(-math.inf, e.f64), result)
    result = e.where(e.is_("oeq", magnitude, e.k(math.inf)), e.constant(math.inf, e.f64), result)
    return e.where(e.is_("uno", x, x), wide, result)


def _pow(e: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    product = e.mul(e.op("arith.extf", e.f64, y), _log2_of_magnitude(e, x))
    # Zero times infinity and NaN are settled below; NaN must not reach fptosi.
    invalid = e.is_("uno", product, product)
    t = e.at_most(e.at_least(product, -160.0), 160.0)
    t = e.where(invalid, e.constant(0, e.f64), t)
    n = e.round(t)
    fraction = e.polynomial(e.sub(t, n), _EXP2_F64)
    exponent = e.int_op("addi", e.op("arith.fptosi", e.i64, n), 1023)
    power = e.op("arith.bitcast", e.f64, e.int_op("shli", exponent, 52))
    result = e.op("arith.truncf", e.f32, e.mul(fraction, power))
    result = e.where(invalid, e.k(math.nan), result)
    return _pow_specials(e, x, y, result)


def _pow_specials(e: Emitter, x: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value:
    """Signs, and the cases that C99 lists for pow."""
    half = e.mul(y, e.k(0.5))
    is_whole = e.is_("oeq", e.round(y), y)
    is_odd = e.both(is_whole, e.is_("une", e.round(half), half))
    is_negative = e.int_is("slt", e.bits(x), 0)
    result = e.where(e.both(is_negative, is_odd), e.neg(result), result)
    finite_negative = e.both(e.is_("olt", x, e.k(0)), e.is_("one", x, e.k(-math.inf)))
    fractional = e.is_("one", e.round(y), y)
    result = e.where(e.both(finite_negative, fractional), e.k(math.nan), result)
    infinite_y = e.is_("oeq", e.abs(y), e.k(math.inf))
    minus_one = e.both(e.is_("oeq", x, e.k(-1)), infinite_y)
    one = e.either(e.is_("oeq", x, e.k(1)), e.is_("oeq", y, e.k(0)))
    return e.where(e.either(one, minus_one), e.k(1), result)


EXPANSIONS: dict[str, Callable[..., ir.Value]] = {
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.expm1": _expm1,
    "math.tanh": _tanh,
    "math.erf": _erf,
    "math.log": _log,
    "math.log2": _log2,
    "math.log1p": _log1p,
    "math.rsqrt": _rsqrt,
    "math.sin": _sin,
    "math.cos": _cos,
    "math.powf": _pow,
}
"""The functions by operation: each takes an emitter and the operands, all f32."""
