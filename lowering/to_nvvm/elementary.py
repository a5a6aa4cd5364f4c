"""Elementary functions that have no instruction on GPUs, in arithmetic and in a few others.

All work on f32 and f64, scalars and vectors.  Series are the classical ones (Abramowitz & Stegun,
chapters 4 and 7) after the usual reductions of the argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relax_mlir.mlir import ir

__all__ = ["EXPANSIONS", "EXPANSIONS_F64", "Arithmetic"]


class Arithmetic:
    """Operations on values of one floating-point type; numbers stand for constants of it."""

    def __init__(self, kind: ir.Type) -> None:
        self.kind = kind
        element = kind.element_type if isinstance(kind, ir.VectorType) else kind
        self.is_double = isinstance(element, ir.F64Type)
        self._element = element

    def __call__(self, name: str, *operands: ir.Value | float, kind: ir.Type | None = None):
        values = [self.value(x) for x in operands]
        return ir.Operation.create(name, results=[kind or self.kind], operands=values).result

    def value(self, x: ir.Value | float) -> ir.Value:
        if not isinstance(x, (int, float)):
            return x
        attribute: ir.Attribute = ir.FloatAttr.get(self._element, x)
        if isinstance(self.kind, ir.VectorType):
            attribute = ir.DenseElementsAttr.get_splat(self.kind, attribute)
        return ir.Operation.create(
            "arith.constant", results=[self.kind], attributes={"value": attribute}
        ).result

    def add(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        return self("arith.addf", a, b)

    def sub(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        return self("arith.subf", a, b)

    def mul(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        return self("arith.mulf", a, b)

    def div(self, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        return self("arith.divf", a, b)

    def fma(self, a: ir.Value, b: ir.Value | float, c: ir.Value | float) -> ir.Value:
        return self("math.fma", a, b, c)

    def abs(self, a: ir.Value) -> ir.Value:
        return self("math.absf", a)

    def sqrt(self, a: ir.Value) -> ir.Value:
        return self("math.sqrt", a)

    def with_sign(self, a: ir.Value, of: ir.Value) -> ir.Value:
        return self("math.copysign", a, of)

    def is_(self, predicate: int, a: ir.Value, b: ir.Value | float) -> ir.Value:
        """A comparison by `arith.cmpf`'s number: 1 oeq, 2 ogt, 4 olt, 14 uno."""
        i1: ir.Type = ir.IntegerType.get_signless(1)
        if isinstance(self.kind, ir.VectorType):
            i1 = ir.VectorType.get(self.kind.shape, i1)
        i64 = ir.IntegerType.get_signless(64)
        return ir.Operation.create(
            "arith.cmpf",
            results=[i1],
            operands=[a, self.value(b)],
            attributes={
                "predicate": ir.IntegerAttr.get(i64, predicate),
                "fastmath": ir.Attribute.parse("#arith.fastmath<none>"),
            },
        ).result

    def choose(self, condition: ir.Value, a: ir.Value | float, b: ir.Value | float) -> ir.Value:
        return self("arith.select", condition, a, b)

    def series(self, z: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """`c[0] + c[1] z + ...`"""
        total = self.value(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, z, coefficient)
        return total

    def terms(self, single: int, double: int) -> int:
        return double if self.is_double else single


_OEQ, _OGT, _OLT = 1, 2, 4

# -- inverse trigonometric functions ------------------------------------------------------------


def _asin_core(m: Arithmetic, x: ir.Value, z: ir.Value) -> ir.Value:
    """asin(x) for z = x^2 up to 1/4."""
    count = m.terms(12, 26)
    series = [math.comb(2 * k, k) / 4**k / (2 * k + 1) for k in range(count)]
    return m.mul(x, m.series(z, series))


def asin(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    is_large = m.is_(_OGT, a, 0.5)
    half = m.mul(m.sub(1.0, a), 0.5)
    z = m.choose(is_large, half, m.mul(a, a))
    base = _asin_core(m, m.choose(is_large, m.sqrt(half), a), z)
    return m.with_sign(m.choose(is_large, m.sub(math.pi / 2, m.mul(base, 2.0)), base), x)


def acos(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    is_large = m.is_(_OGT, a, 0.5)
    half = m.mul(m.sub(1.0, a), 0.5)
    z = m.choose(is_large, half, m.mul(a, a))
    base = _asin_core(m, m.choose(is_large, m.sqrt(half), a), z)
    near = m.mul(base, 2.0)
    near = m.choose(m.is_(_OLT, x, 0.0), m.sub(math.pi, near), near)
    return m.choose(is_large, near, m.sub(math.pi / 2, m.with_sign(base, x)))


def atan(m: Arithmetic, x: ir.Value) -> ir.Value:
    return m.with_sign(_atan_of_positive(m, m.abs(x)), x)


def _atan_of_positive(m: Arithmetic, a: ir.Value) -> ir.Value:
    inverted = m.is_(_OGT, a, 1.0)
    b = m.choose(inverted, m.div(1.0, a), a)
    shifted = m.is_(_OGT, b, math.tan(math.pi / 8))
    y = m.choose(shifted, m.div(m.sub(b, 1.0), m.add(b, 1.0)), b)
    count = m.terms(11, 22)
    series = [(-1) ** k / (2 * k + 1) for k in range(count)]
    base = m.mul(y, m.series(m.mul(y, y), series))
    base = m.choose(shifted, m.add(base, math.pi / 4), base)
    return m.choose(inverted, m.sub(math.pi / 2, base), base)


def atan2(m: Arithmetic, y: ir.Value, x: ir.Value) -> ir.Value:
    ax, ay = m.abs(x), m.abs(y)
    swapped = m.is_(_OGT, ay, ax)
    low, high = m.choose(swapped, ax, ay), m.choose(swapped, ay, ax)
    q = m.div(low, high)
    same = m.is_(_OEQ, low, high)
    q = m.choose(same, m.choose(m.is_(_OEQ, high, 0.0), 0.0, 1.0), q)
    base = _atan_of_positive(m, q)
    base = m.choose(swapped, m.sub(math.pi / 2, base), base)
    # The sign of a zero counts.
    is_left = m.is_(_OLT, m.with_sign(m.value(1.0), x), 0.0)
    return m.with_sign(m.choose(is_left, m.sub(math.pi, base), base), y)


# -- hyperbolic functions -----------------------------------------------------------------------


def sinh(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    t = m("math.expm1", a)
    small = m.mul(m.add(t, m.div(t, m.add(t, 1.0))), 0.5)
    root = m("math.exp", m.mul(a, 0.5))
    large = m.mul(m.mul(root, 0.5), root)
    return m.with_sign(m.choose(m.is_(_OGT, a, 20.0), large, small), x)


def cosh(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    e = m("math.exp", a)
    small = m.mul(m.add(e, m.div(1.0, e)), 0.5)
    root = m("math.exp", m.mul(a, 0.5))
    large = m.mul(m.mul(root, 0.5), root)
    return m.choose(m.is_(_OGT, a, 20.0), large, small)


def tanh(m: Arithmetic, x: ir.Value) -> ir.Value:
    t = m("math.expm1", m.mul(m.abs(x), -2.0))
    return m.with_sign(m.div(m.sub(0.0, t), m.add(t, 2.0)), x)


def asinh(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    square = m.mul(a, a)
    inner = m.add(a, m.div(square, m.add(m.sqrt(m.add(square, 1.0)), 1.0)))
    large = m.add(m("math.log", a), math.log(2))
    value = m.choose(m.is_(_OGT, a, 1e9), large, m("math.log1p", inner))
    return m.with_sign(value, x)


def acosh(m: Arithmetic, x: ir.Value) -> ir.Value:
    t = m.sub(x, 1.0)
    inner = m.add(t, m.sqrt(m.mul(t, m.add(t, 2.0))))
    large = m.add(m("math.log", x), math.log(2))
    return m.choose(m.is_(_OGT, x, 1e9), large, m("math.log1p", inner))


def atanh(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    value = m.mul(m("math.log1p", m.div(m.mul(a, 2.0), m.sub(1.0, a))), 0.5)
    return m.with_sign(value, x)


# -- others -------------------------------------------------------------------------------------


def tan(m: Arithmetic, x: ir.Value) -> ir.Value:
    return m.div(m("math.sin", x), m("math.cos", x))


def log10(m: Arithmetic, x: ir.Value) -> ir.Value:
    return m.mul(m("math.log", x), 1 / math.log(10))


def cbrt(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    y = m("math.exp", m.div(m("math.log", a), 3.0))
    # One step of Newton's iteration takes the error of the logarithm away.
    square = m.mul(y, y)
    y = m.sub(y, m.div(m.sub(m.mul(square, y), a), m.mul(square, 3.0)))
    y = m.choose(m.is_(_OEQ, a, 0.0), 0.0, m.choose(m.is_(_OEQ, a, math.inf), a, y))
    return m.with_sign(y, x)


def remainder(m: Arithmetic, x: ir.Value, y: ir.Value) -> ir.Value:
    """C's fmod.  f32 is computed in f64, where quotients up to 2^53 are exact."""
    if m.is_double:
        return m.with_sign(m.fma(m("math.trunc", m.div(x, y)), m.sub(0.0, y), x), x)
    wide: ir.Type = ir.F64Type.get()
    if isinstance(m.kind, ir.VectorType):
        wide = ir.VectorType.get(m.kind.shape, wide)
    double = Arithmetic(wide)
    a, b = (double("arith.extf", v) for v in (x, y))
    rest = m("arith.truncf", remainder(double, a, b))
    is_whole = m.is_(_OEQ, m.abs(y), math.inf)
    return m.choose(is_whole, m.choose(m.is_(_OLT, m.abs(x), math.inf), x, rest), rest)


Expansion = Callable[..., ir.Value]

EXPANSIONS: dict[str, Expansion] = {
    "arith.remf": remainder,
    "math.asin": asin,
    "math.acos": acos,
    "math.atan": atan,
    "math.atan2": atan2,
    "math.sinh": sinh,
    "math.cosh": cosh,
    "math.asinh": asinh,
    "math.acosh": acosh,
    "math.atanh": atanh,
    "math.tan": tan,
    "math.log10": log10,
    "math.cbrt": cbrt,
}
"""By operation, for f32 and f64: an arithmetic and the operands."""

# -- f64 ----------------------------------------------------------------------------------------

_LN2_HIGH = float.fromhex("0x1.62E42FEFA39EFp-1")
_LN2_LOW = float.fromhex("0x1.ABC9E3B39803Fp-56")
_HALF_PI = tuple(
    map(float.fromhex, ("0x1.921FB54442D18p0", "0x1.1A62633145C07p-54", "-0x1.F1976B7ED8FBCp-110"))
)


def _integer(m: Arithmetic) -> ir.Type:
    i64: ir.Type = ir.IntegerType.get_signless(64)
    return ir.VectorType.get(m.kind.shape, i64) if isinstance(m.kind, ir.VectorType) else i64


def _whole(m: Arithmetic, number: int) -> ir.Value:
    kind = _integer(m)
    attribute: ir.Attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    if isinstance(kind, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(kind, attribute)
    return ir.Operation.create(
        "arith.constant", results=[kind], attributes={"value": attribute}
    ).result


def _power_of_two(m: Arithmetic, n: ir.Value) -> ir.Value:
    """2^n for an integer n that a normal number has for exponent."""
    kind = _integer(m)
    bits = m("arith.shli", m("arith.addi", n, _whole(m, 1023), kind=kind), _whole(m, 52), kind=kind)
    return m("arith.bitcast", bits)


def exp_f64(m: Arithmetic, x: ir.Value) -> ir.Value:
    kind = _integer(m)
    bounded = m.choose(m.is_(_OGT, x, 710.0), 710.0, m.choose(m.is_(_OLT, x, -746.0), -746.0, x))
    n = m("math.roundeven", m.mul(bounded, 1 / math.log(2)))
    r = m.fma(n, -_LN2_HIGH, bounded)
    r = m.fma(n, -_LN2_LOW, r)
    value = m.series(r, [1 / math.factorial(k) for k in range(14)])
    whole = m("arith.fptosi", n, kind=kind)
    half = m("arith.shrsi", whole, _whole(m, 1), kind=kind)
    rest = m("arith.subi", whole, half, kind=kind)
    value = m.mul(m.mul(value, _power_of_two(m, half)), _power_of_two(m, rest))
    value = m.choose(m.is_(_OGT, x, 709.79), math.inf, value)
    return m.choose(m.is_(14, x, x), x, value)


def log_f64(m: Arithmetic, x: ir.Value) -> ir.Value:
    kind = _integer(m)
    tiny = m.is_(_OLT, x, 2.0**-1022)
    scaled = m.choose(tiny, m.mul(x, 2.0**54), x)
    bits = m("arith.bitcast", scaled, kind=kind)
    # The mantissa in [sqrt(1/2), sqrt(2)), and the exponent that goes with it.
    shifted = m("arith.subi", bits, _whole(m, 0x3FE6A09E667F3BCD), kind=kind)
    exponent = m("arith.shrsi", shifted, _whole(m, 52), kind=kind)
    away = m("arith.shli", exponent, _whole(m, 52), kind=kind)
    f = m("arith.bitcast", m("arith.subi", bits, away, kind=kind))
    e = m("arith.sitofp", exponent)
    e = m.choose(tiny, m.sub(e, 54.0), e)
    s = m.div(m.sub(f, 1.0), m.add(f, 1.0))
    series = [2 / (2 * k + 1) for k in range(12)]
    value = m.mul(s, m.series(m.mul(s, s), series))
    value = m.fma(e, _LN2_HIGH, m.fma(e, _LN2_LOW, value))
    value = m.choose(m.is_(_OEQ, x, 0.0), -math.inf, value)
    value = m.choose(m.is_(_OEQ, x, math.inf), math.inf, value)
    value = m.choose(m.is_(_OLT, x, 0.0), math.nan, value)
    return m.choose(m.is_(14, x, x), x, value)


def _sine(m: Arithmetic, x: ir.Value, quarter: int) -> ir.Value:
    """sin(x + quarter * pi/2), for arguments up to about 1e9."""
    kind = _integer(m)
    n = m("math.roundeven", m.mul(x, 2 / math.pi))
    r = x
    for part in _HALF_PI:
        r = m.fma(n, -part, r)
    z = m.mul(r, r)
    odd = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
    even = [(-1) ** k / math.factorial(2 * k) for k in range(10)]
    q = m("arith.addi", m("arith.fptosi", n, kind=kind), _whole(m, quarter), kind=kind)
    use_cosine = _bit(m, q, 1)
    value = m.choose(use_cosine, m.series(z, even), m.mul(r, m.series(z, odd)))
    return m.choose(_bit(m, q, 2), m.sub(0.0, value), value)


def _bit(m: Arithmetic, number: ir.Value, bit: int) -> ir.Value:
    kind = _integer(m)
    masked = m("arith.andi", number, _whole(m, bit), kind=kind)
    i1: ir.Type = ir.IntegerType.get_signless(1)
    if isinstance(m.kind, ir.VectorType):
        i1 = ir.VectorType.get(m.kind.shape, i1)
    i64 = ir.IntegerType.get_signless(64)
    return ir.Operation.create(
        "arith.cmpi",
        results=[i1],
        operands=[masked, _whole(m, 0)],
        attributes={"predicate": ir.IntegerAttr.get(i64, 1)},
    ).result


def expm1_f64(m: Arithmetic, x: ir.Value) -> ir.Value:
    small = m.mul(x, m.series(x, [1 / math.factorial(k + 1) for k in range(16)]))
    return m.choose(m.is_(_OLT, m.abs(x), 0.5), small, m.sub(m("math.exp", x), 1.0))


def log1p_f64(m: Arithmetic, x: ir.Value) -> ir.Value:
    u = m.add(x, 1.0)
    value = m.add(m("math.log", u), m.div(m.sub(x, m.sub(u, 1.0)), u))
    value = m.choose(m.is_(_OEQ, u, 1.0), x, value)
    return m.choose(m.is_(_OEQ, x, math.inf), x, value)


def pow_f64(m: Arithmetic, x: ir.Value, y: ir.Value) -> ir.Value:
    a = m.abs(x)
    value = m("math.exp", m.mul(y, m("math.log", a)))
    whole = m.is_(_OEQ, m("math.trunc", y), y)
    half = m.mul(y, 0.5)
    odd = m.is_(_OEQ, m("math.trunc", half), half)
    signed = m.choose(odd, value, m.with_sign(value, x))
    value = m.choose(m.is_(_OLT, x, 0.0), m.choose(whole, signed, math.nan), value)
    value = m.choose(m.is_(_OEQ, x, 1.0), 1.0, value)
    return m.choose(m.is_(_OEQ, y, 0.0), 1.0, value)


def erf_f64(m: Arithmetic, x: ir.Value) -> ir.Value:
    a = m.abs(x)
    bounded = m.choose(m.is_(_OGT, a, 6.0), 6.0, a)
    z = m.mul(bounded, bounded)
    # 2/sqrt(pi) exp(-x^2) x sum (2 x^2)^k / (2 k + 1)!!: all terms have one sign.
    coefficients, odd = [], 1.0
    for k in range(100):
        odd *= 2 * k + 1
        coefficients.append(2.0**k / odd)
    total = m.mul(bounded, m.series(z, coefficients))
    factor = m.mul(m("math.exp", m.sub(0.0, z)), 2 / math.sqrt(math.pi))
    value = m.choose(m.is_(_OGT, a, 5.9), 1.0, m.mul(total, factor))
    return m.choose(m.is_(14, x, x), x, m.with_sign(value, x))


EXPANSIONS_F64: dict[str, Expansion] = {
    **EXPANSIONS,
    "math.exp": exp_f64,
    "math.exp2": lambda m, x: m("math.exp", m.mul(x, math.log(2))),
    "math.expm1": expm1_f64,
    "math.log": log_f64,
    "math.log2": lambda m, x: m.mul(m("math.log", x), 1 / math.log(2)),
    "math.log1p": log1p_f64,
    "math.sin": lambda m, x: _sine(m, x, 0),
    "math.cos": lambda m, x: _sine(m, x, 1),
    "math.tanh": tanh,
    "math.powf": pow_f64,
    "math.erf": erf_f64,
    "math.rsqrt": lambda m, x: m.div(1.0, m.sqrt(x)),
}
"""By operation, for f64 alone: f32's are `math-to-polynomials`."""
