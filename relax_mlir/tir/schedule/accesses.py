"""The regions a block accesses, found from its body: one box a buffer, the hull of its accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.tir.blocks import BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import Access, from_outside, reads_of, root_buffer, writes_of
from relax_mlir.tir.schedule.digits import Digit, dense, independent
from relax_mlir.tir.schedule.enumeration import fills_its_box
from relax_mlir.tir.schedule.facts import unchanged
from relax_mlir.tir.schedule.index import (
    Index,
    Leaf,
    Monomial,
    as_index,
    maximum,
    minimum,
    proves_nonnegative,
    value_domain,
)
from relax_mlir.tir.schedule.state import add_access, buffer_shape

Interval = tuple[Index, Index]
"""The least and the largest value, both included."""

Accesses = tuple[list[Access], list[Access]]
"""What a block reads and what it writes."""

_ONE = Index({}, 1)


def interval(expr: Index, inside: Callable[[ir.Value], bool]) -> Interval | None:
    """The range of `expr` over the variables for which `inside` holds, in terms of the others.

    None when it depends on such a value in a way that has no known range.
    """
    at_constants = _between_constants(expr, inside)
    if at_constants is not None:
        return at_constants
    low, high = expr, expr
    for _ in range(16):
        vary = [v for v in {*low.leaves(), *high.leaves()} if inside(v)]
        if not vary:
            return low, high
        # A loop's range may depend on an outer one, so the innermost goes first.
        variable = vary[0] if len(vary) == 1 else max(vary, key=_depth)
        ends = _ends(variable)
        if ends is None:
            return None
        lower, upper = (
            _extreme(low, variable, ends, least=True),
            _extreme(high, variable, ends, least=False),
        )
        if lower is None or upper is None:
            return None
        low, high = lower, upper
    return None


def _between_constants(expr: Index, inside: Callable[[ir.Value], bool]) -> Interval | None:
    """The range of a sum in which all that varies are variables with a constant range."""
    terms, low, high = dict[Monomial, int](), expr.constant, expr.constant
    for monomial, k in expr.terms.items():
        leaves = Index.of({monomial: k}).leaves()
        if not any(inside(v) for v in leaves):
            terms[monomial] = k
            continue
        ends = _constant_ends(leaves[0]) if monomial == (Leaf(leaves[0]),) else None
        if ends is None:
            return None
        low += k * ends[0 if k > 0 else 1]
        high += k * ends[1 if k > 0 else 0]
    return Index.of(terms, low), Index.of(terms, high)


def _constant_ends(variable: ir.Value) -> tuple[int, int] | None:
    ends = _ends(variable)
    if ends is None or ends[0].terms or ends[1].terms:
        return None
    return ends[0].constant, ends[1].constant


def _depth(value: ir.Value) -> int:
    owner = value.owner
    op = owner.owner if isinstance(owner, ir.Block) else owner
    depth, current = 0, op.operation.parent
    while current is not None:
        depth, current = depth + 1, current.operation.parent
    return depth


def _ends(variable: ir.Value) -> Interval | None:
    domain = value_domain(variable)
    return None if domain is None else (domain[0], domain[0] + domain[1] - 1)


def _extreme(expr: Index, variable: ir.Value, ends: Interval, *, least: bool) -> Index | None:
    """The least (largest) value of `expr` as `variable` runs between `ends`."""
    terms, constant = dict[Monomial, int](), expr.constant
    for monomial, k in expr.terms.items():
        end = _term_at_end(monomial, k, variable, ends, least=least)
        if end is None:
            return None
        constant += end.constant
        for part, factor in end.terms.items():
            terms[part] = terms.get(part, 0) + factor
    return Index(terms, constant)


def _term_at_end(
    monomial: Monomial, k: int, variable: ir.Value, ends: Interval, *, least: bool
) -> Index | None:
    """The least (largest) value of one term, as `_extreme` has it of the sum."""
    if monomial == (Leaf(variable),):
        return ends[0 if (k > 0) == least else 1] * k
    term = Index.of({monomial: k})
    if not term.uses(variable):
        return term
    at_end = _monotone(monomial, variable)
    if at_end is not None:
        grows = (k > 0) == at_end
        return term.substitute({variable: ends[0] if grows == least else ends[1]})
    bound = term.bounds()[0 if least else 1]
    if bound is None or any(value_domain(v) is None for v in term.leaves()):
        return None
    return Index({}, bound)


def grows_with(expr: Index, variables: Iterable[ir.Value]) -> bool:
    """True when `expr` certainly does not fall as any of the variables grows."""
    return all(
        k > 0 and _monotone(monomial, variable) is True
        for variable in variables
        for monomial, k in expr.terms.items()
        if Index.of({monomial: k}).uses(variable)
    )


def _monotone(monomial: Monomial, variable: ir.Value) -> bool | None:
    """True when the product grows with the variable, None when it is not known to be monotone."""
    for atom in monomial:
        single = Index({(atom,): 1})
        if not single.uses(variable):
            if (single.bounds()[0] or -1) < 0 and single.bounds()[0] != 0:
                return None
            continue
        if isinstance(atom, Leaf):
            continue
        if atom.function == "mod" or (atom.right.uses(variable) and atom.function == "floordiv"):
            return None
        for side in (atom.left, atom.right):
            for inner, k in side.terms.items():
                if Index({inner: 1}).uses(variable) and (k < 0 or not _monotone(inner, variable)):
                    return None
    return True


def bounded(
    offset: Index, size: Index, inside: Callable[[ir.Value], bool], extent: Index
) -> Interval:
    """The interval of an access; the buffer's `extent` where it is not known."""
    first = interval(offset, inside)
    last = first if size == _ONE else interval(offset + size - 1, inside)
    if first is None or last is None:
        return Index(), extent - 1
    return first[0], last[1]


