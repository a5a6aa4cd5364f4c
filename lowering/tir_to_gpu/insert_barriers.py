"""`gpu-insert-barriers`: threads wait for each other where one needs what another did.

A barrier goes before an operation that reads shared memory which another thread may have written
since the last barrier, or writes what another may still have to read; the next iteration of a loop
counts as what comes after.  Global memory that threads of one block exchange is treated alike.  All
threads of a block have to reach a barrier: where one is needed under a condition or in a loop that
differs between threads, the program is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.conflicts import ThreadBlock
from relax_mlir.lowering.tir_to_gpu.kernel_roots import describe, function_name, inside
from relax_mlir.lowering.tir_to_gpu.memory_accesses import Access, accesses_of
from relax_mlir.lowering.tir_to_gpu.uniformity import Uniformity
from relax_mlir.mlir import ir, operations_named
from relax_mlir.tir.schedule.index import as_index

__all__ = ["InsertBarriers"]


_WAIT = "nvvm.cp.async.wait.group"


@register_pass("gpu-insert-barriers")
@dataclass(frozen=True)
class InsertBarriers(Pass):
    """Insert the gpu.barrier operations that accesses of several threads need."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            for op in operations_named(function, ["gpu.launch"]):
                _Launch(op).run()


@dataclass(frozen=True)
class _InsideLoop:
    """What a loop accesses that may come before its first barrier, and behind its last."""

    head: list[Access]
    tail: list[Access]


