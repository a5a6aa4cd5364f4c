"""A nest as an instruction: tensorize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.tir.blocks import BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import ScheduleError
from relax_mlir.mlir import ir
from relax_mlir.tir.memory import subview
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.blockize import blockize
from relax_mlir.tir.schedule.body import Copier
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.index import Index, as_index
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.matching import Matcher, Part
from relax_mlir.tir.schedule.state import ScheduleState, erase_dead_arithmetic
from relax_mlir.tir.tensor_intrin import TensorIntrin

_ACCESSES = {"memref.load": 0, "vector.load": 0, "memref.store": 1, "vector.store": 1,
             "tir.address_of": 0}  # fmt: skip
_OF_THE_WHOLE = ("tir.call", "tir.buffer_data", "memref.extract_strided_metadata", "memref.dim")
"""What takes a buffer without indices: it gets the part as a buffer of its own."""


def tensorize(
    state: ScheduleState,
    block_or_loop: BlockOp | ForOp,
    tensor_intrin: str,
    preserve_unit_iters: bool = True,
) -> None:
    """Replace the nest from a loop down, or what a block does, by an intrinsic's implementation.

    The nest must be what the intrinsic describes, loop by loop.
    """
    try:
        intrin = TensorIntrin.get(tensor_intrin)
    except ScheduleError as error:
        raise Refusal(str(error), block_or_loop) from None
    assert intrin is not None, "a missing intrinsic is an error"
    block = block_or_loop
    if not isinstance(block, (BlockOp, ForOp)):
        raise Refusal("tensorize takes a loop or a block", block)
    body = intrin.impl.operation.regions[0].blocks[0]
    by_parameter = _match(tensor_intrin, intrin, block)
    _require_usable(block, body, by_parameter)
    if isinstance(block, ForOp):
        block = blockize(state, block, preserve_unit_iters)
        by_parameter = _match(tensor_intrin, intrin, block)
    for op in reversed(nest.operations(block.block)):
        if not isinstance(op, (ReadOp, WriteOp, InitOp)) and not nest.is_movable(op):
            state.erase(op)
    erase_dead_arithmetic(block)
    copier = Copier(ir.InsertionPoint(block.block))
    ops = [op for op in nest.operations(body) if op.operation.name != "func.return"]
    views = _views(block, by_parameter)
    copier.clone_all(ops)
    for op in [o.operation for o in nest.descend(block)]:
        _redirect(op, by_parameter, views)
    erase_dead_arithmetic(block)
    refresh(block)


def _views(block: BlockOp, parts: Mapping[ir.Value, Part]) -> dict[ir.Value, ir.Value]:
    """A `memref.subview` for each parameter whose address or layout the implementation asks for."""
    asked = [
        parameter
        for parameter in parts
        if any(use.owner.operation.name in _OF_THE_WHOLE for use in parameter.uses)
    ]
    at = ir.InsertionPoint(block.block)
    made: dict[ir.Value, ir.Value] = {}
    for parameter in asked:
        part = parts[parameter]
        shape = list(ir.MemRefType(parameter.type).shape)
        ones = len(part.offsets) - len(shape)
        location = name_location(nest.value_name(parameter), block.location)
        with at, location:
            known = [offset.as_constant() for offset in part.offsets]
            offsets = [write(o, at) if k is None else k
                       for o, k in zip(part.offsets, known, strict=True)]  # fmt: skip
            made[parameter] = subview(part.buffer, offsets, [1] * ones + shape, len(shape))
    return made


def _match(name: str, intrin: TensorIntrin, place: BlockOp | ForOp) -> dict[ir.Value, Part]:
    """The part of a buffer that each parameter of the implementation is."""
    parts = Matcher(name, intrin.desc.operation, place).run()
    body = intrin.impl.operation.regions[0].blocks[0]
    return dict(zip(list(body.arguments), parts, strict=True))


def _require_usable(block: BlockOp | ForOp, body: ir.Block, parts: Mapping[ir.Value, Part]) -> None:
    """Every use of a parameter can be written for its part of a buffer."""
    for op in _inside(body):
        for position, operand in enumerate(op.operands):
            part = parts.get(operand)
            if part is None or op.name in ("tir.read", "tir.write"):
                continue
            if _ACCESSES.get(op.name) != position and op.name not in _OF_THE_WHOLE:
                raise Refusal(f"the implementation uses {nest.value_name(operand)} in {op.name}",
                              block)  # fmt: skip
            if op.name.startswith("vector."):
                kind = op.results[0].type if op.name == "vector.load" else op.operands[0].type
                _require_contiguous(block, operand, part, ir.VectorType(kind).shape[0])


def _require_contiguous(
    block: BlockOp | ForOp, parameter: ir.Value, part: Part, lanes: int
) -> None:
    """A vector over several rows of a parameter needs these rows to follow each other."""
    shape = list(ir.MemRefType(parameter.type).shape)
    outer = list(ir.MemRefType(part.buffer.type).shape)[-len(shape) :]
    covered = 1
    for size, whole in zip(reversed(shape), reversed(outer), strict=True):
        covered *= size
        if lanes <= covered:
            return
        if size != whole:
            raise Refusal(f"the implementation reads {lanes} elements of "
                          f"{nest.value_name(parameter)} at once, and they are apart in "
                          f"{nest.value_name(part.buffer)}", block,
                          hint="transform_layout packs them")  # fmt: skip


def _inside(body: ir.Block) -> list[ir.Operation]:
    return [o.operation for op in body.operations for o in (op, *nest.descend(op))]


def _redirect(
    op: ir.Operation, parts: Mapping[ir.Value, Part], views: Mapping[ir.Value, ir.Value]
) -> None:
    """Let an operation of the implementation work on the buffers instead of the parameters."""
    if op.name in _OF_THE_WHOLE:
        for parameter, view in views.items():
            op.replace_uses_of_with(parameter, view)
        return
    if op.name in ("tir.read", "tir.write") and op.operands[0] in parts:
        op.erase()  # declared anew from what the block accesses
        return
    number = _ACCESSES.get(op.name)
    part = None if number is None else parts.get(op.operands[number])
    if number is None or part is None:
        return
    at = ir.InsertionPoint(op)
    operands = list(op.operands)
    indices = _indices(operands[number + 1 :], part)
    new = ir.Operation.create(
        op.name,
        results=[r.type for r in op.results],
        operands=[*operands[:number], part.buffer, *(write(i, at) for i in indices)],
        attributes={name: op.attributes[name] for name in op.attributes},
        loc=op.location,
        ip=at,
    )
    for old, made in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(made)
    op.erase()


def _indices(given: Sequence[ir.Value], part: Part) -> list[Index]:
    return part.at([as_index(v) for v in given])
