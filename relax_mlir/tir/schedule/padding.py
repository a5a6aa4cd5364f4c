"""Padding a contraction so that its loops divide: pad_einsum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir, memref, scf
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import bindings_of, read_buffers, siblings, writers
from relax_mlir.tir.schedule.body import body_statements, loads_of
from relax_mlir.tir.schedule.caching import (
    Place,
    buffer_attributes,
    index_dtype,
    last_allocation,
    place_after,
    redirect,
)
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, ceildiv, leaf
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import single_store
from relax_mlir.tir.schedule.reduction import require_reduction
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    alloc_buffer,
    buffer_shape,
    new_block,
    new_loop,
)

_SUMS = ("arith.addf", "arith.addi")
# What keeps a product of zeros zero.
_PRODUCTS = (
    "arith.constant", "arith.mulf", "arith.muli", "arith.extf", "arith.extsi", "arith.extui",
    "arith.sitofp", "arith.truncf", "memref.load",
)  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """A buffer of the contraction and the iteration variable that indexes each dimension, None for
    one that a constant does."""

    buffer: ir.Value
    variables: list[ir.Value | None]

    def used(self) -> list[ir.Value]:
        return [v for v in self.variables if v is not None]


def pad_einsum(state: ScheduleState, block: ir.OpView, padding: Sequence[int]) -> None:
    """Extend each iteration variable's domain to a multiple of its entry in `padding`.

    Inputs are copied into buffers padded with zeros, and the result is copied out.
    """
    block = require_reduction(block)
    if len(padding) != len(nest.iter_vars(block)) or any(p <= 0 for p in padding):
        raise Refusal(f"padding {list(padding)} is not a positive number for each of the "
                      f"{len(nest.iter_vars(block))} iteration variables", block)  # fmt: skip
    inputs, output = _operands(block)
    loops = _own_loops(block)
    extents = [as_index(extent) for _, extent in block.domain_pairs]
    padded = {
        v: ceildiv(extent, factor) * factor
        for v, extent, factor in zip(nest.iter_vars(block), extents, padding, strict=True)
    }
    grown = {v for v, e in zip(nest.iter_vars(block), extents, strict=True) if padded[v] != e}
    if not grown:
        return
    scope = nest.scope_of(block)
    top = nest.loops_around(block)[0]
    for operand in inputs:
        if any(v in grown for v in operand.used()):
            made = _padded_buffer(operand, padded, scope)
            grows = [v is not None and v in grown for v in operand.variables]
            _pad_block(operand, made, grows, Place(scope, top))
            redirect(block, operand.buffer, made, loads=True, stores=False)
    if any(v in grown for v in output.used()):
        made = _padded_buffer(output, padded, scope)
        _copy_out(output, made, place_after(block, _readers(block, output.buffer)))
        redirect(block, output.buffer, made, loads=True, stores=True)
    new_extents = [padded[v] for v in nest.iter_vars(block)]
    for loop, extent in zip(loops, new_extents, strict=True):
        state.set_loop_bounds(loop, Index(), extent)
    domains = [(Index(), extent) for extent in new_extents]
    refresh(state.rebuild_block(block, domains=domains))


def _readers(block: BlockOp, buffer: ir.Value) -> list[BlockOp]:
    return [b for b in siblings(block) if b != block and buffer in read_buffers(b)]


def _operands(block: BlockOp) -> tuple[list[Operand], Operand]:
    """The inputs and the output of `C[...] += A[...] * B[...]`."""
    element = single_store(block)
    output = Operand(element.buffer, _distinct(block, element.buffer, element.indices))
    update = element.store.operands[0].owner
    operation = None if isinstance(update, ir.Block) else update.operation
    names = {op.operation.name for op in body_statements(block) if not nest.is_movable(op)}
    arithmetic = {op.operation.name for op in body_statements(block)
                  if op.operation.name.startswith(("arith.", "math."))}  # fmt: skip
    is_product = arithmetic - set(_SUMS) <= set(_PRODUCTS) and names <= {
        "memref.load", "memref.store"
    }  # fmt: skip
    sums = [op for op in body_statements(block) if op.operation.name in _SUMS]
    if operation is None or operation.name not in _SUMS or not is_product or len(sums) != 1:
        raise Refusal(f"{label(block)} is no sum of products", block)
    if not any(op.operation.name in ("arith.mulf", "arith.muli") for op in body_statements(block)):
        raise Refusal(f"{label(block)} is no sum of products", block)
    inputs: list[Operand] = []
    for buffer in read_buffers(block):
        if buffer == output.buffer:
            continue
        indices = [[as_index(v) for v in list(load.operands)[1:]]
                   for load in loads_of(buffer, block)]  # fmt: skip
        if not indices or any(index != indices[0] for index in indices):
            raise Refusal(
                f"{label(block)} reads {nest.value_name(buffer)} at several places", block
            )
        inputs.append(Operand(buffer, _distinct(block, buffer, indices[0])))
    return inputs, output


def _distinct(block: BlockOp, buffer: ir.Value, indices: Sequence[Index]) -> list[ir.Value | None]:
    found: list[ir.Value | None] = []
    for index in indices:
        if index.is_constant:
            found.append(None)
            continue
        variable = index.as_leaf()
        used = [v for v in found if v is not None]
        if variable is None or variable in used or variable not in nest.iter_vars(block):
            raise Refusal(f"{label(block)} does not index {nest.value_name(buffer)} by distinct "
                          f"iteration variables: {index}", block)  # fmt: skip
        found.append(variable)
    for variable, size in zip(found, buffer_shape(buffer), strict=True):
        if variable is None:
            continue
        low, extent = block.domain_pairs[nest.iter_vars(block).index(variable)]
        if as_index(low) != Index() or as_index(extent) != size:
            raise Refusal(f"{nest.value_name(variable)} does not run over the whole dimension of "
                          f"{nest.value_name(buffer)}", block)  # fmt: skip
    return found


def _own_loops(block: BlockOp) -> list[ForOp]:
    """The loop of each iteration variable: nothing but these are around the block."""
    around = nest.loops_around(block)
    by_variable = {nest.loop_var(loop): loop for loop in around}
    found: list[ForOp] = []
    for binding in bindings_of(block):
        variable = binding.as_leaf()
        if variable is None or variable not in by_variable:
            raise Refusal(f"the binding {binding} of {label(block)} is not a loop variable", block,
                          hint="pad before you split")  # fmt: skip
        found.append(by_variable[variable])
    chained = all(
        nest.statements(outer.block) == [inner]
        for outer, inner in zip(around, [*around[1:], block], strict=True)
    )
    if len(set(found)) != len(around) or not chained or len(block.predicate):
        raise Refusal(f"{label(block)} is not alone in its own loops", block)
    if len(writers(single_store(block).buffer, siblings(block))) > 1:
        raise Refusal(f"another block writes the output of {label(block)}", block)
    return found


def _padded_buffer(operand: Operand, padded: dict[ir.Value, Index], scope: ir.OpView) -> ir.Value:
    buffer = operand.buffer
    sizes = zip(operand.variables, buffer_shape(buffer), strict=True)
    shape = [size if v is None else padded[v] for v, size in sizes]
    element = ir.MemRefType(buffer.type).element_type
    name = f"{nest.value_name(buffer)}_pad"
    at = last_allocation(scope)
    return alloc_buffer(name, shape, element, "global", at, buffer_attributes(buffer)).result


def _copy_nest(
    name: str, buffer: ir.Value, shape: Sequence[Index], place: Place
) -> tuple[BlockOp, ir.InsertionPoint]:
    at = place.point()
    wide = index_dtype(buffer)
    rows = []
    for number, extent in enumerate(shape):
        loop = new_loop(f"i{number}", extent, at, attributes=wide)
        at = ir.InsertionPoint(loop.block)
        rows.append((f"v{number}", "S", (Index(), extent), leaf(nest.loop_var(loop))))
    block = new_block(name, rows, at)
    if wide:
        block.operation.attributes["iter_dtype"] = wide["dtype"]
    return block, ir.InsertionPoint(block.block)


def _pad_block(operand: Operand, made: ir.Value, grown: Sequence[bool], place: Place) -> BlockOp:
    """`made[v] = buffer[v] if v is inside else 0`."""
    name = nest.value_name(made)
    block, at = _copy_nest(name, operand.buffer, buffer_shape(made), place)
    point = [(leaf(v), Index({}, 1)) for v in nest.iter_vars(block)]
    add_access(ReadOp, operand.buffer, point, at)
    add_access(WriteOp, made, point, at)
    condition: ir.Value | None = None
    sizes = buffer_shape(operand.buffer)
    for variable, size, grows in zip(nest.iter_vars(block), sizes, grown, strict=True):
        if grows:
            limit = write(size, at)
            part = arith.CmpIOp(arith.CmpIPredicate.slt, variable, limit, ip=at).result
            condition = part if condition is None else arith.AndIOp(condition, part, ip=at).result
    element = ir.MemRefType(made.type).element_type
    assert condition is not None
    chosen = scf.IfOp(condition, [element], has_else=True, ip=at)
    with ir.InsertionPoint(chosen.then_block):
        scf.yield_([memref.load(operand.buffer, list(nest.iter_vars(block)))])
    with ir.InsertionPoint(chosen.else_block):
        zero = (ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType)
                else ir.IntegerAttr.get(element, 0))  # fmt: skip
        scf.yield_([arith.constant(element, zero)])
    memref.StoreOp(chosen.results[0], made, list(nest.iter_vars(block)), ip=at)
    return block


def _copy_out(output: Operand, made: ir.Value, place: Place) -> BlockOp:
    """`buffer[v] = made[v]` over the part that is not padding."""
    shape = buffer_shape(output.buffer)
    block, at = _copy_nest(nest.value_name(made), output.buffer, shape, place)
    point = [(leaf(v), Index({}, 1)) for v in nest.iter_vars(block)]
    add_access(ReadOp, made, point, at)
    add_access(WriteOp, output.buffer, point, at)
    loaded = memref.LoadOp(made, list(nest.iter_vars(block)), ip=at).result
    memref.StoreOp(loaded, output.buffer, list(nest.iter_vars(block)), ip=at)
    return block
