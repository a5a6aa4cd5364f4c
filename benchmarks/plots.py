"""`python -m benchmarks.plots RESULTS.json FOLDER`: figures of results that `--json` has written.

One PNG a suite and number of threads: how many times longer than ours each peer takes, as bars, and
beside them our share of what the machine can do (multiply-adds, or bytes copied).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import OURS

__all__ = ["figure_of", "missing_package", "plot"]

_ROW_INCHES, _BAR_SPAN = 0.32, 0.8
# Okabe and Ito's colours, which those who see few colours tell apart too.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")


def missing_package() -> str:
    """The package that figures need and that is not installed, or nothing."""
    return "" if importlib.util.find_spec("matplotlib") else "matplotlib"


def plot(suite: str, entry: dict[str, Any], folder: str | Path) -> Path:
    """Write the figure of a suite's results as `SUITE-THREADS.png`; the path of it."""
    path = Path(folder) / f"{suite}-{entry['threads']}.png"
    figure = figure_of(suite, entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)
    return path


def figure_of(suite: str, entry: dict[str, Any]) -> Any:
    """The figure (matplotlib's) of results as `report.as_json` gives them.

    The suite `compile` shows the time until the first result, the others the median time.

    Raises ValueError if there are no results.
    """
    results, times = entry["results"], "ready" if suite == "compile" else "median"
    if not results:
        raise ValueError(f"no results of the suite '{suite}' to plot: does a filter leave out all?")
    peers = list(dict.fromkeys(name for r in results for name in r[times] if name != OURS))
    has_shares = times == "median" and any(result["share"] for result in results)
    height = 1.2 + _ROW_INCHES * len(results) * max(1.0, len(peers) / 2)
    figure_class: Any = importlib.import_module("matplotlib.figure").Figure
    figure = figure_class(figsize=(10 if has_shares else 7.5, height), layout="constrained")
    widths = [3, 1] if has_shares else [1]
    ratios, *shares = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    _draw_ratios(ratios, [result[times] for result in results], peers)
    ratios.set_yticks(range(len(results)), [result["problem"] for result in results])
    for axes in shares:
        axes.set_yticks([])
        _draw_shares(axes, [result["share"] for result in results])
    for axes in (ratios, *shares):
        _finish(axes, len(results))
    if peers:
        figure.legend(loc="outside lower center", ncols=len(peers))
    threads = entry["threads"]
    figure.suptitle(f"{suite}, {threads} thread{'s' if threads > 1 else ''}")
    return figure


def _draw_ratios(axes: Any, times: Sequence[dict[str, float]], peers: Sequence[str]) -> None:
    """A group of bars a problem, a bar a peer that ran it; right of 1 ours is faster."""
    width = _BAR_SPAN / max(1, len(peers))
    for position, peer in enumerate(peers):
        ran = [(row, seconds) for row, seconds in enumerate(times) if peer in seconds]
        axes.barh(
            [row - _BAR_SPAN / 2 + (position + 0.5) * width for row, _ in ran],
            [seconds[peer] / seconds[OURS] - 1 for _, seconds in ran],
            width,
            left=1,
            color=_COLOURS[position % len(_COLOURS)],
            label=peer,
        )
    axes.set_xscale("log")
    axes.set_xlabel("time of a peer / time of ours (logarithmic)")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")


def _draw_shares(axes: Any, shares: Sequence[float]) -> None:
    """Our share of the machine's limit; no bar where the cost of a problem is not known."""
    axes.barh(range(len(shares)), shares, _BAR_SPAN / 2, color="#999999")
    axes.set_xlabel("our share of the limit")


def _finish(axes: Any, rows: int) -> None:
    """The first problem on top, and a line at 1."""
    axes.set_ylim(rows - 0.5, -0.5)
    axes.axvline(1, color="black", linewidth=1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots", description=__doc__)
    parser.add_argument("results", help="a file that --json has written")
    parser.add_argument("folder", help="where the figures go")
    options = parser.parse_args()
    if missing_package():
        parser.error(f"{missing_package()} is not installed: pip install 'relax_mlir[bench]'")
    with open(options.results) as file:
        entries = json.load(file)
    for name, entry in entries.items():
        print(plot(name.rpartition("-")[0], entry, options.folder))


if __name__ == "__main__":
    main()
