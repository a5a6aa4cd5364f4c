"""The primitives of `tir.Schedule` that concern buffers: copies, layouts, padding, properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.tir.schedule import (
    access_regions,
    annotate,
    block_layout,
    caching,
    inplace,
    layout,
    pad_blocks,
    read_write_at,
    rolling,
)
from relax_mlir.tir.schedule import padding as _padding
from relax_mlir.tir.schedule import reindex as _reindex
from relax_mlir.tir.schedule.base import ScheduleBase
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.index_map import IndexMap, as_index_map
from relax_mlir.tir.schedule.random_variable import BlockRV, LoopRV


class MemoryPrimitives(ScheduleBase):
    """Where and how what blocks compute is stored."""

    # -- staging buffers --------------------------------------------------------------------

    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Copy a buffer that the block reads into a buffer of a scope; the copying block.

        All blocks of the scope that read it read the copy, or only `consumer_blocks`.
        """
        keywords = {"block": self._block(block), "read_buffer_index": read_buffer_index,
                    "storage_scope": storage_scope}  # fmt: skip
        if consumer_blocks:
            keywords["consumer_blocks"] = [self._block(b) for b in consumer_blocks]
        return self._apply("cache_read", caching.cache_read, [], keywords)

    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int | str,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Let the block write a buffer of a scope, copied to the old one; the copying block.

        `consumer_blocks` read the new buffer, others the old one.
        """
        keywords = {"block": self._block(block), "write_buffer_index": write_buffer_index,
                    "storage_scope": storage_scope}  # fmt: skip
        if consumer_blocks:
            keywords["consumer_blocks"] = [self._block(b) for b in consumer_blocks]
        return self._apply("cache_write", caching.cache_write, [], keywords)

    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Let a block read a copy of a buffer in a scope, at indices that a map gives of the
        block's variables; the copying block."""
        place = self._block(block)
        keywords = {"block": place, "read_buffer_index": read_buffer_index,
                    "storage_scope": storage_scope,
                    "index_map": as_index_map(index_map, self._rank(place))}  # fmt: skip
        return self._apply("reindex_cache_read", _reindex.reindex_cache_read, [], keywords)

    def reindex_cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Let a block write a buffer of a scope, at indices that a map gives of the block's
        variables, which is then copied to the old one; the copying block."""
        place = self._block(block)
        keywords = {"block": place, "write_buffer_index": write_buffer_index,
                    "storage_scope": storage_scope,
                    "index_map": as_index_map(index_map, self._rank(place))}  # fmt: skip
        return self._apply("reindex_cache_write", _reindex.reindex_cache_write, [], keywords)

    def cache_inplace(
        self, block: BlockRV | str, read_buffer_index: int | str, storage_scope: str
    ) -> list[BlockRV]:
        """Let a block change a copy of a buffer that it reads and writes, copied in before it and
        back after it; the two copying blocks."""
        keywords = {"block": self._block(block), "read_buffer_index": read_buffer_index,
                    "storage_scope": storage_scope}  # fmt: skip
        return self._apply("cache_inplace", inplace.cache_inplace, [], keywords)

    def cache_index(
        self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0
    ) -> list[BlockRV]:
        """Compute the indices at which a block reads beforehand; the blocks that compute them.

        Of indices that are more than a variable, those that occur at least `cse_thresh` times.
        """
        keywords = {"block": self._block(block), "storage_scope": storage_scope,
                    "cse_thresh": cse_thresh}  # fmt: skip
        return self._apply("cache_index", inplace.cache_index, [], keywords)

    def read_at(
        self, loop: LoopRV, block: BlockRV | str, read_buffer_index: int, storage_scope: str
    ) -> BlockRV:
        """Copy, at the start of each iteration of a loop, what its body reads of a buffer; the
        copying block."""
        keywords = {"loop": loop, "block": self._block(block),
                    "read_buffer_index": read_buffer_index,
                    "storage_scope": storage_scope}  # fmt: skip
        return self._apply("read_at", read_write_at.read_at, [], keywords)

    def write_at(
        self, loop: LoopRV, block: BlockRV | str, write_buffer_index: int, storage_scope: str
    ) -> BlockRV:
        """Let the writers of a buffer under a loop write a copy, which each iteration then copies
        back; the copying block."""
        keywords = {"loop": loop, "block": self._block(block),
                    "write_buffer_index": write_buffer_index,
                    "storage_scope": storage_scope}  # fmt: skip
        return self._apply("write_at", read_write_at.write_at, [], keywords)

    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int) -> None:
        """Let a producer inside its consumers' loops only compute what earlier iterations did not,
        in a buffer that wraps around."""
        keywords = {"block": self._block(block), "write_buffer_index": write_buffer_index}
        self._apply("rolling_buffer", rolling.rolling_buffer, [], keywords)

    # -- layout -----------------------------------------------------------------------------

    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: tuple[str, int] | str,
        index_map: IndexMap | Callable[..., Any],
        pad_value: Any = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Store a buffer the block accesses by other indices, wherever it is used.

        `buffer` is `("read", 0)`, `("write", 0)` or a name; `index_map` gives the new indices of
        an element.  A map that leaves gaps needs a `pad_value`: a number, or a function of the new
        indices.  `assume_injective_transform` is the caller's word that no two elements meet.
        """
        place = self._block(block)
        mapping = as_index_map(index_map, self._rank(place, buffer))
        keywords = {"block": place, "buffer": buffer, "index_map": mapping,
                    "pad_value": as_index_map(pad_value, None),
                    "assume_injective_transform": assume_injective_transform}  # fmt: skip
        self._apply("transform_layout", layout.transform_layout, [], keywords)

    def _rank(self, block: BlockRV, buffer: tuple[str, int] | str | None = None) -> int | None:
        """How many indices a buffer of a block has, or the block; None where that is refused."""
        with mlir.scope():
            place = self._resolve(block)
            try:
                return layout.rank_of(place, buffer)
            except Refusal:
                return None

    def transform_block_layout(
        self, block: BlockRV | str, index_map: IndexMap | Callable[..., Any]
    ) -> None:
        """Give a block that is alone in its loops other variables, and a loop for each."""
        place = self._block(block)
        keywords = {"block": place, "index_map": as_index_map(index_map, self._rank(place))}
        self._apply("transform_block_layout", block_layout.transform_block_layout, [], keywords)

    def reindex(self, block: BlockRV | str, buffer: tuple[str, int] | str) -> BlockRV:
        """Let a block access a copy of a buffer indexed by its variables; the copying block."""
        keywords = {"block": self._block(block), "buffer": buffer}
        return self._apply("reindex", _reindex.reindex, [], keywords)

    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Extend each iteration variable of a sum of products to a multiple of its padding."""
        keywords = {"block": self._block(block), "padding": list(padding)}
        self._apply("pad_einsum", _padding.pad_einsum, [], keywords)

    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Fill with the padding constant before a loop, then copy what is not padding; the block
        that fills."""
        keywords = {"block": self._block(block), "loop": loop}
        return self._apply("decompose_padding", pad_blocks.decompose_padding, [], keywords)

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """True when decompose_padding may be applied."""
        place = self._block(block)
        with mlir.scope():
            return pad_blocks.can_decompose_padding(self._resolve(place), self._resolve(loop))

    # -- properties of buffers and accesses ---------------------------------------------------

    def unsafe_hide_buffer_access(
        self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]
    ) -> None:
        """Leave out regions that a block declares ("read" or "write", by number).  Unsafe: later
        primitives trust the declared regions."""
        keywords = {"block": self._block(block), "buf_type": buf_type,
                    "buf_index_array": list(buf_index_array)}  # fmt: skip
        self._apply(
            "unsafe_hide_buffer_access", access_regions.unsafe_hide_buffer_access, [], keywords
        )

    def annotate_buffer_access(
        self,
        block: BlockRV | str,
        buffer_index: int,
        buf_type: str,
        gen_new_ranges: IndexMap | Callable[..., Any],
    ) -> None:
        """Declare the region of a buffer that a block accesses, by a function of its variables that
        gives an index or a pair (begin, end) for each dimension.  The region is the caller's word;
        what certainly leaves out an access is refused."""
        place = self._block(block)
        keywords = {"block": place, "buffer_index": buffer_index, "buf_type": buf_type,
                    "gen_new_ranges": _as_ranges(gen_new_ranges, self._rank(place))}  # fmt: skip
        self._apply("annotate_buffer_access", access_regions.annotate_buffer_access, [], keywords)

    def set_scope(self, block: BlockRV | str, buffer_index: int | str, storage_scope: str) -> None:
        """Set the storage scope ("shared", "local", ...) of a buffer the block writes."""
        keywords = {"block": self._block(block), "buffer_index": buffer_index,
                    "storage_scope": storage_scope}  # fmt: skip
        self._apply("set_scope", annotate.set_scope, [], keywords)

    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: int, dtype: str) -> None:
        """Store a buffer the block writes in another dtype.  Unsafe: values are rounded to it."""
        keywords = {"block": self._block(block), "buffer_index": buffer_index, "dtype": dtype}
        self._apply("unsafe_set_dtype", annotate.unsafe_set_dtype, [], keywords)

    def storage_align(
        self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int
    ) -> None:
        """Ask that the stride of an axis of a written buffer be `offset` modulo `factor`."""
        keywords = {"block": self._block(block), "buffer_index": buffer_index, "axis": axis,
                    "factor": factor, "offset": offset}  # fmt: skip
        self._apply("storage_align", annotate.storage_align, [], keywords)


def _as_ranges(given: IndexMap | Callable[..., Any], ndim: int | None) -> Any:
    """A function that gives ranges as a map that gives begin and end of each."""
    if isinstance(given, IndexMap) or not callable(given):
        return given

    def ends(*indices: Any) -> list[Any]:
        ranges = given(*indices)
        pairs = [r if isinstance(r, (tuple, list)) else (r, r + 1) for r in ranges]
        return [end for pair in pairs for end in pair]

    return as_index_map(ends, ndim)
