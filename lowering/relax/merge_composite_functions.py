"""relax-merge-composite-functions."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    callee_of,
    dataflow_blocks,
    operations,
    producers,
    relax_functions,
    symbol_name,
)
from relax_mlir.lowering.relax.fuse_ops import FusedFunctions, Fuser
from relax_mlir.mlir import ir


@register_pass("relax-merge-composite-functions")
@dataclass(frozen=True)
class MergeCompositeFunctions(Pass):
    """Gather calls of composite functions for one back end into one function for it.

    A function with the attribute `Composite = "dnnl.conv2d_relu"` is for the back end `dnnl`.
    Neighbouring calls of such functions, in a dataflow block, move into a private function with
    `Codegen = "dnnl"`, as many as can without one waiting for another outside.  With `merge` off
    each call gets a function of its own.
    """

    merge: bool = True

    def run(self, state: ModuleState) -> None:
        functions = relax_functions(state)
        backends = {
            symbol_name(function): str(attributes_of_function(function)["Composite"]).split(".")[0]
            for function in functions
            if "Composite" in attributes_of_function(function)
        }
        made: dict[str, FusedFunctions] = {}
        for function in functions:
            attributes = attributes_of_function(function)
            if "Composite" in attributes or "Codegen" in attributes:
                continue
            for block in dataflow_blocks(function):
                groups = self._groups(block, backends)
                _gather(block, [members for _, members in groups])
                for backend, members in groups:
                    known = made.setdefault(backend, FusedFunctions())
                    options = {"Codegen": backend}
                    Fuser(state, function, known, options, f"_{backend}").fuse(members)

    def _groups(
        self, block: ir.Block, backends: dict[str, str]
    ) -> list[tuple[str, list[ir.Operation]]]:
        """(back end, calls in order) for each new function; it is convex in the block."""
        ops = operations(block)[:-1]
        group: dict[ir.Operation, int] = {}
        behind: dict[ir.Operation, set[int]] = {}
        targets: list[str] = []
        # Groups that are waited for, directly or through others, by each group.
        waits: list[set[int]] = []
        for op in ops:
            needed = producers(op, set(ops))
            behind[op] = set().union(*(behind[p] for p in needed), set())
            target = backends.get(callee_of(op)) if op.name == "relax.call" else None
            if target is None:
                continue
            chosen = None
            for producer in needed:
                own = group.get(producer)
                if self.merge and own is not None and targets[own] == target:
                    others = _outside(needed, own, group, behind)
                    if not any(own == o or own in waits[o] for o in others):
                        chosen = own
                        break
            if chosen is None:
                chosen = len(targets)
                targets.append(target)
                waits.append(set())
            group[op] = chosen
            found = behind[op] - {chosen}
            waits[chosen] |= found.union(*(waits[o] for o in found))
            for i, others in enumerate(waits):
                if chosen in others and i != chosen:
                    others |= waits[chosen]
            behind[op] |= {chosen}
        return [
            (target, [op for op in ops if group.get(op) == i]) for i, target in enumerate(targets)
        ]


def _gather(block: ir.Block, groups: list[list[ir.Operation]]) -> None:
    """Order the operations so that those of each group follow one another."""
    *ops, output = operations(block)
    inside = set(ops)
    unit = {op: i for i, members in enumerate(groups) for op in members}
    node = {op: unit.get(op, len(groups) + i) for i, op in enumerate(ops)}
    parts: dict[int, list[ir.Operation]] = {}
    needs: dict[int, set[int]] = {}
    for op in ops:
        own = node[op]
        parts.setdefault(own, []).append(op)
        needs.setdefault(own, set()).update(node[p] for p in producers(op, inside))
    users: dict[int, list[int]] = {number: [] for number in parts}
    for number, needed in needs.items():
        needed.discard(number)
        for other in needed:
            users[other].append(number)
    ready = [number for number in parts if not needs[number]]
    while ready:
        number = ready.pop(0)
        for op in parts[number]:
            op.move_before(output)
        for user in users[number]:
            needs[user].discard(number)
            if not needs[user]:
                ready.append(user)


def _outside(
    producers: list[ir.Operation],
    own: int,
    group: dict[ir.Operation, int],
    behind: dict[ir.Operation, set[int]],
) -> set[int]:
    """The groups that the producers which are not of the group `own` come after."""
    found: set[int] = set()
    for producer in producers:
        if group.get(producer) != own:
            found |= behind[producer]
    return found
