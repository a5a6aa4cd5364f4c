"""Where the time of tuning goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from relax_mlir.meta_schedule.scope import PROFILERS, Scoped

__all__ = ["Profiler"]

_TOTAL = "Total"


class Profiler(Scoped):
    """Sums up seconds by name while its `with` is entered.

    >>> with ms.Profiler() as profiler:
    ...     database = ms.tune_tir(...)
    >>> print(profiler.table())
    """

    _entered = PROFILERS

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._started: float | None = None

    def __enter__(self) -> Profiler:
        self._started = time.perf_counter()
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self._started is not None:
            self.add(_TOTAL, time.perf_counter() - self._started)
        self._started = None

    def add(self, name: str, seconds: float) -> None:
        """Count some seconds more for a name."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def get(self) -> dict[str, float]:
        """The seconds by name."""
        return dict(self._seconds)

    def table(self) -> str:
        """The names with their times and shares of the whole, the longest first."""
        total = self._seconds.get(_TOTAL, 0.0)
        rows = sorted(self._seconds.items(), key=lambda item: -item[1])
        width = max([len("Name"), *(len(name) for name, _ in rows)])
        lines = [f"{'ID':>3} | {'Name':<{width}} | {'Time (min)':>10} | {'Percentage':>10}"]
        lines.append("-" * len(lines[0]))
        for number, (name, seconds) in enumerate(rows):
            share = f"{100 * seconds / total:.2f}%" if total else ""
            identity = "" if name == _TOTAL else str(number)
            lines.append(f"{identity:>3} | {name:<{width}} | {seconds / 60:>10.4f} | {share:>10}")
        return "\n".join(lines)

    @staticmethod
    def current() -> Profiler | None:
        """The innermost profiler whose `with` is entered."""
        return PROFILERS[-1] if PROFILERS else None

    @staticmethod
    def timeit(name: str) -> AbstractContextManager[None]:
        """A context whose time counts for `name` in the current profiler, if there is one."""
        return _timed(name)


@contextmanager
def _timed(name: str) -> Iterator[None]:
    profiler = Profiler.current()
    start = time.perf_counter()
    try:
        yield
    finally:
        if profiler is not None:
            profiler.add(name, time.perf_counter() - start)
