"""te.create_schedule with threads, run on the emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

import relax_mlir as tvm
from relax_mlir import te
from relax_mlir.tir.expr import IterVar
from relax_mlir.topi.utils import get_const_tuple
from tests.exec.te_schedule_programs import chain, check, product, random, row_sums


def test_threads_over_a_dynamic_size() -> None:
    n = te.var("n")
    a, _, c = chain(n)
    s = te.create_schedule(c.op)
    block, thread = s[c].split(c.op.axis[0], factor=64)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, te.thread_axis("threadIdx.x"))
    s[c.op.input_tensors[0]].compute_inline()
    for size in (1, 64, 100):
        x = random(size)
        check(s, [a, c], [x], (x + 1) * 2, target="cuda")


def test_threads_that_share_a_reduction() -> None:
    n, m = te.var("n"), te.var("m")
    a, b = row_sums(n, m)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.reduce_axis[0], factor=16)
    parts = s.rfactor(b, inner)
    outer, row = s[b].split(s[b].op.axis[0], factor=8)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(row, te.thread_axis("threadIdx.y"))
    thread = te.thread_axis("threadIdx.x")
    s[b].bind(s[b].op.reduce_axis[0], thread)
    s[parts].compute_at(s[b], s[b].op.reduce_axis[0])
    s[b].set_store_predicate(thread.var.equal(0))
    for shape in ((8, 16), (5, 37), (11, 3)):
        x = random(*shape)
        check(s, [a, b], [x], x.sum(1), target="cuda")


def test_a_product_through_shared_memory_and_registers() -> None:
    a, b, c = product(32, 32, 24)
    s = te.create_schedule(c.op)
    shared = [s.cache_read(t, "shared", [c]) for t in (a, b)]
    own = [s.cache_read(t, "local", [c]) for t in shared]
    sums = s.cache_write(c, "local")
    blocks = [te.thread_axis(f"blockIdx.{axis}") for axis in "yx"]
    threads = [te.thread_axis((0, 4), f"threadIdx.{axis}") for axis in "yx"]
    virtual = [te.thread_axis((0, 2), "vthread", name=f"v{axis}") for axis in "yx"]
    loops: list[list[IterVar]] = [[], [], [], []]
    for axis, *threading in zip(s[c].op.axis, blocks, virtual, threads, strict=True):
        outer, rest = s[c].split(axis, factor=16)
        middle, rest = s[c].split(rest, nparts=2)
        thread, rest = s[c].split(rest, nparts=4)
        for level, loop in enumerate((outer, middle, thread, rest)):
            loops[level].append(loop)
        for loop, by in zip((outer, middle, thread), threading, strict=True):
            s[c].bind(loop, by)
    s[c].reorder(*[loop for level in loops for loop in level])
    s[sums].compute_at(s[c], loops[2][1])
    i, j = s[sums].op.axis
    k_outer, k_inner = s[sums].split(s[sums].op.reduce_axis[0], factor=8)
    s[sums].reorder(k_outer, k_inner, i, j)
    for cache in shared:
        s[cache].compute_at(s[sums], k_outer)
        fused = s[cache].fuse(*s[cache].op.axis)
        y, rest = s[cache].split(fused, nparts=4)
        x, _ = s[cache].split(rest, nparts=4)
        s[cache].bind(y, threads[0])
        s[cache].bind(x, threads[1])
    for cache in own:
        s[cache].compute_at(s[sums], k_inner)
    x, y = random(32, 24), random(24, 32)
    check(s, [a, b, c], [x, y], x @ y, target="cuda")


def test_a_scan_on_threads() -> None:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    first = te.compute((1, n), lambda _, i: x[0, i], name="first")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    result = te.scan(first, update, state, inputs=[x])
    s = te.create_schedule(result.op)
    block, thread = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    s[result].env_threads([block, thread])
    for stage in (s[first], s[update]):
        outer, inner = stage.split(stage.op.axis[1], factor=32)
        stage.bind(outer, block)
        stage.bind(inner, thread)
    a = random(5, 40)
    check(s, [x, result], [a], a.cumsum(0), target="cuda")


def test_fewer_iterations_than_threads() -> None:
    a, b, c = chain(4, 10)
    s = te.create_schedule(c.op)
    thread = te.thread_axis((0, 16), "threadIdx.x")
    s[c].bind(c.op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(c.op.axis[1], thread)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].bind(s[b].op.axis[1], thread)
    assert 'thread="threadIdx.x"' in tvm.lower(s, [a, c]).script()
    x = random(4, 10)
    check(s, [a, c], [x], np.asarray((x + 1) * 2), target="cuda")


def test_more_threads_than_there_is_to_do() -> None:
    a, b, c = product(2, 8, 5)
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "local")
    i, j = s[c].op.axis
    outer, inner = s[c].split(i, factor=4)
    thread, rest = s[c].split(outer, nparts=2)
    s[c].reorder(thread, j, rest, inner)
    s[c].bind(thread, te.thread_axis("threadIdx.y"))
    s[c].bind(j, te.thread_axis("threadIdx.x"))
    s[sums].compute_at(s[c], j)  # both threads compute all of it, each for itself
    x, y = random(2, 5), random(5, 8)
    check(s, [a, b, c], [x, y], x @ y, target="cuda")


# -- tensor cores -----------------------------------------------------------------------------

TILE = 16


def fragment(tensor: te.Tensor, scope: str) -> tvm.tir.Buffer:
    """A buffer for one tile of a tensor, somewhere in a storage scope."""
    return tvm.tir.decl_buffer(
        tensor.shape, tensor.dtype, scope=scope, data_alignment=32, offset_factor=TILE * TILE
    )


def number(buffer: Any) -> Any:
    """Which of the tiles in the storage a buffer is."""
    return buffer.elem_offset // (TILE * TILE)


def moved(source: str, target: str, dtype: str) -> te.TensorIntrin:
    """A tile copied between memory and the fragments of a warp."""
    a = te.placeholder((TILE, TILE), dtype, "a")
    b = te.compute((TILE, TILE), lambda i, j: a[i, j], name="b")
    loads = target.startswith("wmma")

    def statements(ins: list[Any], outs: list[Any]) -> Any:
        tile, memory = (outs[0], ins[0]) if loads else (ins[0], outs[0])
        name = "tvm_load_matrix_sync" if loads else "tvm_store_matrix_sync"
        address = memory.access_ptr("r" if loads else "w")
        sizes = (TILE, TILE, TILE, number(tile))
        return tvm.tir.call_intrin(
            "handle", f"tir.{name}", tile.data, *sizes, address, TILE, "row_major"
        )

    return te.decl_tensor_intrin(b.op, statements, binds={a: fragment(a, source),
                                                          b: fragment(b, target)})  # fmt: skip


def multiplied() -> te.TensorIntrin:
    """The product of two tiles, added to a third one."""
    a, b = (te.placeholder((TILE, TILE), "float16", n) for n in "ab")
    k = te.reduce_axis((0, TILE), "k")
    c = te.compute(
        (TILE, TILE),
        lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k),
        name="c",
    )

    def statements(ins: list[Any], outs: list[Any]) -> Any:
        (x, y), (z,) = ins, outs
        start = tvm.tir.call_intrin(
            "handle", "tir.tvm_fill_fragment", z.data, TILE, TILE, TILE, number(z), 0.0
        )
        update = tvm.tir.call_intrin(
            "handle", "tir.tvm_mma_sync", *[p for t in (z, x, y, z) for p in (t.data, number(t))]
        )
        return update, start, update

    scopes = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")
    binds = {t: fragment(t, scope) for t, scope in zip((a, b, c), scopes, strict=True)}
    return te.decl_tensor_intrin(c.op, statements, binds=binds)


def test_tensor_cores() -> None:
    tiles, depth = 2, 3
    a = te.placeholder((tiles, depth, TILE, TILE), "float16", "A")
    b = te.placeholder((depth, tiles, TILE, TILE), "float16", "B")
    ko, ki = te.reduce_axis((0, depth), "ko"), te.reduce_axis((0, TILE), "ki")
    c = te.compute(
        (tiles, tiles, TILE, TILE),
        lambda m, n, i, j: te.sum(
            a[m, ko, i, ki].astype("float32") * b[ko, n, ki, j].astype("float32"), axis=[ko, ki]
        ),
        name="C",
    )
    s = te.create_schedule(c.op)
    shared = [s.cache_read(t, "shared", [c]) for t in (a, b)]
    scopes = ("wmma.matrix_a", "wmma.matrix_b")
    own = [s.cache_read(t, scope, [c]) for t, scope in zip(shared, scopes, strict=True)]
    sums = s.cache_write(c, "wmma.accumulator")
    m, n, i, _ = s[c].op.axis
    s[c].bind(m, te.thread_axis("blockIdx.x"))
    s[c].bind(n, te.thread_axis("threadIdx.y"))
    s[sums].compute_at(s[c], n)
    rows, columns, inner_i, inner_j = s[sums].op.axis
    s[sums].reorder(ko, rows, columns, inner_i, inner_j, ki)
    for tile in own:
        s[tile].compute_at(s[sums], ko)
    for cache in shared:
        s[cache].compute_at(s[sums], ko)
        fused = s[cache].fuse(*s[cache].op.axis)
        _, thread = s[cache].split(fused, factor=32)
        s[cache].bind(thread, te.thread_axis("threadIdx.x"))
    for tile, scope in zip(own, scopes, strict=True):
        s[tile].tensorize(s[tile].op.axis[-2], moved("shared", scope, "float16"))
    s[sums].tensorize(inner_i, multiplied())
    s[c].tensorize(i, moved("wmma.accumulator", "global", "float32"))
    x, y = random(*get_const_tuple(a.shape)), random(*get_const_tuple(b.shape))
    x, y = x.astype("float16"), y.astype("float16")
    expected = np.einsum("mkij,knjl->mnil", x.astype("float32"), y.astype("float32"))
    check(s, [a, b, c], [x, y], expected, target="cuda")
