"""Products of bfloat16 and of bytes beside ours in float32, all in turns in one process.

How many times faster they are depends on the moment at which each is measured: float32 alone goes
from 8.6 to 9.6 ms at 1024^3 while other programs run.
"""

from __future__ import annotations

import torch

from benchmarks.arena import Call
from benchmarks.problems import Problem
from benchmarks.report import duration
from benchmarks.runners import RUNNERS
from benchmarks.suite_kernels import problems
from benchmarks.timing import OURS, Timing, interleaved

SIZES = (512, 1024)
KINDS = ("bfloat16", "int8")
_SLOT = 0.01


def run(rounds: int) -> None:
    """Print the table."""
    known = {problem.name: problem for problem in problems()}
    print(f"| products, 1 thread | float32 | {' | '.join(KINDS)} | torch's, {', '.join(KINDS)} |")
    print("|---" * (len(KINDS) + 3) + "|")
    for size in SIZES:
        name = f"matmul {size}x{size}x{size}"
        print(_row(name, measured(known, name, rounds)))


def measured(known: dict[str, Problem], name: str, rounds: int) -> dict[str, Timing]:
    """Ours in float32 (the name itself), ours and torch's of each other kind."""
    ours, peer = RUNNERS[OURS](1), RUNNERS["torch"](1)
    calls: dict[str, Call] = {"float32": ours.prepare(known[name])}
    for kind in KINDS:
        calls[kind] = ours.prepare(known[f"{name} {kind}"])
        calls[f"torch's {kind}"] = peer.prepare(known[f"{name} {kind}"])
    torch.set_num_threads(1)
    return interleaved(calls, rounds, _SLOT)


def _row(name: str, timings: dict[str, Timing]) -> str:
    """Times; ours with how many times faster than float32, torch's with how many times longer."""
    wide = timings["float32"].median
    cells = [duration(wide)]
    for kind in KINDS:
        own = timings[kind].median
        cells.append(f"{duration(own)} ({wide / own:.2f} times as fast)")
    peers = [timings[f"torch's {kind}"].median / timings[kind].median for kind in KINDS]
    return f"| {' | '.join([name, *cells, ', '.join(f'{ratio:.2f}x' for ratio in peers)])} |"
