"""Statements and scopes that are neither loops nor blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relax_mlir.script.forms.blocks import AxisBindingForm, OpenAxis
from relax_mlir.tir.expr import Var
from relax_mlir.tir.expr_op import ExprOp


@dataclass
class FuncAttrForm:
    """`T.func_attr({...})`."""

    attributes: Mapping[str, Any]


@dataclass
class EvaluateForm:
    """`T.evaluate(value)`."""

    value: Any


@dataclass
class StoreForm:
    """`T.buffer_store(buffer, value, indices)` and `A.vstore(...)`."""

    buffer: Any
    value: Any
    indices: Any
    predicate: Any = None


@dataclass
class AssertForm:
    """`T.Assert(condition, message)`."""

    condition: Any
    message: str


@dataclass
class AttrForm:
    """`T.attr(node, key, value)`: an attribute of everything that follows in its scope."""

    node: Any
    attributes: Mapping[str, Any]


@dataclass
class LetForm:
    """`T.LetStmt(value, var=...)`, `T.let(var, value)`: a name for a value."""

    value: Any
    var: Var | None = None


@dataclass(eq=False)
class ThreadForm(ExprOp):
    """`T.env_thread("threadIdx.x")`: expressions may name it before it is launched."""

    tag: str
    var: Var

    @property
    def dtype(self) -> str:
        return self.var.dtype

    def asobject(self) -> Var:
        return self.var


@dataclass
class LaunchForm:
    """`T.launch_thread(thread, extent)`: the rest of the scope runs in that many threads."""

    thread: ThreadForm | str
    extent: Any


@dataclass
class MetaForm:
    """`T.meta_var(value)`: a Python value, never a variable of the program."""

    value: Any


def func_attr(attributes: Mapping[str, Any]) -> FuncAttrForm:
    """Attributes of the function."""
    return FuncAttrForm(attributes)


def evaluate(value: Any) -> EvaluateForm:
    """A call whose value is not used; a constant does nothing."""
    return EvaluateForm(value)


def buffer_store(buffer: Any, value: Any, indices: Any, predicate: Any = None) -> StoreForm:
    """Store one element, or the lanes of a vector in which the predicate holds."""
    return StoreForm(buffer, value, indices, predicate)


def assert_(condition: Any, message: str = "") -> AssertForm:
    """Stop with a message unless the condition holds."""
    return AssertForm(condition, message)


def attr(node: Any, key: Any = None, value: Any = None) -> AttrForm:
    """`T.attr(node, key, value)`, or `T.attr({key: value})` of TVM 0.27."""
    if isinstance(node, Mapping):
        return AttrForm(None, node)
    return AttrForm(node, {key: value})


def let_statement(value: Any, type_annotation: Any = None, *, var: Var | None = None) -> LetForm:
    """`with T.LetStmt(value, var=v):` or `with T.LetStmt(value) as v:`."""
    del type_annotation
    return LetForm(value, var)


def bind(
    value: Any, type_annotation: Any = None, *, var: Var | None = None
) -> LetForm | AxisBindingForm:
    """`x = T.bind(value)`: a variable of the program even where the value is a constant.

    In the first TVMScript, `T.bind(vi, i)` says what an axis of a block takes.
    """
    if isinstance(value, OpenAxis):
        return AxisBindingForm(value, type_annotation)
    return LetForm(value, var)


def env_thread(tag: str, dtype: str = "int32") -> ThreadForm:
    """A thread axis, launched by `T.launch_thread`."""
    return ThreadForm(tag, Var("", dtype))


def launch_thread(thread: ThreadForm | str, extent: Any) -> LaunchForm:
    """Run what follows in `extent` threads of an axis."""
    return LaunchForm(thread, extent)


def meta_var(value: Any) -> MetaForm:
    """A Python value that the program uses as it is."""
    return MetaForm(value)
