"""Tiles within tiles, with copies of what a tile reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from relax_mlir import mlir
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import (
    TILING_STRUCTURE,
    loop_kind,
    needs_multi_level_tiling,
    op_of,
)
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.schedule.analysis import reads_of, written_buffers

__all__ = ["COOPERATIVE_FETCH", "MultiLevelTiling", "ReuseType"]

COOPERATIVE_FETCH = "meta_schedule.cooperative_fetch"
"""Annotation of a block that the threads of a block of threads run together: the elements that
each takes at a time."""


class ReuseType(NamedTuple):
    """Whether a copy of the data of a tile is made ("no", "may", "must"), at which levels of tiles
    (from 1), and in which storage scope."""

    req: str
    levels: Sequence[int]
    scope: str

    def as_dict(self) -> dict[str, Any]:
        return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


_NO_REUSE = ReuseType("no", [], "global")


@dataclass(frozen=True)
class _State:
    """A schedule in the making: the loops of each level of tiles."""

    sch: Schedule
    block: BlockRV
    tiles: list[list[LoopRV]]

    def copy(self) -> _State:
        return replace(self, sch=self.sch.copy())


class MultiLevelTiling(ScheduleRule):
    """Tiles blocks that read elements several times, by a structure such as "SSRSRS": a letter a
    level, outermost first, S for tiles of the spatial loops and R for those of the reductions.

    `tile_binds` are thread axes for the outer levels; `reuse_read` and `reuse_write` add copies;
    `vector_load_lens` are what a thread may copy at a time; `filter_fn(sch, block)` may ask for
    blocks that would not be tiled.
    """

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
        filter_fn: Callable[[Schedule, BlockRV], bool] | None = None,
    ) -> None:
        if set(structure) - {"S", "R"} or not structure:
            raise ValueError(f'a tiling structure is made of S and R, not "{structure}"')
        self.structure = structure
        self.tile_binds = list(tile_binds or ())
        self.max_innermost_factor = max_innermost_factor
        self.vector_load_lens = list(vector_load_lens or ())
        self.reuse_read = reuse_read or _NO_REUSE
        self.reuse_write = reuse_write or _NO_REUSE
        self.filter_fn = filter_fn

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = op_of(sch, block)
        with mlir.scope():
            if op is None:
                return [sch]
            wanted = needs_multi_level_tiling(op)
        if not wanted and not (self.filter_fn is not None and self.filter_fn(sch, block)):
            return [sch]
        original = sch.copy()
        try:
            sch.annotate(block, TILING_STRUCTURE, self.structure)
            states = self._with_write_reuse(self._tiled(sch, block))
            states = [made for state in states for made in self._with_read_reuse(state)]
        except ScheduleError:
            return [original]
        return [state.sch for state in states]

    def _levels(self, kind: str) -> list[int]:
        return [n for n, letter in enumerate(self.structure) if letter == kind]

    def _tiled(self, sch: Schedule, block: BlockRV) -> _State:
        loops = sch.get_loops(block)
        with mlir.scope():
            op = op_of(sch, block)
            assert op is not None
            kinds = [loop_kind(op, sch.get(loop)) for loop in loops]
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        for loop, kind in zip(loops, kinds, strict=True):
            levels = self._levels(kind)
            parts = self._split(sch, loop, len(levels))
            for level, part in zip(levels, parts, strict=True):
                tiles[level].append(part)
        sch.reorder(*(loop for level in tiles for loop in level))
        for level, axis in enumerate(self.tile_binds):
            if tiles[level]:
                fused = sch.fuse(*tiles[level])
                sch.bind(fused, axis)
                tiles[level] = [fused]
        return _State(sch, block, tiles)

    def _split(self, sch: Schedule, loop: LoopRV, parts: int) -> list[LoopRV]:
        if parts < 2:
            return [loop] * parts
        factors = sch.sample_perfect_tile(loop, parts, self.max_innermost_factor or -1)
        return sch.split(loop, factors)

    # -- copies -----------------------------------------------------------------------------

    def _with_write_reuse(self, state: _State) -> list[_State]:
        """The schedule with the tile's results in a buffer of their own, at each level."""
        config = self.reuse_write
        if config.req == "no":
            return [state]
        made = [state.copy()] if config.req == "may" else []
        cache = state.sch.cache_write(state.block, 0, config.scope)
        for level in config.levels:
            cached = state.copy()
            cached.sch.reverse_compute_at(cache, cached.tiles[level - 1][-1], True)
            made.append(cached)
        return made

    def _with_read_reuse(self, state: _State) -> list[_State]:
        """The schedule with what a tile reads in buffers of their own, at each level."""
        config = self.reuse_read
        if config.req == "no":
            return [state]
        ranks = self._read_ranks(state)
        made: list[_State] = []
        for level in config.levels:
            cached = state.copy()
            for index, rank in ranks:
                self._cache_read(cached, index, rank, level)
            made.append(cached)
        return made

    def _read_ranks(self, state: _State) -> list[tuple[int, int]]:
        """The numbers and ranks of the buffers that the block reads and does not write."""
        with mlir.scope():
            op = op_of(state.sch, state.block)
            assert op is not None
            written = written_buffers(op)
            return [
                (number, ir.MemRefType(read.buffer.type).rank)
                for number, read in enumerate(reads_of(op))
                if read.buffer not in written
            ]

    def _cache_read(self, state: _State, index: int, rank: int, level: int) -> None:
        sch = state.sch
        copy = sch.cache_read(state.block, index, self.reuse_read.scope, [state.block])
        sch.compute_at(copy, state.tiles[level - 1][-1], True)
        sch.fuse(*sch.get_loops(copy)[-rank:])
        if self.vector_load_lens:
            each = [1.0 / len(self.vector_load_lens)] * len(self.vector_load_lens)
            sch.annotate(
                copy, COOPERATIVE_FETCH, sch.sample_categorical(self.vector_load_lens, each)
            )
