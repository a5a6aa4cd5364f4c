"""`linalg-to-vector`: linalg on memrefs to vector and scf code for the CPU."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from relax_mlir.errors import PassError
from relax_mlir.lowering.linalg_to_vector.arg_reduction import let_nan_win
from relax_mlir.lowering.linalg_to_vector.buffers import (
    BufferUses,
    erase_unused_buffers,
    outputs_of,
)
from relax_mlir.lowering.linalg_to_vector.builder import Builder
from relax_mlir.lowering.linalg_to_vector.contraction.matching import (
    match_contraction,
    with_epilogue,
)
from relax_mlir.lowering.linalg_to_vector.convolution.matching import (
    Convolution,
    Window,
    arrange_convolution,
    parse_convolution,
)
from relax_mlir.lowering.linalg_to_vector.convolution.padding import Padding
from relax_mlir.lowering.linalg_to_vector.convolution.recognition import (
    find_bordered,
    find_pooling,
)
from relax_mlir.lowering.linalg_to_vector.convolution.tile_pooling import (
    TilePooling,
    find_tile_pooling,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_1d_matching import (
    Winograd1D,
    match_winograd_1d,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import (
    Winograd,
    match_winograd,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget, host_cpu
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, Stage, parse
from relax_mlir.lowering.linalg_to_vector.named_operations import (
    generalize_named_operations,
    linalg_names,
)
from relax_mlir.lowering.linalg_to_vector.row_chain import match_row_chain
from relax_mlir.lowering.linalg_to_vector.row_chain_emission import RowChainEmitter
from relax_mlir.lowering.linalg_to_vector.strategies import contraction_strategy, find_strategy
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.num_threads import mark_parallel
from relax_mlir.mlir import PassManager, ir, operations_named

__all__ = ["LinalgToVector"]


@register_pass("linalg-to-vector")
@dataclass(frozen=True)
class LinalgToVector(Pass):
    """Lower linalg operations on memrefs to vectorized loops, by their structure.

    Contractions become register-tiled matrix products with the elementwise operation that follows
    fused into the tile; transposes go through register tiles; elementwise operations and reductions
    become loops over vectors; what fits none of these becomes scalar loops.

    vector_width: bits of a vector register, 0 for the host's.  num_cores: cores to divide large
    operations of known size among, by scf.parallel; 0 for those of the module's target, one if it
    does not say.
    """

    vector_width: int = 0
    num_cores: int = 0

    def run(self, state: ModuleState) -> None:
        self._check_options()
        num_cores = self.num_cores or getattr(state.target, "num_cores", None) or 1
        target = host_cpu().restricted(self.vector_width, num_cores)
        module = state.module
        with module.context, ir.Location.unknown():
            generalize_named_operations(module)
            for function in state.functions():
                if list(function.regions[0].blocks):
                    _FunctionLowering(function, target).run()
                    if target.num_cores > 1 and _has_parallel_loops(function):
                        mark_parallel(function)
            if linalg_names(module):
                PassManager.parse("builtin.module(func.func(convert-linalg-to-loops))").run(
                    module.operation
                )

    def _check_options(self) -> None:
        width = self.vector_width
        if width and (width < 128 or width > 2048 or width & (width - 1)):
            expected = "0 or a power of two from 128 to 2048"
            raise PassError(f"{self.name}: vector-width is {width}, expected {expected}")
        if self.num_cores < 0:
            raise PassError(f"{self.name}: num-cores is {self.num_cores}, expected 0 or more")


def _erase_from_last(ops: list[ir.Operation]) -> None:
    for op in reversed(ops):
        op.erase()


def _is_plain_product(op: ir.Operation, windows: tuple[Window, ...]) -> bool:
    """Whether no window is more than one element and all are next to each other, so that the
    operation is a matrix product if it is arranged as one."""
    if any(w.tap is not None or w.stride != 1 or w.checked for w in windows):
        return False
    nest = parse(op)
    return nest is not None and match_contraction(nest.simplify()) is not None


def _has_parallel_loops(function: ir.Operation) -> bool:
    return bool(operations_named(function, ("scf.parallel",)))


class _FunctionLowering:
    """Lowers the linalg operations of one function, block by block, in order.

    A fill is held back until something touches its buffer: a reduction that accumulates into it
    then starts from the constant instead of reading memory.
    """

    def __init__(self, function: ir.Operation, target: CPUTarget):
        self.function = function
        self.target = target
        self.entry = function.regions[0].blocks[0]
        self.builder = Builder(self.entry)
        self.uses = BufferUses(function)
        self.fills: dict[ir.Value, ir.Operation] = {}
        self.paddings: dict[ir.Operation, Padding] = {}
        self.winograds: dict[ir.Operation, Winograd | Winograd1D] = {}

    def run(self) -> None:
        self._lower_region(self.function.regions[0])
        erase_unused_buffers(self.function)

    def _lower_region(self, region: ir.Region) -> None:
        for block in region.blocks:
            self._lower_block(block)

    def _lower_block(self, block: ir.Block) -> None:
        outer_fills, self.fills = self.fills, {}
        operations = [op.operation for op in block.operations]
        operations = self._without_borders(self._without_winograd(operations))
        while operations:
            op = operations.pop(0)
            if op.name == "linalg.fill" and self.uses.is_private(op.operands[1]):
                self.fills[op.operands[1]] = op
            elif op.name in ("linalg.generic", "linalg.fill"):
                self._lower_op(op, operations)
            else:
                self._flush_fills(op)
                self._lower_inside(op)
        self._flush_fills(None)
        self.fills = outer_fills

    def _lower_inside(self, op: ir.Operation) -> None:
        """Lower what an operation has in its regions; each piece of parallel work has one core."""
        outer = self.target
        if op.name == "scf.parallel":
            self.target = replace(outer, num_cores=1)
        for region in op.regions:
            self._lower_region(region)
        self.target = outer

    # Fills held back

    def _flush_fills(self, op: ir.Operation | None) -> None:
        """Emit the fills of the buffers that `op` touches before it (all of them for None)."""
        if not self.fills:
            return
        touched = None if op is None else self.uses.buffers_of(op)
        for buffer in list(self.fills):
            if touched is None or buffer in touched:
                self._emit_plain(self.fills.pop(buffer))

    def _emit_plain(self, op: ir.Operation) -> None:
        """Lower an operation where it stands, without looking at what surrounds it."""
        nest = parse(op)
        if nest is not None and self._emit(op, nest.simplify(), {}):
            op.erase()

    def _take_initial(self, op: ir.Operation, nest: LoopNest) -> dict[int, ir.Value]:
        """The constants that outputs were filled with; those fills are gone.  The fills of
        other buffers that the nest reads are emitted."""
        initial: dict[int, ir.Value] = {}
        inputs = {nest.operands[i].value for i in nest.inputs()}
        for out in nest.body.results:
            operand = nest.operands[out]
            whole = operand.dim_order is not None and operand.value not in inputs
            if whole and operand.value in self.fills:
                fill = self.fills.pop(operand.value)
                initial[out] = fill.operands[0]
                fill.erase()
        self._flush_fills(op)
        return initial

    # One operation

    def _lower_op(self, op: ir.Operation, following: list[ir.Operation]) -> None:
        """Lower an operation, with the one that consumes it where that can be fused, which then
        is no longer among the following ones."""
        # A product that starts a chain is a convolution of one tap too.
        lowered = (
            self._lower_winograd(op, following)
            or self._lower_row_chain(op, following)
            or self._lower_convolution(op, following)
            or self._lower_pooling(op)
        )
        if lowered:
            return
        nest = parse(op, quotients=True)
        if nest is None:
            self._flush_fills(op)
            return
        let_nan_win(nest.body.block, len(nest.body.results))
        initial = self._take_initial(op, nest)
        consumer = self._fusable_consumer(op, nest, following)
        if consumer is not None and self._emit_fused(op, nest, consumer, initial):
            following.remove(consumer)
            consumer.erase()
            op.erase()
            return
        if self._emit(op, nest.simplify(), initial):
            op.erase()
            return
        for out, value in initial.items():
            with ir.InsertionPoint(op), op.location:
                buffer = nest.operands[out].value
                self._emit_plain(_make_fill(value, buffer))

    def _emit(self, op: ir.Operation, nest: LoopNest, initial: dict[int, ir.Value]) -> bool:
        """Emit a simplified nest before `op` by the first strategy that fits; False if none."""
        emission = find_strategy(nest, self.target)
        if emission is None:
            return False
        with ir.InsertionPoint(op), op.location:
            emission(self.builder, initial)
        return True

    def _lower_row_chain(self, op: ir.Operation, following: list[ir.Operation]) -> bool:
        """Lower an operation together with a chain that it starts, for blocks of rows; the other
        operations of the chain are then no longer among the following ones."""
        chain = match_row_chain(op, following, self.uses)
        if chain is None:
            return False
        emitter = RowChainEmitter(self.builder, chain, self.target, find_strategy)
        if not emitter.can_emit():
            return False
        for buffer in chain.written:
            if buffer in self.fills:
                chain.fills.setdefault(buffer, self.fills.pop(buffer))
        for link in chain.links:
            self._flush_fills(link.op)
        last = chain.links[-1].op
        with ir.InsertionPoint(last), last.location:
            emitter.emit()
        for member in [link.op for link in chain.links] + list(chain.fills.values()):
            if member in following:
                following.remove(member)
            member.erase()
        return True

    # Epilogues

    def _fusable_consumer(
        self, op: ir.Operation, nest: LoopNest, following: list[ir.Operation]
    ) -> ir.Operation | None:
        """The elementwise operation that alone reads what `op` computes, if it can run with it."""
        if not any(nest.reduction) or len(nest.body.results) != 1:
            return None
        return self._only_consumer(op, nest.operands[nest.body.results[0]].value, following)

    def _only_consumer(
        self,
        op: ir.Operation,
        buffer: ir.Value,
        following: list[ir.Operation],
        besides: Collection[ir.Operation] = (),
    ) -> ir.Operation | None:
        """The operation that alone reads a temporary that `op` writes, if it can run with it.

        besides: users that go with `op`, as what sets the temporary to its initial value.
        """
        readers = [user for user in self.uses.remaining_users(buffer, op) if user not in besides]
        if not self.uses.is_temporary(buffer) or len(readers) != 1:
            return None
        consumer = readers[0]
        if consumer.name != "linalg.generic" or consumer not in following:
            return None
        between = following[: following.index(consumer)]
        if not self.uses.can_move_up(consumer, op, between):
            return None
        return consumer

    def _emit_fused(
        self,
        op: ir.Operation,
        nest: LoopNest,
        consumer: ir.Operation,
        initial: dict[int, ir.Value],
    ) -> bool:
        following = parse(consumer)
        if following is None:
            return False
        joined = with_epilogue(nest, following)
        if joined is None:
            return False
        simplified = joined[0].simplify()
        contraction = match_contraction(simplified, joined[1])
        if contraction is None or not _fits_column(contraction.nest, joined[1], contraction.column):
            return False
        self._drop_fills(simplified, joined[1])
        self.uses.move_definitions_up(consumer, op)
        in_place = _accumulate_in_place(contraction.nest, contraction.c, joined[1])
        contraction = replace(contraction, nest=in_place)
        with ir.InsertionPoint(op), op.location:
            contraction_strategy(contraction, self.target)(self.builder, initial)
        return True

    def _drop_fills(self, nest: LoopNest, epilogue: Stage) -> None:
        """Erase the fills of what an epilogue writes whole."""
        for value in {nest.operands[i].value for i in epilogue.results}:
            fill = self.fills.pop(value, None)
            if fill is not None:
                fill.erase()

    def _emit_fills(self, *buffers: ir.Value) -> None:
        """Emit the fills of these buffers that wait to be taken up by what writes them."""
        for buffer in buffers:
            if buffer in self.fills:
                self._emit_plain(self.fills.pop(buffer))

    # Convolutions

    def _without_borders(self, operations: list[ir.Operation]) -> list[ir.Operation]:
        """The operations of a block without those that surround data by zeros for a convolution
        that does not need it."""
        dropped: list[ir.Operation] = []
        for op in operations:
            bordered = find_bordered(op, self.uses)
            if bordered is not None:
                self.paddings[op] = bordered[1]
                dropped += bordered[1].members
        return [op for op in operations if op not in dropped]

    def _without_winograd(self, operations: list[ir.Operation]) -> list[ir.Operation]:
        """The operations of a block without those of Winograd convolutions but the last."""
        dropped: list[ir.Operation] = []
        for op in operations:
            found = match_winograd(op, self.uses) or match_winograd_1d(op, self.uses)
            if found is not None:
                self.winograds[found.last] = found
                dropped += [found.fill, *found.members]
        return [op for op in operations if op not in dropped]

    def _lower_winograd(self, op: ir.Operation, following: list[ir.Operation]) -> bool:
        """Lower the last operation of a Winograd convolution, with the one that consumes it where
        that can be fused."""
        win = self.winograds.get(op)
        nest = None if win is None else parse(win.fill)
        if win is None or nest is None:
            return False
        self._emit_fills(win.data, win.weight)
        out = nest.body.results[0]
        epilogue: Stage | None = None
        consumer = self._only_consumer(op, nest.operands[out].value, following, [win.fill])
        following_nest = None if consumer is None else parse(consumer)
        joined = None if following_nest is None else with_epilogue(nest, following_nest)
        if (
            consumer is not None
            and joined is not None
            and _fits_column(joined[0], joined[1], nest.rank - 1)
            and not any(self.uses.may_overlap(o, win.data) for o in outputs_of(consumer))
        ):
            nest, epilogue = joined
            self._drop_fills(nest, epilogue)
            self.uses.move_definitions_up(consumer, op)
        writers = [win.fill, *win.members, op]
        if epilogue is not None and consumer is not None:
            following.remove(consumer)
            writers.append(consumer)
        pooling = self._take_pooling(win, writers, following)
        with ir.InsertionPoint(op), op.location:
            self._emit_winograd(win, nest, epilogue, pooling)
        _erase_from_last(writers if pooling is None else [*writers, pooling.fill, pooling.op])
        return True

    def _take_pooling(
        self,
        win: Winograd | Winograd1D,
        writers: list[ir.Operation],
        following: list[ir.Operation],
    ) -> TilePooling | None:
        """The pooling of what a convolution and its epilogue compute that goes with them, and is no
        longer among the following operations then."""
        if isinstance(win, Winograd1D):
            return None
        image = outputs_of(writers[-1])[0]
        axes = (win.rows, win.columns)
        pooling = find_tile_pooling(image, writers, axes, following, self.uses)
        if pooling is not None:
            self.uses.move_definitions_up(pooling.op, win.last)
            following.remove(pooling.op)
            if pooling.fill in following:
                following.remove(pooling.fill)
        return pooling

    def _emit_winograd(
        self,
        win: Winograd | Winograd1D,
        nest: LoopNest,
        epilogue: Stage | None,
        pooling: TilePooling | None,
    ) -> None:
        from relax_mlir.lowering.linalg_to_vector.convolution.winograd import emit_winograd
        from relax_mlir.lowering.linalg_to_vector.convolution.winograd_1d import emit_winograd_1d

        if isinstance(win, Winograd1D):
            emit_winograd_1d(self.builder, win, nest, epilogue, self.target)
        else:
            emit_winograd(self.builder, win, nest, epilogue, self.target, pooling)

    def _lower_convolution(self, op: ir.Operation, following: list[ir.Operation]) -> bool:
        """Lower an operation that is a convolution, with the one that consumes it where that can
        be fused, which then is no longer among the following ones."""
        if op.name != "linalg.generic" or len(op.operands) != 3:
            return False
        padding = self.paddings.get(op)
        parsed = parse_convolution(op, padding)
        conv = None if parsed is None else arrange_convolution(*parsed, None)
        if parsed is None or conv is None or _is_plain_product(op, parsed[1]):
            return False
        nest, windows = parsed
        initial = self._take_initial(op, nest)
        if padding is not None:
            self._emit_fills(padding.source)
        consumer = self._fusable_consumer(op, nest, following)
        source = nest.operands[conv.data].value
        fused = None
        if consumer is not None and not any(
            self.uses.may_overlap(out, source) for out in outputs_of(consumer)
        ):
            fused = self._with_consumer(op, nest, windows, consumer)
        self._emit_convolution(op, fused or conv, initial)
        if fused is not None and consumer is not None:
            following.remove(consumer)
            consumer.erase()
        _erase_from_last([*(() if padding is None else padding.members), op])
        return True

    def _lower_pooling(self, op: ir.Operation) -> bool:
        """Lower an operation that joins the data of windows."""
        if op.name != "linalg.generic" or len(op.operands) != 3:
            return False
        padding = self.paddings.get(op)
        conv = find_pooling(op, padding)
        if conv is None:
            return False
        initial = self._take_initial(op, conv.nest)
        if padding is not None:
            self._emit_fills(padding.source)
        self._emit_convolution(op, conv, initial)
        _erase_from_last([*(() if padding is None else padding.members), op])
        return True

    def _emit_convolution(
        self, op: ir.Operation, conv: Convolution, initial: dict[int, ir.Value]
    ) -> None:
        # The strategies of convolutions are many files, which most modules do not need.
        from relax_mlir.lowering.linalg_to_vector.convolution.strategy import emit_convolution

        with ir.InsertionPoint(op), op.location:
            emit_convolution(self.builder, conv, self.target, initial.get(conv.out))

    def _with_consumer(
        self,
        op: ir.Operation,
        nest: LoopNest,
        windows: tuple[Window, ...],
        consumer: ir.Operation,
    ) -> Convolution | None:
        """The convolution with its consumer as its epilogue; None if the two do not fit."""
        following = parse(consumer)
        joined = None if following is None else with_epilogue(nest, following)
        if joined is None:
            return None
        fused = arrange_convolution(joined[0], windows, joined[1])
        if fused is None or not _fits_column(fused.nest, joined[1], fused.column):
            return None
        self._drop_fills(joined[0], joined[1])
        self.uses.move_definitions_up(consumer, op)
        in_place = _accumulate_in_place(fused.nest, fused.out, joined[1])
        return replace(fused, nest=in_place)


def _fits_column(nest: LoopNest, epilogue: Stage, column: int) -> bool:
    """Whether the epilogue's operands are contiguous or constant along the columns."""
    operands = [i for i in (*epilogue.arguments, *epilogue.results) if i >= 0]
    strides = {i: nest.stride(i, column).static for i in operands}
    fit = all(stride in (0, 1) for stride in strides.values())
    return fit and all(strides[i] == 1 for i in epilogue.results)


def _accumulate_in_place(nest: LoopNest, c: int, epilogue: Stage) -> LoopNest:
    """Let partial sums of operand `c` lie in the epilogue's output where that has c's shape and
    type, so that the temporary for them can go."""
    if len(epilogue.results) != 1:
        return nest
    out = epilogue.results[0]
    same_walk = nest.operands[out].strides == nest.operands[c].strides
    same_type = nest.operands[out].element_type == nest.operands[c].element_type
    argument = epilogue.block.arguments[epilogue.arguments.index(out)]
    if not same_walk or not same_type or nest.operands[out].base or list(argument.uses):
        return nest
    operands = list(nest.operands)
    operands[c] = replace(operands[c], value=operands[out].value)
    return replace(nest, operands=tuple(operands))


def _make_fill(value: ir.Value, buffer: ir.Value) -> ir.Operation:
    fill = ir.Operation.create(
        "linalg.fill",
        results=[],
        operands=[value, buffer],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])},
        regions=1,
    )
    element = value.type
    block = fill.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", results=[], operands=[block.arguments[0]])
    return fill
