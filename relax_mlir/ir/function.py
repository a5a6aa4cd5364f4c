"""Functions of a module as Python values.

A function face owns a copy of one `func.func` in a module of its own, so that it stays valid
whatever happens to the module it came from.  `PrimFunc` and `relax.Function` derive from it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.ir.state import ModuleState
from relax_mlir.ir.text import print_operation
from relax_mlir.mlir import ir

_FACES = {
    "tir.attrs": ("tir.function", "PrimFunc"),
    "relax.attrs": ("relax.function", "Function"),
}
"""Attribute that marks the kind of a function -> (module, class) of its face."""


def above(module: str) -> Any:
    """A part that is built on this one; it is imported when a function is used as a user does."""
    return importlib.import_module(f"relax_mlir.{module}")


class GlobalVar:
    """The name of a function in a module; calling it with relax values makes a call."""

    struct_info: Any = None
    """The type of the function, where somebody said it."""

    def __init__(self, name_hint: str):
        self.name_hint = name_hint

    def __repr__(self) -> str:
        return f'I.GlobalVar("{self.name_hint}")'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash(("GlobalVar", self.name_hint))

    def __call__(self, *args: Any) -> Any:
        return above("relax.expr").call_global(self, args)


class BaseFunc:
    """Base of `PrimFunc` and `relax.Function`: one `func.func` and the constants it refers to."""

    attrs_key = ""
    """The `func.func` attribute that holds the user's attributes and marks the kind."""

    def __init__(self, state: ModuleState):
        self.state = state

    @property
    def operation(self) -> ir.Operation:
        """The `func.func` operation."""
        return self.state.functions()[0]

    @property
    def name(self) -> str:
        return ir.StringAttr(self.operation.attributes["sym_name"]).value

    @property
    def is_private(self) -> bool:
        attributes = self.operation.attributes
        return (
            "sym_visibility" in attributes
            and ir.StringAttr(attributes["sym_visibility"]).value == "private"
        )

    @property
    def attrs(self) -> dict[str, Any]:
        """The function's attributes; `global_symbol` is there unless the function is private."""
        stored = from_attribute(self.operation.attributes[self.attrs_key])
        if not self.is_private:
            stored.setdefault("global_symbol", self.name)
        return stored

    def get_attr(self, key: str) -> Any:
        return self.attrs.get(key)

    def clone(self) -> BaseFunc:
        with mlir.scope():
            return type(self)(self.state.clone())

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> BaseFunc:
        """A copy with attributes set; setting `global_symbol` makes the function public."""
        changes = dict(key) if isinstance(key, Mapping) else {key: value}
        copy = self.clone()
        with mlir.scope():
            op = copy.operation
            stored = from_attribute(op.attributes[self.attrs_key])
            stored.update(changes)
            if "global_symbol" in changes:
                rename(copy.state, changes["global_symbol"])
                stored.pop("global_symbol")
                if "sym_visibility" in op.attributes:
                    del op.attributes["sym_visibility"]
            op.attributes[self.attrs_key] = to_attribute(stored)
        return copy

    def with_attrs(self, attributes: Mapping[str, Any]) -> BaseFunc:
        return self.with_attr(attributes)

    def without_attr(self, key: str) -> BaseFunc:
        """A copy without an attribute; removing `global_symbol` makes the function private."""
        copy = self.clone()
        with mlir.scope():
            op = copy.operation
            stored = from_attribute(op.attributes[self.attrs_key])
            stored.pop(key, None)
            op.attributes[self.attrs_key] = to_attribute(stored)
            if key == "global_symbol":
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        return copy

    def mlir(self) -> str:
        """The function as MLIR text."""
        with mlir.scope():
            return print_operation(self.operation)

    def script(self, **options: Any) -> str:
        """The function as TVMScript."""
        return above("script.printer").print_function(self, **options)

    def show(self, style: str | None = None, **options: Any) -> None:
        """Print the TVMScript, highlighted on a terminal or in a notebook."""
        above("script.highlight").show(self.script(**options), style)

    def __str__(self) -> str:
        return self.script()

    def __eq__(self, other: object) -> bool:
        """Structural equality: same kind, attributes, types and body; SSA names do not count, nor
        do those of parameters and of a private function."""
        if not isinstance(other, BaseFunc):
            return NotImplemented
        return self._structure() == other._structure()

    def __hash__(self) -> int:
        return hash(self._structure())

    def _structure(self) -> str:
        with mlir.scope():
            text = structure_of(self.operation)
        # `func.func private @name(...`
        return text.partition("(")[2] if self.is_private else text

    def __tvm_ffi_object__(self) -> Any:
        """What `tvm_ffi.structural_equal` and `structural_hash` compare: the function as text."""
        return above("runtime.ffi").tvm_ffi.convert([self._structure()])


_PARAMETER_NAME = re.compile(r'(?:relax|tir)\.name = "(?:[^"\\]|\\.)*"')


def structure_of(operation: ir.Operation) -> str:
    """The text of a function without the names of its parameters; used inside `mlir.scope()`."""
    return _PARAMETER_NAME.sub("", str(operation))


def rename(state: ModuleState, name: str) -> None:
    """Rename the only function of a state."""
    state.functions()[0].attributes["sym_name"] = ir.StringAttr.get(name)


def face_of(state: ModuleState) -> BaseFunc:
    """The Python face of the one function in `state`."""
    attributes = state.functions()[0].attributes
    for key, (module, name) in _FACES.items():
        if key in attributes:
            return getattr(above(module), name)(state)
    raise TypeError("a function is a PrimFunc (tir.attrs) or a relax function (relax.attrs)")
