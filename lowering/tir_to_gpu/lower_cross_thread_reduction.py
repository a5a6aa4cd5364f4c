"""`tir-lower-cross-thread-reduction`: reductions whose loops are bound to threads.

    for tx in thread_binding(32, "threadIdx.x"):         each thread sums its share in a buffer of
        for k in range(4):                          ->    its own, all threads of the group combine
            B[vi] += A[vi, k * 32 + tx]                   their sums, one of them writes B[vi]

A block that `decompose_reduction` has taken the initialisation from, or that is under a reduction
loop with other statements, adds the combined value to what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.allreduce import ThreadGroup, allreduce
from relax_mlir.lowering.tir_to_gpu.buffers import is_private_buffer
from relax_mlir.lowering.tir_to_gpu.kernel_roots import (
    describe,
    function_name,
    loop_name,
    loops_around,
    thread_loops,
)
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
from relax_mlir.lowering.tir_to_gpu.unify_thread_binding import dissolve
from relax_mlir.mlir import arith, ir, memref, scf
from relax_mlir.tir.math_ops import constant_attribute
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import init_of, written_buffers
from relax_mlir.tir.schedule.body import stores_in
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.index import Index, as_index, defining, leaf
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.reducers import Reducer
from relax_mlir.tir.schedule.reduction import IDENTITY, combiner_of
from relax_mlir.tir.schedule.state import add_access, alloc_buffer, new_block, new_loop

__all__ = ["LowerCrossThreadReduction"]

_THREADS = tuple(f"threadIdx.{axis}" for axis in "xyz")


@register_pass("tir-lower-cross-thread-reduction")
@dataclass(frozen=True)
class LowerCrossThreadReduction(Pass):
    """Combine the partial results of threads that share a reduction."""

    def run(self, state: ModuleState) -> None:
        warp = DeviceLimits.of(state.target).warp_size
        for function in state.functions():
            if "tir.attrs" not in function.attributes or not len(function.regions[0].blocks):
                continue
            if thread_loops(function):
                for block in nest.blocks_of(function.opview):
                    reduction = _CrossThread.of(block, warp)
                    if reduction is not None:
                        with block.location:
                            reduction.lower()


def _refusal(block: BlockOp, why: str, hint: str) -> CompileError:
    name = f"{function_name(block.operation)}: the block {block.sym_name.value}"
    return CompileError(f"{name} cannot be reduced across threads: {why}", hint=hint)


def _loops_directly_around(block: BlockOp) -> list[ForOp]:
    """The loops around a block that have no other statement in them, outermost first."""
    loops: list[ForOp] = []
    child: ir.OpView = block
    while isinstance(outer := nest.parent(child), ForOp) and nest.statements(outer.block) == [
        child
    ]:
        loops.insert(0, outer)
        child = outer
    return loops


def _reduction_variables(block: BlockOp) -> list[ir.Value]:
    """The values that a block's reduction variables are computed from."""
    return [
        value
        for kind, binding in zip(block.kinds, block.bindings, strict=True)
        if kind == "R"
        for value in as_index(binding).leaves()
    ]


def _is_thread(loop: ForOp) -> bool:
    return (nest.thread_axis(loop) or "") in _THREADS


