"""Sizes: of elements, loops and thread blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from relax_mlir import mlir
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import dynamic, ir
from relax_mlir.target import Target
from relax_mlir.tir.schedule import LoopRV, Schedule
from relax_mlir.tir.schedule.index import as_index

_THREADS = {"cuda": 1024, "nvptx": 1024, "rocm": 256, "metal": 256, "opencl": 256, "vulkan": 256}
"""Threads of a block that default schedules use, by the target's kind."""

_SHARED_MEMORY = {"cuda": 49152, "nvptx": 49152, "rocm": 65536, "metal": 32768}
"""Bytes of shared memory of a block, by the target's kind."""


def get_bytes(dtype: object) -> int:
    """The bytes of an element of a dtype ("float16": 2)."""
    from relax_mlir.dialects.dtypes import bits

    return (bits(str(dtype)) + 7) // 8


def element_bytes(buffer: ir.Value) -> int:
    """The bytes of an element of a buffer."""
    from relax_mlir.dialects.dtypes import bits, from_mlir

    return (bits(from_mlir(ir.MemRefType(buffer.type).element_type)) + 7) // 8


def buffer_bytes(buffer: ir.Value) -> int | None:
    """The bytes of a buffer, None for one of symbolic sizes."""
    shape = ir.MemRefType(buffer.type).shape
    return None if dynamic() in shape else prod(shape) * element_bytes(buffer)


def get_extent(sch: Schedule, loop_rv: LoopRV) -> int | str:
    """A loop's extent: an int, or the symbolic expression as text."""
    return _extent(sch.get(loop_rv))


def annotate_unroll(sch: Schedule, loop: LoopRV, depth: int, *, explicit: bool = True) -> None:
    """Let loops of up to `depth` steps at and inside of a loop be written out: here, or when not
    `explicit` by the device's compiler."""
    sch.annotate(loop, ann_key="pragma_auto_unroll_max_step", ann_val=depth)
    sch.annotate(loop, ann_key="pragma_unroll_explicit", ann_val=int(explicit))


def annotate_min_blocks(sch: Schedule, loop: LoopRV, count: int = 1) -> None:
    """Say of a kernel, at a loop over its threads, how many blocks of it a multiprocessor should
    hold: few for products, which have few blocks and whose registers hold sums."""
    sch.annotate(loop, ann_key="pragma_launch_min_blocks", ann_val=count)


def auto_vectorize(sch: Schedule, loop: LoopRV, max_vec: int) -> None:
    """Vectorize a loop of a constant extent, `max_vec` lanes at a time."""
    extent = get_extent(sch, loop)
    if not isinstance(extent, int):
        return
    sch.vectorize(loop if extent <= max_vec else sch.split(loop, factors=[None, max_vec])[-1])


def max_threads_per_block(target: Target) -> int:
    """The most threads that a block of the target may have."""
    for name in ("max_threads_per_block", "max_num_threads"):
        if target.attrs.get(name) is not None:
            return int(target.attrs[name])
    return 1024 if target.kind.name in ("cuda", "nvptx") else 256


def max_shared_memory_per_block(target: Target) -> int:
    """The bytes of shared memory that a block of the target may have without asking for more."""
    given = target.attrs.get("max_shared_memory_per_block")
    return int(given) if given is not None else _SHARED_MEMORY.get(target.kind.name, 16384)


def suggest_threads_per_block(
    target: Target,
    loops: Sequence[ForOp | int | str],
    max_threads_for_dynamic_loop: int = 32,
) -> list[int]:
    """Threads for each of some loops: powers of two, those of constant extents first.

    A loop is its operation or its extent; what constant ones leave goes to the first dynamic one.
    """
    left = min(_THREADS.get(target.kind.name, 64), max_threads_per_block(target))
    extents = [_extent(loop) for loop in loops]
    chosen: dict[int, int] = {}
    for number, extent in enumerate(extents):
        if isinstance(extent, int):
            chosen[number] = _power_of_two(min(extent, left))
            left //= chosen[number]
    dynamic = [number for number, extent in enumerate(extents) if not isinstance(extent, int)]
    for number in dynamic:
        chosen[number] = _power_of_two(min(max_threads_for_dynamic_loop, left))
        left //= chosen[number]
    if dynamic:
        chosen[dynamic[0]] *= max(left, 1)
    return [chosen[number] for number in range(len(extents))]


def fit_threads(target: Target, outer: int, inner: int) -> tuple[int, int]:
    """Threads along two axes, powers of two, halved until a block may have them: the outer ones
    first."""
    while outer * inner > max_threads_per_block(target):
        outer, inner = (outer // 2, inner) if outer > 1 else (1, inner // 2)
    return outer, inner


def elements_per_thread(extent: int | str, threads: int) -> int:
    """The most elements, up to 8, that each of some threads takes at a time when together they
    divide an extent; 1 where none do."""
    return max(largest_factor(extent, [threads * n for n in (1, 2, 4, 8)]) // threads, 1)


def largest_factor(number: int | str, factors: Iterable[int]) -> int:
    """The largest of some factors that divides a number, 1 when none does."""
    if not isinstance(number, int):
        return 1
    return next((f for f in sorted(factors, reverse=True) if number % f == 0), 1)


def _extent(loop: ForOp | int | str) -> int | str:
    if isinstance(loop, (int, str)):
        return loop
    with mlir.scope():
        extent = as_index(loop.extent)
        constant = extent.as_constant()
        return str(extent) if constant is None else constant


def _power_of_two(number: int) -> int:
    """The largest power of two that is not larger; 1 for less than 1."""
    return 1 << (max(number, 1).bit_length() - 1)
