"""relax-bind-symbolic-vars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    entry_block,
    functions_by_name,
    relax_functions,
    symbol_name,
)
from relax_mlir.lowering.relax.substitute import substitute_symbols
from relax_mlir.mlir import ir


@register_pass("relax-bind-symbolic-vars")
@dataclass(frozen=True)
class BindSymbolicVars(Pass):
    """Give symbols of shapes a value, in one function or in all that have them.

    In a pipeline's text: `relax-bind-symbolic-vars{values=n:16,m:n*2}`.
    """

    values: tuple[str, ...] = ()
    func_name: str = ""
    binding_map: Mapping[Any, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = [f"{_name(key)}:{value}" for key, value in self.binding_map.items()]
        pairs = [pair.replace(" ", "") for pair in (*self.values, *given)]
        name = f" func-name={self.func_name}" if self.func_name else ""
        return f"{self.name}{{values={','.join(pairs)}{name}}}"

    def _bindings(self) -> dict[str, Dim]:
        pairs = [pair.partition(":")[::2] for pair in self.values]
        found: dict[str, Dim] = {name: _dimension(name, dim) for name, dim in pairs}
        for key, value in self.binding_map.items():
            found[_name(key)] = _dimension(_name(key), value)
        return found

    def run(self, state: ModuleState) -> None:
        bindings = self._bindings()
        functions = relax_functions(state)
        if self.func_name:
            if self.func_name not in functions_by_name(state):
                raise PassError(f"there is no function '{self.func_name}'")
            functions = [op for op in functions if symbol_name(op) == self.func_name]
        used: set[str] = set()
        for function in functions:
            symbols = _parameter_symbols(function)
            used |= symbols
            chosen = {name: dim for name, dim in bindings.items() if name in symbols}
            if chosen:
                substitute_symbols(function, chosen)
        missing = [name for name in bindings if name not in used]
        if missing and self.func_name:
            raise PassError(f"function '{self.func_name}' has no symbol '{missing[0]}'")


def _name(symbol: Any) -> str:
    return symbol if isinstance(symbol, str) else str(getattr(symbol, "name", symbol))


def _dimension(name: str, value: Any) -> Dim:
    value = value.item() if hasattr(value, "item") else getattr(value, "value", value)
    if isinstance(value, int):
        dim: Dim = value
    else:
        try:
            dim = dim_algebra.canonical(str(value))
        except (SyntaxError, ValueError) as error:
            raise PassError(f"symbol '{name}' cannot be {value!r}: {error}") from None
    if isinstance(dim, int) and dim < 0:
        raise PassError(f"symbol '{name}' cannot be {dim}: sizes are not negative")
    return dim


def _parameter_symbols(function: ir.Operation) -> set[str]:
    return {s for a in entry_block(function).arguments for s in types.symbols_of(a.type)}
