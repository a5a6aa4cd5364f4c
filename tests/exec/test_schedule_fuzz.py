"""A seeded few hundred of the random schedules of `schedule_fuzz.py`, and replays of traces."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relax_mlir.tir.schedule import Schedule
from tests.exec.schedule_fuzz import NAMES, case, run_chain


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_chain_keeps_the_results(name: str, seed: int) -> None:
    run_chain(name, seed)


# Chains of long runs that once failed, by what was wrong.
MENDED = {
    "rolling a buffer along a reduction began the sum anew": ("conv_strided", 2569),
    "a difference within one affine.apply was printed as a remainder": ("dynamic_chain", 2130),
    "a producer's first buffer is not the one that is read": ("log_softmax", 2476),
    "an index that is a constant of the block stayed in it when padding was split off": (
        "conv2d_padded",
        1000292,
    ),
    "the square of what a window reads was its product with what only shapes the window": (
        "dynamic",
        1001374,
    ),
    "an index that falls as the variable of the block grows was taken to grow": (
        "reverse",
        1207946,
    ),
}


@pytest.mark.parametrize("fault", MENDED)
def test_mended_chain(fault: str) -> None:
    run_chain(*MENDED[fault])


# Every choice of a chain is drawn by hypothesis, so that a failure shrinks to a short trace.
@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.sampled_from(NAMES), st.integers(0, 99), st.randoms(use_true_random=False))
def test_any_chain_keeps_the_results(name: str, seed: int, rng: random.Random) -> None:
    run_chain(name, seed, rng)


@pytest.mark.parametrize("name", NAMES[::4])
def test_replay_gives_the_same_module(name: str) -> None:
    sch = run_chain(name, 101)
    again = Schedule(case(name).module)
    sch.trace.apply_to_schedule(again)
    assert again.mod == sch.mod
    from_json = Schedule(case(name).module)
    sch.trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), from_json)
    assert from_json.mod == sch.mod
