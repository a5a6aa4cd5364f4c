"""Running problems: every contestant prepared and checked, then timed in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.problems import Problem
from benchmarks.runners import RUNNERS, Call, Runner, Unsuitable
from benchmarks.timing import OURS, Timing, interleaved


@dataclass
class Result:
    """One problem: timings by contestant, seconds to prepare, and who did not run and why."""

    problem: str
    flops: float
    moved: float
    timings: dict[str, Timing] = field(default_factory=dict)
    prepared: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def contestants(peers: Sequence[str], threads: int, slow: bool) -> tuple[list[Runner], list[str]]:
    """Ours and the peers (all of them if none is named), and a line for each that is missing."""
    chosen, missing = [], []
    for name, kind in RUNNERS.items():
        if name != OURS and peers and name not in peers:
            continue
        if kind.slow and not slow and name not in peers:
            missing.append(f"{name} is left out: slow here, ask for it by --peers '{name}'")
            continue
        runner = kind(threads)
        package = runner.missing()
        if package:
            missing.append(f"{name} is left out: the package '{package}' is not installed")
            continue
        chosen.append(runner)
    return chosen, missing


def run_problem(problem: Problem, runners: Sequence[Runner], rounds: int, slot: float) -> Result:
    """Prepare, check and time; contestants that fail or compute something else are left out."""
    result = Result(problem.name, problem.flops, problem.moved)
    # One thread: the whole process's processor time, because some peers compute in threads of
    # their own.  More threads: the clock on the wall, which other programs disturb.
    wall = time.perf_counter
    alone = runners[0].threads == 1
    clock, compile_clock = (time.process_time, _processor_time) if alone else (wall, wall)
    expected = problem.expected()
    calls: dict[str, Call] = {}
    for runner in runners:
        try:
            start = compile_clock()
            call = runner.prepare(problem)
            got = runner.arrays(call())
            result.prepared[runner.name] = compile_clock() - start
            result.errors[runner.name] = _error(got, expected)
        except Unsuitable as reason:
            result.absent[runner.name] = str(reason)
            continue
        except Exception as reason:
            if runner.name == OURS:
                raise
            result.absent[runner.name] = f"{type(reason).__name__}: {str(reason)[:120]}"
            continue
        if not result.errors[runner.name] <= problem.tolerance:
            result.absent[runner.name] = f"wrong result: error {result.errors[runner.name]:.1e}"
            if runner.name == OURS:
                raise AssertionError(f"{problem.name}: {result.absent[OURS]}")
            continue
        calls[runner.name] = call
    result.timings = interleaved(calls, rounds, slot, clock)
    return result


def _processor_time() -> float:
    """Seconds that this process has computed, and those that it has started and seen end: some
    contestants call a compiler."""
    return sum(os.times()[:4])


def _error(got: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest difference, over the largest value of each output."""
    if len(got) != len(expected):
        return float("inf")
    worst = 0.0
    for ours, theirs in zip(got, expected, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        if ours.shape != theirs.shape:
            return float("inf")
        if theirs.size:
            difference = np.abs(ours.astype("float64") - theirs.astype("float64")).max()
            worst = max(worst, float(difference / max(1e-6, np.abs(theirs).max())))
    return worst
