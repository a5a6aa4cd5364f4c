"""Random chains of schedule primitives: whatever a schedule accepts must not change the results.

Each chain starts from one of the programs below, tries random primitives on random loops and blocks
(a refusal is fine), and is then compiled and compared with numpy.
`python tests/exec/test_schedule_fuzz.py 1000 7` runs 1000 chains from seed 7.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.driver.build_module import build
from relax_mlir.errors import ScheduleError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.schedule.analysis import writes_of
from tests.exec.schedule_programs import PROGRAMS
from tests.exec.schedule_programs_referenced import REFERENCED


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


def _layout(sch: Schedule, rng: random.Random) -> None:
    block = _some_block(sch, rng)
    with mlir.scope():
        rank = writes_of(sch.get(block))[0].buffer.type.rank
    order = rng.sample(range(rank), rank)
    tile = rng.choice([1, 2, 3])

    def index_map(*indices: Any) -> list[Any]:
        moved = [indices[n] for n in order]
        return [*moved[:-1], moved[-1] // tile, moved[-1] % tile]

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
    with mlir.scope():
        rank = writes_of(sch.get(block))[0].buffer.type.rank
    axis, tile = rng.randrange(rank), rng.choice([2, 3, 5])

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
]


@dataclass(frozen=True)
class Case:
    """A module, the arrays it is called with, and what is in them afterwards."""

    module: IRModule
    arrays: Callable[[np.random.Generator], list[np.ndarray]]
    wanted: Callable[[list[np.ndarray]], list[np.ndarray]]


def _with_reference(name: str) -> Case:
    module, inputs, reference = REFERENCED[name]

    def arrays(rng: np.random.Generator) -> list[np.ndarray]:
        given = inputs(rng)
        wanted = reference(*given)
        return [*given, np.zeros(wanted.shape, wanted.dtype)]

    return Case(module, arrays, lambda given: [*given[:-1], reference(*given[:-1])])


@cache
def case(name: str) -> Case:
    """A program; what is wanted comes from numpy, or from the program as it was written."""
    if name in REFERENCED:
        return _with_reference(name)
    program = PROGRAMS[name]
    unscheduled = build(program.module)["main"]

    def wanted(given: list[np.ndarray]) -> list[np.ndarray]:
        results = [array.copy() for array in given]
        unscheduled(*results)
        return results

    return Case(
        program.module, lambda rng: [p.draw(rng) for p in program.parameters.values()], wanted
    )


NAMES = [*REFERENCED, *PROGRAMS]


def run_chain(name: str, seed: int, length: int = 12, thorough: bool = False) -> Schedule:
    """Apply up to `length` random primitives to a program and check the result.

    `thorough` checks both texts after each primitive, not only the last.
    """
    rng = random.Random(f"{name} {seed}")
    chosen = case(name)
    sch = Schedule(chosen.module, debug_mask="all", error_render_level="fast", seed=seed)
    weights = [weight for weight, _ in MOVES]
    for _ in range(length):
        move = rng.choices([m for _, m in MOVES], weights)[0]
        try:
            move(sch, rng)
        except ScheduleError as error:
            assert "does not verify" not in str(error), f"{error}\n{sch.trace}"
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{sch.trace}") from error
        if thorough:
            check_texts(sch)
    check_texts(sch)
    arrays = chosen.arrays(np.random.default_rng(seed))
    wanted = chosen.wanted([array.copy() for array in arrays])
    build(reparsed(sch.mod) if seed % 2 else sch.mod)["main"](*arrays)
    for result, reference in zip(arrays, wanted, strict=True):
        tolerance = 2e-2 if result.dtype == np.float16 else 2e-4
        np.testing.assert_allclose(
            result, reference, rtol=tolerance, atol=tolerance, err_msg=str(sch.trace)
        )
    return sch


def check_texts(sch: Schedule) -> None:
    """MLIR's text gives the module back; TVMScript a module that prints the same from then on (the
    parser may spell an index in another order)."""
    assert IRModule.parse(sch.mod.mlir()) == sch.mod, sch.trace
    again = reparsed(sch.mod)
    assert reparsed(again).script() == again.script(), f"{sch.mod.script()}\n{sch.trace}"


def reparsed(module: IRModule) -> IRModule:
    return from_source(module.script(), {"I": I, "T": T})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_chain_keeps_the_results(name: str, seed: int) -> None:
    run_chain(name, seed)


@pytest.mark.parametrize("name", NAMES[::4])
def test_replay_gives_the_same_module(name: str) -> None:
    sch = run_chain(name, 101)
    again = Schedule(case(name).module)
    sch.trace.apply_to_schedule(again)
    assert again.mod == sch.mod
    from_json = Schedule(case(name).module)
    sch.trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), from_json)
    assert from_json.mod == sch.mod


def main(count: int, seed: int) -> None:
    """Run `count` chains and print those that go wrong."""
    failures = 0
    for number in range(seed, seed + count):
        name = NAMES[number % len(NAMES)]
        try:
            run_chain(name, number, thorough=number % 5 == 0)
        except Exception as error:
            failures += 1
            print(f"--- {name} {number}: {type(error).__name__}\n{error}", flush=True)
    print(f"{count} chains, {failures} failures")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
