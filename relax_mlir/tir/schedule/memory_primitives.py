"""The primitives of `tir.Schedule` that concern buffers: copies, layouts, padding, properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.tir.schedule import (
    annotate,
    block_layout,
    caching,
    layout,
)
from relax_mlir.tir.schedule import padding as _padding
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
        an element.  A map that would leave gaps (padding) is refused.
        """
        place = self._block(block)
        mapping = as_index_map(index_map, self._rank(place, buffer))
        keywords = {"block": place, "buffer": buffer, "index_map": mapping,
                    "pad_value": pad_value,
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
        return self._apply("reindex", layout.reindex, [], keywords)

    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Extend each iteration variable of a sum of products to a multiple of its padding."""
        keywords = {"block": self._block(block), "padding": list(padding)}
        self._apply("pad_einsum", _padding.pad_einsum, [], keywords)

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
