"""Layouts that follow from those of the outputs, and that schedules can apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir.driver import build
from relax_mlir.errors import Error
from relax_mlir.relax.analysis import suggest_layout_transforms
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule

F = "float32"


@T.prim_func
def conv(
    A: T.Buffer((2, 8, 6, 6), F),
    W: T.Buffer((16, 8, 3, 3), F),
    b: T.Buffer((16,), F),
    O: T.Buffer((2, 16, 4, 4), F),
):
    C = T.alloc_buffer((2, 16, 4, 4), F)
    for n, k, h, w, c, r, s in T.grid(2, 16, 4, 4, 8, 3, 3):
        with T.block("c"):
            vn, vk, vh, vw, vc, vr, vs = T.axis.remap("SSSSRRR", [n, k, h, w, c, r, s])
            with T.init():
                C[vn, vk, vh, vw] = T.float32(0)
            C[vn, vk, vh, vw] += A[vn, vc, vh + vr, vw + vs] * W[vk, vc, vr, vs]
    for n, k, h, w in T.grid(2, 16, 4, 4):
        with T.block("o"):
            vn, vk, vh, vw = T.axis.remap("SSSS", [n, k, h, w])
            O[vn, vk, vh, vw] = T.max(C[vn, vk, vh, vw] + b[vk], T.float32(0))


@T.prim_func
def turned(A: T.Buffer((4, 6), F), B: T.Buffer((6, 4), F)):
    for i, j in T.grid(6, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + A[vj, vi]


@T.prim_func
def mixed(A: T.Buffer((24,), F), B: T.Buffer((6, 4), F)):
    for i, j in T.grid(6, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 4 + vj]


def packed(n: Any, k: Any, h: Any, w: Any) -> tuple[Any, ...]:
    return n, k // 4, h, w, k % 4


def test_maps_go_back_from_the_output() -> None:
    found = {
        block: {name: str(index_map) for name, index_map in maps.items()}
        for block, maps in suggest_layout_transforms(conv, [packed]).items()
    }
    output = "lambda n, k, h, w: (n, k // 4, h, w, k % 4,)"
    assert found == {
        "o": {"o": output, "O": output, "C": output, "b": "lambda k: (k // 4, k % 4,)"},
        "c": {
            "c": "lambda n, k, h, w, d4, d5, d6: (n, k // 4, h, w, d4, d5, d6, k % 4,)",
            "W": "lambda k, d1, d2, d3: (k // 4, d1, d2, d3, k % 4,)",
        },
    }


def test_a_schedule_can_do_it() -> None:
    schedule = Schedule(conv)
    for block, maps in suggest_layout_transforms(conv, [packed]).items():
        for name, index_map in maps.items():
            if name == block:
                schedule.transform_block_layout(block, index_map)
            else:
                schedule.transform_layout(block, name, index_map)
    rng = np.random.default_rng(0)
    a, w, b = (rng.standard_normal(s).astype(F) for s in [(2, 8, 6, 6), (16, 8, 3, 3), (16,)])
    plain, blocked = np.zeros((2, 16, 4, 4), F), np.zeros((2, 4, 4, 4, 4), F)
    build(conv)["conv"](a, w, b, plain)
    weights = np.ascontiguousarray(w.reshape(4, 4, 8, 3, 3).transpose(0, 2, 3, 4, 1))
    build(schedule.mod)["main"](a, weights, b.reshape(4, 4), blocked)
    found = blocked.transpose(0, 1, 4, 2, 3).reshape(2, 16, 4, 4)
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "given", "buffers"),
    [
        (turned, lambda i, j: (i // 2, j, i % 2), {"b", "B"}),  # read in another order
        (mixed, lambda i, j: (i // 2, j, i % 2), {"b", "B"}),  # an index of two variables
        (turned, lambda i, j: (i // 4, j, i % 4), set()),  # 6 is no multiple of 4
        (turned, lambda i, j: (i * 2 + j,), set()),  # two elements in one place
    ],
)
def test_what_cannot_follow(function: Any, given: Callable[..., Any], buffers: set[str]) -> None:
    found = suggest_layout_transforms(function, [given])
    assert set().union(*(maps for maps in found.values())) == buffers


def test_maps_that_do_not_fit() -> None:
    assert suggest_layout_transforms(turned, []) == {}
    with pytest.raises(Error, match="3 index maps for a function of 2 buffers"):
        suggest_layout_transforms(turned, [lambda i, j: (j, i)] * 3)
    with pytest.raises(Error, match="3"):
        suggest_layout_transforms(turned, [lambda i, j, k: (j, i, k)])
