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
from benchmarks.timing import OURS, SETTLING, Timing, interleaved

# A call that takes longer than so many seconds is not repeated.
SLOW = 3.0


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


def contestants(peers: Sequence[str], threads: int) -> tuple[list[Runner], list[str]]:
    """Ours and the peers (all of them if none is named), and a line for each that is missing."""
    chosen, missing = [], []
    for name, kind in RUNNERS.items():
        if name != OURS and peers and name not in peers:
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
    timings: dict[str, Timing] = {}
    for runner in runners:
        try:
            start = compile_clock()
            call = runner.prepare(problem)
            called = clock()
            returned = call()
            seconds = clock() - called
            result.prepared[runner.name] = compile_clock() - start
            result.errors[runner.name] = _error(runner.arrays(returned), expected)
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
        if seconds > SLOW:
            timings[runner.name] = Timing(seconds, seconds)
        else:
            calls[runner.name] = call
    timings |= interleaved(calls, rounds, slot, clock, 0.0 if alone else SETTLING)
    result.timings = {name: timings[name] for name in result.prepared if name in timings}
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