def clipped(box: Interval, extent: Index) -> Interval:
    """The box where it is known to be inside of the buffer, the whole dimension elsewhere."""
    low = box[0] if proves_nonnegative(box[0]) else Index()
    high = box[1] if proves_nonnegative(extent - 1 - box[1]) else extent - 1
    return low, high


def is_exact(block: BlockOp, access: Access, inside: Callable[[ir.Value], bool]) -> bool:
    """True when an access touches every element of its box as the variables inside run."""
    region = from_outside(block, access.region)
    digits: list[Digit] = []
    for offset, size in region:
        found = dense(offset, size, inside)
        if found is None:
            return fills_its_box(region, inside)
        digits += found
    return independent(digits) or fills_its_box(region, inside)


class _Boxes:
    """Regions by buffer in order of first access, joined to their hull."""

    def __init__(self, block: BlockOp):
        self.block = block
        self.boxes: dict[ir.Value, list[Interval]] = {}
        self._inner: dict[ir.Value, bool] = dict.fromkeys(nest.iter_vars(block), False)

    def add(self, buffer: ir.Value, region: Sequence[tuple[Index, Index]]) -> None:
        shape = buffer_shape(buffer)
        box = [
            bounded(offset, size, self._inside, extent)
            for (offset, size), extent in zip(region, shape, strict=True)
        ]
        old = self.boxes.get(buffer)
        self.boxes[buffer] = box if old is None or old == box else join(old, box)

    def _inside(self, value: ir.Value) -> bool:
        found = self._inner.get(value)
        if found is None:
            found = self._inner[value] = nest.encloses(self.block, value)
        return found

    def accesses(self, hidden: set[ir.Value]) -> list[Access]:
        return [
            Access(buffer, [(low, high - low + 1) for low, high in box])
            for buffer, box in self.boxes.items()
            if root_buffer(buffer) not in hidden
        ]