@dataclass
class _CrossThread:
    """One block; `loops` are those from the outermost reduction loop on that are directly around
    it, `outer` the reduction loops outside of them, `warp` the threads that have shuffles."""

    block: BlockOp
    loops: list[ForOp]
    reduced: list[ir.Value]
    outer: list[ForOp]
    warp: int
    temporaries: list[ir.Value] = field(default_factory=list)

    @classmethod
    def of(cls, block: BlockOp, warp: int) -> _CrossThread | None:
        """The block's reduction if it is one across threads."""
        variables = _reduction_variables(block)
        around = [x for x in loops_around(block) if nest.loop_var(x) in variables]
        loops = _loops_directly_around(block)
        bound = [x for x in around if nest.thread_axis(x) is not None]
        if not bound:
            return None
        for loop in bound:
            if not _is_thread(loop):
                raise _refusal(
                    block,
                    f"its reduction loop {loop_name(loop)} is bound to {nest.thread_axis(loop)}",
                    "rfactor it, so that a second reduction combines the partial results",
                )
            if loop not in loops:
                raise _refusal(
                    block,
                    f"other statements are between it and its reduction loop {loop_name(loop)}",
                    "rfactor the loop, or bind it right around the block",
                )
        first = min(n for n, loop in enumerate(loops) if loop in around)
        outer = [loop for loop in around if loop not in loops]
        return cls(block, loops[first:], variables, outer, warp)

    # -- what it is ---------------------------------------------------------------------------

    def _reducer(self) -> Reducer:
        try:
            buffers = written_buffers(self.block)
            if init_of(self.block) is not None:
                return Reducer.of(self.block)
            update = combiner_of(self.block, buffers[0], with_init=False)
            store = stores_in(self.block)[0]
            indices = [as_index(v) for v in list(store.operands)[2:]]
            return Reducer(self.block, buffers[:1], indices, [update])
        except Refusal as refusal:
            hint = "reduce with a sum, product, minimum or maximum, or bind spatial loops only"
            raise _refusal(self.block, refusal.reason, refusal.hint or hint) from refusal

    def _initial(self, reducer: Reducer) -> list[ir.Attribute]:
        """The value that each thread starts a buffer from."""
        kinds = [ir.MemRefType(b.type).element_type for b in reducer.buffers]
        init = init_of(self.block)
        if init is None:
            identity = IDENTITY[reducer.updates[0].name]
            if identity is None:
                raise _refusal(
                    self.block,
                    f"there is no value that {reducer.updates[0].name} could start from",
                    "do not decompose this reduction: its initialisation says what to start from",
                )
            return [constant_attribute(kinds[0], identity)]
        found: dict[ir.Value, ir.Attribute] = {}
        for op in nest.descend(init):
            if op.operation.name == "memref.store":
                maker = defining(op.operation.operands[0])
                if maker is None or maker.name != "arith.constant":
                    raise _refusal(
                        self.block, "its initial value is no constant", "start from a constant"
                    )
                found[op.operation.operands[1]] = maker.attributes["value"]
        return [found[b] for b in reducer.buffers]

    def _spatial(self) -> list[ForOp]:
        """The loops that walk over outputs within a thread, inside of a reduction loop."""
        return [x for x in self.loops if not _is_thread(x) and nest.loop_var(x) not in self.reduced]

    # -- rewriting ----------------------------------------------------------------------------

    def lower(self) -> None:
        """Rewrite the nest: start, each thread's share, combination."""
        reducer, spatial = self._reducer(), self._spatial()
        initial = self._initial(reducer)
        extents = [self.static_extent(loop) for loop in spatial]
        self._allocate(reducer, extents or [1])
        threads = self._thread_loops()
        top = self.loops[0].operation
        self._emit_start(initial, extents, ir.InsertionPoint(top))
        values = {
            nest.loop_var(x): leaf(nest.loop_var(threads[nest.thread_axis(x) or ""])) + x.min
            for x in self.loops
            if _is_thread(x)
        }
        combination = _Combination(self, reducer, threads, values)
        combination.emit(spatial, extents, ir.InsertionPoint.after(top))
        place = [leaf(nest.loop_var(x)) - as_index(x.min) for x in spatial] or [Index()]
        self._redirect(reducer, place)
        for loop in reversed([x for x in self.loops if _is_thread(x)]):
            dissolve(loop, threads[nest.thread_axis(loop) or ""])

    def static_extent(self, loop: ForOp) -> int:
        extent = loop.extent
        if isinstance(extent, int):
            return extent
        raise _refusal(
            self.block,
            f"the loop {loop_name(loop)} has an extent that is not known when it is compiled",
            "split it by a constant, or reorder it outside of the reduction loops",
        )

    @property
    def home(self) -> ir.InsertionPoint:
        """Where buffers are allocated: at the start of the function."""
        return ir.InsertionPoint.at_block_begin(nest.body_of(nest.function_of(self.block)))

    def _allocate(self, reducer: Reducer, shape: Sequence[int]) -> None:
        sizes = [Index({}, size) for size in shape]
        for buffer in reducer.buffers:
            kind = ir.MemRefType(buffer.type).element_type
            name = f"{describe(buffer)}_thread"
            made = alloc_buffer(name, sizes, kind, "local", self.home)
            self.temporaries.append(made.operation.results[0])

    def _thread_loops(self) -> dict[str, ForOp]:
        """A loop around the nest for each thread axis of the kernel, made where there is none."""
        around = loops_around(self.block)
        root = next(x for x in around if nest.thread_axis(x) is not None)
        used: dict[str, ForOp] = {}
        for loop in thread_loops(root.operation):
            used.setdefault(nest.thread_axis(loop) or "", loop)
        found = {nest.thread_axis(x) or "": x for x in around if x not in self.loops}
        top = self.loops[0].operation
        for axis in _THREADS:
            if axis not in used or axis in found:
                continue
            own = next((x for x in self.loops if nest.thread_axis(x) == axis), used[axis])
            made = new_loop(
                loop_name(own),
                self.static_extent(own),
                ir.InsertionPoint(top),
                kind="thread_binding",
                attributes={"thread": ir.StringAttr.get(axis)},
            )
            top.detach_from_parent()
            made.block.append(top)
            found[axis] = made
        return {axis: found[axis] for axis in _THREADS if axis in found}

    def _emit_start(
        self, initial: Sequence[ir.Attribute], extents: Sequence[int], at: ir.InsertionPoint
    ) -> None:
        """Each thread starts from the initial values."""
        place, inner = _fresh_loops(extents, at)
        block = new_block(f"{self.block.sym_name.value}_start", [], inner)
        end = ir.InsertionPoint(block.block)
        for buffer in self.temporaries:
            add_access(WriteOp, buffer, [(i, Index({}, 1)) for i in place], end)
        with end:
            for value, buffer in zip(initial, self.temporaries, strict=True):
                kind = ir.MemRefType(buffer.type).element_type
                indices = [write(i, end) for i in place]
                memref.store(arith.ConstantOp(kind, value).result, buffer, indices)

    def _redirect(self, reducer: Reducer, place: Sequence[Index]) -> None:
        """The block adds to the thread's own value instead of the output."""
        own = dict(zip(reducer.buffers, self.temporaries, strict=True))
        init = init_of(self.block)
        if init is not None:
            init.operation.erase()
        for view in list(nest.descend(self.block)):
            op = view.operation
            if op.name in ("tir.read", "tir.write") and op.operands[0] in own:
                kind = ReadOp if op.name == "tir.read" else WriteOp
                region = [(i, Index({}, 1)) for i in place]
                add_access(kind, own[op.operands[0]], region, ir.InsertionPoint(op))
                op.erase()
        for view in list(nest.descend(self.block)):
            op = view.operation
            at = ir.InsertionPoint(op)
            if op.name == "memref.load" and op.operands[0] in own:
                with at, op.location:
                    value = memref.load(own[op.operands[0]], [write(i, at) for i in place])
                op.results[0].replace_all_uses_with(value)
                op.erase()
            elif op.name == "memref.store" and op.operands[1] in own:
                with at, op.location:
                    indices = [write(i, at) for i in place]
                    memref.store(op.operands[0], own[op.operands[1]], indices)
                op.erase()
        if init is not None:
            self._declare_own_reads(place)

    def _declare_own_reads(self, place: Sequence[Index]) -> None:
        """With an initialisation, a block does not declare that it reads what it adds to."""
        at = ir.InsertionPoint.at_block_begin(self.block.block)
        declared = [
            op.operation.operands[0]
            for op in self.block.block.operations
            if op.operation.name == "tir.read"
        ]
        for buffer in self.temporaries:
            if buffer not in declared:
                add_access(ReadOp, buffer, [(i, Index({}, 1)) for i in place], at)


