"""Kernels of default schedules, scans and sorts from which a barrier or a condition is taken out:
the emulator reports it, or it is listed here why it cannot.

With the programs of test_emulator_mutations.py these are more than 30.  Some of them take long,
or are much like others, and run by hand:

    RELAX_MLIR_ALL_MUTATIONS=1 python -m pytest tests/gpu/test_schedule_mutations.py
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, te, topi
from relax_mlir.dlight.base.transform import apply_rules
from relax_mlir.dlight.gpu.matmul_tensor_cores import MatmulTensorization
from relax_mlir.ir import IRModule
from relax_mlir.runtime.emulator import EmulatorError
from relax_mlir.testing.mutations import (
    kernel_operations,
    without_condition,
    without_operation,
)
from relax_mlir.tir import PrimFunc
from tests.gpu.test_dlight_rules import (
    AMPERE,
    attention,
    matmul_of,
    placeholders,
    prim_func,
    product,
)

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")

DEVICE = relax_mlir.device("cuda-emu")
NONE: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Case:
    """A function by its expression of inputs, the shapes of those and of the result, and the rule
    that schedules it (None where its loops are bound already).

    `idle_barriers` and `idle_conditions` change nothing when they are gone: barriers before
    anything was written, and conditions under which several threads would store the same.
    `choices` are conditions on values: without them results change, but every access is in order.
    """

    make: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    rule: dlight.ScheduleRule | None = None
    idle_barriers: frozenset[int] = NONE
    idle_conditions: frozenset[int] = NONE
    choices: frozenset[int] = NONE

    def program(self) -> Any:
        tensors = placeholders(*self.shapes[:-1])
        made = self.make(*tensors)
        function = made if isinstance(made, PrimFunc) else prim_func(tensors, made)
        return relax_mlir.build(self._scheduled(function), target=AMPERE)

    def _scheduled(self, function: PrimFunc) -> IRModule:
        if self.rule is None:
            return IRModule({"main": function.with_attr("global_symbol", "main")})
        (schedule,) = apply_rules(function, AMPERE, [self.rule], tunable=False) or []
        return schedule.mod


def _gemv(a: Any, b: Any) -> Any:
    r = te.reduce_axis((0, a.shape[1]), "r")
    return te.compute((a.shape[0],), lambda i: te.sum(a[i, r] * b[r], axis=r), name="C")


GPU = dlight.gpu
FIRST = frozenset({0})
CASES: dict[str, Case] = {
    "matmul": Case(product, ((33, 20), (20, 40), (33, 40)), GPU.Matmul(), FIRST),
    "matmul of a batch": Case(product, ((2, 8, 20), (2, 20, 9), (2, 8, 9)), GPU.Matmul(), FIRST),
    "GEMV": Case(_gemv, ((40, 96), (96,), (40,)), GPU.GEMV()),
    "sum of rows": Case(
        lambda a: topi.sum(a, 1),
        ((5, 100), (5,)),
        GPU.Reduction(),
        idle_conditions=frozenset({0, 2, 3}),
    ),
    "maximum of rows": Case(
        lambda a: topi.max(a, 1),
        ((4, 65), (4,)),
        GPU.Reduction(),
        idle_conditions=frozenset({0, 2, 3}),
    ),
    "sum of columns": Case(
        lambda a: topi.sum(a, 0),
        ((70, 24), (24,)),
        GPU.Reduction(),
        idle_conditions=frozenset({0, 1, 2, 3, 9}),
    ),
    "softmax": Case(
        topi.nn.softmax,
        ((3, 300), (3, 300)),
        GPU.GeneralReduction(),
        frozenset({0, 3}),
        frozenset({0, 2, 3, 4, 6, 7, 8}),
    ),
    "log softmax": Case(
        topi.nn.log_softmax,
        ((3, 33), (3, 33)),
        GPU.GeneralReduction(),
        frozenset({0, 3}),
        frozenset({1, 2, 4, 5}),
    ),
    "layer norm": Case(
        lambda a, b, c: topi.nn.layer_norm(a, b, c, [1]),
        ((3, 70), (70,), (70,), (3, 70)),
        GPU.GeneralReduction(),
        frozenset({0, 3}),
        frozenset({1, 2, 4, 5}),
    ),
    "RMS norm": Case(
        lambda a, b: topi.nn.rms_norm(a, b, [1]),
        ((3, 70), (70,), (3, 70)),
        GPU.RMSNorm(),
        FIRST,
        frozenset({1, 2}),
    ),
    "transpose": Case(lambda a: topi.transpose(a, [1, 0]), ((40, 35), (35, 40)), GPU.Transpose()),
    "scan": Case(lambda a: topi.gpu.cumsum(a, 1), ((2, 300), (2, 300))),
    "exclusive products": Case(
        lambda a: topi.gpu.cumprod(a, 1, None, True), ((2, 40), (2, 40)), idle_barriers=FIRST
    ),
    "sort": Case(
        lambda a: topi.gpu.sort(a, 1),
        ((2, 100), (2, 100)),
        idle_barriers=frozenset({0, 2}),
        idle_conditions=FIRST,
    ),
    "order": Case(
        lambda a: topi.gpu.argsort(a, None, 0, False),
        ((20, 3), (20, 3)),
        idle_barriers=frozenset({0, 2}),
        idle_conditions=FIRST,
        choices=frozenset({2}),
    ),
    "top 5": Case(
        lambda a: topi.gpu.topk(a, 5, 1, "values"),
        ((2, 40), (2, 5)),
        idle_barriers=frozenset({0, 2}),
        idle_conditions=FIRST,
    ),
    "attention": Case(
        lambda *_: attention(16, 16, 1, 8),
        ((16, 1, 8),) * 4,
        GPU.ReductionChain(),
        frozenset({0, 1, 3, 4}),
        frozenset({7, 9}),
        frozenset({6, 8, 11, 13}),
    ),
    "tensor cores, tf32": Case(
        lambda *_: matmul_of(65, 65, 65, "float32", "float32"),
        ((65, 65),) * 3,
        MatmulTensorization(tf32=True),
    ),
}
SLOW = ("attention", "tensor cores, tf32", "scan", "log softmax", "matmul of a batch")
CHOSEN = [n for n in CASES if n not in SLOW or os.environ.get("RELAX_MLIR_ALL_MUTATIONS")]


def arguments(case: Case) -> list[Any]:
    rng = np.random.default_rng(4)
    return [
        relax_mlir.runtime.tensor(rng.standard_normal(shape).astype("float32"), DEVICE)
        for shape in case.shapes
    ]


def outcome(case: Case, broken: Any, expected: np.ndarray) -> str:
    """What the emulator reports, or whether the result is the same."""
    args = arguments(case)
    try:
        broken(*args)
    except EmulatorError as error:
        assert error.kernel.startswith("main")
        return error.kind
    return "idle" if np.array_equal(args[-1].numpy(), expected) else "another result"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_missing_is_reported(name: str) -> None:
    case = CASES[name]
    program = case.program()
    args = arguments(case)
    program(*args)
    expected = args[-1].numpy()
    barriers = range(len(kernel_operations(program, "gpu.barrier")))
    conditions = range(len(kernel_operations(program, "scf.if")))
    assert barriers
    for number in barriers:
        found = outcome(case, without_operation(program, "gpu.barrier", number), expected)
        wanted = ("idle",) if number in case.idle_barriers else ("race", "uninitialised")
        assert found in wanted, f"barrier {number}: {found}"
    for number in conditions:
        found = outcome(case, without_condition(program, number), expected)
        wanted = ("out of bounds", "race", "uninitialised")
        wanted = ("another result",) if number in case.choices else wanted
        wanted = ("idle",) if number in case.idle_conditions else wanted
        assert found in wanted, f"condition {number}: {found}"


def test_there_are_thirty_kernels() -> None:
    from tests.gpu.test_emulator_mutations import PROGRAMS

    assert len(PROGRAMS) + len(CASES) >= 30
