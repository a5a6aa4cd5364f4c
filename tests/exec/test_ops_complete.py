"""Every operator that is legalised is run against a reference somewhere."""

from __future__ import annotations

from relax_mlir.lowering.relax_to_tir.dynamic import EXPANSIONS
from relax_mlir.lowering.relax_to_tir.legalize_ops import rows
from tests.exec import (
    test_ops_elementwise,
    test_ops_layouts,
    test_ops_nn,
    test_ops_reduction,
    test_ops_shapes,
    test_ops_sorting,
    test_ops_vision,
)
from tests.exec.operator_cases import Program

FILES = (
    test_ops_elementwise,
    test_ops_layouts,
    test_ops_nn,
    test_ops_reduction,
    test_ops_shapes,
    test_ops_sorting,
    test_ops_vision,
)


def test_every_operator_is_run() -> None:
    programs = [value for file in FILES for value in vars(file).values()]
    run = {
        case.name for program in programs if isinstance(program, Program) for case in program.cases
    }
    assert {*rows(), *EXPANSIONS} <= run, {*rows(), *EXPANSIONS} - run
