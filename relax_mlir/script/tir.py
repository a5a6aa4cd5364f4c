"""The `T` namespace: TensorIR in TVMScript.  `tirx` is the same module.

The names of loops, blocks and statements give forms (`relax_mlir.script.forms`), which the parser
carries out.  Every function and class of `relax_mlir.tir` is here as well: `T.exp`, `T.Select`,
`T.if_then_else`.  Spellings of other TVM versions are rows of `ALIASES`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.script.forms.blocks import (
    Axes,
    block,
    block_attr,
    init,
    opaque_axis,
    range_axis,
    reads,
    reduce_axis,
    scan_axis,
    where,
    writes,
)
from relax_mlir.script.forms.loops import (
    grid,
    parallel,
    serial,
    thread_binding,
    unroll,
    vectorized,
)
from relax_mlir.script.forms.macros import MacroDecorator
from relax_mlir.script.forms.statements import (
    assert_,
    attr,
    bind,
    buffer_store,
    env_thread,
    evaluate,
    func_attr,
    launch_thread,
    let_statement,
    meta_var,
)
from relax_mlir.script.forms.types import (
    BufferType,
    DType,
    HandleType,
    LetType,
    ScalarType,
    alloc_buffer,
    alloc_local,
    decl_buffer,
    match_buffer,
    var,
)
from relax_mlir.script.forms.views import allocate, allocate_const, preflattened_buffer, realize
from relax_mlir.script.parser.entry import FunctionDecorator, ir_module
from relax_mlir.script.parser.environment import calling_frame
from relax_mlir.tir import expr as _expr
from relax_mlir.tir.expr import IterVar, PrimExpr, Range, Var
from relax_mlir.tir.operators import cast as _cast

prim_func = FunctionDecorator(
    "T.prim_func",
    "relax_mlir.script.parser.prim_func:TirParser",
    {
        "private": False,
        "check_well_formed": True,
        "s_tir": True,
        "is_stir": True,
        "persistent": False,
    },
)
macro = MacroDecorator()
axis = Axes()
Buffer = BufferType()
handle = HandleType()
let = LetType()
Assert = assert_
LetStmt = let_statement

_SCALARS = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (1, 2, 4, 8, 16, 32, 64)),
    *("float16", "float32", "float64", "bfloat16", "bool"),
)
globals().update({name: ScalarType(name) for name in _SCALARS})
boolean = ScalarType("bool")
void = ScalarType("void")


def cast(value: Any, dtype: Any) -> PrimExpr:
    """`value` converted to `dtype`; `T.Cast` takes them the other way round, as in TVM."""
    return _cast(getattr(dtype, "dtype", dtype), value)


def let_expression(
    expr: PrimExpr | Var, where: Mapping[Var, Any] | Any, body: Any = None
) -> PrimExpr:
    """`T.Let(body, where={x: value})`, or `T.Let(x, value, body)` of older TVM."""
    if body is not None:
        if not isinstance(expr, Var):
            raise Error(f"T.Let(variable, value, body) takes a variable first, given {expr}")
        return _expr.Let(expr, where, body)
    result = expr
    for variable, value in reversed(list(where.items())):
        result = _expr.Let(variable, value, result)
    return result


def iter_var(var: Var, dom: Any, iter_type: str, thread_tag: str) -> IterVar:
    """An iteration variable as a value; `iter_type` is TVM's name such as "DataPar"."""
    rows = {
        "DataPar": IterVar.DataPar,
        "ThreadIndex": IterVar.ThreadIndex,
        "CommReduce": IterVar.CommReduce,
        "Ordered": IterVar.Ordered,
        "Opaque": IterVar.Opaque,
    }
    domain = Range(*dom) if isinstance(dom, (tuple, list)) else dom
    return IterVar(domain, var, rows[iter_type], thread_tag)


