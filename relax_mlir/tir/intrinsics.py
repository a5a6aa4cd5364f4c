"""The intrinsic functions of TensorIR, as `tvm.tir` names them.

Each builds a `Call` (or folds); what a call becomes in MLIR is in `math_ops.py`.
"""

from __future__ import annotations

import builtins
import math as _math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import (
    Call,
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
    as_expr,
    canonical_dtype,
    lanes_of,
    scalar_dtype,
)

if TYPE_CHECKING:
    from relax_mlir.ir.function import GlobalVar


def _is_float(x: PrimExpr) -> bool:
    return dtypes.is_float(scalar_dtype(x.dtype))


def _need_float(name: str, *operands: PrimExpr) -> None:
    for x in operands:
        if not _is_float(x):
            raise Error(
                f"{name}: a float operand expected, given {x} of {x.dtype}",
                hint='cast it first: x.astype("float32")',
            )


def _unary_float(name: str) -> Callable[[Any], PrimExpr]:
    def build(x: Any) -> PrimExpr:
        x = as_expr(x)
        _need_float(name, x)
        return Call(x.dtype, name, [x])

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"`{name}(x)` of a float."
    return build


exp = _unary_float("exp")
exp2 = _unary_float("exp2")
exp10 = _unary_float("exp10")
log = _unary_float("log")
log2 = _unary_float("log2")
log10 = _unary_float("log10")
log1p = _unary_float("log1p")
sqrt = _unary_float("sqrt")
rsqrt = _unary_float("rsqrt")
sin = _unary_float("sin")
cos = _unary_float("cos")
tan = _unary_float("tan")
asin = _unary_float("asin")
acos = _unary_float("acos")
atan = _unary_float("atan")
sinh = _unary_float("sinh")
cosh = _unary_float("cosh")
tanh = _unary_float("tanh")
asinh = _unary_float("asinh")
acosh = _unary_float("acosh")
atanh = _unary_float("atanh")
erf = _unary_float("erf")
sigmoid = _unary_float("sigmoid")


def _rounding(name: str, python: Callable[[float], float]) -> Callable[[Any], PrimExpr]:
    def build(x: Any) -> PrimExpr:
        x = as_expr(x)
        if not _is_float(x):
            return x
        if isinstance(x, FloatImm) and _math.isfinite(x.value):
            return FloatImm(x.dtype, float(python(x.value)))
        return Call(x.dtype, name, [x])

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"`{name}(x)`; an integer comes back as it is."
    return build


floor = _rounding("floor", _math.floor)
ceil = _rounding("ceil", _math.ceil)
trunc = _rounding("trunc", _math.trunc)
round = _rounding("round", builtins.round)
nearbyint = _rounding("nearbyint", builtins.round)


def _binary_float(name: str) -> Callable[[Any, Any], PrimExpr]:
    def build(a: Any, b: Any) -> PrimExpr:
        a, b = O.promote(a, b)
        _need_float(name, a)
        return Call(a.dtype, name, [a, b])

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"`{name}(a, b)` of two floats."
    return build


pow = power = _binary_float("pow")
atan2 = _binary_float("atan2")
copysign = _binary_float("copysign")
hypot = _binary_float("hypot")
nextafter = _binary_float("nextafter")


def fmod(a: Any, b: Any) -> PrimExpr:
    """The remainder of `a / b` truncated, with the sign of `a`."""
    a, b = O.promote(a, b)
    return Call(a.dtype, "fmod", [a, b])


def ldexp(x: Any, exponent: Any) -> PrimExpr:
    """`x * 2**exponent`, of a float and an int32."""
    x, exponent = as_expr(x), as_expr(exponent)
    _need_float("ldexp", x)
    return Call(x.dtype, "ldexp", [x, O.cast("int32", exponent)])


def fabs(x: Any) -> PrimExpr:
    """The absolute value."""
    return O.abs(x)


