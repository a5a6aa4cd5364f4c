"""Index maps of symbolic spaces: each new index is several old ones fused, or constant zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import FUNCTIONS, Index, leaf


@dataclass(frozen=True)
class Fused:
    """One new index: `(v1 * e2 + v2) * e3 + v3` of variables v with extents e."""

    variables: list[ir.Value]
    extents: list[Index]

    @property
    def size(self) -> Index:
        total = Index({}, 1)
        for extent in self.extents:
            total = total * extent
        return total

    def recover(self, number: Index) -> dict[ir.Value, Index]:
        """The variables of a fused index."""
        found: dict[ir.Value, Index] = {}
        for position in range(len(self.variables) - 1, -1, -1):
            variable, extent = self.variables[position], self.extents[position]
            found[variable] = number if position == 0 else FUNCTIONS["mod"](number, extent)
            number = FUNCTIONS["floordiv"](number, extent)
        return found


def fused_indices(
    final: Sequence[Index], variables: Sequence[ir.Value], extents: Sequence[Index]
) -> list[Fused] | None:
    """The final indices as fused variables, in the order of the variables.

    None where one is anything else, or where the variables with more than one value are not in one
    index each.
    """
    rows: list[Fused] = []
    for index in final:
        used = [
            (v, extent)
            for v, extent in zip(variables, extents, strict=True)
            if index.uses(v) and extent != Index({}, 1)
        ]
        expected = Index()
        for variable, extent in used:
            expected = expected * extent + leaf(variable)
        # A variable of extent one is zero.
        units = {v: Index() for v, e in zip(variables, extents, strict=True) if e == Index({}, 1)}
        if index.substitute(units) != expected:
            return None
        rows.append(Fused([v for v, _ in used], [e for _, e in used]))
    seen = [v for row in rows for v in row.variables]
    needed = [v for v, e in zip(variables, extents, strict=True) if e != Index({}, 1)]
    return rows if len(seen) == len(needed) and all(v in seen for v in needed) else None