class _Launch:
    """Inserts the barriers of one launch."""

    def __init__(self, launch: ir.Operation) -> None:
        self.launch = launch
        self.body = launch.regions[0].blocks[0]
        sizes = [as_index(v).as_constant() for v in list(launch.operands)[3:6]]
        self.threads = ThreadBlock(list(self.body.arguments)[3:6], sizes)
        self.uniformity = Uniformity(self.threads.is_thread_id)
        # Operations as keys: none gets other operands while barriers are inserted.
        self.loops: dict[ir.Operation, _InsideLoop | None] = {}

    def run(self) -> None:
        written = {a.root for op in inside(self.launch) for a in accesses_of(op) if a.is_write}
        if written:
            self.written = written
            self._sequence(self.body, [], None)

    def _accesses(self, op: ir.Operation) -> list[Access]:
        return [a for a in accesses_of(op) if a.root in self.written]

    def _all_accesses(self, op: ir.Operation) -> list[Access]:
        return [a for inner in (op, *inside(op)) for a in self._accesses(inner)]

    # -- sequences ----------------------------------------------------------------------------

    def _sequence(
        self,
        block: ir.Block,
        pending: list[Access],
        divergent: ir.Operation | None,
    ) -> list[Access]:
        """Put barriers into a block that runs after the `pending` accesses; the accesses that are
        pending at its end.  `divergent` is the operation around that not all threads enter alike.
        """
        for view in list(block.operations):
            op = view.operation
            if op.name == "gpu.barrier":
                pending = _behind_barrier(pending)
            elif op.name == _WAIT:
                pending = _behind_wait(pending, ir.IntegerAttr(op.attributes["n"]).value)
            elif not op.regions or op.name == "memref.generic_atomic_rmw":
                pending = self._statement(op, pending, divergent)
            elif op.name in ("scf.for", "scf.while"):
                pending = self._loop(op, pending, divergent)
            else:
                pending = self._branch(op, pending, divergent)
        return pending

    def _statement(
        self,
        op: ir.Operation,
        pending: list[Access],
        divergent: ir.Operation | None,
    ) -> list[Access]:
        found = self._accesses(op)
        if not found:
            return pending
        if self._wait(op, pending, found, divergent):
            pending = _behind_barrier(pending)
        return _joined(pending, found)

    def _loop(
        self,
        op: ir.Operation,
        pending: list[Access],
        divergent: ir.Operation | None,
    ) -> list[Access]:
        inside_of = self._inside_loop(op, divergent)
        if inside_of is None:
            return _behind_barrier(pending) if _always_waits(op) else pending
        self._wait(op, pending, inside_of.head, divergent)
        waits = op.name == "scf.for" and _runs(op) and _always_waits(op)
        kept = _behind_barrier(pending) if waits or self._waits_before(op) else pending
        return _joined(kept, inside_of.tail)

    def _inside_loop(self, op: ir.Operation, divergent: ir.Operation | None) -> _InsideLoop | None:
        """Put barriers into a loop; what its ends access, None where it accesses nothing.

        What is pending before the loop does not matter inside of it, so a loop is done once,
        however often those around it are walked through: each is, twice.
        """
        if op in self.loops:
            return self.loops[op]
        found: _InsideLoop | None = None
        if self._all_accesses(op):
            around = divergent if self.uniformity.enters_alike(op) else (divergent or op)
            within = frozenset(_inner_variables(op))
            bodies = [body for region in op.regions for body in region.blocks]
            after: list[Access] = []
            for body in bodies:
                after = self._sequence(body, after, around)
            # The next iteration starts with what this one leaves pending.
            after = [replace(a, moved=a.moved | within) for a in after]
            for body in bodies:
                after = self._sequence(body, after, around)
            head = [a for body in bodies for a in self._head(body)]
            found = _InsideLoop(head, [a for region in op.regions for a in self._tail(region)])
        self.loops[op] = found
        return found

    def _waits_before(self, op: ir.Operation) -> bool:
        """Whether there is a barrier right before an operation."""
        before: ir.Operation | None = None
        for view in op.block.operations:
            if view.operation == op:
                break
            before = view.operation
        return before is not None and before.name == "gpu.barrier"

    def _branch(
        self,
        op: ir.Operation,
        pending: list[Access],
        divergent: ir.Operation | None,
    ) -> list[Access]:
        found = self._all_accesses(op)
        if not found:
            return pending
        alike = self.uniformity.enters_alike(op)
        if not alike and self._wait(op, pending, found, divergent):
            pending = _behind_barrier(pending)
        around = divergent if alike else (divergent or op)
        ends = [
            self._sequence(body, list(pending), around)
            for region in op.regions
            for body in region.blocks
        ]
        if len(ends) < len(op.regions):
            ends.append(pending)
        joined: list[Access] = []
        for end in ends:
            joined = _joined(joined, end)
        return joined

    # -- what reaches the ends of a region ----------------------------------------------------

    def _head(self, block: ir.Block) -> list[Access]:
        """The accesses of a block that may come before its first barrier."""
        found: list[Access] = []
        for view in block.operations:
            op = view.operation
            if op.name == "gpu.barrier":
                break
            found += self._all_accesses(op)
            if _always_waits(op):
                break
        return found

    def _tail(self, region: ir.Region) -> list[Access]:
        """The accesses of a region that may come after its last barrier, and what is in flight."""
        found: list[Access] = []
        for block in region.blocks:
            is_behind = True
            for view in reversed(list(block.operations)):
                op = view.operation
                is_behind = is_behind and op.name != "gpu.barrier"
                own = self._all_accesses(op)
                found += own if is_behind else _behind_barrier(own)
        return found

    # -- barriers -----------------------------------------------------------------------------

    def _wait(
        self,
        op: ir.Operation,
        pending: Sequence[Access],
        found: Sequence[Access],
        divergent: ir.Operation | None,
    ) -> bool:
        """Insert a barrier before `op` if what it accesses conflicts with what is pending."""
        pair = next(((a, b) for b in found for a in pending if self.threads.conflict(a, b)), None)
        if pair is None:
            return False
        if divergent is not None:
            raise self._refusal(divergent, *pair)
        ir.Operation.create(
            "gpu.barrier",
            attributes={"scope": ir.Attribute.parse("#gpu.barrier_scope<workgroup>")},
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        return True

    def _refusal(self, divergent: ir.Operation, a: Access, b: Access) -> CompileError:
        what = "a condition" if divergent.name == "scf.if" else "a loop"
        first, second = ("writes" if x.is_write else "reads" for x in (a, b))
        return CompileError(
            f"{function_name(self.launch)}: a thread {second} {describe(b.root)} where another "
            f"{first} it, so the threads have to wait for each other, but they are under {what} "
            "that differs between threads",
            hint="take the exchange through shared memory out of the condition, or make the "
            "condition the same for all threads of a block (T.where on the loads only)",
        )


def _behind_barrier(pending: Sequence[Access]) -> list[Access]:
    """What a barrier leaves pending: copies that may not have arrived."""
    return [replace(a, quiet=True) for a in pending if a.in_flight]


def _behind_wait(pending: Sequence[Access], left: int) -> list[Access]:
    """After a wait, copies may have arrived, and all have when none is `left`: what reads them has
    to wait for the other threads, too."""
    return [replace(a, quiet=False, in_flight=bool(left)) if a.in_flight else a for a in pending]


def _joined(a: Sequence[Access], b: Sequence[Access]) -> list[Access]:
    """The accesses of both, each place once."""
    found: dict[object, Access] = {}
    for access in (*a, *b):
        key = access if access.indices is not None else (access, len(found))
        found.setdefault(key, access)
    return list(found.values())


def _inner_variables(op: ir.Operation) -> set[ir.Value]:
    """The arguments of the blocks at and inside of a loop, and the values made there."""

    def values(regions: Sequence[ir.Region]) -> Iterator[ir.Value]:
        for region in regions:
            for block in region.blocks:
                yield from block.arguments
                for child in block.operations:
                    yield from child.operation.results
                    yield from values(list(child.operation.regions))

    return set(values(list(op.regions)))


def _always_waits(op: ir.Operation) -> bool:
    """Whether every thread that runs an operation passes a barrier inside of it."""
    if op.name != "scf.for" or not _runs(op):
        return False
    body = op.regions[0].blocks[0]
    return any(o.operation.name == "gpu.barrier" for o in body.operations)


def _runs(loop: ir.Operation) -> bool:
    """Whether a loop is known to take a step."""
    low, high = (as_index(bound) for bound in list(loop.operands)[:2])
    return ((high - low).bounds()[0] or 0) > 0