def isnan(x: Any) -> PrimExpr:
    """Whether x is NaN; never, for an integer."""
    x = as_expr(x)
    if not _is_float(x):
        return O.const(False)
    if isinstance(x, FloatImm):
        return O.const(_math.isnan(x.value))
    lanes = lanes_of(x.dtype)
    return Call("bool" if lanes == 1 else f"boolx{lanes}", "isnan", [x])


def isinf(x: Any) -> PrimExpr:
    """Whether x is infinite; never, for an integer."""
    x = as_expr(x)
    if not _is_float(x):
        return O.const(False)
    infinite = O.equal(O.abs(x), infinity(x.dtype))
    return O.logical_and(infinite, O.logical_not(isnan(x)))


def isfinite(x: Any) -> PrimExpr:
    """Whether x is neither infinite nor NaN."""
    x = as_expr(x)
    return O.logical_and(O.logical_not(isinf(x)), O.logical_not(isnan(x)))


# -- limits -------------------------------------------------------------------------------------

# Largest finite value of each float dtype.
_FLOAT_MAX = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
    "float8_e4m3fn": 448.0,
    "float8_e4m3": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e4m3b11fnuz": 30.0,
    "float8_e3m4": 15.5,
    "float8_e8m0fnu": 2.0**127,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
    "float4_e2m1fn": 6.0,
}


def max_value(dtype: object) -> PrimExpr:
    """The largest finite value of a dtype."""
    name = canonical_dtype(dtype)
    if name in _FLOAT_MAX:
        return FloatImm(name, _FLOAT_MAX[name])
    return IntImm(name, O.integer_limits(name)[1])


def min_value(dtype: object) -> PrimExpr:
    """The smallest finite value of a dtype."""
    name = canonical_dtype(dtype)
    if name in _FLOAT_MAX:
        return FloatImm(name, -_FLOAT_MAX[name])
    return IntImm(name, O.integer_limits(name)[0])


def infinity(dtype: object) -> PrimExpr:
    """Infinity of a float dtype."""
    name = canonical_dtype(dtype)
    if not dtypes.is_float(scalar_dtype(name)):
        raise Error(f"infinity: a float dtype expected, given {name}")
    return O.const(_math.inf, name)


_HAVE_INFINITY = ("float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3")


def lowest(dtype: object) -> PrimExpr:
    """What a maximum starts from: minus infinity where the dtype has it.

    TVM starts from the smallest finite value, which is wrong for a row of minus infinities.
    """
    name = canonical_dtype(dtype)
    return FloatImm(name, -_math.inf) if name in _HAVE_INFINITY else min_value(name)


def highest(dtype: object) -> PrimExpr:
    """What a minimum starts from: infinity where the dtype has it."""
    name = canonical_dtype(dtype)
    return FloatImm(name, _math.inf) if name in _HAVE_INFINITY else max_value(name)


# -- control ------------------------------------------------------------------------------------


def if_then_else(cond: Any, t: Any, f: Any) -> PrimExpr:
    """`t if cond else f`; only the taken value is evaluated."""
    condition = as_expr(cond)
    if scalar_dtype(condition.dtype) != "bool":
        raise Error(f"if_then_else: a condition of dtype bool expected, given {condition.dtype}")
    t, f = O.promote(t, f)
    if isinstance(condition, IntImm):
        return t if condition.value else f
    return Call(t.dtype, "if_then_else", [condition, t, f])


def likely(cond: Any) -> PrimExpr:
    """The condition, marked as probably true."""
    condition = as_expr(cond)
    return condition if isinstance(condition, IntImm) else Call("bool", "likely", [condition])


def all(*conditions: Any) -> PrimExpr:
    """Conjunction of conditions."""
    return _join("all", O.logical_and, conditions)


def any(*conditions: Any) -> PrimExpr:
    """Disjunction of conditions."""
    return _join("any", O.logical_or, conditions)


