"""Which loops a list of index expressions determines: the proof behind reordering and binding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import (
    Access,
    bindings_of,
    from_outside,
    reads_of,
    root_buffer,
    writes_of,
)
from relax_mlir.tir.schedule.index import (
    Apply,
    Atom,
    Index,
    Leaf,
    atom_bounds,
    floordiv,
    leaf,
    proves_nonnegative,
    value_bounds,
)
from relax_mlir.tir.schedule.sets import is_injective


def determined(expressions: Iterable[Index], free: Iterable[ir.Value] = ()) -> set[ir.Value]:
    """The values that can be recovered from the values of `expressions`.

    Each expression is read as a number in a mixed radix: the largest coefficient must exceed what
    the remaining terms can reach.  `x // c` and `x % c` together give `x`.  `free` are known.
    """
    known: set[Atom] = {Leaf(value) for value in free}
    pending = list(expressions)
    while True:
        before = len(known)
        for expr in pending:
            known.update(_digits(expr, known))
        pending.extend(_recombine(known, pending))
        if len(known) == before:
            return {atom.value for atom in known if isinstance(atom, Leaf)}


def _digits(expr: Index, known: set[Atom]) -> list[Atom]:
    """The atoms that the value of `expr` determines, given those already known."""
    terms: list[tuple[Atom, int]] = []
    for monomial, k in expr.terms.items():
        first, *others = monomial
        if all(atom in known for atom in monomial):
            continue
        if others:
            return _symbolic_digits(expr)
        terms.append((first, k))
    ranges = {atom: atom_bounds(atom) for atom, _ in terms}
    # What takes one value is known, and no digit.
    found: list[Atom] = [a for a, (low, high) in ranges.items() if low is not None and low == high]
    terms = [term for term in terms if term[0] not in found]
    terms.sort(key=lambda term: abs(term[1]))
    reach = 0  # how far the terms of smaller coefficient spread
    for atom, k in terms:
        if abs(k) <= reach:
            return []
        found.append(atom)
        low, high = ranges[atom]
        if low is None or high is None:
            # An unbounded term is determined only if nothing of larger coefficient follows.
            return found if atom is terms[-1][0] else []
        reach += abs(k) * (high - low)
    return found


def _symbolic_digits(expr: Index) -> list[Atom]:
    """`x * n + y` with `0 <= y < n` for a symbolic `n` determines x and y."""
    for monomial, k in expr.terms.items():
        if len(monomial) != 2 or k != 1:
            continue
        rest = expr - Index({monomial: 1})
        for digit, radix in (monomial, monomial[::-1]):
            size = Index({(radix,): 1})
            fits = proves_nonnegative(rest) and proves_nonnegative(size - rest - 1)
            if fits and len(rest.terms) == 1 and not rest.constant:
                (inner, factor) = next(iter(rest.terms.items()))
                if factor == 1 and len(inner) == 1:
                    return [digit, inner[0]]
    return []


def _recombine(known: set[Atom], pending: Sequence[Index]) -> list[Index]:
    found: list[Index] = []
    for atom in known:
        if not isinstance(atom, Apply) or atom.function != "mod":
            continue
        # The quotient in its simplest form: `(x // 17) // 5` is known as `x // 85`.
        quotient = floordiv(atom.left, atom.right)
        whole = all(a in known for monomial in quotient.terms for a in monomial)
        if whole and atom.left not in pending:
            found.append(atom.left)
    return found


def varying(values: Iterable[ir.Value]) -> list[ir.Value]:
    """Those that take more than one value."""
    found: list[ir.Value] = []
    for value in values:
        low, high = value_bounds(value)
        if low is None or high is None or low != high:
            found.append(value)
    return found


def bindings_determine(block: BlockOp, loop_vars: Iterable[ir.Value]) -> bool:
    """True when no two iterations of the loops run the same instance of the block."""
    bindings = bindings_of(block)
    inner = list(dict.fromkeys(loop_vars))
    used = [value for binding in bindings for value in binding.leaves()]
    outside = [value for value in dict.fromkeys(used) if value not in inner]
    found = determined(bindings, outside)
    if all(value in found for value in varying(inner)):
        return True
    # Digits that are cut at places which do not divide each other.
    return is_injective([*bindings, *map(leaf, outside)], [*inner, *outside])


def same_iteration(
    first: BlockOp,
    second: BlockOp,
    loop_vars: Sequence[ir.Value],
    renamed: Mapping[ir.Value, Index] | None = None,
) -> bool:
    """True when the two blocks only touch the same element in the same iteration of the loops.

    `renamed` are loop variables of the first block as those of the second.
    """
    for mine, theirs in _conflicts(first, second):
        left, right = _outer_offsets(first, mine), _outer_offsets(second, theirs)
        left = [a if a is None else a.substitute(renamed or {}) for a in left]
        shared = [a for a, b in zip(left, right, strict=True) if a is not None and a == b]
        outside = [v for e in shared for v in e.leaves() if v not in loop_vars]
        if not all(v in determined(shared, outside) for v in varying(loop_vars)):
            return False
    return True


def _conflicts(first: BlockOp, second: BlockOp) -> list[tuple[Access, Access]]:
    pairs = [
        *((w, r) for w in writes_of(first) for r in reads_of(second)),
        *((r, w) for r in reads_of(first) for w in writes_of(second)),
        *((w, v) for w in writes_of(first) for v in writes_of(second)),
    ]
    return [(a, b) for a, b in pairs if root_buffer(a.buffer) == root_buffer(b.buffer)]


def _outer_offsets(block: BlockOp, access: Access) -> list[Index | None]:
    """The offsets of single elements in terms of the loops outside, None for wider regions."""
    offsets: list[Index | None] = []
    for (_, size), (inner, _) in zip(
        access.region, from_outside(block, access.region), strict=True
    ):
        point = size == Index({}, 1)
        inside = any(nest.encloses(block, leaf) for leaf in inner.leaves())
        offsets.append(inner if point and not inside else None)
    return offsets
