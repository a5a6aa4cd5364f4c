"""Every operator that is legalised is run against a reference somewhere."""

from __future__ import annotations

from relax_mlir.lowering.relax_to_tir.dynamic import EXPANSIONS
from relax_mlir.lowering.relax_to_tir.legalize_ops import rows
from tests.exec.operator_programs import PROGRAMS


def test_every_operator_is_run() -> None:
    run = {case.name for program in PROGRAMS.values() for case in program.cases}
    assert {*rows(), *EXPANSIONS} <= run, {*rows(), *EXPANSIONS} - run
