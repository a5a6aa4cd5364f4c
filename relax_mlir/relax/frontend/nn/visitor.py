"""`nn.Mutator`: replacing parts of a module, in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relax_mlir.relax.frontend.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
)
from relax_mlir.relax.frontend.nn.core import Module, Parameter
from relax_mlir.relax.frontend.nn.effects import Effect

__all__ = ["Mutator"]


class Mutator:
    """Walks a module and puts what the `visit_*` methods return in place of each part.

    A subclass overrides the methods of the kinds it changes; the others walk on.  `name` is the
    dotted path of the part.
    """

    def visit_module(self, name: str, node: Module) -> Any:
        return self.visit(name, node)

    def visit_effect(self, name: str, node: Effect) -> Any:
        return self.visit(name, node)

    def visit_param(self, name: str, node: Parameter) -> Any:
        return self.visit(name, node)

    def visit_moduledict(self, name: str, node: ModuleDict) -> Any:
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: ModuleList) -> Any:
        return self.visit(name, node)

    def visit_parameterdict(self, name: str, node: ParameterDict) -> Any:
        return self.visit(name, node)

    def visit_parameterlist(self, name: str, node: ParameterList) -> Any:
        return self.visit(name, node)

    def visit(self, name: str, node: Any) -> Any:
        """Visit the parts of a node; returns the node."""
        for key, value, replace in list(_parts(node)):
            method = self._method(value)
            if method is not None:
                new = method(f"{name}.{key}" if name else str(key), value)
                if new is not value:
                    replace(new)
        return node

    def _method(self, value: Any) -> Callable[[str, Any], Any] | None:
        """The method for a part; the first kind that fits, special ones first."""
        kinds: tuple[tuple[type[Any], Callable[[str, Any], Any]], ...] = (
            (ParameterDict, self.visit_parameterdict),
            (ParameterList, self.visit_parameterlist),
            (ModuleDict, self.visit_moduledict),
            (ModuleList, self.visit_modulelist),
            (Module, self.visit_module),
            (Effect, self.visit_effect),
            (Parameter, self.visit_param),
        )
        return next((method for kind, method in kinds if isinstance(value, kind)), None)


def _parts(node: Any) -> Iterable[tuple[Any, Any, Callable[[Any], None]]]:
    """(key, part, a function that puts another in its place)."""
    if not isinstance(node, (ModuleDict, ParameterDict, ModuleList, ParameterList)):
        for key, value in vars(node).items():
            yield key, value, lambda new, key=key: setattr(node, key, new)
        return
    lists = isinstance(node, (ModuleList, ParameterList))
    holder: Any = node
    for key in range(len(node)) if lists else list(node):
        yield key, holder[key], lambda new, key=key: holder.__setitem__(key, new)
