"""relax-kill-after-last-use."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    binding_blocks,
    operations,
    relax_functions,
    terminator,
)
from relax_mlir.lowering.relax.rewriting import unnamed
from relax_mlir.mlir import ir

_STORAGE = ("relax.memory_alloc_storage", "relax.vm_alloc_storage")
# Operations whose result may be, or hold, an operand.
_HOLDS = frozenset(
    "relax.bind relax.tuple relax.tuple_get_item relax.match_cast relax.reshape "
    "relax.memory_view relax.memory_ensure_zero_offset relax.if relax.dataflow".split()
)
_KILLS = ("relax.memory_kill_storage", "relax.memory_kill_tensor", "relax.vm_kill_object")


@register_pass("relax-kill-after-last-use")
@dataclass(frozen=True)
class KillAfterLastUse(Pass):
    """Say behind the last use of each storage and tensor that it is not used from there on.

    A storage is killed behind the last tensor that is made in it: the tensors keep its memory.
    Values that are returned, or that another value holds, are left alone.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for block in list(binding_blocks(function)):
                if terminator(block).name != "relax.output":
                    _kill_in(block)


def _kill_in(block: ir.Block) -> None:
    for op in operations(block):
        if len(op.results) != 1:
            continue
        value = op.results[0]
        if op.name in _STORAGE:
            kill = "vm.kill_object" if op.name.startswith("relax.vm") else "memory.kill_storage"
        elif types.is_tensor(value.type) and op.name not in ("relax.constant", *_HOLDS):
            kill = "memory.kill_tensor"
        else:
            continue
        last = _last_use(value, block)
        if last is None:
            continue
        with ir.InsertionPoint.after(last):
            build(SPECS[kill], [value], {}, loc=unnamed(op.location))


def _last_use(value: ir.Value, block: ir.Block) -> ir.Operation | None:
    """The last operation of the block that uses a value; None when it lives on or is not used."""
    last: ir.Operation | None = None
    for use in value.uses:
        user = use.owner.operation
        if user.name in (*_HOLDS, *_KILLS, "func.return", "relax.yield", "relax.output"):
            return None
        while user.block != block:  # inside of a branch
            parent = user.parent
            if parent is None:
                return None
            user = parent.operation
        if last is None or last.is_before_in_block(user):
            last = user
    return last
