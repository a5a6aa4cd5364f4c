"""What blocks read and write, and which of them may be reordered, run in parallel or moved.

The vocabulary is TVM's.  In its scope (the block or function around it) a block is *dominant* when
no other block writes its outputs, *complete* when it is dominant, only has spatial iteration
variables and does not read what it writes, and a *reduction block* when it is dominant, has an
init, and its reduction variables do not choose which element is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import AccessOp, BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.facts import remembered
from relax_mlir.tir.schedule.index import Index, as_index, defining, value_domain
from relax_mlir.tir.schedule.nest import child_blocks, loops_around, scope_of


@dataclass(frozen=True)
class Access:
    """A region of a buffer: `(offset, size)` for each dimension."""

    buffer: ir.Value
    region: list[tuple[Index, Index]]

    @classmethod
    def of(cls, op: AccessOp) -> Access:
        offsets, sizes = op.mixed_offsets, op.mixed_sizes
        return cls(
            op.buffer, [(as_index(o), as_index(s)) for o, s in zip(offsets, sizes, strict=True)]
        )

    def leaves(self) -> list[ir.Value]:
        return [v for offset, size in self.region for e in (offset, size) for v in e.leaves()]


@remembered
def reads_of(block: BlockOp) -> Sequence[Access]:
    return [Access.of(op) for op in block.block.operations if isinstance(op, ReadOp)]


@remembered
def writes_of(block: BlockOp) -> Sequence[Access]:
    return [Access.of(op) for op in block.block.operations if isinstance(op, WriteOp)]


@remembered
def root_buffer(buffer: ir.Value) -> ir.Value:
    """The buffer that a view is of."""
    producer = defining(buffer)
    while producer is not None and producer.name.startswith("memref."):
        buffer = producer.operands[0]
        producer = defining(buffer)
    return buffer


def read_buffers(block: BlockOp) -> Sequence[ir.Value]:
    return _buffers(block, ReadOp)


def written_buffers(block: BlockOp) -> Sequence[ir.Value]:
    return _buffers(block, WriteOp)


@remembered
def _buffers(block: BlockOp, kind: type[AccessOp]) -> Sequence[ir.Value]:
    accesses = [op for op in block.block.operations if isinstance(op, kind)]
    return list(dict.fromkeys(root_buffer(op.buffer) for op in accesses))


@remembered
def init_of(block: BlockOp) -> InitOp | None:
    return next((op for op in block.block.operations if isinstance(op, InitOp)), None)


@remembered
def siblings(block: BlockOp) -> Sequence[BlockOp]:
    """The blocks of the same scope in program order, `block` among them."""
    return child_blocks(scope_of(block))


def writers(buffer: ir.Value, blocks: Iterable[BlockOp]) -> list[BlockOp]:
    return [block for block in blocks if buffer in written_buffers(block)]


def producers(block: BlockOp) -> list[BlockOp]:
    """The blocks of its scope that write what `block` reads, before it in program order."""
    earlier: list[BlockOp] = []
    for other in siblings(block):
        if other == block:
            break
        earlier.append(other)
    read = set(read_buffers(block))
    return [other for other in earlier if read & set(written_buffers(other))]


def consumers(block: BlockOp) -> list[BlockOp]:
    """The blocks of its scope that read what `block` writes, after it in program order."""
    blocks = siblings(block)
    written = set(written_buffers(block))
    later = blocks[blocks.index(block) + 1 :]
    return [other for other in later if written & set(read_buffers(other))]


def is_output(block: BlockOp) -> bool:
    """True when the block writes a buffer that outlives its scope."""
    scope = scope_of(block)
    return any(not is_local_to(buffer, scope) for buffer in written_buffers(block))


def is_local_to(buffer: ir.Value, scope: ir.OpView) -> bool:
    """True when `buffer` is allocated in the body of `scope`."""
    producer = defining(buffer)
    return producer is not None and producer.block == nest.body_of(scope)


# -- kinds of blocks --------------------------------------------------------------------------


def not_dominant(block: BlockOp) -> str | None:
    for buffer in written_buffers(block):
        for other in siblings(block):
            if other != block and buffer in written_buffers(other):
                return f"{label(other)} also writes {nest.value_name(buffer, 'its output')}"
    return None


def not_complete(block: BlockOp) -> str | None:
    """Why a block is not complete, None when it is."""
    reason = not_dominant(block) or captured_loop(block)
    if reason is not None:
        return reason
    for value, kind in zip(nest.iter_vars(block), block.kinds, strict=True):
        if kind != "S":
            return f"its iteration variable {nest.value_name(value)} is not spatial"
    both = set(read_buffers(block)) & set(written_buffers(block))
    if both:
        return f"it reads {nest.value_name(both.pop(), 'a buffer')}, which it also writes"
    return None


def not_reduction(block: BlockOp) -> str | None:
    """Why a block is not a reduction block, None when it is."""
    if init_of(block) is None:
        return "it has no init"
    return not_dominant(block) or captured_loop(block) or no_reduction(block)


@remembered
def no_reduction(block: BlockOp) -> str | None:
    """Why the variables of a block are not those of a reduction, None when they are."""
    for value, kind in zip(nest.iter_vars(block), block.kinds, strict=True):
        if kind not in ("S", "R"):
            return f"its iteration variable {nest.value_name(value)} is opaque or scanning"
        if kind == "R" and any(value in access.leaves() for access in writes_of(block)):
            return f"its reduction variable {nest.value_name(value)} indexes the output"
    return None


@remembered
def captured_loop(block: BlockOp) -> str | None:
    """A use of a loop around the block other than by its variables, None when there is none."""
    inside = set(nest.iter_vars(block))
    seen: set[ir.Value] = set()
    for op in nest.descend(block):
        inside.update(op.operation.results)
        inside.update(a for r in op.operation.regions for b in r.blocks for a in b.arguments)
        for operand in op.operation.operands:
            if operand not in inside and operand not in seen:
                seen.add(operand)
                loop = _loop_behind(operand)
                if loop is not None:
                    return f"it uses loop {nest.value_name(loop, 'i')} other than by its variables"
    return None


def _loop_behind(value: ir.Value) -> ir.Value | None:
    """A loop variable that a value is computed from."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value if isinstance(owner.owner.operation.opview, ForOp) else None
    if not nest.is_movable(owner.operation.opview):
        return None
    return next((v for v in map(_loop_behind, owner.operation.operands) if v is not None), None)