def index_map(mapping: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """An index map is its Python function."""
    return mapping


def target(config: Any, host: Any = None) -> Any:
    """A target in an attribute: its text or dictionary."""
    del host
    return config


ALIASES = {
    "sblock": "block",
    "sblock_attr": "block_attr",
    "sblock_alloc_buffer": "alloc_buffer",
    "buffer_decl": "decl_buffer",
    "buffer": "Buffer",
    "inline": "macro",
    "Ptr": "handle",
    "ptr": "handle",
    "buffer_var": "handle",
    "match_buffer_region": "match_buffer",
    "Let": "let_expression",
    "ramp": "Ramp",
    "broadcast": "Broadcast",
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
}
"""Other spelling -> the name here."""


_MEMORY = "relax_mlir.script.parser.memory_forms"
_PARSER = {"load": _MEMORY, "store": _MEMORY, "comm_reducer": _MEMORY}
"""Names that the parser itself carries out -> where they are."""

_VECTOR = re.compile(r"(u?int\d+|float\d+\w*?|bfloat16|bool)x(\d+)\Z")
_FLOATS = re.compile(r"float[48]_\w+\Z|float6_\w+\Z")


def __getattr__(name: str) -> Any:
    if name in ALIASES:
        own = globals().get(ALIASES[name])
        return __getattr__(ALIASES[name]) if own is None else own
    if _VECTOR.match(name) or _FLOATS.match(name):
        return ScalarType(name)
    from relax_mlir import tir

    if name in _PARSER:
        return getattr(importlib.import_module(_PARSER[name]), name)
    value = getattr(tir, name, None)
    if value is None or name.startswith("_") or isinstance(value, ModuleType):
        raise AttributeError(f"T has no '{name}'")
    if isinstance(value, FunctionType):
        value = _with_dtype_keyword(value)
    globals()[name] = value
    return value


def _with_dtype_keyword(function: Callable[..., Any]) -> Callable[..., Any]:
    """Older TVM names the result's dtype: `T.exp(x, dtype="float32")`.

    A function that needs it takes it first; for the others the operands tell.
    """
    parameters = list(inspect.signature(function).parameters)
    takes_dtype = "dtype" in parameters
    first = takes_dtype and parameters[0] == "dtype"

    @functools.wraps(function)
    def call(*args: Any, dtype: Any = None, **keywords: Any) -> Any:
        name = getattr(dtype, "dtype", dtype)
        args = tuple(a.dtype if isinstance(a, DType) else a for a in args)
        if first and name is not None:
            return function(name, *args, **keywords)
        if takes_dtype and name is not None:
            return function(*args, dtype=name, **keywords)
        return function(*args, **keywords)

    return call


class _Namespace(ModuleType):
    """The module, which the first TVMScript used as a decorator: `@tvm.script.tir`."""

    def __call__(self, definition: Any) -> Any:
        if isinstance(definition, type):
            return ir_module.decorate(definition, calling_frame())
        return prim_func(definition)


sys.modules[__name__].__class__ = _Namespace

__all__ = [
    "ALIASES",
    "Assert",
    "Buffer",
    "LetStmt",
    "alloc_buffer",
    "alloc_local",
    "allocate",
    "allocate_const",
    "attr",
    "axis",
    "bind",
    "block",
    "block_attr",
    "boolean",
    "buffer_store",
    "cast",
    "decl_buffer",
    "env_thread",
    "evaluate",
    "func_attr",
    "grid",
    "handle",
    "index_map",
    "init",
    "iter_var",
    "launch_thread",
    "let",
    "let_expression",
    "macro",
    "match_buffer",
    "meta_var",
    "opaque_axis",
    "parallel",
    "preflattened_buffer",
    "prim_func",
    "range_axis",
    "reads",
    "realize",
    "reduce_axis",
    "scan_axis",
    "serial",
    "target",
    "thread_binding",
    "unroll",
    "var",
    "vectorized",
    "void",
    "where",
    "writes",
]
