"""What a schedule works on: a module, and the random variables' places in it.

Primitives change operations in place.  An operation that cannot be changed in place (its number of
operands differs) is replaced here, so that the random variables follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.blocks import BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import dynamic, ir, memref
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.index import Index, as_index, read, value_domain
from relax_mlir.tir.schedule.index_write import to_mixed, write
from relax_mlir.tir.schedule.parameter_sizes import parameter_size
from relax_mlir.tir.schedule.random_variable import RandomVariable

"""Unit attribute of loops whose order was chosen: the back end takes them as they are."""


class ScheduleState:
    """The MLIR module being scheduled and what the random variables stand for."""

    def __init__(self, module: ir.Module):
        self.module = module
        self.places: dict[RandomVariable, ir.OpView | int | None] = {}

    def functions(self) -> dict[str, ir.OpView]:
        return {
            ir.StringAttr(op.operation.attributes["sym_name"]).value: op
            for op in self.module.body.operations
            if op.operation.name == "func.func"
        }

    def prim_functions(self) -> dict[str, ir.OpView]:
        return {n: f for n, f in self.functions().items() if "tir.attrs" in f.operation.attributes}

    # -- following operations ---------------------------------------------------------------

    def moved(self, old: ir.OpView, new: ir.OpView) -> None:
        """Random variables of `old` stand for `new` from now on."""
        for variable, place in self.places.items():
            if not isinstance(place, int) and place is not None and place == old:
                self.places[variable] = new

    def erase(self, op: ir.OpView) -> None:
        """Erase an operation with what is inside it; random variables of them become invalid."""
        gone = [op, *nest.descend(op)]
        for inner in gone:
            for result in inner.operation.results:
                if any(not nest.is_ancestor(op, use.owner.operation.opview) for use in result.uses):
                    raise AssertionError(f"{inner.operation.name} is erased but still used")
        # Compared one by one: the hash of an operation depends on its operands.
        named = [inner for inner in gone if isinstance(inner, (BlockOp, ForOp))]
        for variable, place in self.places.items():
            if isinstance(place, ir.OpView) and any(place == inner for inner in named):
                self.places[variable] = None
        op.operation.erase()

    def replace(self, old: ir.OpView, new: ir.OpView) -> None:
        """Let `new`, which took over the body of `old`, take its place."""
        self.moved(old, new)
        old.operation.erase()

    # -- building ---------------------------------------------------------------------------

    def rebuild_block(
        self,
        block: BlockOp,
        *,
        bindings: Sequence[Index | ir.Value] | None = None,
        kinds: Sequence[str] | None = None,
        domains: Sequence[tuple[Index | int, Index | int]] | None = None,
        predicate: ir.Value | str | None = "keep",
    ) -> BlockOp:
        """The block with other operands; its body moves into the new operation."""
        at = ir.InsertionPoint(block)
        location = block.location
        chosen = list(block.bindings) if bindings is None else bindings
        values = [write(b, at) if isinstance(b, Index) else b for b in chosen]
        if domains is None:
            pairs = [(as_index(low), as_index(extent)) for low, extent in block.domain_pairs]
        else:
            pairs = [(as_index(low), as_index(extent)) for low, extent in domains]
        static, operands = mixed.split(to_mixed(e, at) for pair in pairs for e in pair)
        where = list(block.predicate) if predicate == "keep" else []
        if isinstance(predicate, ir.Value):
            where = [predicate]
        strings = kinds if kinds is not None else block.kinds
        kind_attr = kinds_attribute(strings)
        new = BlockOp(
            block.sym_name, kind_attr, static, values, operands, where, loc=location, ip=at
        )
        copy_discardable(block, new)
        block.block.append_to(new.body)
        self.replace(block, new)
        return new

    def set_loop_bounds(self, loop: ForOp, low: Index, extent: Index) -> ForOp:
        """The loop with other bounds; its body moves into the new operation."""
        at = ir.InsertionPoint(loop)
        static, operands = mixed.split([to_mixed(low, at), to_mixed(extent, at)])
        if not operands and not len(loop.dynamic_bounds):
            loop.operation.attributes["bounds"] = static
            return loop
        new = ForOp(loop.kind, static, operands, loc=loop.location, ip=at)
        copy_discardable(loop, new)
        loop.block.append_to(new.body)
        self.replace(loop, new)
        return new


def kinds_attribute(kinds: Sequence[str]) -> ir.Attribute:
    """`iter_kinds` of a block.  As a plain Attribute: the builder takes an empty array for none."""
    return ir.Attribute(ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind in kinds]))


_INHERENT = {
    "tir.for": {"kind", "bounds"},
    "tir.block": {"sym_name", "iter_kinds", "domains"},
    "tir.alloc_buffer": {"scope"},
}


def copy_discardable(old: ir.OpView, new: ir.OpView) -> None:
    """Copy the attributes that are not part of what `new` was built with."""
    skipped = _INHERENT[old.operation.name] | {"operandSegmentSizes"}
    for named in old.operation.attributes:
        if named not in skipped:
            new.operation.attributes[named] = old.operation.attributes[named]


def new_loop(
    name: str,
    extent: Index | int,
    at: ir.InsertionPoint,
    *,
    low: Index | int = 0,
    kind: str = "serial",
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ForOp:
    """An empty loop named `name`."""
    static, operands = mixed.split([to_mixed(as_index(low), at), to_mixed(as_index(extent), at)])
    loop = ForOp(ir.StringAttr.get(kind), static, operands, ip=at)
    loop.body.blocks.append(ir.IndexType.get(), arg_locs=[ir.Location.name(name)])
    for key, value in (attributes or {}).items():
        loop.operation.attributes[key] = value
    return loop


def loop_dtype(loop: ForOp) -> dict[str, ir.Attribute]:
    """The attributes by which a loop derived from `loop` keeps its variable's TVM dtype."""
    attributes = loop.operation.attributes
    return {"dtype": attributes["dtype"]} if "dtype" in attributes else {}


