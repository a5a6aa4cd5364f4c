"""Replace operators by calls of TensorIR functions (TVM's LegalizeOps).

Every operator with a row becomes `relax.call_tir` of a private function made from the row's tensor
expressions.  Functions that do the same share one; names count up in order of appearance (`add`,
`add1` ...).  Operators without a row, or of operands whose rank or dtype is not known, stay;
sizes that are not known get symbols, which run time gives values.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax_to_tir.dynamic import EXPANSIONS, Expansion
from relax_mlir.lowering.relax_to_tir.operands import NotLegalizable, make_call
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row
from relax_mlir.lowering.relax_to_tir.sizes import name_sizes, settle_sizes
from relax_mlir.mlir import ir

FAMILIES = (
    "unary binary statistical search linear_algebra datatype manipulate index create nn "
    "convolution pooling attention image sorting sampling vision grad"
).split()


@cache
def rows() -> dict[str, Row]:
    """All rows; the files of the families add theirs when they are imported."""
    for family in FAMILIES:
        importlib.import_module(f"relax_mlir.lowering.relax_to_tir.{family}")
    return ROWS


@register_pass("relax-legalize-ops")
@dataclass(frozen=True)
class LegalizeOps(Pass):
    """Replace operators by calls of TensorIR functions made from the table of rows."""

    skip_ops: tuple[str, ...] = ()
    """Operators to leave, by TVM's name with or without `relax.`."""

    on_gpu: bool = False
    """Whether lines that are sorted or scanned are for the threads of a GPU to share."""

    def run(self, state: ModuleState) -> None:
        made = PrimFuncs(state)
        skipped = {name.removeprefix("relax.") for name in self.skip_ops}
        table = {n: row.for_gpu() for n, row in rows().items()} if self.on_gpu else rows()
        for function in state.functions():
            if "relax.attrs" in function.attributes:
                for region in function.regions:
                    _legalize_region(region, state, made, skipped, table)


def _legalize_region(
    region: ir.Region,
    state: ModuleState,
    made: PrimFuncs,
    skip: set[str],
    table: Mapping[str, Row],
) -> None:
    for block in region.blocks:
        for view in list(block.operations):
            op = view.operation
            for inner in op.regions:
                _legalize_region(inner, state, made, skip, table)
            spec = spec_of(op)
            if spec is not None and spec.name not in skip:
                _legalize(op, spec.name, table.get(spec.name), state, made)


def _legalize(
    op: ir.Operation, name: str, row: Row | None, state: ModuleState, made: PrimFuncs
) -> None:
    expansion = EXPANSIONS.get(name)
    if row is None and expansion is None:
        return
    try:
        name_sizes(op, made)
        if row is not None:
            op = settle_sizes(op, state, made)
        if expansion is not None:
            new = expansion(Expansion(op, state, made))
        else:
            assert row is not None
            new = make_call(op, row, state, made)
    except NotLegalizable:
        return
    op.results[0].replace_all_uses_with(new)
    op.erase()
