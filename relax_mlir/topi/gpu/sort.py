"""Sorting along an axis by the threads of a GPU: Batcher's bitonic network.

A stage merges sorted runs of alternating directions, in steps of halving distance.  Positions that
go with the keys make all of them different, so that equal elements keep their order.  Steps within
a chunk run in one block, its keys in shared memory; steps of larger distance are kernels of their
own on keys in the device's memory.  (Lines of unknown size: sort_of_any_size.py.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int, normalize_axis
from relax_mlir.topi.gpu.sort_exchange import exchange, pair_at
from relax_mlir.topi.gpu.sort_of_any_size import sort_lines_of_any_size
from relax_mlir.topi.gpu.threads import THREADS, bound, line_at, line_count, shares
from relax_mlir.topi.imperative import Line
from relax_mlir.topi.line_sort import sort_key
from relax_mlir.topi.sort import argsort as argsort_in_turn
from relax_mlir.topi.sort import sort as sort_in_turn
from relax_mlir.topi.sort import topk as topk_in_turn

_SHARED_BYTES = 16384
"""Of the keys and positions of a chunk."""

Write = Callable[[Line, PrimExpr, PrimExpr], None]
"""Writes an element of the result: a line, the place in it, the position of what belongs there."""


@dataclass(frozen=True)
class _Network:
    """The sizes of a sort: elements of a line, rounded up to a power of two, of a chunk, and the
    threads that a chunk has."""

    size: int
    rounded: int
    chunk: int
    threads: int

    @classmethod
    def of(cls, size: int, dtype: str) -> _Network:
        rounded = max(2, 1 << (size - 1).bit_length())
        most = _SHARED_BYTES // (max(8, dtypes.bits(dtype)) // 8 + 4)
        chunk = min(rounded, 1 << (most.bit_length() - 1))
        return cls(size, rounded, chunk, min(THREADS, chunk // 2))

    @property
    def stages(self) -> int:
        return self.rounded.bit_length() - 1

    @property
    def stages_of_chunk(self) -> int:
        return self.chunk.bit_length() - 1


class _Sorter:
    """Writes the kernels that sort the lines of a buffer along an axis."""

    def __init__(
        self, build: PrimFuncBuilder, data: Buffer, axis: int, descending: bool, network: _Network
    ) -> None:
        self.build, self.data, self.axis = build, data, axis
        self.descending, self.network = descending, network
        self.key = f"uint{max(8, dtypes.bits(data.dtype))}"
        self.lines = line_count(data.shape, axis)
        self.chunks = network.rounded // network.chunk
        if self.chunks > 1:
            shape = [self.lines, O.const(network.rounded, "int64")]
            self.keys = build.alloc_buffer("keys", shape, self.key)
            self.order = build.alloc_buffer("order", shape, "int32")

    def run(self, count: Any, write: Write) -> None:
        """Sort, and write the first `count` elements of each line."""
        network = self.network
        if self.chunks == 1:
            self._chunk(None, count, write)
            return
        self._chunk(None, None, None)
        for stage in range(network.stages_of_chunk, network.stages):
            for shift in range(stage, network.stages_of_chunk - 1, -1):
                self._exchange_in_memory(stage, shift)
            self._chunk(stage, None, None)
        self._write_from_memory(count, write)

    # -- within a chunk -----------------------------------------------------------------------

    def _chunk(self, stage: int | None, count: Any, write: Write | None) -> None:
        """A kernel that sorts the chunks of the input or, given a later stage, does the rest of
        it."""
        build, network = self.build, self.network
        keys = build.alloc_buffer("chunk_keys", [network.chunk], self.key, "shared")
        order = build.alloc_buffer("chunk_order", [network.chunk], "int32", "shared")
        blocks = O.multiply(self.lines, self.chunks)
        with (
            bound(build, "blockIdx.x", blocks) as block,
            bound(build, "threadIdx.x", network.threads) as thread,
        ):
            line = O.floordiv(block, self.chunks)
            first = O.multiply(O.floormod(block, self.chunks), network.chunk)
            with shares(build, thread, network.threads, network.chunk) as i:
                self._load(line, O.add(first, i), keys, order, i, stage is None)
            last = O.const(network.stages_of_chunk, "int64")
            if stage is None:
                with (
                    build.for_("serial", 0, last, "stage", "int64") as every,
                    build.for_("serial", 0, O.add(every, 1), "step", "int64") as step,
                ):
                    shift = O.subtract(every, step)
                    self._exchange_in_chunk(keys, order, thread, first, every, shift)
            else:
                with build.for_("serial", 1, last, "step", "int64") as step:
                    at = O.const(stage, "int64")
                    shift = O.subtract(last, step)
                    self._exchange_in_chunk(keys, order, thread, first, at, shift)
            if write is None:
                with shares(build, thread, network.threads, network.chunk) as i:
                    build.store(self.keys, keys[i], [line, O.add(first, i)])
                    build.store(self.order, order[i], [line, O.add(first, i)])
                return
            at = line_at(self.data, self.axis, line)
            with shares(build, thread, network.threads, count) as i:
                write(at, i, order[i])

    def _load(
        self, line: PrimExpr, place: PrimExpr, keys: Buffer, order: Buffer, i: Any, is_first: bool
    ) -> None:
        """Bring an element into a chunk; what is beyond the line comes after all of it."""
        build = self.build
        if not is_first:
            build.store(keys, self.keys[line, place], [i])
            build.store(order, self.order[line, place], [i])
            return
        last = O.const(2 ** dtypes.bits(self.key) - 1, self.key)
        build.store(keys, last, [i])
        build.store(order, O.cast("int32", place), [i])
        with build.if_(O.less(place, O.const(self.network.size, "int64"))):
            value = self.data[line_at(self.data, self.axis, line).at(place)]
            build.store(keys, sort_key(value, self.descending), [i])

    def _exchange_in_chunk(
        self,
        keys: Buffer,
        order: Buffer,
        thread: PrimExpr,
        first: PrimExpr,
        stage: PrimExpr,
        shift: PrimExpr,
    ) -> None:
        build, network = self.build, self.network
        pairs = network.chunk // 2 // network.threads
        with build.for_("serial", 0, pairs, "n", "int64") as n:
            pair = O.add(O.multiply(n, network.threads), thread)
            low, high = pair_at(build, pair, shift)
            self._exchange(keys, order, (low,), (high,), O.add(first, low), stage)

    # -- in the device's memory ---------------------------------------------------------------

    def _exchange_in_memory(self, stage: int, shift: int) -> None:
        """A kernel for one step."""
        build, network = self.build, self.network
        pairs = network.rounded // 2 // THREADS
        with (
            bound(build, "blockIdx.x", O.multiply(self.lines, pairs)) as block,
            bound(build, "threadIdx.x", THREADS) as thread,
        ):
            line = O.floordiv(block, pairs)
            pair = O.add(O.multiply(O.floormod(block, pairs), THREADS), thread)
            low, high = pair_at(build, pair, O.const(shift, "int64"))
            at = O.const(stage, "int64")
            self._exchange(self.keys, self.order, (line, low), (line, high), low, at)

    def _write_from_memory(self, count: Any, write: Write) -> None:
        build = self.build
        with (
            bound(build, "blockIdx.x", self.lines) as line,
            bound(build, "threadIdx.x", THREADS) as thread,
        ):
            at = line_at(self.data, self.axis, line)
            with shares(build, thread, THREADS, count) as i:
                write(at, i, self.order[line, i])

    # -- one exchange -------------------------------------------------------------------------

    def _exchange(
        self,
        keys: Buffer,
        order: Buffer,
        low: tuple[PrimExpr, ...],
        high: tuple[PrimExpr, ...],
        place: PrimExpr,
        stage: PrimExpr,
    ) -> None:
        """Bring two elements in order: ascending where the bit after `stage` of the place is 0."""
        run = O.bitwise_and(O.shift_right(place, O.add(stage, 1)), O.const(1, "int64"))
        ascends = O.equal(run, O.const(0, "int64"))
        exchange(self.build, keys, order, low, high, lambda greater: O.equal(greater, ascends))


def _sort_lines(
    build: PrimFuncBuilder,
    data: Buffer,
    axis: int,
    descending: bool,
    count: Any,
    write: Write,
) -> None:
    """Write the kernels that sort the lines of a buffer, and write the first `count` elements of
    each."""
    size = as_int(data.shape[axis])
    if size is None:
        sort_lines_of_any_size(build, data, axis, descending, count, write)
        return
    _Sorter(build, data, axis, descending, _Network.of(size, data.dtype)).run(count, write)


# -- operators ---------------------------------------------------------------------------------


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """As `topi.sort`."""
    at = normalize_axis(axis, data.ndim)
    if as_int(data.shape[at]) == 0:
        return sort_in_turn(data, axis, is_ascend)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        def write(line: Line, i: PrimExpr, position: PrimExpr) -> None:
            build.store(outs[0], ins[0][line.at(O.cast("int64", position))], line.at(i))

        _sort_lines(build, ins[0], at, not is_ascend, data.shape[at], write)

    return imperative([(data.shape, data.dtype)], [data], emit, "sort_gpu", "sort")


def argsort(
    data: Tensor,
    valid_count: Any = None,
    axis: int = -1,
    is_ascend: bool = True,
    dtype: object = "float32",
) -> Tensor:
    """As `topi.argsort`."""
    at = normalize_axis(axis, data.ndim)
    if as_int(data.shape[at]) == 0 or valid_count is not None:
        return argsort_in_turn(data, valid_count, axis, is_ascend, dtype)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        def write(line: Line, i: PrimExpr, position: PrimExpr) -> None:
            build.store(outs[0], O.cast(dtype, position), line.at(i))

        _sort_lines(build, ins[0], at, not is_ascend, data.shape[at], write)

    return imperative([(data.shape, dtype)], [data], emit, "argsort_gpu", "argsort")


def topk(
    data: Tensor,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: object = "int64",
) -> Any:
    """As `topi.topk`."""
    at = normalize_axis(axis, data.ndim)
    size, known = as_int(data.shape[at]), as_int(k)
    kinds = {"values": [data.dtype], "indices": [dtype], "both": [data.dtype, dtype]}
    is_too_large = known is not None and size is not None and known > size
    if size == 0 or known is None or is_too_large or ret_type not in kinds:
        return topk_in_turn(data, k, axis, ret_type, is_ascend, dtype)
    count = data.shape[at] if known < 1 else O.const(known, "int64")

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        def write(line: Line, i: PrimExpr, position: PrimExpr) -> None:
            if ret_type != "indices":
                build.store(outs[0], ins[0][line.at(O.cast("int64", position))], line.at(i))
            if ret_type != "values":
                build.store(outs[-1], O.cast(dtype, position), line.at(i))

        _sort_lines(build, ins[0], at, not is_ascend, count, write)

    shape = [*data.shape[:at], count, *data.shape[at + 1 :]]
    return imperative([(shape, kind) for kind in kinds[ret_type]], [data], emit, "topk_gpu", "topk")