def domain_of(variable: ir.Value) -> tuple[Index, Index]:
    """(min, extent) of the variable of a loop, or of an iteration variable of a block."""
    domain = value_domain(variable)
    assert domain is not None, "variables of loops and blocks have a domain"
    return domain


def new_block(
    name: str,
    iters: Iterable[tuple[str, str, tuple[Index | int, Index | int], Index]],
    at: ir.InsertionPoint,
    predicate: ir.Value | None = None,
) -> BlockOp:
    """A block with the iteration variables `(name, kind, (min, extent), binding)` and no body."""
    rows = list(iters)
    bindings = [write(binding, at) for *_, binding in rows]
    static, operands = mixed.split(
        to_mixed(as_index(e), at) for _, _, domain, _ in rows for e in domain
    )
    kinds = kinds_attribute([kind for _, kind, _, _ in rows])
    where = [] if predicate is None else [predicate]
    block = BlockOp(ir.StringAttr.get(name), kinds, static, bindings, operands, where, ip=at)
    types = [ir.IndexType.get()] * len(rows)
    block.body.blocks.append(*types, arg_locs=[ir.Location.name(n) for n, *_ in rows])
    return block


def new_init(at: ir.InsertionPoint) -> InitOp:
    init = InitOp(ip=at)
    init.body.blocks.append()
    return init


def add_access(
    kind: type[ReadOp] | type[WriteOp],
    buffer: ir.Value,
    region: Sequence[tuple[Index, Index]],
    at: ir.InsertionPoint,
) -> Any:
    """`tir.read` or `tir.write` of `[offset, size]` a dimension."""
    offsets, dynamic_offsets = mixed.split(to_mixed(offset, at) for offset, _ in region)
    sizes, dynamic_sizes = mixed.split(to_mixed(size, at) for _, size in region)
    return kind(offsets, sizes, buffer, dynamic_offsets, dynamic_sizes, ip=at)


def alloc_buffer(
    name: str,
    shape: Sequence[Index],
    element_type: ir.Type,
    scope: str,
    at: ir.InsertionPoint,
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> AllocBufferOp:
    """`T.alloc_buffer` of a shape that may be dynamic."""
    sizes = [write(s, at) for s in shape if not s.is_constant]
    static = [s.constant if s.is_constant else dynamic() for s in shape]
    kind = ir.MemRefType.get(static, element_type)
    op = AllocBufferOp(ir.StringAttr.get(scope), sizes, kind, loc=ir.Location.name(name), ip=at)
    for key, value in (attributes or {}).items():
        op.operation.attributes[key] = value
    return op


def buffer_shape(buffer: ir.Value, at: ir.InsertionPoint | None = None) -> list[Index]:
    """The sizes of a buffer; dynamic ones as the sizes it was allocated with, or `memref.dim`.

    A `memref.dim` that is not there yet is made at `at`.
    """
    kind = ir.MemRefType(buffer.type)
    owner = buffer.owner
    alloc = None if isinstance(owner, ir.Block) else owner.operation.opview
    if isinstance(alloc, AllocBufferOp):
        given = iter(list(alloc.sizes))
        return [read(next(given)) if s == dynamic() else Index({}, s) for s in kind.shape]
    return [
        _dimension(buffer, n, at) if s == dynamic() else Index({}, s)
        for n, s in enumerate(kind.shape)
    ]


def _dimension(buffer: ir.Value, number: int, given: ir.InsertionPoint | None) -> Index:
    symbolic = parameter_size(buffer, number)
    if symbolic is not None:
        return symbolic
    for use in buffer.uses:
        op = use.owner.operation
        if op.name == "memref.dim" and as_index(op.operands[1]).as_constant() == number:
            return read(op.results[0])
    at = ir.InsertionPoint.at_block_begin(buffer.owner) if given is None else given
    position = write(Index({}, number), at)
    return read(memref.DimOp(buffer, position, ip=at).result)


# -- rewriting index arithmetic ----------------------------------------------------------------


def substitute(values: Mapping[ir.Value, Index]) -> None:
    """Replace index values by expressions wherever they are used, composing index arithmetic."""
    for value in values:
        for owner in _users(value):
            if owner.name == "affine.apply":
                _recompute(owner, values)
                continue
            new = write(values[value], ir.InsertionPoint(owner), owner.location)
            owner.replace_uses_of_with(value, new)


def _users(value: ir.Value) -> list[ir.Operation]:
    return list(dict.fromkeys(use.owner.operation for use in value.uses))


def _recompute(apply: ir.Operation, values: Mapping[ir.Value, Index]) -> None:
    """Write an `affine.apply` anew after `values` changed, and those that are computed from it."""
    result = apply.results[0]
    dependent = [user for user in _users(result) if user.name == "affine.apply"]
    expr = read(result).substitute(values)
    new = write(expr, ir.InsertionPoint(apply), apply.location)
    result.replace_all_uses_with(new)
    apply.erase()
    for user in dependent:
        _recompute(user, values)


def erase_dead_arithmetic(root: ir.OpView) -> None:
    """Erase the arithmetic inside `root` that nothing uses any more."""
    for op in reversed(list(nest.descend(root))):
        if nest.is_dead(op):
            op.operation.erase()
