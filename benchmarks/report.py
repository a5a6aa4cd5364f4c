"""Markdown tables and JSON from results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.arena import Result
from benchmarks.machine import Machine
from benchmarks.timing import OURS

_BEST = "best peer"


def duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _names(results: Sequence[Result]) -> list[str]:
    seen = dict.fromkeys(name for result in results for name in result.timings)
    return sorted(seen, key=lambda name: name != OURS)


def table(title: str, results: Sequence[Result], machine: Machine) -> str:
    """Median times; peers with how many times longer than ours, ours with its share of the
    machine's limit; the best peer's ratio where there are several."""
    names = _names(results)
    columns = [*names, _BEST] if len(names) > 2 else names
    lines = [f"| {title} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    ratios: dict[str, list[float]] = {name: [] for name in columns}
    for result in results:
        ours = result.timings[OURS].median
        cells = []
        for name in names:
            if name not in result.timings:
                cells.append("-")
                continue
            median = result.timings[name].median
            if name == OURS:
                share = _share(result, machine)
                cells.append(duration(median) + (f" [{share:.2f}]" if share else ""))
                continue
            ratios[name].append(median / ours)
            cells.append(f"{duration(median)} ({median / ours:.2f}x)")
        if _BEST in columns:
            best = min((t.median / ours for n, t in result.timings.items() if n != OURS), default=0)
            ratios[_BEST] += [best] if best else []
            cells.append(f"{best:.2f}x" if best else "-")
        lines.append(f"| {result.problem} | {' | '.join(cells)} |")
    means = [f"{geometric_mean(ratios[n]):.2f}x" if ratios[n] else "" for n in columns]
    lines.append(f"| geometric mean | {' | '.join(means)} |")
    return "\n".join(lines)


def _share(result: Result, machine: Machine) -> float:
    """How close ours comes to the machine's limit; 0 where the problem's cost is not known."""
    return machine.least_seconds(result.flops, result.moved) / result.timings[OURS].median


def compile_table(results: Sequence[Result]) -> str:
    """Seconds until the first result."""
    names = _names(results)
    lines = [f"| ready to run | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for result in results:
        cells = [f"{result.prepared[n]:.2f} s" if n in result.prepared else "-" for n in names]
        lines.append(f"| {result.problem} | {' | '.join(cells)} |")
    return "\n".join(lines)


def error_table(results: Sequence[Result]) -> str:
    """The largest error of a result over the largest value."""
    names = _names(results)
    lines = [f"| largest error | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for result in results:
        cells = [f"{result.errors[n]:.1e}" if n in result.errors else "-" for n in names]
        lines.append(f"| {result.problem} | {' | '.join(cells)} |")
    return "\n".join(lines)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def absences(results: Sequence[Result]) -> list[str]:
    return [
        f"{name} does not run '{result.problem}': {reason}"
        for result in results
        for name, reason in result.absent.items()
        if reason not in ("no numpy form", "no images")
    ]


def as_json(results: Sequence[Result], machine: Machine, threads: int) -> dict[str, Any]:
    return {
        "threads": threads,
        "fma_peak": machine.fma_peak,
        "copy_bandwidth": dict(machine.copies),
        "results": [
            {
                "problem": r.problem,
                "flops": r.flops,
                "moved": r.moved,
                "share": _share(r, machine),
                "median": {name: t.median for name, t in r.timings.items()},
                "best": {name: t.best for name, t in r.timings.items()},
                "ready": r.prepared,
                "error": r.errors,
                "absent": r.absent,
            }
            for r in results
        ],
    }
