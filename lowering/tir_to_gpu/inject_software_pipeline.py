"""`tir-inject-software-pipeline`: statements of a loop that work on different iterations at once.

A loop annotated with `software_pipeline_stage = [0, 0, 1]` and `software_pipeline_order` runs its
statements in that order, each for the iteration that is as many steps behind as its stage says:

    for k: copy(k); use(k)    ->    copy(0); for k: copy(k + 1); use(k); ...; use(n - 1)

Buffers that a statement hands to one of a later stage get a version for every iteration that is
under way.  Copies from global to shared memory in the `software_pipeline_async_stages` do not wait
for the data (`cp.async`): the statements that need it do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.tir.blocks import AccessOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import describe, function_name, inside
from relax_mlir.lowering.tir_to_gpu.limits import compute_capability
from relax_mlir.lowering.tir_to_gpu.recompute import recompute_operands
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.index import Index, as_index, leaf, mod
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import add_access, alloc_buffer, new_loop

__all__ = ["ASYNC", "InjectSoftwarePipeline"]

ASYNC = "gpu.async"
"""Marks the stores of copies that do not wait for the data."""

_STAGE, _ORDER = "software_pipeline_stage", "software_pipeline_order"
_ASYNC_STAGES = "software_pipeline_async_stages"
_FIRST_WITH_ASYNC_COPIES = 80
_ACCESSES = {
    "memref.load": 0,
    "memref.store": 1,
    "vector.load": 0,
    "vector.store": 1,
    "nvgpu.ldmatrix": 0,
    "tir.matrix_descriptor": 0,
}


@register_pass("tir-inject-software-pipeline")
@dataclass(frozen=True)
class InjectSoftwarePipeline(Pass):
    """Overlap the iterations of loops that are annotated with pipeline stages."""

    def run(self, state: ModuleState) -> None:
        attrs = getattr(state.target, "attrs", {})
        capability = compute_capability(str(attrs.get("arch", "sm_80")))
        kind = str(getattr(state.target, "kind", "cuda"))
        has_async = kind == "cuda" and capability >= _FIRST_WITH_ASYNC_COPIES
        for function in state.functions():
            if "tir.attrs" not in function.attributes or not len(function.regions[0].blocks):
                continue
            loops = [o.opview for o in inside(function) if o.name == "tir.for"]
            for loop in reversed(loops):
                if isinstance(loop, ForOp) and _STAGE in _annotations(loop):
                    _Pipeline(loop, has_async).run()


def _annotations(loop: ForOp) -> dict[str, Any]:
    attributes = loop.operation.attributes
    return from_attribute(attributes["annotations"]) if "annotations" in attributes else {}


class _Pipeline:
    def __init__(self, loop: ForOp, has_async: bool) -> None:
        self.loop = loop
        found = _annotations(loop)
        self.statements = [
            v.operation
            for v in nest.statements(loop.block)
            if not isinstance(v, (AllocBufferOp, AccessOp))
        ]
        self.stages = self._numbers(found.get(_STAGE))
        order = self._numbers(found.get(_ORDER, list(range(len(self.statements)))))
        self.order = sorted(range(len(self.statements)), key=lambda n: order[n])
        given = found.get(_ASYNC_STAGES, [])
        self.async_stages = [int(s) for s in given] if has_async else []
        self.depth = max(self.stages, default=0)

    def _numbers(self, given: object) -> list[int]:
        numbers = [int(x) for x in given] if isinstance(given, (list, tuple)) else []
        if len(numbers) != len(self.statements):
            raise CompileError(
                f"{function_name(self.loop.operation)}: the loop "
                f"{nest.value_name(nest.loop_var(self.loop))} has {len(self.statements)} "
                f"statements, its pipeline annotations are for {len(numbers)}",
                hint="software_pipeline_stage and _order have a number for each statement of the "
                "loop's body",
            )
        return numbers

    def run(self) -> None:
        """Rewrite the loop; one that is too short, or of unknown length, stays as it is."""
        extent, start = self.loop.extent, self.loop.min
        if not isinstance(extent, int) or not isinstance(start, int) or extent <= self.depth:
            self._forget()
            return
        if not self.depth:
            self._forget()
            return
        self._add_versions()
        for number, op in enumerate(self.statements):
            if self.stages[number] in self.async_stages:
                _mark_copies(op)
        at = ir.InsertionPoint(self.loop)
        for step in range(self.depth):
            self._emit(Index({}, start + step), at, step, extent)
        body = self._main_loop(start, extent)
        end = ir.InsertionPoint(body.block)
        self._emit(leaf(nest.loop_var(body)), end, None, extent)
        for step in range(extent, extent + self.depth):
            self._emit(Index({}, start + step), at, step, extent)
        self.loop.operation.erase()

    def _forget(self) -> None:
        kept = {k: v for k, v in self._attributes().items() if not k.startswith("software_pip")}
        self.loop.operation.attributes["annotations"] = ir.DictAttr.get(kept)

    def _attributes(self) -> dict[str, ir.Attribute]:
        named = ir.DictAttr(self.loop.operation.attributes["annotations"])
        return {n.name: n.attr for n in named}

    def _main_loop(self, start: int, extent: int) -> ForOp:
        made = new_loop(
            nest.value_name(nest.loop_var(self.loop), "k"),
            extent - self.depth,
            ir.InsertionPoint(self.loop),
            low=start + self.depth,
        )
        self._forget()
        for name in ("annotations", "dtype"):
            if name in self.loop.operation.attributes:
                made.operation.attributes[name] = self.loop.operation.attributes[name]
        return made

    # -- versions of buffers ------------------------------------------------------------------

    def _add_versions(self) -> None:
        """Move the loop's own buffers out of it, with a version for each iteration under way."""
        for view in list(self.loop.block.operations):
            if isinstance(view, AllocBufferOp):
                self._add_versions_of(view)

    def _add_versions_of(self, allocation: AllocBufferOp) -> None:
        op = allocation.operation
        buffer = op.results[0]
        stages = [self._stage_of(use.owner.operation) for use in buffer.uses]
        count = max(stages) - min(stages) + 1 if stages else 1
        if count == 1:
            op.move_before(self.loop.operation)
            return
        kind = ir.MemRefType(buffer.type)
        attributes = {
            n: op.attributes[n] for n in op.attributes if n not in ("scope", "operandSegmentSizes")
        }
        sizes = [Index({}, count), *(Index({}, s) for s in kind.shape)]
        made = alloc_buffer(
            describe(buffer), sizes, kind.element_type, allocation.scope.value,
            ir.InsertionPoint(self.loop), attributes,
        )  # fmt: skip
        new = made.operation.results[0]
        if kind.memory_space is not None:
            full = ir.MemRefType(new.type)
            new.set_type(
                ir.MemRefType.get(full.shape, full.element_type, full.layout, kind.memory_space)
            )
        version = mod(leaf(nest.loop_var(self.loop)), Index({}, count))
        for use in list(buffer.uses):
            self._use_version(use.owner.operation, buffer, new, version)
        op.erase()

    def _stage_of(self, user: ir.Operation) -> int:
        body = self.loop.block
        while user.block != body:
            assert user.parent is not None, "a loop's buffer is used in the loop"
            user = user.parent.operation
        return self.stages[self.statements.index(user)]

    def _use_version(
        self, op: ir.Operation, buffer: ir.Value, new: ir.Value, version: Index
    ) -> None:
        at = ir.InsertionPoint(op)
        if isinstance(op.opview, AccessOp):
            access: AccessOp = op.opview
            pairs = zip(access.mixed_offsets, access.mixed_sizes, strict=True)
            region = [(as_index(o), as_index(s)) for o, s in pairs]
            kind = ReadOp if isinstance(access, ReadOp) else WriteOp
            with op.location:
                add_access(kind, new, [(version, Index({}, 1)), *region], at)
            op.erase()
            return
        position = _ACCESSES.get(op.name)
        if position is None:
            raise CompileError(
                f"{function_name(op)}: {describe(buffer)} is handed from one pipeline stage to "
                f"another, and used by {op.name}",
                hint="only loads and stores of elements can be given a version of a buffer",
            )
        operands = list(op.operands)
        index = write(version, at, op.location)
        made = ir.Operation.create(
            op.name,
            results=[r.type for r in op.results],
            operands=[*operands[:position], new, index, *operands[position + 1 :]],
            attributes={n: op.attributes[n] for n in op.attributes},
            loc=op.location,
            ip=at,
        )
        for old, result in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(result)
        op.erase()

    # -- statements ---------------------------------------------------------------------------

    def _emit(self, step: Index, at: ir.InsertionPoint, number: int | None, extent: int) -> None:
        """The statements of one step; `number` is that of a step before or after the loop."""
        copied: list[int] = []
        for statement in self.order:
            stage = self.stages[statement]
            iteration = None if number is None else number - stage
            if iteration is not None and not 0 <= iteration < extent:
                continue
            if stage in self.async_stages:
                copied.append(stage)
            else:
                copied = self._commit(copied, at)
                self._await(statement, number, extent, at)
            self._copy(self.statements[statement], step - stage, at)
        self._commit(copied, at)

    def _commit(self, copied: Sequence[int], at: ir.InsertionPoint) -> list[int]:
        if copied:
            ir.Operation.create("nvvm.cp.async.commit.group", ip=at, loc=self.loop.location)
        return []

    def _await(
        self, statement: int, number: int | None, extent: int, at: ir.InsertionPoint
    ) -> None:
        """Wait for the copies that a statement needs: those of its own iteration."""
        stage = self.stages[statement]
        earlier = [s for s in self.async_stages if s < stage]
        if not earlier or statement != self._first_of(stage):
            return
        newest = max(earlier)
        place = self.order.index(statement)
        before = any(self.stages[n] == newest for n in self.order[:place])
        pending = stage - newest - (0 if before else 1)
        if number is not None:
            last = min(number - newest, extent - 1) if before or number >= extent else None
            last = min(number - 1 - newest, extent - 1) if last is None else last
            pending = max(0, last - (number - stage))
        ir.Operation.create(
            "nvvm.cp.async.wait.group",
            attributes={"n": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), pending)},
            ip=at,
            loc=self.loop.location,
        )

    def _first_of(self, stage: int) -> int:
        return next(n for n in self.order if self.stages[n] == stage)

    def _copy(self, op: ir.Operation, iteration: Index, at: ir.InsertionPoint) -> None:
        """A statement for an iteration, with the index arithmetic it needs."""
        value = write(iteration, at, op.location)
        made = op.clone(ip=at).operation
        known: dict[ir.Value, ir.Value] = {nest.loop_var(self.loop): value}
        recompute_operands(made, known, ir.InsertionPoint(made), self._is_of_an_iteration)

    def _is_of_an_iteration(self, value: ir.Value) -> bool:
        """Whether a value is one that the loop's body computes."""
        owner = value.owner
        return not isinstance(owner, ir.Block) and owner.operation.block == self.loop.block


def _mark_copies(op: ir.Operation) -> None:
    """Mark the stores of what has just been loaded, as it is."""
    for inner in inside(op):
        if inner.name in ("memref.store", "vector.store"):
            owner = inner.operands[0].owner
            if not isinstance(owner, ir.Block) and owner.operation.name.endswith(".load"):
                inner.attributes[ASYNC] = ir.UnitAttr.get()
