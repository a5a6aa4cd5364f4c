"""relax-topological-sort."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    dataflow_blocks,
    operations,
    producers,
    relax_functions,
)
from relax_mlir.mlir import ir

ORDERS = ("depth-first", "breadth-first")
DIRECTIONS = ("from-inputs", "from-outputs")


@register_pass("relax-topological-sort")
@dataclass(frozen=True)
class TopologicalSort(Pass):
    """Order the bindings of each dataflow block anew.

    `from-inputs` places a binding as soon as what it needs is there, `from-outputs` as late as its
    users allow.  `depth-first` follows a chain to its end before the next one, `breadth-first`
    goes one step in every chain.
    """

    order: str = "depth-first"
    direction: str = "from-inputs"

    def run(self, state: ModuleState) -> None:
        if self.order not in ORDERS or self.direction not in DIRECTIONS:
            raise PassError(
                f"there is no order '{self.order}' '{self.direction}'",
                hint=f"order is one of {', '.join(ORDERS)}, direction of {', '.join(DIRECTIONS)}",
            )
        for function in relax_functions(state):
            for block in dataflow_blocks(function):
                self._sort(block)

    def _sort(self, block: ir.Block) -> None:
        *ops, output = operations(block)
        needs = {op: producers(op, set(ops)) for op in ops}
        users: dict[ir.Operation, list[ir.Operation]] = {op: [] for op in ops}
        for op in ops:
            for needed in needs[op]:
                users[needed].append(op)
        if self.direction == "from-inputs":
            order = self._traverse(ops, needs, users)
        else:
            reverse = list(reversed(ops))
            order = list(reversed(self._traverse(reverse, users, needs)))
        for op in order:
            op.move_before(output)

    def _traverse(
        self,
        ops: list[ir.Operation],
        before: dict[ir.Operation, list[ir.Operation]],
        after: dict[ir.Operation, list[ir.Operation]],
    ) -> list[ir.Operation]:
        """Operations after all of `before`; of those that are possible, the order chooses."""
        missing = {op: len(before[op]) for op in ops}
        position = {op: i for i, op in enumerate(ops)}
        ready = [op for op in ops if not missing[op]]
        order: list[ir.Operation] = []
        while ready:
            op = ready.pop(0)
            order.append(op)
            freed: list[ir.Operation] = []
            for user in sorted(after[op], key=position.__getitem__):
                missing[user] -= 1
                if not missing[user]:
                    freed.append(user)
            ready = [*freed, *ready] if self.order == "depth-first" else [*ready, *freed]
        return order
