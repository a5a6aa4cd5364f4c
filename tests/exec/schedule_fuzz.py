"""Random chains of schedule primitives: whatever a schedule accepts must not change the results.

Each chain starts from one of the programs of `schedule_programs*.py` and goes on until ten random
primitives were accepted (a refusal is fine).  After each of them the module verifies and both texts
give it back; half way and at the end it is compiled and compared with the unscheduled program, or
with numpy.

    python -m tests.exec.schedule_fuzz --chains 10000 --seed 0 --processes 2

prints the chains that go wrong, how to repeat them, and the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

from relax_mlir.driver.build_module import build
from relax_mlir.errors import ScheduleError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule
from relax_mlir.transform import PassContext
from tests.exec.schedule_moves import MOVES
from tests.exec.schedule_programs import PROGRAMS
from tests.exec.schedule_programs_referenced import REFERENCED

ROOT = Path(__file__).resolve().parents[2]
NAMES = [*REFERENCED, *PROGRAMS]


@dataclass(frozen=True)
class Case:
    """A module, the arrays it is called with, and what is in them afterwards."""

    module: IRModule
    arrays: Callable[[np.random.Generator], list[np.ndarray]]
    wanted: Callable[[list[np.ndarray]], list[np.ndarray]]


def _with_reference(name: str) -> Case:
    module, inputs, reference = REFERENCED[name]

    def arrays(rng: np.random.Generator) -> list[np.ndarray]:
        given = inputs(rng)
        wanted = reference(*given)
        return [*given, np.zeros(wanted.shape, wanted.dtype)]

    return Case(module, arrays, lambda given: [*given[:-1], reference(*given[:-1])])


@cache
def case(name: str) -> Case:
    """A program; what is wanted comes from numpy, or from the program as it was written."""
    if name in REFERENCED:
        return _with_reference(name)
    program = PROGRAMS[name]
    unscheduled = build(program.module)["main"]

    def wanted(given: list[np.ndarray]) -> list[np.ndarray]:
        results = [array.copy() for array in given]
        unscheduled(*results)
        return results

    return Case(
        program.module, lambda rng: [p.draw(rng) for p in program.parameters.values()], wanted
    )


def run_chain(
    name: str, seed: int, rng: random.Random | None = None, length: int = 10, attempts: int = 60
) -> Schedule:
    """Apply primitives to a program until `length` were accepted or `attempts` made, and check.

    Raises AssertionError with the trace when a module is wrong.
    """
    rng = rng or random.Random(f"{name} {seed}")
    chosen = case(name)
    sch = Schedule(chosen.module, debug_mask="all", error_render_level="fast", seed=seed)
    moves, weights = [m for _, m in MOVES], [w for w, _ in MOVES]
    accepted = 0
    for _ in range(attempts):
        before = len(sch.trace.insts)
        try:
            rng.choices(moves, weights)[0](sch, rng)
        except ScheduleError as error:
            assert "does not verify" not in str(error), f"{error}\n{sch.trace}"
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{sch.trace}") from error
        if all(step.kind.startswith(("get_", "sample_")) for step in sch.trace.insts[before:]):
            continue
        check_texts(sch)
        accepted += 1
        if accepted == length:
            break
        if accepted == length // 2:
            check_results(sch, chosen, seed)
    check_results(sch, chosen, seed)
    return sch


def check_results(sch: Schedule, chosen: Case, seed: int) -> None:
    """The scheduled program computes what the unscheduled one does."""
    arrays = chosen.arrays(np.random.default_rng(seed))
    wanted = chosen.wanted([array.copy() for array in arrays])
    # Whether LLVM optimises is not what is asked here, and it takes most of the time.
    with PassContext(opt_level=0):
        scheduled = build(reparsed(sch.mod) if seed % 2 else sch.mod)
    scheduled["main"](*arrays)
    for result, reference in zip(arrays, wanted, strict=True):
        tolerance = 2e-2 if result.dtype == np.float16 else 2e-4
        np.testing.assert_allclose(
            result, reference, rtol=tolerance, atol=tolerance, err_msg=str(sch.trace)
        )


def check_texts(sch: Schedule) -> None:
    """MLIR's text gives the module back; TVMScript a module that prints the same from then on (the
    parser may spell an index in another order)."""
    assert IRModule.parse(sch.mod.mlir()) == sch.mod, sch.trace
    text = sch.mod.script()
    again = parsed(text)
    if again.script() != text:
        assert reparsed(again).script() == again.script(), f"{text}\n{sch.trace}"


def reparsed(module: IRModule) -> IRModule:
    """The module that the parser makes of a module's TVMScript."""
    return parsed(module.script())


def parsed(text: str) -> IRModule:
    """The module of a text."""
    module = from_source(text, {"I": I, "T": T})
    assert isinstance(module, IRModule), "the text is that of a module"
    return module


@dataclass(frozen=True)
class Outcome:
    """What came of one chain: the primitives of its trace, and what went wrong."""

    name: str
    seed: int
    applied: tuple[str, ...] = ()
    failure: str = ""


def outcome(number: int) -> Outcome:
    """Run the chain of a number; never raises."""
    name = NAMES[number % len(NAMES)]
    try:
        sch = run_chain(name, number)
        return Outcome(name, number, tuple(i.kind for i in sch.trace.insts))
    except Exception as error:
        return Outcome(name, number, failure=f"{type(error).__name__}: {error}")


# -- the command ----------------------------------------------------------------------------------

BATCH = 100
"""Chains a process runs: it keeps the code of every program that it has built."""


def _batch(numbers: range) -> Iterator[Outcome]:
    """The outcomes of some chains in a process of their own; one that dies is an outcome too."""
    left = list(numbers)
    while left:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.exec.schedule_fuzz",
                   "--worker", "--seed", str(left[0]), "--chains", str(len(left))]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=ROOT, env={**os.environ, "RELAX_MLIR_CACHE": "off"},
                              ) as process:  # fmt: skip
            assert process.stdout is not None and process.stderr is not None, "pipes were asked for"
            for line in process.stdout:
                left.pop(0)
                yield Outcome(**json.loads(line))
            errors = process.stderr.read()
        if left:
            number = left.pop(0)
            yield Outcome(NAMES[number % len(NAMES)], number, failure=f"it died\n{errors[-3000:]}")


def _worker(numbers: range) -> None:
    for number in numbers:
        print(json.dumps(asdict(outcome(number))), flush=True)


def _arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description="random chains of schedule primitives")
    arguments.add_argument("--chains", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=0, help="number of the first chain")
    arguments.add_argument("--processes", type=int, default=1)
    arguments.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return arguments.parse_args()


def main() -> int:
    """The command: how many chains failed."""
    given = _arguments()
    numbers = range(given.seed, given.seed + given.chains)
    if given.worker:
        _worker(numbers)
        return 0
    failures, count, applied = 0, 0, Counter[str]()
    batches = [numbers[n : n + BATCH] for n in range(0, len(numbers), BATCH)]
    with ThreadPool(given.processes) as pool:
        for results in pool.imap_unordered(lambda batch: list(_batch(batch)), batches):
            for result in results:
                applied.update(kind for kind in result.applied if not kind.startswith("get_"))
                if result.failure:
                    failures += 1
                    print(f"--- run_chain({result.name!r}, {result.seed})\n{result.failure}")
            count += len(results)
            print(f"... {count} chains, {failures} failures", flush=True)
    print(", ".join(f"{name} {times}" for name, times in applied.most_common()))
    print(f"{count} chains over {len(NAMES)} programs, {failures} failures")
    return failures


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
