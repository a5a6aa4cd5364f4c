"""Which iteration variables a block's accesses walk over, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import BlockRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import Access, reads_of, writes_of
from relax_mlir.tir.schedule.index import Atom, Index, Leaf, as_index


@dataclass(frozen=True)
class Iterator:
    """A variable of a block, or its quotient by `lower_factor`, as an access steps through it.

    `var` is the variable's position in the block.
    """

    var: int
    lower_factor: int = 1


def variables_used(block: BlockOp, region: Sequence[tuple[Index, Index]]) -> set[int]:
    """The positions of the block's variables that a region's offsets depend on."""
    numbers = {value: n for n, value in enumerate(nest.iter_vars(block))}
    return {numbers[v] for offset, _ in region for v in offset.leaves() if v in numbers}


def is_element(region: Sequence[tuple[Index, Index]]) -> bool:
    """True for a region of one element."""
    return all(size.as_constant() == 1 for _, size in region)


def detect_dominant_read(block: BlockOp) -> Access | None:
    """The read that depends on most of the block's variables, the first of equals."""
    reads = reads_of(block)
    return max(reads, key=lambda read: len(variables_used(block, read.region)), default=None)


def iterators_of(block: BlockOp, access: Access) -> list[Iterator] | None:
    """The variables an access to one element steps through, from the slowest to the fastest.

    None when the element is not a mixed-radix number of the variables: an offset, a sum such as
    `A[i + j]`, an index read from memory.
    """
    if not is_element(access.region):
        return None
    numbers = {value: n for n, value in enumerate(nest.iter_vars(block))}
    extents = [_constant(extent) for _, extent in block.domain_pairs]
    found: list[Iterator] = []
    remainders: dict[int, int] = {}
    for offset, _ in access.region:
        digits = _digits(offset, numbers, extents)
        if digits is None:
            return None
        for iterator, modulus in digits:
            if modulus is None:
                found.append(iterator)
                continue
            # `v // c` followed by `v % c` is v itself.
            if not found or found[-1] != Iterator(iterator.var, modulus):
                return None
            found[-1] = Iterator(iterator.var)
            remainders[iterator.var] = modulus
    if len({iterator.var for iterator in found}) != len(found):
        return None
    return found


def _digits(
    offset: Index, numbers: dict[ir.Value, int], extents: Sequence[int | None]
) -> list[tuple[Iterator, int | None]] | None:
    """The digits of one dimension, `(iterator, modulus)`, the largest step first."""
    if offset.constant:
        return None
    rows: list[tuple[int, Iterator, int | None, int | None]] = []
    for monomial, step in offset.terms.items():
        parsed = _digit(monomial[0], numbers) if len(monomial) == 1 and step > 0 else None
        if parsed is None:
            return None
        iterator, modulus = parsed
        extent = extents[iterator.var]
        if extent is not None:
            extent = -(-extent // iterator.lower_factor)
        rows.append((step, iterator, modulus, extent if modulus is None else modulus))
    rows.sort(key=lambda row: row[0], reverse=True)
    reach = 0
    for step, _, _, extent in reversed(rows):
        if step <= reach or (extent is None and step != rows[0][0]):
            return None
        reach += 0 if extent is None else step * (extent - 1)
    return [(iterator, modulus) for _, iterator, modulus, _ in rows]


def _digit(atom: Atom, numbers: dict[ir.Value, int]) -> tuple[Iterator, int | None] | None:
    if isinstance(atom, Leaf):
        return (Iterator(numbers[atom.value]), None) if atom.value in numbers else None
    variable, divisor = atom.left.as_leaf(), atom.right.as_constant()
    if variable is None or variable not in numbers or not divisor:
        return None
    if atom.function == "floordiv":
        return Iterator(numbers[variable], divisor), None
    if atom.function == "mod":
        return Iterator(numbers[variable]), divisor
    return None


def is_broadcast_epilogue(sch: Schedule, block: BlockRV, epilogue: BlockRV) -> bool:
    """True when an epilogue reads an element of the block's output at several of its places."""
    with mlir.scope():
        produced = {access.buffer for access in writes_of(sch.get(block))}
        consumer: BlockOp = sch.get(epilogue)
        moving = [n for n, (_, e) in enumerate(consumer.domain_pairs) if _constant(e) != 1]
        for access in reads_of(consumer):
            if access.buffer not in produced:
                continue
            used = variables_used(consumer, access.region)
            if any(number not in used for number in moving):
                return True
    return False


def _constant(extent: int | ir.Value) -> int | None:
    return as_index(extent).as_constant()
