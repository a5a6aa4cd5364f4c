"""A TensorIR function for some values of its sizes and scalar parameters."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc, above
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import FloatImm, IntImm, Var, as_expr

if TYPE_CHECKING:
    from relax_mlir.tir.function import PrimFunc

__all__ = ["specialize"]

_Number = IntImm | FloatImm


def specialize(func: PrimFunc, param_map: Mapping[Any, Any]) -> BaseFunc:
    """The function with variables replaced by numbers.

    `param_map` gives a scalar parameter or a symbol of the shapes a number, or a buffer parameter
    a buffer of constant sizes, from which its symbols follow; variables may be given by name.
    Scalar parameters that have a value are parameters no more.  Raises Error for variables that
    the function has not, and for sizes that do not fit.
    """
    values: dict[str, _Number] = {}
    buffers: Mapping[Any, Buffer] = func.buffer_map
    for key, value in param_map.items():
        name = str(getattr(key, "name", key))
        if isinstance(value, Buffer):
            _bind_buffer(_buffer(buffers, name), value, values)
        else:
            _bind(values, name, value)
    return _with_values(func, values)


def _buffer(buffers: Mapping[Any, Buffer], name: str) -> Buffer:
    for var, buffer in buffers.items():
        if name in (str(var.name), buffer.name):
            return buffer
    known = ", ".join(buffer.name for buffer in buffers.values()) or "none"
    raise Error(f"the function has no buffer '{name}'; it has {known}")


def _bind_buffer(own: Buffer, given: Buffer, values: dict[str, _Number]) -> None:
    if len(own.shape) != len(given.shape) or own.dtype != given.dtype:
        raise Error(f"{given} is no {own}: rank and dtype must be the same")
    for axis, (size, number) in enumerate(zip(own.shape, given.shape, strict=True)):
        known = as_expr(number)
        if isinstance(size, Var):
            _bind(values, size.name, known)
        elif isinstance(size, IntImm) and isinstance(known, IntImm) and size.value != known.value:
            raise Error(f"dimension {axis} of '{own.name}' is {size}, not {number}")


def _bind(values: dict[str, _Number], name: str, given: Any) -> None:
    value = as_expr(given)
    if not isinstance(value, (IntImm, FloatImm)):
        raise Error(f"'{name}' is given a number, not {given}")
    if name in values and values[name].value != value.value:
        raise Error(f"'{name}' cannot be both {values[name]} and {value}")
    values[name] = value


def _with_values(func: BaseFunc, values: Mapping[str, _Number]) -> BaseFunc:
    """The function read again, its text without the parameters and declarations of `values`."""
    tree = ast.parse(func.script())
    definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    found: set[str] = set()
    parameters: list[ast.arg] = []
    for parameter in definition.args.args:
        if parameter.arg in values:
            found.add(parameter.arg)
        else:
            parameters.append(parameter)
    definition.args.args = parameters
    body: list[ast.stmt] = []
    for statement in definition.body:
        declared = _declared(statement)
        kept = {name: call for name, call in declared.items() if name not in values}
        found.update(declared.keys() - kept.keys())
        if len(kept) < len(declared):
            body += [ast.Assign([ast.Name(name)], call, lineno=0) for name, call in kept.items()]
        else:
            body.append(statement)
    unknown = [name for name in values if name not in found]
    if unknown:
        raise Error(f"the function has no variable '{unknown[0]}'")
    definition.body = body
    return above("script").from_source(ast.unparse(tree), extra_vars=dict(values))


def _declared(statement: ast.stmt) -> dict[str, ast.expr]:
    """The symbols that `n, m = T.int64(), T.int64()` declares, with what makes them."""
    if not isinstance(statement, ast.Assign):
        return {}
    target, value = statement.targets[0], statement.value
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    calls = value.elts if isinstance(value, ast.Tuple) else [value]
    if any(ast.unparse(call) not in ("T.int64()", "T.int32()") for call in calls):
        return {}
    return {ast.unparse(name): call for name, call in zip(names, calls, strict=True)}
