"""Profiles: how long each call of a compiled program takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.runtime.registry import register_global_func

__all__ = ["Profile", "Row", "record"]

_COLUMNS = ("Name", "Duration (us)", "Percent", "Count", "Argument shapes")


@dataclass(frozen=True)
class Row:
    """The calls of one function with operands and results of these types."""

    name: str
    shapes: str
    count: int
    seconds: float


class Profile:
    """What the calls of a function took, slowest first.

    `rows` are those of one run on average, `seconds` is how long a run takes as a whole.
    """

    def __init__(self, rows: list[Row], seconds: float) -> None:
        self.rows = sorted(rows, key=lambda row: -row.seconds)
        self.seconds = seconds

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"seconds": self.seconds, "rows": [vars(row) for row in self.rows]}

    def _cells(self) -> list[tuple[str, ...]]:
        whole = self.seconds or 1.0
        inside = sum(row.seconds for row in self.rows)
        lines = [(r.name, r.seconds, r.count, r.shapes) for r in self.rows]
        lines.append(("(host code)", max(0.0, self.seconds - inside), 1, ""))
        lines.append(("total", self.seconds, 1, ""))
        return [
            (name, f"{seconds * 1e6:.2f}", f"{100 * seconds / whole:.1f}", str(count), shapes)
            for name, seconds, count, shapes in lines
        ]

    def __str__(self) -> str:
        cells = [_COLUMNS, *self._cells()]
        widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
        lines = []
        for line in cells:
            parts = [
                text.rjust(width) if 0 < i < 4 else text.ljust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ]
            lines.append("  ".join(parts).rstrip())
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join(lines)

    __repr__ = __str__

    def show(self) -> None:
        """Print the table, with colours when `rich` is installed."""
        try:
            from rich.console import Console
            from rich.markup import escape
            from rich.table import Table
        except ImportError:
            print(self)  # noqa: T201 (it is asked to)
            return
        table = Table(*_COLUMNS)
        for line in self._cells():
            table.add_row(*map(escape, line))
        Console().print(table)


class _Recorder(threading.local):
    """The calls of this thread that are being timed."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.rows: dict[tuple[str, str], tuple[int, int]] = {}

    def start(self) -> None:
        self.started.append(time.perf_counter_ns())

    def stop(self, name: str, shapes: str) -> None:
        elapsed = time.perf_counter_ns() - self.started.pop()
        count, total = self.rows.get((name, shapes), (0, 0))
        self.rows[name, shapes] = (count + 1, total + elapsed)


_RECORDER = _Recorder()


def _stop(name: Any, shapes: Any) -> None:
    _RECORDER.stop(str(name), str(shapes))


register_global_func("relax_mlir.profile.start", lambda: _RECORDER.start(), override=True)
register_global_func("relax_mlir.profile.stop", _stop, override=True)


def record(run: Callable[[], Any], *, number: int = 1, warmup: int = 1) -> Profile:
    """The profile of `run`, which calls a program that was compiled to be profiled.

    Raises ValueError when `number` is not positive.
    """
    if number < 1:
        raise ValueError(f"number must be positive, got {number}")
    for _ in range(warmup):
        run()
    _RECORDER.started.clear()
    _RECORDER.rows.clear()
    begin = time.perf_counter()
    for _ in range(number):
        run()
    seconds = (time.perf_counter() - begin) / number
    rows = [
        Row(name, shapes, count // number, total / number / 1e9)
        for (name, shapes), (count, total) in _RECORDER.rows.items()
    ]
    return Profile(rows, seconds)
