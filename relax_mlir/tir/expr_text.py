"""Expressions as TVMScript text, spelled and parenthesised as TVM does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir import expr as E
from relax_mlir.tir.buffer import BufferRegion
from relax_mlir.tir.lanes import Scalable
from relax_mlir.tir.low_level import DTYPE_FIRST, INTRINSICS, dtype_of_result
from relax_mlir.tir.operators import BINARY_FUNCTIONS, lane_count

_ATOM = 20
# Operator text and precedence, Python's; comparisons do not chain.
_INFIX: dict[type[E.PrimExpr], tuple[str, int]] = {
    E.Or: ("or", 1),
    E.And: ("and", 2),
    E.EQ: ("==", 4),
    E.NE: ("!=", 4),
    E.LT: ("<", 4),
    E.LE: ("<=", 4),
    E.GT: (">", 4),
    E.GE: (">=", 4),
    E.Add: ("+", 9),
    E.Sub: ("-", 9),
    E.Mul: ("*", 10),
    E.FloorDiv: ("//", 10),
    E.FloorMod: ("%", 10),
}
_INFIX_CALLS = {
    "bitwise_or": ("|", 5),
    "bitwise_xor": ("^", 6),
    "bitwise_and": ("&", 7),
    "shift_left": ("<<", 8),
    "shift_right": (">>", 8),
}
_FUNCTIONS: dict[type[E.PrimExpr], str] = {E.Min: "min", E.Max: "max", E.Mod: "truncmod"}
_COMPARE = 4


def expr_text(expr: Any) -> str:
    """The TVMScript text of an expression or region."""
    if isinstance(expr, BufferRegion):
        return region_text(expr)
    return _text(expr)[0]


def constant_text(dtype: str, value: float | bool | int) -> str:
    """A constant: `3`, `T.int64(3)`, `T.float32(0.5)`, `T.bool(True)`, `T.float32("inf")`."""
    if dtype == "bool":
        return f"T.bool({bool(value)})"
    if isinstance(value, int):
        return str(value) if dtype == "int32" else f"T.{dtype}({value})"
    if not math.isfinite(value):
        return f'T.{dtype}("{value}")'
    digits = f"{value:.1f}" if value == math.floor(value) else f"{value:.17g}"
    return f"T.{dtype}({digits})"


def region_text(region: BufferRegion) -> str:
    """A region: `A[i, 0:4]`."""
    parts: list[str] = []
    for one in region.region:
        if isinstance(one.extent, E.IntImm) and one.extent.value == 1:
            parts.append(expr_text(one.min))
        else:
            parts.append(f"{expr_text(one.min)}:{expr_text(one.min + one.extent)}")
    return f"{region.buffer.name}[{', '.join(parts) or '()'}]"


def _text(expr: E.PrimExpr) -> tuple[str, int]:
    """The text and the precedence of its outermost operator."""
    if isinstance(expr, E.BinaryExpr) and _folds(expr):
        return f"T.{type(expr).__name__}({expr_text(expr.a)}, {expr_text(expr.b)})", _ATOM
    infix = _INFIX.get(type(expr))
    if infix is None and isinstance(expr, E.Call):
        infix = _INFIX_CALLS.get(expr.op)
    if infix is not None:
        return _infix(expr, *infix)
    for kind, write in _WRITERS.items():
        if isinstance(expr, kind):
            return write(expr)
    if isinstance(expr, E.BinaryExpr):
        if isinstance(expr, E.Div):
            return _divide(expr)
        return f"T.{_FUNCTIONS[type(expr)]}({expr_text(expr.a)}, {expr_text(expr.b)})", _ATOM
    raise TypeError(f"no text for a {type(expr).__name__}")


def _folds(expr: E.BinaryExpr) -> bool:
    """True when the operator would give a simpler expression: then the node is spelled by name."""
    if not isinstance(expr.a, _CONSTANTS) and not isinstance(expr.b, _CONSTANTS):
        return False
    try:
        return not isinstance(BINARY_FUNCTIONS[type(expr)](expr.a, expr.b), type(expr))
    except Error:  # it divides by zero
        return True


_CONSTANTS = (E.IntImm, E.FloatImm)


def _infix(expr: Any, symbol: str, level: int) -> tuple[str, int]:
    left, right = E.children(expr)
    left_level = level + 1 if level == _COMPARE else level
    return f"{_operand(left, left_level)} {symbol} {_operand(right, level + 1)}", level


def _operand(expr: E.PrimExpr, least: int) -> str:
    text, level = _text(expr)
    return text if level >= least else f"({text})"


def _divide(expr: E.Div) -> tuple[str, int]:
    if expr.dtype.startswith(("float", "bfloat")):
        return _infix(expr, "/", 10)
    return f"T.Div({expr_text(expr.a)}, {expr_text(expr.b)})", _ATOM


def _load(name: str, indices: tuple[E.PrimExpr, ...]) -> str:
    return f"{name}[{', '.join(expr_text(i) for i in indices) or '()'}]"


def _call(expr: E.Call) -> tuple[str, int]:
    # A packed function gets a buffer as a tensor, others get its address.
    packed = expr.op in ("call_packed", "tvm_call_packed")
    arguments = [
        a.buffer.name if packed and isinstance(a, E.BufferRef) else expr_text(a) for a in expr.args
    ]
    if expr.op == "masked_load" and isinstance(expr.args[0], E.BufferLoad):
        load = expr.args[0]
        indices = ", ".join(expr_text(i) for i in load.indices)
        return f"{load.buffer.name}.vload([{indices}], predicate={arguments[1]})", _ATOM
    if expr.op == "call_kernel":
        return _kernel(expr, arguments), _ATOM
    if expr.op == "bitwise_not":
        return f"~{_operand(expr.args[0], 11)}", 11
    if expr.op == "call_function":
        callee = expr.args[0]
        assert isinstance(callee, E.StringImm)
        return f"{callee.value}({', '.join(arguments[1:])})", _ATOM
    if packed and expr.dtype != "int32":
        callee = 'tvm.ir.Op.get("tir.tvm_call_packed")'
        return f'T.Call("{expr.dtype}", {callee}, [{", ".join(arguments)}])', _ATOM
    if expr.op in DTYPE_FIRST:
        arguments.insert(0, f'"{expr.dtype}"')
    elif expr.op == "tvm_struct_get":
        arguments.append(f'"{expr.dtype}"')
    elif expr.op in INTRINSICS and dtype_of_result(expr.op, expr.args) != expr.dtype:
        arguments.append(f'dtype="{expr.dtype}"')
    elif expr.op not in INTRINSICS and not _has_function(expr.op):
        arguments = [f'"{expr.dtype}"', f'"{expr.op}"', *arguments]
        return f"T.call_intrin({', '.join(arguments)})", _ATOM
    return f"T.{expr.op}({', '.join(arguments)})", _ATOM


def _has_function(op: str) -> bool:
    """Whether `T` has a function of that name."""
    from relax_mlir import tir

    return hasattr(tir, op)


def _kernel(expr: E.Call, arguments: list[str]) -> str:
    """`T.call_kernel(source, ((4,), (64,)), A.data, n, kernel_name="f")`"""
    source, name, grid, _, *rest = arguments
    dims = [d.value if isinstance(d, E.IntImm) else 0 for d in expr.args[2:4]]
    sizes = rest[: int(grid)], rest[int(grid) : sum(dims)]
    launch = ", ".join(f"({', '.join(s)},)" for s in sizes)
    given = ", ".join([source, f"({launch})", *rest[sum(dims) :]])
    return f"T.call_kernel({given}, kernel_name={name})"


def _let(expr: E.Let) -> tuple[str, int]:
    value, body = expr_text(expr.value), expr_text(expr.body)
    return f"T.Let({body}, where={{{expr.var.name}: {value}}})", _ATOM


def _select(expr: E.Select) -> tuple[str, int]:
    return f"T.Select({', '.join(expr_text(c) for c in E.children(expr))})", _ATOM


def _reduce(expr: E.Reduce) -> tuple[str, int]:
    source = ", ".join(expr_text(s) for s in expr.source)
    axes = ", ".join(repr(a) for a in expr.axis)
    return f"T.reduce([{source}], axis=[{axes}], value_index={expr.value_index})", _ATOM


def _lanes(lanes: int) -> str:
    return expr_text(lane_count(lanes)) if isinstance(lanes, Scalable) else str(lanes)


def _ramp(expr: E.Ramp) -> tuple[str, int]:
    base, stride = expr_text(expr.base), expr_text(expr.stride)
    return f"T.Ramp({base}, {stride}, {_lanes(expr.lanes)})", _ATOM


def _shuffle(expr: E.Shuffle) -> tuple[str, int]:
    vectors = ", ".join(expr_text(v) for v in expr.vectors)
    # A plain number is a lane, whatever dtype indices have.
    lanes = ", ".join(
        str(i.value) if isinstance(i, E.IntImm) else expr_text(i) for i in expr.indices
    )
    return f"T.Shuffle([{vectors}], [{lanes}])", _ATOM


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_WRITERS: dict[type[E.PrimExpr], Callable[[Any], tuple[str, int]]] = {
    E.Var: lambda e: (e.name, _ATOM),
    E.IntImm: lambda e: (constant_text(e.dtype, e.value), _ATOM),
    E.FloatImm: lambda e: (constant_text(e.dtype, e.value), _ATOM),
    E.StringImm: lambda e: ('"' + e.value.translate(_ESCAPES) + '"', _ATOM),
    E.Cast: lambda e: (f'T.Cast("{e.dtype}", {expr_text(e.value)})', _ATOM),
    E.Not: lambda e: (f"not {_operand(e.a, 3)}", 3),
    E.Select: _select,
    E.BufferLoad: lambda e: (_load(e.buffer.name, e.indices), _ATOM),
    E.BufferRef: lambda e: (f"{e.buffer.name}.data", _ATOM),
    E.ProducerLoad: lambda e: (_load(e.producer.name, e.indices), _ATOM),
    E.Call: _call,
    E.Let: _let,
    E.Ramp: _ramp,
    E.Broadcast: lambda e: (f"T.Broadcast({expr_text(e.value)}, {_lanes(e.lanes)})", _ATOM),
    E.Shuffle: _shuffle,
    E.Reduce: _reduce,
}
