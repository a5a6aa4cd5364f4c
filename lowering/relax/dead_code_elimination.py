"""relax-dead-code-elimination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.canonicalize_bindings import drop_unused_outputs
from relax_mlir.lowering.relax.functions import (
    binding_blocks,
    called_from,
    functions_by_name,
    is_private,
    is_pure,
    is_used,
    operations,
    purity,
    relax_functions,
    symbol_name,
)
from relax_mlir.mlir import ir


@register_pass("relax-dead-code-elimination")
@dataclass(frozen=True)
class DeadCodeElimination(Pass):
    """Remove bindings without use or effect, unused outputs, and functions nobody reaches.

    Functions are reached from the public ones and from `entry_functions`.
    """

    entry_functions: tuple[str, ...] = ()

    def run(self, state: ModuleState) -> None:
        functions = functions_by_name(state)
        unknown = [name for name in self.entry_functions if name not in functions]
        if unknown:
            raise PassError(f"there is no function '{unknown[0]}' to keep")
        _remove_unreached(state, set(self.entry_functions))
        pure = purity(state)
        for function in relax_functions(state):
            remove_dead_bindings(function, pure)
        _remove_unreached(state, set(self.entry_functions))


def remove_dead_bindings(function: ir.Operation, pure: Callable[[str], bool]) -> None:
    """Remove the bindings of one function that nothing needs."""
    changed = True
    while changed:
        changed = False
        for block in list(binding_blocks(function)):
            for op in reversed(operations(block)):
                if op.name == "relax.dataflow":
                    changed |= drop_unused_outputs(op)
                elif len(op.results) and not is_used(op) and is_pure(op, pure):
                    op.erase()
                    changed = True
            if changed:
                # Blocks listed earlier may be gone.
                break


def _remove_unreached(state: ModuleState, entries: set[str]) -> None:
    functions = functions_by_name(state)
    reached = {
        symbol_name(op) for op in functions.values() if not is_private(op) or _is_foreign(op)
    }
    reached |= entries
    reached |= called_from(reached, functions)
    for name, op in functions.items():
        if name not in reached:
            op.erase()


def _is_foreign(op: ir.Operation) -> bool:
    """True for functions of other dialects, whose callers this pass does not know."""
    return "relax.attrs" not in op.attributes and "tir.attrs" not in op.attributes
