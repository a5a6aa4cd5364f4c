"""Legalisation of cumsum and cumprod: loops that carry a value, written directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.lowering.relax_to_tir.loops import Lines, lines
from relax_mlir.lowering.relax_to_tir.rows import legalize_loops
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.operators import const


def _scan(start: int, combine: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def write(
        build: PrimFuncBuilder,
        data: Buffer,
        out: Buffer,
        *,
        axis: int | None,
        dtype: str | None,
        exclusive: bool,
    ) -> None:
        total = build.alloc_buffer("total", [1], out.dtype)

        def along(line: Lines) -> None:
            build.store(total, const(start, out.dtype), [0])
            with build.for_("serial", 0, line.size, "i", "int64") as i:
                value = _element(data, line, i, axis).astype(out.dtype)
                if exclusive:
                    build.store(out, total[0], line.at(i))
                build.store(total, combine(total[0], value), [0])
                if not exclusive:
                    build.store(out, total[0], line.at(i))

        lines(build, out, 0 if axis is None else axis, along)

    return write


def _element(data: Buffer, line: Lines, i: PrimExpr, axis: int | None) -> PrimExpr:
    """Element i of a line; without an axis, of the flattened data."""
    if axis is not None:
        return data[line.at(i)]
    indices: list[Any] = []
    rest: Any = i
    for size in reversed(data.shape):
        indices.append(rest % size)
        rest = rest // size
    return data[tuple(reversed(indices))] if indices else data[()]


legalize_loops("cumsum")(_scan(0, lambda a, b: a + b))
legalize_loops("cumprod")(_scan(1, lambda a, b: a * b))
