"""Every operator that is legalised is run against a reference somewhere."""

from __future__ import annotations

from relax_mlir.lowering.relax_to_tir.dynamic import EXPANSIONS
from relax_mlir.lowering.relax_to_tir.legalize_ops import rows
from tests.exec.operator_programs import CASES


def test_every_operator_is_run() -> None:
    run = {case.name for case in CASES}
    assert {*rows(), *EXPANSIONS} <= run, {*rows(), *EXPANSIONS} - run
