"""Buffers whose contents outlive an iteration stay outside of the loop; the others move into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from relax_mlir.driver.build_module import build
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule import Schedule
from tests.exec.test_scheduled_loops import lowered, program

F32 = "float32"
PLANNED = (
    "tir-bool-to-byte,tir-to-linalg,tir-decompose-reduction,tir-plan-buffer-allocation,"
    "tir-compact-buffer-allocation"
)


@dataclass(frozen=True)
class Case:
    """A body over A(8, 4) and X(8,) of int32 that makes Y; what Y is; whether C is carried."""

    body: str
    wanted: Callable[[np.ndarray, np.ndarray], np.ndarray]
    carried: bool = True
    columns: int = 4


def _stages(make: str, *, kind: str = "SS", loop: str = "range(4)") -> str:
    """An outer loop with a block that makes C from a column of A, and one that copies C to Y."""
    indented = "\n".join("            " + line for line in make.strip("\n").splitlines())
    return (
        f'C = T.alloc_buffer((8,), "float32")\nfor k in {loop}:\n    for i in range(8):\n'
        f'        with T.block("C"):\n            vi, vk = T.axis.remap("{kind}", [i, k])\n'
        f'{indented}\n    for i in range(8):\n        with T.block("Y"):\n'
        '            vi, vk = T.axis.remap("SS", [i, k])\n            Y[vi, vk] = C[vi]\n'
    )


def _blended(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    found = a.copy()
    for k in range(1, 4):
        found[:, k] = np.where(a[:, k] > 0, a[:, k], found[:, k - 1])
    return found


def _scattered(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    found = np.zeros_like(a)
    for k in range(4):
        row = found[:, k - 1].copy() if k else np.zeros(8, F32)
        for i in range(8):
            row[x[i]] = a[i, k]
        found[:, k] = row
    return found


def _odd_from_first(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    found = a.copy()
    found[1::2] = a[1::2, :1]
    return found


CASES = {
    "running sum": Case(
        _stages("with T.init():\n    C[vi] = T.float32(0)\nC[vi] = C[vi] + A[vi, vk]", kind="SR"),
        lambda a, x: np.cumsum(a, 1),
    ),
    "running sum of tiles": Case(
        """
C = T.alloc_buffer((8,), "float32")
for ko in range(2):
    for i, ki in T.grid(8, 2):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(4, ko * 2 + ki)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, ko])
            Y[vi, vk] = C[vi]
""",
        lambda a, x: np.cumsum(a, 1)[:, 1::2],
        columns=2,
    ),
    "stored in the first iteration": Case(
        _stages("if vk == 0:\n    C[vi] = A[vi, vk]"), lambda a, x: np.repeat(a[:, :1], 4, 1)
    ),
    "stored under a condition on data": Case(
        _stages("if vk == 0 or A[vi, vk] > T.float32(0):\n    C[vi] = A[vi, vk]"), _blended
    ),
    "a window that slides": Case(
        """
C = T.alloc_buffer((5,), "float32")
for k in range(4):
    for u in range(1):
        with T.block("C"):
            vk, vu = T.axis.remap("SS", [k, u])
            if vk == 0:
                C[vk] = A[vk, 0]
            C[vk + 1] = A[vk + 1, 0]
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = C[vk] + C[vk + 1] * T.float32(2)
""",
        lambda a, x: np.repeat((a[:4, 0] + 2 * a[1:5, 0])[None], 8, 0),
    ),
    "every other element": Case(
        """
C = T.alloc_buffer((8,), "float32")
for k in range(4):
    with T.block("C"):
        vk = T.axis.spatial(4, k)
        for j in range(4):
            C[j * 2] = A[j * 2, vk]
        if vk == 0:
            for j in range(4):
                C[j * 2 + 1] = A[j * 2 + 1, vk]
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = C[vi]
""",
        _odd_from_first,
    ),
    "scattered": Case(
        """
C = T.alloc_buffer((8,), "float32")
for i in range(8):
    with T.block("zero"):
        vi = T.axis.spatial(8, i)
        C[vi] = T.float32(0)
