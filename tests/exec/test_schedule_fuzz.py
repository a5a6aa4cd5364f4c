"""Random chains of schedule primitives: whatever a schedule accepts must not change the results.

Each chain starts from one of the programs below, tries random primitives on random loops and blocks
(a refusal is fine), and is then compiled and compared with numpy.
`python tests/exec/test_schedule_fuzz.py 1000 7` runs 1000 chains from seed 7.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.driver.build_module import build
from relax_mlir.errors import ScheduleError
from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.schedule.analysis import writes_of


@I.ir_module
class MatmulRelu:
    @T.prim_func
    def main(
        A: T.Buffer((14, 12), "float32"),
        W: T.Buffer((12, 18), "float32"),
        D: T.Buffer((14, 18), "float32"),
    ):
        B = T.alloc_buffer((14, 12), "float32")
        C = T.alloc_buffer((14, 18), "float32")
        for i, j in T.grid(14, 12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j, k in T.grid(14, 18, 12):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + B[vi, vk] * W[vk, vj]
        for i, j in T.grid(14, 18):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@I.ir_module
class Transposed:
    @T.prim_func
    def main(A: T.Buffer((8, 6, 10), "int32"), D: T.Buffer((10, 8, 6), "int32")):
        B = T.alloc_buffer((6, 8, 10), "int32")
        C = T.alloc_buffer((10, 6, 8), "int32")
        for i, j, k in T.grid(6, 8, 10):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vj, vi, vk] * 3
        for i, j, k in T.grid(10, 6, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vj, vk, vi] - 2
        for i, j, k in T.grid(10, 8, 6):
            with T.block("D"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                D[vi, vj, vk] = C[vi, vk, vj] + A[vj, vk, vi]


@I.ir_module
class PaddedConv:
    @T.prim_func
    def main(
        A: T.Buffer((3, 12), "float32"),
        W: T.Buffer((4, 3, 3), "float32"),
        Y: T.Buffer((4, 12), "float32"),
    ):
        P = T.alloc_buffer((3, 14), "float32")
        C = T.alloc_buffer((4, 12), "float32")
        for c, x in T.grid(3, 14):
            with T.block("P"):
                vc, vx = T.axis.remap("SS", [c, x])
                P[vc, vx] = T.if_then_else(vx >= 1 and vx < 13, A[vc, vx - 1], T.float32(0))
        for o, x, c, r in T.grid(4, 12, 3, 3):
            with T.block("C"):
                vo, vx, vc, vr = T.axis.remap("SSRR", [o, x, c, r])
                with T.init():
                    C[vo, vx] = T.float32(0)
                C[vo, vx] = C[vo, vx] + P[vc, vx + vr] * W[vo, vc, vr]
        for o, x in T.grid(4, 12):
            with T.block("Y"):
                vo, vx = T.axis.remap("SS", [o, x])
                Y[vo, vx] = C[vo, vx] * T.float32(0.5)


@I.ir_module
class Softmax:
    @T.prim_func
    def main(A: T.Buffer((5, 16), "float32"), Y: T.Buffer((5, 16), "float32")):
        M = T.alloc_buffer((5,), "float32")
        E = T.alloc_buffer((5, 16), "float32")
        S = T.alloc_buffer((5,), "float32")
        for i, k in T.grid(5, 16):
            with T.block("M"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.float32(-3e38)
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, j in T.grid(5, 16):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = T.exp(A[vi, vj] - M[vi])
        for i, k in T.grid(5, 16):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vk]
        for i, j in T.grid(5, 16):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = E[vi, vj] / S[vi]


@I.ir_module
class Blur:
    @T.prim_func
    def main(A: T.Buffer((18,), "int32"), Y: T.Buffer((14,), "int32")):
        B = T.alloc_buffer((16,), "int32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + A[vi + 1] * 2 + A[vi + 2]
        for i in range(14):
            with T.block("Y"):
                vi = T.axis.spatial(14, i)
                Y[vi] = B[vi] + B[vi + 1] + B[vi + 2]


@I.ir_module
class Gather:
    @T.prim_func
    def main(
        A: T.Buffer((20, 4), "float32"), X: T.Buffer((9,), "int32"), Y: T.Buffer((9, 4), "float32")
    ):
        B = T.alloc_buffer((20, 4), "float32")
        for i, j in T.grid(20, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(9, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = B[X[vi], vj] + T.float32(1)


@I.ir_module
class Dynamic:
    @T.prim_func
    def main(a: T.handle, y: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        B = T.alloc_buffer((n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] - T.float32(1)
        for i, k in T.grid(n, 8):
            with T.block("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + B[vi, vk] * B[vi, vk]


@I.ir_module
class Accumulate:
    @T.prim_func
    def main(A: T.Buffer((7, 6), "float32"), Y: T.Buffer((7, 6), "float32")):
        B = T.alloc_buffer((7, 6), "float32")
        for i, j in T.grid(7, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(7, 6):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = Y[vi, vj] + B[vi, vj]


@I.ir_module
class Cumsum:
    @T.prim_func
    def main(A: T.Buffer((4, 9), "int32"), Y: T.Buffer((4, 9), "int32")):
        S = T.alloc_buffer((4, 10), "int32")
        for i in range(4):
            with T.block("S0"):
                vi = T.axis.spatial(4, i)
                S[vi, 0] = 0
        for i, t in T.grid(4, 9):
            with T.block("S"):
                vi, vt = T.axis.remap("SS", [i, t])
                S[vi, vt + 1] = S[vi, vt] + A[vi, vt]
        for i, t in T.grid(4, 9):
            with T.block("Y"):
                vi, vt = T.axis.remap("SS", [i, t])
                Y[vi, vt] = S[vi, vt + 1]


@I.ir_module
class Wide:
    @T.prim_func
    def main(
        A: T.Buffer((T.int64(6), T.int64(10)), "float64"),
        Y: T.Buffer((T.int64(6),), "float64"),
    ):
        B = T.alloc_buffer((T.int64(6), T.int64(10)), "float64")
        M = T.alloc_buffer((T.int64(6),), "float64")
        for i, j in T.grid(T.int64(6), T.int64(10)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.Select(A[vi, vj] > T.float64(0), A[vi, vj], T.float64(0))
        for i, k in T.grid(T.int64(6), T.int64(10)):
            with T.block("M"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.float64(0)
                M[vi] = T.max(M[vi], B[vi, vk])
        for i in range(T.int64(6)):
            with T.block("Y"):
                vi = T.axis.spatial(T.int64(6), i)
                Y[vi] = M[vi] * M[vi]


@I.ir_module
class Nested:
    @T.prim_func
    def main(A: T.Buffer((8, 12), "float32"), Y: T.Buffer((8,), "float32")):
        for i in range(2):
            with T.block("O"):
                vo = T.axis.spatial(2, i)
                B = T.alloc_buffer((4, 12), "float32")
                for r, k in T.grid(4, 12):
                    with T.block("B"):
                        vr, vk = T.axis.remap("SS", [r, k])
                        B[vr, vk] = A[vo * 4 + vr, vk] + T.float32(3)
                for r, k in T.grid(4, 12):
                    with T.block("Y"):
                        vr, vk = T.axis.remap("SR", [r, k])
                        with T.init():
                            Y[vo * 4 + vr] = T.float32(0)
                        Y[vo * 4 + vr] = Y[vo * 4 + vr] + B[vr, vk]


def _floats(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [rng.standard_normal(s).astype("float32") for s in shapes]


def _ints(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [rng.integers(-9, 9, s).astype("int32") for s in shapes]


def _conv(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(a, ((0, 0), (1, 1)))
    windows = np.stack([padded[:, r : r + 12] for r in range(3)])
    return np.einsum("ocr,rcx->ox", w, windows) * np.float32(0.5)


def _blur(a: np.ndarray) -> np.ndarray:
    b = a[:16] + a[1:17] * 2 + a[2:18]
    return b[:14] + b[1:15] + b[2:16]


def _softmax(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# name: (module, inputs, result by numpy)
PROGRAMS: dict[str, tuple[IRModule, Callable[..., list[Any]], Callable[..., np.ndarray]]] = {
    "matmul_relu": (
        MatmulRelu, _floats((14, 12), (12, 18)), lambda a, w: np.maximum((a + 1) @ w, 0)
    ),
    "transposed": (
        Transposed, _ints((8, 6, 10)), lambda a: (a * 3 - 2 + a).transpose(2, 0, 1)
    ),
    "padded_conv": (PaddedConv, _floats((3, 12), (4, 3, 3)), _conv),
    "softmax": (Softmax, _floats((5, 16)), _softmax),
    "blur": (Blur, _ints((18,)), _blur),
    "gather": (
        Gather,
        lambda rng: [*_floats((20, 4))(rng), rng.integers(0, 20, 9).astype("int32")],
        lambda a, x: a[x] * 2 + 1,
    ),
    "accumulate": (Accumulate, _floats((7, 6)), lambda a: a * 2),
    "cumsum": (Cumsum, _ints((4, 9)), lambda a: np.cumsum(a, 1, dtype="int32")),
    "wide": (
        Wide,
        lambda rng: [rng.standard_normal((6, 10))],
        lambda a: np.maximum(a, 0).max(1) ** 2,
    ),
    "nested": (Nested, _floats((8, 12)), lambda a: (a + 3).sum(1)),
    "dynamic": (Dynamic, _floats((13, 8)), lambda a: ((a - 1) ** 2).sum(1)),
}  # fmt: skip


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
    (2, _merge),
    (1, _block_layout),
]


def run_chain(name: str, seed: int, length: int = 12) -> Schedule:
    """Apply up to `length` random primitives to a program and check the result."""
    rng = random.Random(f"{name} {seed}")
    module, inputs, reference = PROGRAMS[name]
    sch = Schedule(module, debug_mask="all", error_render_level="fast", seed=seed)
    weights = [weight for weight, _ in MOVES]
    for _ in range(length):
        move = rng.choices([m for _, m in MOVES], weights)[0]
        try:
            move(sch, rng)
        except ScheduleError as error:
            assert "does not verify" not in str(error), sch.trace
    arrays = inputs(np.random.default_rng(seed))
    wanted = reference(*arrays)
    result = np.zeros(wanted.shape, wanted.dtype)
    build(sch.mod)["main"](*arrays, result)
    np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4, err_msg=str(sch.trace))
    return sch


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(12))
def test_chain_keeps_the_results(name: str, seed: int) -> None:
    sch = run_chain(name, seed)
    assert IRModule.parse(sch.mod.mlir()) == sch.mod


@pytest.mark.parametrize("name", PROGRAMS)
def test_replay_gives_the_same_module(name: str) -> None:
    sch = run_chain(name, 101)
    again = Schedule(PROGRAMS[name][0])
    sch.trace.apply_to_schedule(again)
    assert again.mod == sch.mod
    from_json = Schedule(PROGRAMS[name][0])
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), from_json)
    assert from_json.mod == sch.mod


def main(count: int, seed: int) -> None:
    """Run `count` chains and print those that go wrong."""
    failures = 0
    for number in range(seed, seed + count):
        name = list(PROGRAMS)[number % len(PROGRAMS)]
        try:
            run_chain(name, number)
        except Exception as error:
            failures += 1
            print(f"--- {name} {number}: {type(error).__name__}\n{error}")
    print(f"{count} chains, {failures} failures")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
