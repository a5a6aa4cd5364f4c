"""What benchmarks report: the machine's limits, and figures of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import plots
from benchmarks.machine import Machine


def test_the_longer_of_multiply_adds_and_copying_is_the_limit() -> None:
    machine = Machine(fma_peak=100.0, copies=((10, 50.0), (1000, 5.0)))
    assert machine.least_seconds(flops=200, moved=0) == 2
    assert machine.least_seconds(flops=200, moved=10) == 2
    assert machine.least_seconds(flops=0, moved=10) == 0.2
    assert machine.least_seconds(flops=0, moved=11) == 2.2  # beyond the cache
    assert machine.least_seconds(flops=0, moved=5000) == 1000  # beyond all that was measured


def test_threads_share_the_limit() -> None:
    machine = Machine(fma_peak=100.0, copies=((10, 50.0),), threads=2)
    assert machine.least_seconds(flops=200, moved=0) == 1


def _entry(threads: int = 1, share: float = 0.5) -> dict[str, Any]:
    def result(problem: str, **median: float) -> dict[str, Any]:
        ready = {name: 10 * seconds for name, seconds in median.items()}
        return {"problem": problem, "median": median, "ready": ready, "share": share}

    return {
        "threads": threads,
        "results": [
            result("product", relax_mlir=2.0, numpy=3.0, torch=1.0),
            result("softmax", relax_mlir=2.0, torch=8.0),
        ],
    }


def _bars(axes: Any) -> list[list[float]]:
    """Where the bars of each group end."""
    return [[bar.get_x() + bar.get_width() for bar in group] for group in axes.containers]


def test_a_figure_shows_ratios_and_shares() -> None:
    pytest.importorskip("matplotlib")
    figure = plots.figure_of("kernels", _entry(threads=2))
    ratios, shares = figure.axes
    assert figure.get_suptitle() == "kernels, 2 threads"
    assert [label.get_text() for label in ratios.get_yticklabels()] == ["product", "softmax"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["numpy", "torch"]
    assert _bars(ratios) == [[1.5], [0.5, 4.0]]
    assert _bars(shares) == [[0.5, 0.5]]


def test_what_has_no_known_cost_has_no_shares() -> None:
    pytest.importorskip("matplotlib")
    assert len(plots.figure_of("calls", _entry(share=0.0)).axes) == 1


def test_the_figure_of_compile_times_shows_the_first_result() -> None:
    pytest.importorskip("matplotlib")
    entry = _entry()
    entry["results"][0]["ready"]["numpy"] = 80.0
    (ratios,) = plots.figure_of("compile", entry).axes
    assert _bars(ratios) == [[4.0], [0.5, 4.0]]


def test_figures_are_written_as_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = plots.plot("kernels", _entry(), tmp_path / "new")
    assert path == tmp_path / "new" / "kernels-1.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_no_results_are_an_error() -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="no results of the suite 'calls'"):
        plots.figure_of("calls", {"threads": 1, "results": []})
