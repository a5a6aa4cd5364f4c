"""What the primitives on buffers refuse, with the reason, and that the module is then unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from relax_mlir.errors import ScheduleError
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule
from tests.exec.schedule_programs import PROGRAMS
from tests.exec.schedule_tvm_cases import PROGRAMS as TEXTS

REFUSALS: dict[str, tuple[str, Callable[[Schedule], Any], str]] = {
    "partition_all": (
        "elementwise",
        lambda s: s.loop_partition(s.get_loops("C")[0], [10, 10]),
        "leave nothing of the 20 iterations",
    ),
    "partition_dynamic": (
        "dynamic",
        lambda s: s.loop_partition(s.get_loops("B")[0], [4, None]),
        "loop i has no constant range",
    ),
    "reindex_map": (
        "matmul",
        lambda s: s.reindex_cache_read("C", 0, "shared", lambda i, j, k: (i,)),
        "the index map does not determine vk",
    ),
    "inplace_of_nothing": (
        "matmul",
        lambda s: s.cache_inplace("C", 0, "local"),
        'block "C" does not write A',
    ),
    "index_plain": (
        "matmul",
        lambda s: s.cache_index("C", "global"),
        'no index of block "C" is more than a variable',
    ),
    "read_at_written": (
        "inplace",
        lambda s: s.read_at(s.get_loops("B")[0], s.get_sblock("B"), 0, "shared"),
        'block "B" under loop i writes A',
    ),
    "write_at_unfinished": (
        "matmul",
        lambda s: s.write_at(s.get_loops("C")[2], s.get_sblock("C"), 0, "shared"),
        'loop k is a reduction loop of block "C"',
    ),
    "rolling_outside": (
        "pool",
        lambda s: s.rolling_buffer("C", 0),
        'block "C" is not under a loop of its consumers',
    ),
    "padding_none": (
        "elementwise",
        lambda s: s.decompose_padding("C", s.get_loops("C")[0]),
        'block "C" does not store a value or, outside of bounds, a constant',
    ),
    "epilogue_of_another_kind": (
        "matmul",
        lambda s: s.fuse_reduction_epilogue("C", "D"),
        "it would be applied in each step of the reduction",
    ),
    "hidden_number": (
        "matmul",
        lambda s: s.unsafe_hide_buffer_access("C", "read", [5]),
        'block "C" has 2 read regions, no number 5',
    ),
    "annotated_elsewhere": (
        "elementwise",
        lambda s: s.annotate_buffer_access("C", 0, "read", lambda i, j: ((i + 1, i + 2), j)),
        'block "C" accesses B at vi, which is outside of',
    ),
    "argmax_order": (
        "argmax",
        lambda s: s.rfactor(s.split(s.get_loops("argmax")[1], [None, 32])[1], 0),
        "keeps the first of equal values",
    ),
    "blockize_apart": (
        "elementwise",
        lambda s: s.blockize([s.get_sblock("B"), s.get_sblock("D")]),
        "the blocks do not follow each other",
    ),
    "layout_gap": (
        "elementwise",
        lambda s: s.transform_layout("B", ("write", 0), lambda i, j: (i // 8, j, i % 8)),
        "needs padding: 20 x 30 elements of B in 3 x 30 x 8",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_why_and_change_nothing(name: str) -> None:
    program, primitive, reason = REFUSALS[name]
    sch = Schedule(from_source(TEXTS[program], {"I": I, "T": T}), debug_mask="all")
    if name == "argmax_order":
        with pytest.raises(ScheduleError) as caught:
            primitive(sch)
    else:
        before = sch.mod
        with pytest.raises(ScheduleError) as caught:
            primitive(sch)
        assert sch.mod == before
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("name", "primitive"),
    [
        ("scatter", lambda s: s.parallel(s.get_loops("Y")[0])),
        ("running_sum", lambda s: s.parallel(s.get_loops("Y")[0])),
        ("scan_rows", lambda s: s.vectorize(s.get_loops("Y")[0])),
        ("sum_all", lambda s: s.parallel(s.get_loops("Y")[0])),
    ],
)
def test_order_that_matters_is_kept(name: str, primitive: Callable[[Schedule], Any]) -> None:
    sch = Schedule(PROGRAMS[name].module, debug_mask="all")
    with pytest.raises(ScheduleError):
        primitive(sch)


def test_updates_after_decompose_reduction_run_in_any_order() -> None:
    sch = Schedule(PROGRAMS["decomposed_matmul"].module, debug_mask="all")
    i, j, k = sch.get_loops("C_update")
    sch.reorder(k, i, j)
    sch.vectorize(j)
    i, j, k = sch.get_loops("C_update")[1], j, k
    with pytest.raises(ScheduleError, match="reduction variable"):
        sch.parallel(k)


def test_arithmetic_on_sampled_integers_is_in_the_trace() -> None:
    module = from_source(TEXTS["matmul"], {"I": I, "T": T})
    sch = Schedule(module, seed=3)
    v = sch.sample_categorical([2, 4], [0.5, 0.5], decision=1)
    sch.split(sch.get_loops("C")[0], [None, (v * 2) // 4 + 2])
    assert "T.grid(8, 4, 32, 32)" in sch.mod.script()
    again = Schedule(module)
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert again.mod == sch.mod
    with pytest.raises(ScheduleError, match="divides by zero"):
        sch.split(sch.get_loops("C")[0], [None, v // (v - 4)])


DECLARED_WIDER = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi ^ 1, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""
"""Reads by an index that only the declaration counts, in operations of the block."""

REDECLARED: dict[str, tuple[Callable[[Schedule], Any], str, str]] = {
    "unsafe_hide_buffer_access": (
        lambda s: s.unsafe_hide_buffer_access("b", "write", [0]),
        "T.reads(A[vi ^ 1, vj])",
        "T.writes()",
    ),
    "annotate_buffer_access": (
        lambda s: s.annotate_buffer_access("b", 0, "write", lambda i, j: (i, (0, 8))),
        "T.reads(A[vi ^ 1, vj])",
        "T.writes(B[vi, 0:8])",
    ),
    "transform_block_layout": (
        lambda s: s.transform_block_layout("b", lambda i, j: [j, i]),
        "T.reads(A[v1, v0])",
        "T.writes(B[v1, v0])",
    ),
}


@pytest.mark.parametrize("primitive", REDECLARED)
def test_what_declarations_count_by_outlives_them(primitive: str) -> None:
    """It was erased with the old declaration, and the process ended at the new one."""
    change, reads, writes = REDECLARED[primitive]
    sch = Schedule(from_source(DECLARED_WIDER, {"T": T}))
    change(sch)
    text = str(sch.mod)
    assert reads in text and writes in text
