"""Whether the lanes of a vectorised loop may run side by side.

Lane by lane and statement by statement give the same result when no lane touches what another
writes, or writes it at the same step in the order of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from relax_mlir.lowering.tir_to_scf.lanes import LaneForm
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import Apply, Index, Leaf

__all__ = ["LaneAccess", "conflict"]


@dataclass(frozen=True)
class LaneAccess:
    """An access in the body: the buffer's root, the view of it, and the index of each dimension.

    `forms` has None for an index that is not linear in the lane.  `repeated` is set inside a loop
    of the body.
    """

    root: ir.Value
    view: ir.Value
    indices: tuple[Index, ...]
    forms: tuple[LaneForm | None, ...]
    is_store: bool
    repeated: bool


def conflict(
    accesses: Sequence[LaneAccess],
    lane: ir.Value,
    lanes: int,
    fixed: Callable[[ir.Value], bool],
) -> LaneAccess | None:
    """An access that another lane may collide with, None when there is none.

    `lane` is the leaf that stands for the number of the lane.  `fixed` tells of the other leaves
    that they stay the same while all lanes run the body.
    """
    written: dict[ir.Value, list[LaneAccess]] = {a.root: [] for a in accesses if a.is_store}
    for access in accesses:
        if access.root in written:
            written[access.root].append(access)
    for group in written.values():
        if len(group) == 1 and not group[0].repeated:
            continue  # scattered in the order of lanes
        for first, second in combinations_with_replacement(group, 2):
            if not (first.is_store or second.is_store):
                continue
            if not _apart(first, second, lanes, fixed) and not (
                first.view == second.view
                and first.indices == second.indices
                and _injective(first, lane, fixed)
            ):
                return first
    return None


def _apart(
    first: LaneAccess, second: LaneAccess, lanes: int, fixed: Callable[[ir.Value], bool]
) -> bool:
    """Whether two different lanes never meet in the two accesses."""
    if first.view != second.view:
        return False
    pairs = zip(first.forms, second.forms, strict=True)
    return any(_dimension_apart(a, b, lanes, fixed) for a, b in pairs)


def _dimension_apart(
    a: LaneForm | None, b: LaneForm | None, lanes: int, fixed: Callable[[ir.Value], bool]
) -> bool:
    if a is None or b is None or a.stride != b.stride:
        return False
    distance = (a.base - b.base).as_constant()
    if distance is None or not all(fixed(leaf) for leaf in a.base.leaves()):
        return False
    if a.stride == 0:
        return distance != 0
    steps, rest = divmod(abs(distance), abs(a.stride))
    return rest != 0 or steps == 0 or steps >= lanes


def _injective(access: LaneAccess, lane: ir.Value, fixed: Callable[[ir.Value], bool]) -> bool:
    """Whether quotient and remainder of a number that differs from lane to lane are among the
    indices."""
    atoms = {a for index in access.indices for a in _lone_atoms(index)}
    quotients = {(a.left, a.right) for a in atoms if a.function == "floordiv"}
    remainders = {(a.left, a.right) for a in atoms if a.function == "mod"}
    for number, divisor in quotients & remainders:
        stride = number.terms.get((Leaf(lane),), 0)
        others = [*(number - Index({(Leaf(lane),): stride})).leaves(), *divisor.leaves()]
        if stride and lane not in others and all(fixed(leaf) for leaf in others):
            return True
    return False


def _lone_atoms(index: Index) -> list[Apply]:
    if len(index.terms) != 1:
        return []
    (monomial,) = index.terms
    atom = monomial[0]
    return [atom] if len(monomial) == 1 and isinstance(atom, Apply) else []
