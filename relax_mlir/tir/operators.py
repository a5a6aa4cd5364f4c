"""The operators on scalar expressions: type promotion and constant folding as TVM does them.

Python numbers become int32, int64 or float32 constants first; then the two operands are promoted
to one dtype; then constants and neutral elements fold.
"""

from __future__ import annotations

import builtins
import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Select,
    Sub,
    as_expr,
    canonical_dtype,
    lanes_of,
    scalar_dtype,
)
from relax_mlir.tir.lanes import Scalable

Number = int | float


# -- constants ----------------------------------------------------------------------------------


def const(value: Any, dtype: object | None = None) -> PrimExpr:
    """A constant.  Without `dtype`: bool, int32 (int64 if it does not fit) or float32.

    Raises Error if the value does not fit an integer dtype.
    """
    if isinstance(value, PrimExpr):
        return value if dtype is None else cast(dtype, value)
    if hasattr(value, "item"):  # numpy scalars keep their dtype
        dtype = str(value.dtype) if dtype is None else dtype
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise Error(f"cannot make an expression of a {type(value).__name__}: {value!r}")
    name = canonical_dtype(dtype) if dtype is not None else _default_dtype(value)
    if lanes_of(name) > 1:
        return Broadcast(const(value, scalar_dtype(name)), lanes_of(name))
    if dtypes.is_float(name):
        return FloatImm(name, float(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise Error(f"{value} has no value of dtype {name}")
    number = int(bool(value)) if name == "bool" else int(value)
    low, high = integer_limits(name)
    if not low <= number <= high:
        raise Error(f"literal {number} does not fit {name}, whose range is [{low}, {high}]")
    return IntImm(name, number)


def _default_dtype(value: Number) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(2**31) <= value < 2**31 else "int64"
    return "float32"


def convert(value: Any) -> Any:
    """Python numbers, strings and (nested) lists of them as expressions."""
    if isinstance(value, (list, tuple)):
        return [convert(v) for v in value]
    return as_expr(value)


@cache
def integer_limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer dtype (or bool)."""
    if dtype == "bool":
        return 0, 1
    if dtype == "handle":
        return 0, 2**64 - 1
    bits = dtypes.bits(dtype)
    if dtypes.is_unsigned(dtype):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _wrap(dtype: str, value: int) -> int:
    low, high = integer_limits(dtype)
    return (value - low) % (high - low + 1) + low


def _round(dtype: str, value: float) -> float:
    """Fold results of float32 and float16 are rounded to their precision."""
    code = {"float32": "f", "float16": "e"}.get(dtype)
    if code is None or not math.isfinite(value):
        return value
    try:
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _constant(expr: PrimExpr) -> Number | None:
    return expr.value if isinstance(expr, (IntImm, FloatImm)) else None


def _make(dtype: str, value: Number) -> PrimExpr:
    if dtypes.is_float(dtype):
        return FloatImm(dtype, _round(dtype, float(value)))
    return IntImm(dtype, _wrap(dtype, int(value)))


# -- promotion ----------------------------------------------------------------------------------


def cast(dtype: object, value: Any) -> PrimExpr:
    """`value` converted to `dtype`; constants fold, and no cast to the same dtype is made."""
    name, value = canonical_dtype(dtype), as_expr(value)
    if value.dtype == name:
        return value
    if lanes_of(name) != lanes_of(value.dtype):
        if lanes_of(value.dtype) != 1:
            raise Error(f"cannot cast {value.dtype} to {name}: the numbers of lanes differ")
        return Broadcast(cast(scalar_dtype(name), value), lanes_of(name))
    known = _constant(value)
    if known is None or (not math.isfinite(known) and not dtypes.is_float(name)):
        return Cast(name, value)
    if dtypes.is_float(name):
        return FloatImm(name, float(known))
    return IntImm(name, int(known != 0) if name == "bool" else _wrap(name, int(known)))


def promote(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Both operands in their common dtype.  Raises Error if there is none."""
    a, b = as_expr(a), as_expr(b)
    if a.dtype == b.dtype:
        return a, b
    lanes_a, lanes_b = lanes_of(a.dtype), lanes_of(b.dtype)
    if lanes_a == 1 and lanes_b > 1:
        a = Broadcast(a, lanes_b)
    elif lanes_b == 1 and lanes_a > 1:
        b = Broadcast(b, lanes_a)
    elif lanes_a != lanes_b:
        raise Error(f"cannot combine {a.dtype} and {b.dtype}: the numbers of lanes differ")
    lanes = lanes_b if lanes_a == 1 else lanes_a
    common = common_dtype(scalar_dtype(a.dtype), scalar_dtype(b.dtype))
    target = common if lanes == 1 else f"{common}x{lanes}"
    return cast(target, a), cast(target, b)


def common_dtype(a: str, b: str) -> str:
    """The dtype two scalar operands are promoted to: floats win, then the wider, then uint."""
    if a == b:
        return a
    if "handle" in (a, b):
        raise Error(f"cannot combine operands of dtype {a} and {b}")
    float_a, float_b = dtypes.is_float(a), dtypes.is_float(b)
    if float_a != float_b:
        return a if float_a else b
    bits_a = 1 if a == "bool" else dtypes.bits(a)
    bits_b = 1 if b == "bool" else dtypes.bits(b)
    if bits_a != bits_b:
        return a if bits_a > bits_b else b
    if float_a:
        raise Error(f"cannot combine operands of dtype {a} and {b}: cast one of them first")
    return a if dtypes.is_unsigned(a) else b


# -- lanes ------------------------------------------------------------------------------------


def as_lanes(lanes: Any) -> int:
    """A number of lanes: an integer, or Scalable of `4 * T.vscale()`.  Raises Error."""
    if isinstance(lanes, (int, IntImm)):
        return lanes if isinstance(lanes, Scalable) else int(lanes)
    factor, scales, rest = 1, 0, [lanes]
    while rest:
        part = rest.pop()
        if isinstance(part, Mul):
            rest += [part.a, part.b]
        elif isinstance(part, IntImm):
            factor *= part.value
        elif isinstance(part, Call) and part.op == "vscale":
            scales += 1
        else:
            scales = -1
            break
    if scales != 1 or factor < 1:
        message = "a vector has a constant number of lanes, or one times T.vscale()"
        raise Error(f"{message}, not {lanes}")
    return Scalable(factor)


def lane_count(lanes: int) -> Any:
    """A number of lanes as a number or, of scalable ones, as an expression."""
    return Mul(Call("int32", "vscale", ()), int(lanes)) if isinstance(lanes, Scalable) else lanes


# -- arithmetic ---------------------------------------------------------------------------------

Fold = Callable[[PrimExpr, PrimExpr], "PrimExpr | None"]


def _is(expr: PrimExpr, value: int) -> bool:
    return isinstance(expr, (IntImm, FloatImm)) and expr.value == value


def _fold_add(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    return b if _is(a, 0) else a if _is(b, 0) else None


def _fold_subtract(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    return a if _is(b, 0) else None


def _fold_multiply(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    if _is(a, 1) or _is(b, 0):
        return b
    return a if _is(b, 1) or _is(a, 0) else None


def _fold_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    if _is(b, 0):
        raise Error(f"division by zero: {a} / {b}")
    return a if _is(a, 0) or _is(b, 1) else None


def _fold_modulo(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    if _is(b, 0):
        raise Error(f"division by zero: {a} % {b}")
    return a if _is(a, 0) else IntImm(a.dtype, 0) if _is(b, 1) else None


def _fold_same(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    return a if a is b else None


def _truncdiv(a: int, b: int) -> int:
    return builtins.abs(a) // builtins.abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _binary(
    kind: type[BinaryExpr], python: Callable[[Any, Any], Any], neutral: Fold, integers: bool = False
) -> Callable[[Any, Any], PrimExpr]:
    def build(a: Any, b: Any) -> PrimExpr:
        a, b = promote(a, b)
        if integers and dtypes.is_float(scalar_dtype(a.dtype)):
            raise Error(f"{kind.__name__}: integers expected, given {a.dtype}: {a}, {b}")
        folded = neutral(a, b)
        if folded is not None:
            return folded
        left, right = _constant(a), _constant(b)
        if left is None or right is None:
            return kind(a, b)
        return _make(a.dtype, python(left, right))

    return build


def _div(a: Number, b: Number) -> Number:
    return _truncdiv(a, b) if isinstance(a, int) and isinstance(b, int) else a / b


add = _binary(Add, lambda a, b: a + b, _fold_add)
subtract = _binary(Sub, lambda a, b: a - b, _fold_subtract)
multiply = _binary(Mul, lambda a, b: a * b, _fold_multiply)
div = _binary(Div, _div, _fold_divide)
truncdiv = _binary(Div, _div, _fold_divide, integers=True)
truncmod = _binary(Mod, lambda a, b: a - _truncdiv(a, b) * b, _fold_modulo, integers=True)
floordiv = _binary(FloorDiv, lambda a, b: a // b, _fold_divide, integers=True)
floormod = _binary(FloorMod, lambda a, b: a % b, _fold_modulo, integers=True)
indexdiv, indexmod = floordiv, floormod


def _nan_or(choose: Callable[[Number, Number], Number]) -> Callable[[Number, Number], Number]:
    return lambda a, b: a if a != a else b if b != b else choose(a, b)


max = _binary(Max, _nan_or(lambda a, b: a if a >= b else b), _fold_same)
min = _binary(Min, _nan_or(lambda a, b: a if a <= b else b), _fold_same)


def true_divide(a: Any, b: Any) -> PrimExpr:
    """`a / b` of floats; Error on two integers, where the kind of division is open."""
    a, b = as_expr(a), as_expr(b)
    if not any(dtypes.is_float(scalar_dtype(e.dtype)) for e in (a, b)):
        raise Error(
            f"the division {a} / {b} of integers is ambiguous",
            hint="use // (floordiv), truncdiv or div, or cast to a float dtype first",
        )
    return div(a, b)


def ceildiv(a: Any, b: Any) -> PrimExpr:
    """`(a + b - 1) // b`."""
    return floordiv(subtract(add(a, b), 1), b)


def negate(a: Any) -> PrimExpr:
    """`a * -1`, as TVM spells it."""
    a = as_expr(a)
    return multiply(a, const(-1, a.dtype))


# -- comparisons and logic ----------------------------------------------------------------------


def _comparison(
    kind: type[BinaryExpr], python: Callable[[Any, Any], bool]
) -> Callable[[Any, Any], PrimExpr]:
    def build(a: Any, b: Any) -> PrimExpr:
        a, b = promote(a, b)
        left, right = _constant(a), _constant(b)
        if left is None or right is None:
            return kind(a, b)
        return IntImm("bool", python(left, right))

    return build


equal = _comparison(EQ, lambda a, b: a == b)
not_equal = _comparison(NE, lambda a, b: a != b)
less = _comparison(LT, lambda a, b: a < b)
less_equal = _comparison(LE, lambda a, b: a <= b)
greater = _comparison(GT, lambda a, b: a > b)
greater_equal = _comparison(GE, lambda a, b: a >= b)


def _as_bool(value: Any) -> PrimExpr:
    value = as_expr(value)
    if scalar_dtype(value.dtype) != "bool":
        raise Error(f"a condition of dtype bool expected, given {value.dtype}: {value}")
    return value


def logical_and(a: Any, b: Any) -> PrimExpr:
    """`a and b`."""
    a, b = _as_bool(a), _as_bool(b)
    for known, other in ((a, b), (b, a)):
        if isinstance(known, IntImm):
            return other if known.value else known
    return And(a, b)


def logical_or(a: Any, b: Any) -> PrimExpr:
    """`a or b`."""
    a, b = _as_bool(a), _as_bool(b)
    for known, other in ((a, b), (b, a)):
        if isinstance(known, IntImm):
            return known if known.value else other
    return Or(a, b)


def logical_not(a: Any) -> PrimExpr:
    """`not a`."""
    a = _as_bool(a)
    return IntImm("bool", not a.value) if isinstance(a, IntImm) else Not(a)


def select(condition: Any, true_value: Any, false_value: Any) -> PrimExpr:
    """`Select` after promoting the two values; a known condition folds."""
    condition = _as_bool(condition)
    true_value, false_value = promote(true_value, false_value)
    if isinstance(condition, IntImm):
        return true_value if condition.value else false_value
    return Select(condition, true_value, false_value)


def abs(x: Any) -> PrimExpr:
    """The absolute value: a select on integers, `fabs` on floats."""
    x = as_expr(x)
    known = _constant(x)
    if known is not None:
        return _make(x.dtype, known if known >= 0 else -known)
    if dtypes.is_float(scalar_dtype(x.dtype)):
        return Call(x.dtype, "fabs", [x])
    if dtypes.is_unsigned(scalar_dtype(x.dtype)):
        return x
    zero = const(0, x.dtype)
    return Select(greater_equal(x, zero), x, subtract(zero, x))


# -- bits ---------------------------------------------------------------------------------------


def _bitwise(name: str, python: Callable[[int, int], int]) -> Callable[[Any, Any], PrimExpr]:
    def build(a: Any, b: Any) -> PrimExpr:
        a, b = promote(a, b)
        if dtypes.is_float(scalar_dtype(a.dtype)):
            raise Error(f"{name}: integers expected, given {a.dtype}")
        if isinstance(a, IntImm) and isinstance(b, IntImm) and a.dtype != "bool":
            if name.startswith("shift") and not 0 <= b.value < dtypes.bits(a.dtype):
                raise Error(f"{name}: shift amount {b.value} out of range for {a.dtype}")
            return _make(a.dtype, python(a.value, b.value))
        return Call(a.dtype, name, [a, b])

    return build


bitwise_and = _bitwise("bitwise_and", lambda a, b: a & b)
bitwise_or = _bitwise("bitwise_or", lambda a, b: a | b)
bitwise_xor = _bitwise("bitwise_xor", lambda a, b: a ^ b)
shift_left = _bitwise("shift_left", lambda a, b: a << b)
shift_right = _bitwise("shift_right", lambda a, b: a >> b)


def bitwise_not(a: Any) -> PrimExpr:
    """`~a` of an integer or bool."""
    a = as_expr(a)
    if dtypes.is_float(scalar_dtype(a.dtype)):
        raise Error(f"bitwise_not: an integer expected, given {a.dtype}")
    return Call(a.dtype, "bitwise_not", [a])


BINARY_FUNCTIONS: dict[type[PrimExpr], Callable[[Any, Any], PrimExpr]] = {
    Add: add,
    Sub: subtract,
    Mul: multiply,
    Div: div,
    Mod: truncmod,
    FloorDiv: floordiv,
    FloorMod: floormod,
    Min: min,
    Max: max,
    EQ: equal,
    NE: not_equal,
    LT: less,
    LE: less_equal,
    GT: greater,
    GE: greater_equal,
    And: logical_and,
    Or: logical_or,
}
"""The folding function of each binary node."""
