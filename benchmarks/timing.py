"""Interleaved timing: every candidate in turn, round after round, so that a slow moment of a shared
machine hits all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

OURS = "relax_mlir"
"""The contestant whose times the others are compared with."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call: the median and the best of all rounds."""

    median: float
    best: float


SETTLING = 0.3
"""Seconds until threads that wait for work sleep: LLVM's OpenMP has them look out for 0.2."""


def interleaved(
    candidates: Mapping[str, Callable[[], object]],
    rounds: int = 25,
    slot: float = 0.004,
    clock: Callable[[], float] = time.thread_time,
    settling: float = 0.0,
) -> dict[str, Timing]:
    """Time the candidates; one round calls each for about `slot` seconds.

    The default clock counts the calling thread's processor time, so that other programs on the
    machine do not count; use `time.perf_counter` for candidates that run on several threads.  The
    threads of such a candidate keep a core busy for a while after a call, when it is another's
    turn: `settling` seconds (SETTLING) pass before each turn, which then starts with a call that
    does not count, to wake the threads.
    """
    counts: dict[str, int] = {}
    for name, call in candidates.items():
        call()
        start = clock()
        call()
        counts[name] = max(1, int(slot / max(clock() - start, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            if settling:
                time.sleep(settling)
                call()
            start = clock()
            for _ in range(counts[name]):
                call()
            samples[name].append((clock() - start) / counts[name])
    return {n: Timing(statistics.median(s), min(s)) for n, s in samples.items()}


def table(title: str, rows: Mapping[str, Mapping[str, Timing]]) -> str:
    """A Markdown table: median microseconds, and how many times longer than ours in brackets."""
    names = list(dict.fromkeys(name for timings in rows.values() for name in timings))
    lines = [f"| {title} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for row, timings in rows.items():
        ours = timings[OURS].median
        cells = []
        for name in names:
            if name not in timings:
                cells.append("")
                continue
            median = timings[name].median
            ratio = "" if name == OURS else f" ({median / ours:.2f}x)"
            cells.append(f"{median * 1e6:.1f} us{ratio}")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)
