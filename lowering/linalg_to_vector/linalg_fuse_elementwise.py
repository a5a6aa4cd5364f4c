"""`linalg-fuse-elementwise`: elementwise operations on memrefs move into those that read them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.body import body_cost
from relax_mlir.lowering.linalg_to_vector.buffers import (
    BufferUses,
    erase_unused_buffers,
    outputs_of,
    viewed,
)
from relax_mlir.lowering.linalg_to_vector.builder import defining_op
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.linalg_to_vector.inline_producer import inline_producer
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, LoopNest, parse
from relax_mlir.lowering.linalg_to_vector.reshape_views import replace_reshapes
from relax_mlir.lowering.linalg_to_vector.strategies import find_strategy
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import ir

__all__ = ["LinalgFuseElementwise"]

# A producer of at most this many operations is computed again for every reader.
_CHEAP = 4


@register_pass("linalg-fuse-elementwise")
@dataclass(frozen=True)
class LinalgFuseElementwise(Pass):
    """Remove temporaries between elementwise operations, and between those and reductions.

    A producer whose result lies in a temporary is inlined into its readers: if it only moves
    data (then contractions read the source in place, and readers may take parts of it), if it has
    one reader that reads every element once, or if it is cheap; unless a reader could then no
    longer be vectorized.  What consumes a contraction is left as it is, for `linalg-to-vector` to
    fuse into the contraction's tiles.  What then still copies an argument only to reshape it
    becomes a view.
    """

    def run(self, state: ModuleState) -> None:
        with state.module.context:
            for function in state.functions():
                if list(function.regions[0].blocks):
                    _FunctionFusion(function).run()


class _FunctionFusion:
    def __init__(self, function: ir.Operation):
        self.function = function
        self.uses = BufferUses(function)
        self.target = host_cpu()

    def run(self) -> None:
        self._fuse_region(self.function.regions[0])
        replace_reshapes(self.uses.entry, self.uses)
        erase_unused_buffers(self.function)

    def _fuse_region(self, region: ir.Region) -> None:
        for block in region.blocks:
            # Replaced consumers keep their position, so every op is met after its producers.
            position = 0
            while position < len(block.operations):
                op = block.operations[position].operation
                if op.name == "linalg.generic" and self._inline(op, block):
                    continue
                position += 1
                for inner in op.regions:
                    self._fuse_region(inner)

    def _inline(self, producer: ir.Operation, block: ir.Block) -> bool:
        """Move a producer into all its readers and erase it; False if it stays."""
        nest = parse(producer, quotients=True)
        if nest is None or not _is_elementwise(nest):
            return False
        moves = _moves_data(nest)
        temporary = outputs_of(producer)[0]
        parts = self.uses.parts(temporary)
        if parts is None or ((parts or _divides(nest)) and not moves):
            return False
        fills, readers = self._users(producer, parts)
        if not readers or not all(self._can_inline(producer, nest, r, block) for r in readers):
            return False
        if len(readers) > 1 and not (moves or body_cost(nest.body.block) <= _CHEAP):
            return False
        replacements = [
            inline_producer(producer, reader, quotients=moves, parts=parts) for reader in readers
        ]
        if not all(self._keeps_its_speed(r, f) for r, f in zip(readers, replacements, strict=True)):
            for replacement in replacements:
                if replacement is not None:
                    replacement.erase()
            return False
        views = [defining_op(part) for part in parts]
        for op in (*readers, producer, *fills, *views):
            if op is not None:
                op.erase()
        return True

    def _users(
        self, producer: ir.Operation, parts: Collection[ir.Value]
    ) -> tuple[list[ir.Operation], list[ir.Operation]]:
        """What fills the producer's output and what else uses it, or `parts` of it."""
        views = [defining_op(part) for part in parts]
        direct = self.uses.remaining_users(outputs_of(producer)[0], producer)
        direct = [user for user in direct if user not in views]
        fills = [user for user in direct if user.name == "linalg.fill"]
        readers = [user for user in direct if user.name != "linalg.fill"]
        for part in parts:
            users = self.uses.remaining_users(part, producer)
            readers += [user for user in users if user not in readers]
        return fills, readers

    def _keeps_its_speed(self, reader: ir.Operation, fused: ir.Operation | None) -> bool:
        """Whether the fused operation exists and is vectorized if the reader was."""
        nest = None if fused is None else parse(fused, quotients=True)
        if nest is None:
            return False
        if _divides(nest) and not _moves_data(nest):
            return False
        if find_strategy(nest.simplify(), self.target) is not None:
            return True
        before = parse(reader, quotients=True)
        return before is None or find_strategy(before.simplify(), self.target) is None

    def _can_inline(
        self, producer: ir.Operation, nest: LoopNest, reader: ir.Operation, block: ir.Block
    ) -> bool:
        if reader.name != "linalg.generic" or reader.block != block:
            return False
        if not producer.is_before_in_block(reader):
            return False
        temporary = outputs_of(producer)[0]
        if any(viewed(out) == temporary for out in outputs_of(reader)):
            return False
        consumer = parse(reader, quotients=_moves_data(nest))
        return (
            consumer is not None
            and self._is_worth_it(producer, nest, reader, consumer)
            and self._inputs_stay(producer, reader, block)
        )

    def _is_worth_it(
        self,
        producer: ir.Operation,
        nest: LoopNest,
        reader: ir.Operation,
        consumer: LoopNest,
    ) -> bool:
        if _moves_data(nest):
            reduces = any(consumer.reduction)
            return not (reduces and _transposes(nest) and self._is_transform(reader))
        is_reduction = any(consumer.reduction)
        if is_reduction and (len(consumer.inputs()) > 1 or self._is_epilogue(producer)):
            return False
        temporary = outputs_of(producer)[0]
        reads = [operand for operand in consumer.operands if operand.value == temporary]
        return all(
            read.dim_order is not None and len(read.dim_order) == consumer.rank for read in reads
        )

    def _is_transform(self, reader: ir.Operation) -> bool:
        """Whether an operation multiplies by a matrix of constants: a link of a Winograd
        convolution, which reads vectors of channels."""
        # Few programs have any.
        from relax_mlir.lowering.linalg_to_vector.convolution.constant_matrix import (
            constant_matrix,
        )

        buffers = [v for v in reader.operands if isinstance(v.type, ir.MemRefType)]
        return any(constant_matrix(buffer, self.uses, reader) for buffer in buffers)

    def _is_epilogue(self, producer: ir.Operation) -> bool:
        """Whether the producer consumes the result of a reduction that it could be fused into."""
        for value in producer.operands:
            if not isinstance(value.type, ir.MemRefType) or not self.uses.is_temporary(value):
                continue
            for user in self.uses.remaining_users(value, producer):
                if user.name == "linalg.generic" and value in outputs_of(user):
                    nest = parse(user)
                    if nest is not None and any(nest.reduction) and len(nest.inputs()) > 1:
                        return True
        return False

    def _inputs_stay(self, producer: ir.Operation, reader: ir.Operation, block: ir.Block) -> bool:
        """Whether nothing writes the producer's inputs before the reader has read them."""
        inputs = [v for v in producer.operands if isinstance(v.type, ir.MemRefType)]
        inputs = [v for v in inputs if v not in outputs_of(producer)]
        for view in block.operations:
            op = view.operation
            if not producer.is_before_in_block(op):
                continue
            written = self.uses.written_by(op)
            if any(self.uses.may_overlap(w, i) for w in written for i in inputs):
                return False
            if op == reader:
                return True
        return False


def _is_elementwise(nest: LoopNest) -> bool:
    """All dimensions parallel and a single output that is written whole without being read."""
    if any(nest.reduction) or len(nest.body.results) != 1:
        return False
    out = nest.body.results[0]
    argument = nest.body.block.arguments[nest.body.arguments.index(out)]
    order = nest.operands[out].dim_order
    whole = order is not None and len(order) == nest.rank == len(set(order))
    return whole and not list(argument.uses)


def _moves_data(nest: LoopNest) -> bool:
    """Whether the body only hands an input on."""
    operations = list(nest.body.block.operations)
    return len(operations) == 1 and len(nest.inputs()) == 1


def _transposes(nest: LoopNest) -> bool:
    """Whether what lies beside each other in the output is apart in the input."""
    order = nest.operands[nest.body.results[0]].dim_order
    return bool(order) and nest.stride(nest.inputs()[0], order[-1]) != ONE


def _divides(nest: LoopNest) -> bool:
    """Whether indices have quotients of dimensions."""
    return any(operand.quotients for operand in nest.operands)