for k in range(4):
    with T.block("C"):
        vk = T.axis.spatial(4, k)
        for j in range(8):
            C[X[j]] = A[j, vk]
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = C[vi]
""",
        _scattered,
    ),
    "copied in, changed, copied out": Case(
        """
C = T.alloc_buffer((8,), "float32")
D = T.alloc_buffer((8,), "float32")
for i in range(8):
    with T.block("zero"):
        vi = T.axis.spatial(8, i)
        C[vi] = T.float32(0)
for k in range(4):
    for i in range(8):
        with T.block("in"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi] = C[vi]
    for i in range(8):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi] = D[vi] + A[vi, vk]
    for i in range(8):
        with T.block("out"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi] = D[vi]
            Y[vi, vk] = D[vi]
""",
        lambda a, x: np.cumsum(a, 1),
    ),
    "read before it is written": Case(
        """
C = T.alloc_buffer((8,), "float32")
for k in range(4):
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = T.if_then_else(vk > 0, C[vi], T.float32(0))
    for i in range(8):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi] = A[vi, vk]
""",
        lambda a, x: np.concatenate([np.zeros((8, 1), F32), a[:, :3]], 1),
    ),
    "stored on both sides": Case(
        _stages("if vk == 0:\n    C[vi] = A[vi, vk]\nelse:\n    C[vi] = A[vi, vk] * A[vi, vk]"),
        lambda a, x: np.concatenate([a[:, :1], a[:, 1:] ** 2], 1),
        carried=False,
    ),
    "two stores side by side": Case(
        """
C = T.alloc_buffer((8,), "float32")
for k in range(4):
    for j in range(4):
        with T.block("C"):
            vj, vk = T.axis.remap("SS", [j, k])
            C[vj * 2] = A[vj * 2, vk]
            C[vj * 2 + 1] = A[vj * 2 + 1, vk]
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = C[vi]
""",
        lambda a, x: a,
        carried=False,
    ),
    "a sum of its own": Case(
        """
