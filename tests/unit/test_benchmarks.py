"""How contestants take turns, and what benchmarks report: the machine's limits, tables, figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import arena, first_result, plots, report
from benchmarks.arena import Result
from benchmarks.machine import Machine
from benchmarks.problems import Function, Problem
from benchmarks.runners import Runner
from benchmarks.timing import OURS, Timing


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


def _runner(name: str, threads: int, call: Callable[[], Any]) -> Runner:
    class Fake(Runner):
        def prepare(self, problem: Problem) -> Callable[[], Any]:
            if self.name == "refuses":
                raise ValueError("no such operator")
            return call

    Fake.name = name
    return Fake(threads)


def _run(monkeypatch: pytest.MonkeyPatch, slow: float) -> tuple[Result, list[str]]:
    """A problem of three contestants, and the order in which they are called."""
    monkeypatch.setattr(arena, "SLOW", slow)
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    order: list[str] = []

    def call(name: str) -> Callable[[], np.ndarray]:
        def called() -> np.ndarray:
            order.append(name)
            if name == "late":
                time.sleep(0.02)
            return x.numpy()

        return called

    problem = Problem("copy", Function(torch.clone), (x,), np.copy)
    names = (OURS, "late", "refuses", "early")
    runners = [_runner(name, 2, call(name)) for name in names]
    return arena.run_problem(problem, runners, rounds=2, slot=0.0), order


def test_a_call_that_takes_long_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "SETTLING", 0.001)
    result, order = _run(monkeypatch, slow=0.01)
    assert order.count("late") == 1 and result.timings["late"].median >= 0.02
    assert list(result.timings) == [OURS, "late", "early"]
    assert result.absent == {"refuses": "ValueError: no such operator"}


def test_each_turn_on_several_threads_starts_with_a_call_that_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[float] = []
    monkeypatch.setattr(arena, "SETTLING", 0.25)
    monkeypatch.setattr("benchmarks.timing.time.sleep", paused.append)
    _, order = _run(monkeypatch, slow=1.0)
    assert paused.count(0.25) == 2 * 3
    turns = [OURS, "late", "early"]
    twice = [name for name in turns for _ in range(2)]
    # The check, the calls that find how often to call, and two rounds.
    assert order == [*turns, *twice, *twice, *twice]


def test_the_table_names_the_best_peer() -> None:
    result = Result("copy", 0.0, 0.0)
    result.timings = {n: Timing(t, t) for n, t in {OURS: 2.0, "numpy": 3.0, "torch": 8.0}.items()}
    rows = report.table("copies", [result], Machine(fma_peak=1.0, copies=((1, 1.0),))).splitlines()
    assert rows[0] == "| copies | relax_mlir | numpy | torch | best peer |"
    assert rows[2] == "| copy | 2 s | 3 s (1.50x) | 8 s (4.00x) | 1.50x |"
    assert rows[3] == "| geometric mean |  | 1.50x | 4.00x | 1.50x |"


def test_the_first_result_of_a_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = {n: c for n, c in first_result.CONTESTANTS.items() if c[0] == "relax_mlir"}
    monkeypatch.setattr(first_result, "CONTESTANTS", ours)
    monkeypatch.setattr("sys.argv", ["first_result", "--rounds", "1"])
    first_result.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert rows[0][1:] == list(first_result.PHASES)
    assert [row[0] for row in rows[2:]] == list(ours)
    for row in rows[2:]:
        *phases, whole = map(float, row[1:])
        assert abs(sum(phases) - whole) < 0.01 and min(phases) > 0