def join(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """The smallest box around two boxes."""
    return [(minimum(a, c), maximum(b, d)) for (a, b), (c, d) in zip(left, right, strict=True)]


_LOADS = {"memref.load": 0, "vector.load": 0}
_STORES = {"memref.store": 1, "vector.store": 1}
_PLAIN = {*_LOADS, *_STORES, "tir.read", "tir.write"}
"""What has no region."""


@dataclass
class _Body:
    """What a walk through a block's body has found: the boxes, buffers allocated in it, and
    buffers handed to code whose accesses are not seen."""

    reads: _Boxes
    writes: _Boxes
    local: set[ir.Value] = field(default_factory=set)
    handed: set[ir.Value] = field(default_factory=set)

    def collect(self, ops: Iterable[ir.OpView], nested: Iterator[Accesses]) -> None:
        """Walk over operations; `nested` are what the blocks among them read and write."""
        for op in ops:
            if isinstance(op, BlockOp):
                for found, boxes in zip(next(nested), (self.reads, self.writes), strict=True):
                    for access in found:
                        boxes.add(access.buffer, from_outside(op, access.region))
            else:
                self._visit(op.operation)

    def _visit(self, op: ir.Operation) -> None:
        name = op.name
        if name in _OF_THE_WHOLE or _is_scalable(op):
            buffers = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
            self.handed.update(root_buffer(buffer) for buffer in buffers)
        elif name in _LOADS:
            _add_element(op, _LOADS[name], self.reads)
        elif name in _STORES:
            _add_element(op, _STORES[name], self.writes)
        elif name == "tir.alloc_buffer":
            self.local.add(op.results[0])


def _own_operations(op: ir.OpView) -> Iterator[ir.OpView]:
    """What is inside `op` and may access buffers, in order, the blocks among it without what is
    inside of them."""
    for region in op.operation.regions:
        for body in region.blocks:
            for child in body.operations:
                if not nest.is_movable(child):
                    yield child
                    if not isinstance(child, BlockOp) and child.operation.name not in _PLAIN:
                        yield from _own_operations(child)


def _add_element(op: ir.Operation, position: int, boxes: _Boxes) -> None:
    operands = list(op.operands)
    lanes = 1
    if op.name.startswith("vector."):
        kind = op.results[0].type if op.name == "vector.load" else operands[0].type
        lanes = ir.VectorType(kind).shape[0]
    indices = [as_index(v) for v in operands[position + 1 :]]
    region = [(i, Index({}, 1)) for i in indices]
    boxes.add(operands[position], _with_lanes(operands[position], region, lanes))


def _with_lanes(
    buffer: ir.Value, region: list[tuple[Index, Index]], lanes: int
) -> list[tuple[Index, Index]]:
    """The region of a vector from an element on, which may go on in the next rows."""
    sizes = list(ir.MemRefType(buffer.type).shape)
    for number in reversed(range(len(region))):
        if lanes <= 1:
            break
        size = sizes[number]
        if size <= 0 or lanes <= size or number == 0:
            region[number] = (region[number][0], Index({}, lanes))
            break
        region[number] = (Index(), Index({}, size))
        lanes = -(-lanes // size)
    return region


EXPLICIT = {"read": "explicit_read_region", "write": "explicit_write_region"}
"""The annotations that number the regions a user declared, which stay as they are."""


_OF_THE_WHOLE = (
    "memref.subview", "tir.call", "tir.address_of", "tir.buffer_data", "vector.gather",
    "vector.scatter", "vector.maskedload", "vector.maskedstore",
)  # fmt: skip
"""What hands a buffer to code whose accesses are not seen, or depend on a mask."""


def _is_scalable(op: ir.Operation) -> bool:
    """A vector access whose number of lanes the machine chooses."""
    if op.name not in ("vector.load", "vector.store"):
        return False
    vector = op.results[0].type if op.name == "vector.load" else op.operands[0].type
    return any(ir.VectorType(vector).scalable_dims)


def refresh(block: BlockOp) -> Accesses:
    """Declare the regions that the body accesses now, in place of those declared; first those of
    the blocks inside.  What is read and written.

    With an init, what is written is not counted as read; buffers allocated in the block do not
    count.  Regions of buffers whose address the body gives away stay as they are declared.
    """
    operations = list(_own_operations(block))
    nested = [refresh(op) for op in operations if isinstance(op, BlockOp)]
    with unchanged():
        body = _Body(_Boxes(block), _Boxes(block))
        body.collect(operations, iter(nested))
        has_init = any(isinstance(op, InitOp) for op in operations)
        written = {root_buffer(b) for b in body.writes.boxes} if has_init else set()
        reads = body.reads.accesses(body.local | written)
        writes = body.writes.accesses(body.local)
    if body.handed:
        reads = _keep(body.handed, reads, reads_of(block))
        writes = _keep(body.handed, writes, writes_of(block))
    reads, writes = _with_explicit(block, "read", reads), _with_explicit(block, "write", writes)
    if reads != reads_of(block) or writes != writes_of(block):
        set_accesses(block, reads, writes)
    return reads, writes


def _keep(buffers: set[ir.Value], found: list[Access], declared: Sequence[Access]) -> list[Access]:
    """What is declared for some buffers, and found for the others."""
    kept = [access for access in declared if access.buffer in buffers]
    return kept + [access for access in found if access.buffer not in buffers]


def _with_explicit(block: BlockOp, kind: str, found: list[Access]) -> list[Access]:
    """The regions found, those that the user declared in place of what was found for a buffer."""
    attributes = block.operation.attributes
    if "annotations" not in attributes or EXPLICIT[kind] not in attributes["annotations"]:
        return found
    annotations = from_attribute(attributes["annotations"])
    declared = (reads_of if kind == "read" else writes_of)(block)
    numbers = [int(n) for n in annotations[EXPLICIT[kind]]]
    kept = {declared[n].buffer: declared[n] for n in numbers if n < len(declared)}
    annotations[EXPLICIT[kind]] = [n for n, a in enumerate(found) if a.buffer in kept]
    attributes["annotations"] = to_attribute(annotations)
    return [kept.get(access.buffer, access) for access in found]


def set_accesses(block: BlockOp, reads: Sequence[Access], writes: Sequence[Access]) -> None:
    """Declare these regions in place of those declared."""
    declared = [op for op in nest.operations(block.block) if isinstance(op, (ReadOp, WriteOp))]
    # What is kept of the old may count by arithmetic of the block, which precedes the old.
    at = ir.InsertionPoint.at_block_begin(block.block)
    if declared:
        at = ir.InsertionPoint.after(declared[-1])
    for kind, found in ((ReadOp, reads), (WriteOp, writes)):
        for access in found:
            add_access(kind, access.buffer, access.region, at)
    for op in declared:
        op.operation.erase()
    _erase_leading_dead(block)


def _erase_leading_dead(block: BlockOp) -> None:
    """The index arithmetic that only the erased declarations used."""
    for op in reversed(nest.operations(block.block)):
        if nest.is_dead(op):
            op.operation.erase()


def add_access_first(block: BlockOp, access: Access) -> None:
    """Declare one more region that a block reads, and keep the others as they are."""
    at = ir.InsertionPoint.at_block_begin(block.block)
    add_access(ReadOp, access.buffer, access.region, at)
