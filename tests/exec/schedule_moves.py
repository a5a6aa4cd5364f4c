"""Random uses of schedule primitives: a move draws its own loops, blocks and arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.schedule.analysis import reads_of, writes_of


def _some_loops(sch: Schedule, rng: random.Random) -> list[Any]:
    """The loops of a block; a block without any gets one."""
    block = _some_block(sch, rng)
    return sch.get_loops(block) or [sch.add_unit_loop(block)]


def _some_loop(sch: Schedule, rng: random.Random) -> Any:
    return rng.choice(_some_loops(sch, rng))


def _some_block(sch: Schedule, rng: random.Random) -> Any:
    """A block of the function's body, now and then one inside another block."""
    block = rng.choice(sch.get_child_blocks(sch.get_block("root")))
    inside = sch.get_child_blocks(block)
    return rng.choice(inside) if inside and rng.random() < 0.7 else block


def _factors(rng: random.Random) -> list[int | None]:
    factors: list[int | None] = [rng.choice([1, 2, 3, 4, 5]) for _ in range(rng.choice([1, 1, 2]))]
    factors.insert(rng.randrange(len(factors) + 1), None)
    return factors


def _reorder(sch: Schedule, rng: random.Random) -> None:
    loops = _some_loops(sch, rng)
    rng.shuffle(loops)
    sch.reorder(*loops[: rng.randrange(1, len(loops) + 1)])


def _fuse(sch: Schedule, rng: random.Random) -> None:
    loops = _some_loops(sch, rng)
    start = rng.randrange(len(loops))
    sch.fuse(*loops[start : start + 2])


def _rfactor(sch: Schedule, rng: random.Random) -> None:
    sch.rfactor(_some_loop(sch, rng), rng.choice([0, 0, -1]))


def _sampled_split(sch: Schedule, rng: random.Random) -> None:
    loop = _some_loop(sch, rng)
    sch.split(loop, sch.sample_perfect_tile(loop, rng.choice([2, 3]), max_innermost_factor=8))


def _output_rank(sch: Schedule, block: Any) -> int:
    with mlir.scope():
        return writes_of(sch.get(block))[0].buffer.type.rank


def _some_axis(rank: int, rng: random.Random) -> int:
    if rank == 0:
        raise ScheduleError("a scalar has no axis")
    return rng.randrange(rank)