def _fresh_loops(
    extents: Sequence[int], at: ir.InsertionPoint
) -> tuple[list[Index], ir.InsertionPoint]:
    """Nested loops of these extents: their variables ([0] for none), and the innermost body."""
    place: list[Index] = []
    for number, extent in enumerate(extents):
        loop = new_loop(f"s{number}", extent, at)
        place.append(leaf(nest.loop_var(loop)))
        at = ir.InsertionPoint(loop.block)
    return place or [Index()], at


@dataclass
class _Combination:
    """Combines the threads' values and writes the result; `values` are the numbers of the threads
    in place of the loop variables that go away."""

    owner: _CrossThread
    reducer: Reducer
    threads: dict[str, ForOp]
    values: dict[ir.Value, Index]

    def emit(self, spatial: Sequence[ForOp], extents: Sequence[int], at: ir.InsertionPoint) -> None:
        """Write the nest of the combination at `at`."""
        place, inner = _fresh_loops(extents, at)
        for loop, index in zip(spatial, place, strict=False):
            self.values[nest.loop_var(loop)] = index + as_index(loop.min)
        block = new_block(f"{self.owner.block.sym_name.value}_cross_thread", [], inner)
        self.end = ir.InsertionPoint(block.block)
        indices = [i.substitute(self._bindings()) for i in self.reducer.indices]
        one = Index({}, 1)
        for buffer in self.owner.temporaries:
            add_access(ReadOp, buffer, [(i, one) for i in place], self.end)
        for buffer in self.reducer.buffers:
            if self._accumulates():
                add_access(ReadOp, buffer, [(i, one) for i in indices], self.end)
            add_access(WriteOp, buffer, [(i, one) for i in indices], self.end)
        with self.end:
            own = [memref.load(b, self._written(place)) for b in self.owner.temporaries]
            total = allreduce(
                self._group(), own, self._combine, self.end, self.owner.home, self.owner.warp
            )
            self._store(total, indices)

    def _bindings(self) -> dict[ir.Value, Index]:
        block = self.owner.block
        pairs = zip(nest.iter_vars(block), block.bindings, strict=True)
        return {v: as_index(binding).substitute(self.values) for v, binding in pairs}

    def _written(self, indices: Sequence[Index]) -> list[ir.Value]:
        at = ir.InsertionPoint.current
        return [write(i, at, ir.Location.current) for i in indices]

    def _combine(self, old: Sequence[ir.Value], new: Sequence[ir.Value]) -> list[ir.Value]:
        return self.reducer.combine(old, new, ir.InsertionPoint.current)

    def _accumulates(self) -> bool:
        return init_of(self.owner.block) is None or bool(self.owner.outer)

    def _group(self) -> ThreadGroup:
        axes: list[tuple[Index, int, bool]] = []
        reduced = {
            nest.thread_axis(x) for x in self.owner.loops if nest.loop_var(x) in self.owner.reduced
        }
        for axis, loop in self.threads.items():
            extent = self.owner.static_extent(loop)
            axes.append((leaf(nest.loop_var(loop)), extent, axis in reduced))
        return ThreadGroup(tuple(axes))

    # -- the output ---------------------------------------------------------------------------

    def _store(self, total: Sequence[ir.Value], indices: Sequence[Index]) -> None:
        conditions = self._conditions()
        if conditions:
            branch = scf.IfOp(_all(conditions))
            with ir.InsertionPoint(branch.then_block):
                self._store_here(total, indices)
                scf.YieldOp([])
        else:
            self._store_here(total, indices)

    def _store_here(self, total: Sequence[ir.Value], indices: Sequence[Index]) -> None:
        at = self._written(indices)
        if self._accumulates():
            old = [memref.load(b, at) for b in self.reducer.buffers]
            added = self._combine(old, total)
            first = self._is_first_step()
            if first is not None:
                added = [arith.select(first, t, a) for t, a in zip(total, added, strict=True)]
            total = added
        for value, buffer in zip(total, self.reducer.buffers, strict=True):
            memref.store(value, buffer, at)

    def _is_first_step(self) -> ir.Value | None:
        """Whether the reduction loops outside are at their first step, which starts over."""
        if init_of(self.owner.block) is None:
            return None
        return _all(
            [
                arith.cmpi(arith.CmpIPredicate.eq, nest.loop_var(x), self._value(as_index(x.min)))
                for x in self.owner.outer
            ]
        )

    def _value(self, index: Index) -> ir.Value:
        return self._written([index])[0]

    def _conditions(self) -> list[ir.Value]:
        """What has to hold for a thread to write: it is the first of those that have the same
        output, and the output is wanted."""
        found: list[ir.Value] = []
        if not all(is_private_buffer(b) for b in self.reducer.buffers):
            spatial = {leaf_ for i in self.reducer.indices for leaf_ in self._leaves(i)}
            for loop in self.threads.values():
                if loop.extent != 1 and nest.loop_var(loop) not in spatial:
                    zero = self._value(Index())
                    variable = nest.loop_var(loop)
                    found.append(arith.cmpi(arith.CmpIPredicate.eq, variable, zero))
        for predicate in self.owner.block.predicate:
            found += self._parts(predicate)
        return found

    def _leaves(self, index: Index) -> list[ir.Value]:
        return index.substitute(self._bindings()).leaves()

    def _parts(self, predicate: ir.Value) -> list[ir.Value]:
        """The parts of a predicate that are about outputs, in terms of what is known here."""
        maker = defining(predicate)
        if maker is not None and maker.name == "arith.andi":
            return [part for operand in maker.operands for part in self._parts(operand)]
        if maker is None or maker.name != "arith.cmpi":
            raise _refusal(
                self.owner.block,
                "its predicate is no comparison of indices",
                "write the condition with T.where on loop variables",
            )
        sides = [as_index(v) for v in maker.operands]
        if any(v in self.owner.reduced for side in sides for v in side.leaves()):
            return []
        left, right = self._written([side.substitute(self.values) for side in sides])
        return [arith.cmpi(ir.IntegerAttr(maker.attributes["predicate"]).value, left, right)]


def _all(conditions: Sequence[ir.Value]) -> ir.Value:
    total = conditions[0]
    for condition in conditions[1:]:
        total = arith.andi(total, condition)
    return total