C = T.alloc_buffer((8,), "float32")
for k in range(4):
    for i, r in T.grid(8, 4):
        with T.block("C"):
            vi, vk, vr = T.axis.remap("SSR", [i, k, r])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vr] * A[vi, vk]
    for i in range(8):
        with T.block("Y"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = C[vi]
""",
        lambda a, x: a * a.sum(1, keepdims=True),
        carried=False,
    ),
    "a parallel loop": Case(
        _stages(
            "for j in range(1):\n    if A[vi, vk] > T.float32(-9):\n        C[vi] = A[vi, vk]",
            loop="T.parallel(4)",
        ),
        lambda a, x: a,
        carried=False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_an_iteration_makes_itself_moves_into_the_loop(name: str) -> None:
    case = CASES[name]
    module = program(case.body, A=((8, 4), F32), X=((8,), "int32"), Y=((8, case.columns), F32))
    text = lowered(module, PLANNED)
    first_loop = next(n for n in (text.find("tir.for"), len(text)) if n >= 0)
    assert (text.find("tir.alloc_buffer") < first_loop) == case.carried, text
    rng = np.random.default_rng(3)
    a, x = rng.standard_normal((8, 4)).astype(F32), rng.integers(0, 8, 8).astype("int32")
    y = np.full((8, case.columns), np.nan, F32)
    build(module)["main"](a, x, y)
    np.testing.assert_allclose(y, case.wanted(a, x), rtol=1e-6, atol=1e-6)


TRIANGLE = """
for i in range(8):
    for j in range(i + 1):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = A[vi, vj]
"""
CONDITION = """
for i, j in T.grid(8, 8):
    with T.block("Y"):
        vi, vj = T.axis.remap("SS", [i, j])
        if vi >= vj:
            Y[vi, vj] = A[vi, vj]
"""


@pytest.mark.parametrize("body", [TRIANGLE, CONDITION], ids=["triangle", "condition"])
def test_a_part_that_is_not_a_box_is_computed_but_not_staged(body: str) -> None:
    module = program(body, A=((8, 8), F32), Y=((8, 8), F32))
    a = np.random.default_rng(0).standard_normal((8, 8)).astype(F32)
    y = np.full((8, 8), 7, F32)
    build(module)["main"](a, y)
    np.testing.assert_array_equal(y, np.where(np.tri(8, dtype=bool), a, np.float32(7)))
    for attempt in (
        lambda s: s.cache_write("Y", 0, "local"),
        lambda s: s.reindex("Y", ("write", 0)),
        lambda s: s.reindex_cache_write("Y", 0, "local", lambda i, j: [j, i]),
    ):
        with pytest.raises(ScheduleError, match=r"whole box|as it was|from iteration"):
            attempt(Schedule(module))


NESTED = """
for i in range(4):
    with T.block("O"):
        vo = T.axis.spatial(4, i)
        for r, k in T.grid(64, 3):
            with T.block("Y"):
                vr = T.axis.spatial(256, vo * 64 + r)
                vk = T.axis.reduce(3, k)
                with T.init():
                    Y[vr] = T.float32(0)
                Y[vr] = Y[vr] + A[vr, vk]
"""
COPIES: dict[str, Callable[[Schedule], object]] = {
    "reindex": lambda s: s.reindex("Y", ("write", 0)),
    "cache_write": lambda s: s.cache_write("Y", 0, "global"),
    "both": lambda s: (s.cache_write("Y", 0, "global"), s.reindex("Y_global", ("write", 0))),
    "reindex_cache_write": lambda s: s.reindex_cache_write("Y", 0, "global", lambda r, k: [r]),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_inside_a_block_is_of_the_instances_own_region(name: str) -> None:
    """An instance must not write what others make: they run at the same time."""
    module = program(NESTED, A=((256, 3), F32), Y=((256,), F32))
    sch = Schedule(module, debug_mask="all")
    COPIES[name](sch)
    sch.parallel(sch.get_loops("O")[0])
    assert "ax0 in range(256)" not in sch.mod.script()
    main = build(sch.mod)["main"]
    a = np.random.default_rng(1).standard_normal((256, 3)).astype(F32)
    for _ in range(5):
        y = np.full(256, np.nan, F32)
        main(a, y)
        np.testing.assert_allclose(y, a.sum(1), rtol=1e-5, atol=1e-5)


def test_a_sparse_output_is_not_reindexed() -> None:
    """The copy back would write the elements between."""
    body = """
for i in range(4):
    with T.block("Y"):
        vi = T.axis.spatial(8, i * 2)
        Y[vi] = A[vi]
"""
    sch = Schedule(program(body, A=((8,), F32), Y=((8,), F32)))
    with pytest.raises(ScheduleError, match="does not write a whole box of Y"):
        sch.reindex("Y", ("write", 0))


def test_a_half_filled_output_is_copied_by_half() -> None:
    body = """
for i in range(4):
    with T.block("Y"):
        vi = T.axis.spatial(8, i)
        Y[vi] = A[vi]
"""
    sch = Schedule(program(body, A=((8,), F32), Y=((8,), F32)))
    sch.reindex("Y", ("write", 0))
    assert sch.mod.script().count("in range(4)") == 2
    a, y = np.arange(8, dtype=F32), np.full(8, -1, F32)
    build(sch.mod)["main"](a, y)
    np.testing.assert_array_equal(y, np.where(np.arange(8) < 4, a, np.float32(-1)))


def test_a_reduction_that_runs_again_keeps_its_init() -> None:
    """With the init before the loop, what the second run adds would come on top of the first."""
    body = """
C = T.alloc_buffer((6,), "float32")
for i, k in T.grid(6, 7):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
for i, j in T.grid(6, 5):
    with T.block("Y"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = C[vi] * T.float32(2)
"""
    sch = Schedule(program(body, A=((6, 7), F32), Y=((6, 5), F32)), debug_mask="all")
    i, j = sch.get_loops("Y")
    sch.compute_at("C", j)
    for loop in (i, j):
        with pytest.raises(ScheduleError, match="again, each time from its init on"):
            sch.decompose_reduction("C", loop)
    sch.decompose_reduction("C", sch.get_loops("C")[-1])
    a, y = np.random.default_rng(2).standard_normal((6, 7)).astype(F32), np.zeros((6, 5), F32)
    build(sch.mod)["main"](a, y)
    wanted = np.repeat(2 * a.sum(1, keepdims=True), 5, 1)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
