"""The programs of operator cases, of all families: every operator that has a kernel is in one."""

from __future__ import annotations

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

_FAMILIES = (
    test_ops_elementwise,
    test_ops_layouts,
    test_ops_nn,
    test_ops_reduction,
    test_ops_shapes,
    test_ops_sorting,
    test_ops_vision,
)

PROGRAMS = {
    f"{family.__name__.rpartition('.')[2]}-{name}": program
    for family in _FAMILIES
    for name, program in vars(family).items()
    if isinstance(program, Program)
}
"""By the file that has them and their name there."""

CASES = [case for program in PROGRAMS.values() for case in program.cases]
