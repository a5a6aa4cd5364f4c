"""Relax functions run by PyTorch, on the cases that also test the compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from relax_mlir.errors import Error
from relax_mlir.relax.relax_to_pyfunc_converter import RelaxToPyFuncConverter
from relax_mlir.runtime.tensor import tensor
from tests.exec.operator_cases import Program, build_module
from tests.exec.operator_programs import CASES, PROGRAMS

torch = pytest.importorskip("torch")

WITHOUT = {
    "vision.roi_align",
    "vision.roi_pool",
    "vision.get_valid_counts",
    "vision.non_max_suppression",
    "vision.all_class_non_max_suppression",
    "vision.multibox_transform_loc",
}
"""Detection operators, which torch has not."""


class ByTorch(Program):
    """The cases of a program whose functions PyTorch runs."""

    @cached_property
    def machine(self) -> Any:
        names = [f"f{i}" for i in range(len(self.cases))]
        module = RelaxToPyFuncConverter(build_module(self.cases)).convert(names)
        return {name: as_compiled(module.pyfuncs[name]) for name in names}


def as_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Takes arrays and gives runtime tensors, as compiled functions do."""

    def call(*arrays: np.ndarray) -> Any:
        result = function(*[torch.from_dlpack(tensor(array)) for array in arrays])
        return [tensor(r) for r in result] if isinstance(result, tuple) else tensor(result)

    return call


@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=list(PROGRAMS))
def test_the_cases_of_the_operators(program: Program) -> None:
    by_torch = ByTorch([case for case in program.cases if case.name not in WITHOUT])
    for case in by_torch.cases:
        by_torch.check(case)


def test_what_has_no_counterpart_is_refused() -> None:
    program = PROGRAMS["test_ops_vision-SUPPRESSION"]
    with pytest.raises(Error, match=r"vision.get_valid_counts.* operator_map"):
        ByTorch(program.cases).machine["f0"]


def test_every_operator_with_cases_is_run() -> None:
    """So that a new operator gets a torch function or a place in WITHOUT."""
    run = {case.name for case in CASES}
    assert run >= WITHOUT
    from relax_mlir.relax.torch_functions import torch_functions  # imports torch

    assert run - WITHOUT <= torch_functions().keys() | {"layout_transform"}
