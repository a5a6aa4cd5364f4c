"""Every operator that is legalised gets a default schedule for a GPU, and computes on the emulated
one what it computes on the CPU.

The structure is checked for cases of the operators' own tests, static and dynamic, and results for
one of each operator; for all of them by hand:

    python -m tests.gpu.test_dlight_operators [pattern] [every]
"""

from __future__ import annotations

import re
import sys
import time
from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, mlir, relax
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.dlight.base.transform import schedule_unbound
from relax_mlir.ir import IRModule
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import nest
from relax_mlir.transform import PassContext, PassPipeline
from tests.exec.operator_cases import LEGALIZE, Case, Program, build_module
from tests.exec.operator_programs import CASES

TENSORS = 4096
"""Cases with more input elements are left to the command: the emulator checks every access."""

# One scheduled function is enough to show what the emulator takes long for.
SLOW = {"image.grid_sample", "vision.roi_align", "vision.non_max_suppression",
        "vision.all_class_non_max_suppression", "grad.max_pool2d_backward",
        "vision.multibox_transform_loc"}  # fmt: skip


def legalized(cases: list[Case]) -> IRModule:
    return PassPipeline(LEGALIZE)(build_module(cases))


def size_of(case: Case) -> int:
    return sum(operand.size for operand in case.operands if isinstance(operand, np.ndarray))


@cache
def chosen() -> list[Case]:
    """The smallest case of each operator."""
    smallest: dict[str, Case] = {}
    for case in sorted(CASES, key=size_of):
        if size_of(case) and size_of(case) <= TENSORS:
            smallest.setdefault(case.name, case)
    return [case for name, case in smallest.items() if name not in SLOW]


def test_every_function_is_bound_to_threads() -> None:
    with Target("cuda"):
        scheduled = schedule_unbound(legalized(CASES[::6]), dlight.gpu.RULES)
    scheduled.verify()
    functions = [f for f in scheduled.functions.values() if isinstance(f, PrimFunc)]
    assert len(functions) > 120
    for function in functions:
        assert function.attrs["tir.is_scheduled"]
        with mlir.scope():
            _check(function)


def _check(function: PrimFunc) -> None:
    """All work is under loops of both kinds, of one size an axis, in blocks of 1024 at most."""
    for op in nest.body_of(function.operation.opview).operations:
        if op.operation.name in ("tir.alloc_buffer", "func.return") or nest.is_movable(op):
            continue
        assert op.operation.name == "tir.for", f"{function.name}: {op.operation.name} is loose"
        loops = [o for o in (op, *nest.descend(op)) if isinstance(o, ForOp)]
        sizes: dict[str, set[Any]] = {}
        for loop in loops:
            axis = nest.thread_axis(loop)
            if axis is not None:
                sizes.setdefault(axis, set()).add(loop.extent)
        assert {"blockIdx.x", "threadIdx.x"} <= set(sizes), f"{function.name}: {sizes}"
        threads = [extents for axis, extents in sizes.items() if axis.startswith("threadIdx")]
        assert all(len(extents) == 1 for extents in threads), f"{function.name}: {sizes}"
        assert np.prod([next(iter(extents)) for extents in threads]) <= 1024, function.name


class OnEmulator(Program):
    """Cases compiled for a GPU and run on the emulated one."""

    def _compile(self, cases: Any) -> Any:
        compiled = relax_mlir.compile(build_module(cases), "cuda", relax_pipeline=LEGALIZE)
        return _Placed(relax.VirtualMachine(compiled, relax_mlir.device("cuda-emu")))


class _Placed:
    """A machine whose functions take numpy arrays to the device."""

    def __init__(self, machine: Any):
        self.machine = machine

    def __getitem__(self, name: str) -> Any:
        device = relax_mlir.device("cuda-emu")

        def call(*arguments: Any) -> Any:
            return self.machine[name](
                *(relax_mlir.runtime.tensor(a, device) if isinstance(a, np.ndarray) else a
                  for a in arguments)
            )  # fmt: skip

        return call


PROGRAMS = [OnEmulator(chosen()[start::12]) for start in range(12)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.cases[0].name)
def test_operators_compute_what_they_should(program: OnEmulator) -> None:
    with PassContext(opt_level=0):
        for case in program.cases:
            program.check(case)


def test_rules_are_named_as_tvm_names_them() -> None:
    names = "Fallback GEMV GeneralReduction LowBatchGEMV Matmul RMSNorm Reduction Transpose"
    beside = {"RULES", "ReductionChain"}  # TVM has no rule of the second name
    assert set(dlight.gpu.__all__) == {*names.split(), *beside}
    assert set(dlight.cpu.__all__) == {"GEMV", "Reduction", "RULES"}


def main() -> int:
    """Run all cases that match, print those that fail, and their number; 0 for none."""
    pattern, step = (sys.argv[1:] + ["", "1"][len(sys.argv[1:]) :])[:2]
    failed = 0
    cases = [case for case in CASES if re.search(pattern, case.name)][:: int(step)]
    start = time.perf_counter()
    for case in cases:
        with PassContext(opt_level=0):
            try:
                OnEmulator([case]).check(case)
            except Exception as error:
                failed += 1
                text = str(error)[:300].replace("\n", " | ")
                print(f"{case!r}"[:90], type(error).__name__, text, flush=True)
    print(f"{failed} of {len(cases)} failed, {time.perf_counter() - start:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