def _join(name: str, join: Callable[[Any, Any], PrimExpr], conditions: tuple[Any, ...]) -> PrimExpr:
    if not conditions:
        raise Error(f"{name}: at least one condition expected")
    result = as_expr(conditions[0])
    for condition in conditions[1:]:
        result = join(result, condition)
    return result


# -- bits ---------------------------------------------------------------------------------------


def popcount(x: Any) -> PrimExpr:
    """The number of one bits of an integer."""
    x = as_expr(x)
    return Call(x.dtype, "popcount", [x])


def clz(x: Any) -> PrimExpr:
    """The number of leading zero bits of an integer, as int32."""
    x = as_expr(x)
    return O.cast("int32", Call(x.dtype, "clz", [x]))


def reinterpret(dtype: object, value: Any) -> PrimExpr:
    """The bits of `value` read as another dtype of the same width; a byte holds a dtype of fewer
    bits in its lowest ones."""
    value, name = as_expr(value), canonical_dtype(dtype)
    if value.dtype == name:
        return value
    given, wanted = dtypes.bits(scalar_dtype(value.dtype)), dtypes.bits(scalar_dtype(name))
    if lanes_of(name) == lanes_of(value.dtype) == 1 and {given, wanted} in ({4, 8}, {6, 8}):
        if wanted < given:
            return reinterpret(name, O.cast(f"uint{wanted}", value))
        if wanted > given:
            return reinterpret(name, O.cast("uint8", reinterpret(f"uint{given}", value)))
    widths = [dtypes.bits(scalar_dtype(d)) * lanes_of(d) for d in (name, value.dtype)]
    if widths[0] != widths[1]:
        raise Error(f"reinterpret: {value.dtype} and {name} differ in width")
    return Call(name, "reinterpret", [value])


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> PrimExpr:
    """`round(x * y * 2**-q * 2**s)` of int32 fixed-point numbers."""
    return Call("int32", "q_multiply_shift", [x, y, q, s])


# -- calls --------------------------------------------------------------------------------------


def call_extern(dtype: object, func_name: str, *args: Any) -> PrimExpr:
    """Call a C function; arguments are passed by value."""
    return Call(dtype, "call_extern", [StringImm(func_name), *args])


def call_pure_extern(dtype: object, func_name: str, *args: Any) -> PrimExpr:
    """Call a C function without side effects."""
    return Call(dtype, "call_pure_extern", [StringImm(func_name), *args])


def call_tir(global_var: GlobalVar, *args: Any) -> PrimExpr:
    """Call another TensorIR function of the module, for its effects."""
    return Call("void", "call_function", [StringImm(global_var.name_hint), *args])


def call_packed(func_name: str, *args: Any) -> PrimExpr:
    """Call a registered packed function, whose result is an int32."""
    return Call("int32", "call_packed", [StringImm(func_name), *args])


def call_kernel(source: str, launch_args: Any, *args: Any, kernel_name: str = "") -> PrimExpr:
    """Call a kernel that is given as source text for a compiler of GPU kernels.

    launch_args: the grid and the thread block, `((ceildiv(n, 64),), (64,))`.  Raises Error for a
    kernel that is not text, without a name, or with other launch arguments.
    """
    if not isinstance(source, (str, StringImm)):
        raise Error(f"call_kernel: the source expected as text, given a {type(source).__name__}")
    if not kernel_name:
        raise Error("call_kernel: kernel_name= expected, the function to call in the source")
    sizes = [list(s) if isinstance(s, (list, tuple)) else [s] for s in launch_args]
    if len(sizes) != 2 or not {len(s) for s in sizes} <= {1, 2, 3}:
        raise Error("call_kernel: a grid and a thread block of one to three sizes each expected")
    first = [as_expr(source), as_expr(kernel_name), *(IntImm("int32", len(s)) for s in sizes)]
    return Call("void", "call_kernel", [*first, *sizes[0], *sizes[1], *args])


def call_intrin(dtype: object, func_name: str, *args: Any) -> PrimExpr:
    """Call an intrinsic by name."""
    return Call(dtype, str(func_name), args)