def _layout(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    rank = _output_rank(sch, block)
    order = rng.sample(range(rank), rank)
    tile = rng.choice([1, 2, 3])

    def index_map(*indices: Any) -> list[Any]:
        moved = [indices[n] for n in order]
        return [*moved[:-1], moved[-1] // tile, moved[-1] % tile] if moved else []

    # Only buffers of our own: the caller's arrays keep their layout.
    sch.set_scope(block, 0, "global")
    sch.transform_layout(block, ("write", 0), index_map)


def _merge(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    other = rng.choice(sch.get_consumers(block) or [block])
    loops = [loop for b in (block, other) for loop in sch.get_loops(b)[:1]]
    sch.merge(*loops)


def _block_layout(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    with mlir.scope():
        extents = [extent for _, extent in sch.get(block).domain_pairs]
    order = rng.sample(range(len(extents)), len(extents))
    if len(order) > 1 and rng.random() < 0.5 and isinstance(extents[order[1]], int):
        sch.transform_block_layout(
            block,
            lambda *v: [v[order[0]] * extents[order[1]] + v[order[1]], *(v[n] for n in order[2:])],
        )
    else:
        sch.transform_block_layout(block, lambda *v: [v[n] for n in order])


def _iter_order(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    count = len(sch.get(block).iter_vars)
    sch.reorder_block_iter_var(block, rng.sample(range(count), count))


def _partition(sch: Schedule, rng: random.Random) -> None:
    loop = _some_loop(sch, rng)
    lengths: list[int | None] = [rng.choice([1, 2, 3]) for _ in range(rng.choice([1, 1, 2]))]
    sch.loop_partition(loop, rng.choice([lengths, [None, *lengths]]))


def _map(sch: Schedule, block: Any, rng: random.Random) -> Callable[..., list[Any]]:
    """A random map of a block's variables, with one of them tiled."""
    count = len(sch.get(block).iter_vars)
    order = rng.sample(range(count), rng.randrange(1, count + 1)) if count else []
    tile = rng.choice([1, 2, 3])

    def index_map(*indices: Any) -> list[Any]:
        moved = [indices[n] for n in order]
        return [*moved[:-1], moved[-1] // tile, moved[-1] % tile] if moved else [0]

    return index_map


def _reindex_cache(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    index_map = _map(sch, block, rng)
    if rng.random() < 0.6:
        sch.reindex_cache_read(block, rng.choice([0, 0, 1]), "global", index_map)
    else:
        sch.reindex_cache_write(block, 0, "global", index_map)


def _padded_layout(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    sch.set_scope(block, 0, "global")
    rank = _output_rank(sch, block)
    axis, tile = _some_axis(rank, rng), rng.choice([2, 3, 5])

    def index_map(*indices: Any) -> list[Any]:
        tiled = list(indices)
        return [*tiled[:axis], tiled[axis] // tile, *tiled[axis + 1 :], tiled[axis] % tile]

    pad = rng.choice([3, None, lambda *at: at[0]])
    sch.transform_layout(block, ("write", 0), index_map, pad_value=pad)


def _blockize_blocks(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    sch.blockize([block, *sch.get_consumers(block)[:1]], rng.random() < 0.5)


def _epilogue(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    sch.fuse_reduction_epilogue(block, rng.choice(sch.get_consumers(block) or [block]))


def _tensorize(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    loops = [sch.split(loop, [None, 4])[1] for loop in sch.get_loops(block)[-3:]]
    sch.reorder(*loops)
    sch.tensorize(loops[0], "matmul_4x4x4_f32")


def _pad(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    sch.pad_einsum(block, [rng.choice([1, 1, 4, 5]) for _ in sch.get(block).iter_vars])


def _read_layout(sch: Schedule, rng: random.Random) -> None:
    """Another layout of a buffer that a block reads and another of the program's blocks writes."""
    block = _some_block(sch, rng)
    producers = sch.get_producers(block)
    if not producers:
        raise ScheduleError("the caller's arrays keep their layout")
    producer = rng.choice(producers)
    sch.set_scope(producer, 0, "global")
    with mlir.scope():
        written = writes_of(sch.get(producer))[0].buffer
        rank = written.type.rank
        reads = [region.buffer for region in reads_of(sch.get(block))]
    if written not in reads:  # read through a view, or another buffer of the producer
        raise ScheduleError("the block reads another buffer of its producer")
    order = rng.sample(range(rank), rank)
    sch.transform_layout(block, ("read", reads.index(written)), lambda *at: [at[n] for n in order])


def _sampled_location(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    sch.compute_at(block, sch.sample_compute_location(block))


def _partitioned_tile(sch: Schedule, rng: random.Random) -> None:
    loop = _some_loop(sch, rng)
    part = sch.sample_categorical([1, 2, 3], [0.5, 0.25, 0.25])
    sch.split(loop, sch.sample_partitioned_tile(loop, 3, rng.choice([0, 1]), sch.get(part)))


def _annotated(sch: Schedule, rng: random.Random) -> None:
    place = rng.choice([_some_block, _some_loop])(sch, rng)
    sch.annotate(place, "note", rng.choice([3, "text", [1, 2], {"depth": 2}]))
    if rng.random() < 0.5:
        sch.unannotate(place, "note")


def _aligned(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    sch.set_scope(block, 0, rng.choice(["global", "local"]))
    rank = _output_rank(sch, block)
    axis = _some_axis(rank, rng)
    sch.storage_align(block, 0, axis, rng.choice([4, 8, 32]), rng.choice([0, 1]))


Move = Callable[[Schedule, random.Random], Any]
MOVES: list[tuple[int, Move]] = [
    (6, lambda s, r: s.split(_some_loop(s, r), _factors(r))),
    (3, _fuse),
    (5, _reorder),
    (1, lambda s, r: s.parallel(_some_loop(s, r))),
    (1, lambda s, r: s.vectorize(_some_loop(s, r))),
    (1, lambda s, r: s.unroll(_some_loop(s, r))),
    (1, lambda s, r: s.add_unit_loop(_some_loop(s, r))),
    (2, lambda s, r: s.compute_inline(_some_block(s, r))),
    (2, lambda s, r: s.reverse_compute_inline(_some_block(s, r))),
    (6, lambda s, r: s.compute_at(_some_block(s, r), _some_loop(s, r), r.random() < 0.3)),
    (6, lambda s, r: s.reverse_compute_at(_some_block(s, r), _some_loop(s, r), r.random() < 0.3)),
    (2, lambda s, r: s.cache_read(_some_block(s, r), r.choice([0, 0, 1]), "global")),
    (2, lambda s, r: s.cache_write(_some_block(s, r), 0, "global")),
    (2, lambda s, r: s.decompose_reduction(_some_block(s, r), _some_loop(s, r))),
    (2, _rfactor),
    (2, _sampled_split),
    (1, lambda s, r: s.blockize(_some_loop(s, r), r.random() < 0.5)),
    (2, lambda s, r: s.reindex(_some_block(s, r), (r.choice(["read", "write"]), 0))),
    (2, _layout),
    (1, _iter_order),
    (1, _pad),
    (1, _partition),
    (2, _reindex_cache),
    (2, lambda s, r: s.cache_inplace(_some_block(s, r), r.choice([0, 1]), "global")),
    (2, lambda s, r: s.cache_index(_some_block(s, r), "global", r.choice([0, 0, 2]))),
    (1, lambda s, r: s.read_at(_some_loop(s, r), _some_block(s, r), r.choice([0, 1]), "global")),
    (1, lambda s, r: s.write_at(_some_loop(s, r), _some_block(s, r), 0, "global")),
    (2, lambda s, r: s.rolling_buffer(_some_block(s, r), 0)),
    (2, lambda s, r: s.decompose_padding(_some_block(s, r), _some_loop(s, r))),
    (1, _padded_layout),
    (1, _blockize_blocks),
    (1, _epilogue),
    (1, _tensorize),
    (2, _merge),
    (1, _block_layout),
    (1, _read_layout),
    (1, _sampled_location),
    (1, _partitioned_tile),
    (1, _annotated),
    (1, _aligned),
]
"""How often a move is drawn, and the move.  Only what a CPU can run and what promises to keep the
meaning: no `bind` and nothing `unsafe_`."""
