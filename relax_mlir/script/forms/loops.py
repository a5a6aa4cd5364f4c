"""Loops: what may stand after `in` of a for statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.tir.expr import Add, IntImm, structural_key
from relax_mlir.tir.operators import subtract


@dataclass
class LoopForm:
    """Nested loops of one kind: `[(start, stop)]` from the outermost in, and their step."""

    kind: str
    bounds: list[tuple[Any, Any]]
    annotations: Mapping[str, Any] = field(default_factory=dict)
    thread: str | None = None
    step: Any = 1
    dtype: str | None = None

    def extents(self) -> list[tuple[Any, Any]]:
        """`(min, extent)` of each loop."""
        return [(start, difference(stop, start)) for start, stop in self.bounds]


class RangeForm(LoopForm):
    """`range`, a serial loop in a for statement and Python's range elsewhere."""

    def __iter__(self) -> Iterator[int]:
        ((start, stop),) = self.bounds
        return iter(range(int(start), int(stop), int(self.step)))

    def __len__(self) -> int:
        ((start, stop),) = self.bounds
        return len(range(int(start), int(stop), int(self.step)))


def difference(stop: Any, start: Any) -> Any:
    """`stop - start`; of `start + n` it is n, whatever start is."""
    if _is_zero(start):
        return stop
    if isinstance(stop, Add) and structural_key(stop.a) == structural_key(start):
        return stop.b
    return subtract(stop, start)


def _is_zero(value: Any) -> bool:
    return (isinstance(value, int) and value == 0) or (
        isinstance(value, IntImm) and value.value == 0
    )


def _bounds(start: Any, stop: Any) -> tuple[Any, Any]:
    # A plain start takes the dtype of the stop.
    return (0, start) if stop is None else (start, stop)


def serial(
    start: Any,
    stop: Any = None,
    *,
    annotations: Mapping[str, Any] | None = None,
    step: Any = None,
    unroll: bool | None = None,
    dtype: Any = None,
) -> LoopForm:
    """`T.serial(stop)` or `T.serial(start, stop)`."""
    kind = "unrolled" if unroll else "serial"
    return _loop(kind, start, stop, annotations, step=step, dtype=dtype)


def parallel(
    start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None
) -> LoopForm:
    """A loop whose iterations run in parallel."""
    return _loop("parallel", start, stop, annotations, step=step)


def vectorized(
    start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None
) -> LoopForm:
    """A loop whose iterations are the lanes of a vector."""
    return _loop("vectorized", start, stop, annotations, step=step)


def unroll(start: Any, stop: Any = None, *, annotations: Any = None, step: Any = None) -> LoopForm:
    """A loop that is unrolled."""
    return _loop("unrolled", start, stop, annotations, step=step)


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: Any = None
) -> LoopForm:
    """A loop bound to a GPU thread axis such as "threadIdx.x"."""
    if thread is None and isinstance(stop, str):
        stop, thread = None, stop  # `T.thread_binding(2, "threadIdx.x")`
    if thread is None:
        raise TypeError('thread_binding needs thread="blockIdx.x" or another thread axis')
    return _loop("thread_binding", start, stop, annotations, thread=thread)


def grid(*extents: Any) -> LoopForm:
    """Nested serial loops; an extent may be a `(start, stop)` pair."""
    pairs = [_bounds(*e) if isinstance(e, (tuple, list)) else (0, e) for e in extents]
    return LoopForm("serial", pairs)


def builtin_range(start: Any, stop: Any = None, step: Any = 1, **options: Any) -> LoopForm:
    """What `range` means in a program."""
    return RangeForm("serial", [_bounds(start, stop)], step=step, **options)


def _loop(
    kind: str,
    start: Any,
    stop: Any,
    annotations: Mapping[str, Any] | None,
    *,
    step: Any = None,
    thread: str | None = None,
    dtype: Any = None,
) -> LoopForm:
    return LoopForm(
        kind,
        [_bounds(start, stop)],
        dict(annotations or {}),
        thread,
        1 if step is None else step,
        None if dtype is None else str(getattr(dtype, "dtype", dtype)),
    )