def require_complete_or_reduction(block: BlockOp) -> None:
    complete = not_complete(block)
    if complete is None or not_reduction(block) is None:
        return
    reduction = not_reduction(block)
    raise Refusal(
        f'block "{block.sym_name.value}" is neither complete ({complete}) '
        f"nor a reduction block ({reduction})",
        block,
    )


@remembered
def is_reduction(block: BlockOp) -> bool:
    return not_complete(block) is not None and not_reduction(block) is None


# -- bindings ---------------------------------------------------------------------------------


@remembered
def bindings_of(block: BlockOp) -> Sequence[Index]:
    return [as_index(binding) for binding in block.bindings]


def from_outside(
    block: BlockOp, region: Sequence[tuple[Index, Index]]
) -> list[tuple[Index, Index]]:
    """A region in terms of a block's variables, as one in terms of what the block is in."""
    return [(_from_outside(block, o), _from_outside(block, s)) for o, s in region]


@remembered
def _from_outside(block: BlockOp, expr: Index) -> Index:
    return expr.substitute(dict(zip(nest.iter_vars(block), bindings_of(block), strict=True)))


def binding_domain(values: Iterable[ir.Value]) -> dict[ir.Value, int] | None:
    """The constant extents of loops that start at zero, None when one is otherwise."""
    domain: dict[ir.Value, int] = {}
    for value in values:
        pair = value_domain(value)
        extent = None if pair is None or pair[0] != Index() else pair[1].as_constant()
        if extent is None:
            return None
        domain[value] = extent
    return domain


def loops_of_kind(block: BlockOp, loop_var: ir.Value) -> set[str]:
    """The kinds of the block's iteration variables whose bindings use a loop variable."""
    pairs = zip(bindings_of(block), block.kinds, strict=True)
    return {kind for binding, kind in pairs if binding.uses(loop_var)}


def require_block_bodies(loop: ForOp) -> None:
    """Refuse loops whose body does something outside of blocks."""
    for op in nest.descend_in_scope(loop):
        known = isinstance(op, (ForOp, BlockOp)) or nest.is_movable(op)
        if not known and op.operation.name not in ("scf.if", "scf.yield"):
            raise Refusal(
                f"{label(loop)} holds {op.operation.name} outside of any block", loop,
                hint="put the statement into a block",
            )  # fmt: skip


def chain(outer: ForOp, inner: ir.OpView) -> list[ir.OpView]:
    """Everything from `outer` down to `inner`, both included."""
    found: list[ir.OpView] = [inner]
    while found[-1] != outer:
        above = nest.parent(found[-1])
        assert above is not None, "inner is below outer"
        found.append(above)
    return found[::-1]


def surrounding_loops(block: BlockOp) -> Sequence[ForOp]:
    return loops_around(block)


def require_block(op: ir.OpView) -> BlockOp:
    """The block, not the function, which stands for the root block."""
    if not isinstance(op, BlockOp):
        raise Refusal("the root block is not part of any scope", op)
    return op
