"""te.create_schedule: loops, places and stages of tensor expressions, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import te
from relax_mlir.errors import Error, ScheduleError
from tests.exec.te_schedule_programs import chain, check, product, random, row_sums


def test_blocked_product_with_a_packed_operand_and_a_cache() -> None:
    m, n, k, block = 32, 48, 20, 16
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    packed = te.compute((n / block, k, block), lambda o, k, i: b[k, o * block + i], name="packed")
    over = te.reduce_axis((0, k), "k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(
            a[i, over] * packed[j // block, over, tvm.tir.indexmod(j, block)], axis=over
        ),
        name="C",
    )
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "global")
    i_outer, j_outer, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], block, block)
    s[cache].compute_at(s[c], j_outer)
    i, j = s[cache].op.axis
    k_outer, k_inner = s[cache].split(s[cache].op.reduce_axis[0], factor=4)
    s[cache].reorder(k_outer, i, k_inner, j)
    s[cache].vectorize(j)
    s[cache].unroll(k_inner)
    s[c].parallel(i_outer)
    outer, _, inner = s[packed].op.axis
    s[packed].vectorize(inner)
    s[packed].parallel(outer)
    x, y = random(m, k), random(k, n)
    check(s, [a, b, c], [x, y], x @ y)


@pytest.mark.parametrize("shape", [(13, 9, 7), (1, 1, 1), (16, 8, 5), (3, 40, 1)])
def test_tiles_that_do_not_divide(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b, c = product(m, n, k)
    s = te.create_schedule(c)
    i_outer, j_outer, i_inner, j_inner = s[c].tile(c.op.axis[0], c.op.axis[1], 4, 8)
    k_outer, k_inner = s[c].split(c.op.reduce_axis[0], nparts=2)
    s[c].reorder(i_outer, k_outer, j_outer, i_inner, k_inner, j_inner)
    s[c].vectorize(j_inner)
    x, y = random(m, k), random(k, n)
    check(s, [a, b, c], [x, y], x @ y)


def test_dynamic_sizes() -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    c = te.compute(a.shape, lambda i: a[i] + b[i], name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], factor=4)
    s[c].parallel(outer)
    s[c].vectorize(inner)
    for size in (1, 4, 30):
        x, y = random(size), random(size)
        check(s, [a, b, c], [x, y], x + y)


def test_fused_loops() -> None:
    a, _, c = chain(5, 6, 7)
    s = te.create_schedule(c.op)
    fused = s[c].fuse(*c.op.axis)
    outer, inner = s[c].split(fused, factor=32)
    s[c].parallel(outer)
    s[c].vectorize(inner)
    x = random(5, 6, 7)
    check(s, [a, c], [x], (x + 1) * 2)


def back_to_root(s: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
    s[b].compute_at(s[c], c.op.axis[1])
    s[b].compute_root()


PLACES: dict[str, Callable[[te.Schedule, te.Tensor, te.Tensor], None]] = {
    "root": lambda s, b, c: s[b].compute_root(),
    "inline": lambda s, b, c: s[b].compute_inline(),
    "outer": lambda s, b, c: s[b].compute_at(s[c], c.op.axis[0]),
    "inner": lambda s, b, c: s[b].compute_at(s[c], c.op.axis[1]),
    "back": lambda s, b, c: back_to_root(s, b, c),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_parameter", [False, True])
def test_where_a_producer_is_computed(place: str, is_parameter: bool) -> None:
    a, b, c = chain(6, 10)
    s = te.create_schedule(c.op)
    PLACES[place](s, b, c)
    x = random(6, 10)
    if not is_parameter:
        check(s, [a, c], [x], (x + 1) * 2)
    elif place == "inline":  # nothing writes it
        check(s, [a, b, c], [x], np.full_like(x, 77), (x + 1) * 2)
    else:
        check(s, [a, b, c], [x], x + 1, (x + 1) * 2)


def test_a_chain_of_stencils_in_tiles() -> None:
    a = te.placeholder((40,), name="A")
    b = te.compute((38,), lambda i: a[i] + a[i + 1] + a[i + 2], name="B")
    c = te.compute((36,), lambda i: b[i] * b[i + 2], name="C")
    d = te.compute((35,), lambda i: c[i] - c[i + 1], name="D")
    s = te.create_schedule(d.op)
    outer, inner = s[d].split(d.op.axis[0], factor=8)
    s[c].compute_at(s[d], outer)
    s[b].compute_at(s[c], s[c].op.axis[0])
    s[d].unroll(inner)
    x = random(40)
    y = x[:-2] + x[1:-1] + x[2:]
    z = y[:-2] * y[2:]
    check(s, [a, d], [x], z[:-1] - z[1:])


def test_convolution_with_padding_inline_and_caches() -> None:
    size, channels, filters = 9, 5, 6
    a = te.placeholder((channels, size, size), name="A")
    w = te.placeholder((filters, channels, 3, 3), name="W")
    padded = te.compute(
        (channels, size + 2, size + 2),
        lambda c, y, x: te.if_then_else(
            te.all(y >= 1, y - 1 < size, x >= 1, x - 1 < size), a[c, y - 1, x - 1], 0.0
        ),
        name="padded",
    )
    c, dy, dx = (te.reduce_axis((0, e), n) for e, n in ((channels, "c"), (3, "dy"), (3, "dx")))
    conv = te.compute(
        (filters, size, size),
        lambda f, y, x: te.sum(padded[c, y + dy, x + dx] * w[f, c, dy, dx], axis=[c, dy, dx]),
        name="conv",
    )
    s = te.create_schedule(conv.op)
    s[padded].compute_inline()
    rows = s.cache_read(padded, "local", [conv])
    sums = s.cache_write(conv, "local")
    f, y, x = s[conv].op.axis
    y_outer, y_inner = s[conv].split(y, factor=3)
    s[conv].reorder(f, y_outer, x, y_inner)
    s[sums].compute_at(s[conv], y_outer)
    s[rows].compute_at(s[sums], s[sums].op.reduce_axis[0])
    image, weights = random(channels, size, size), random(filters, channels, 3, 3)
    wide = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
    expected = np.einsum("cyxij,fcij->fyx", windows, weights)
    check(s, [a, w, conv], [image, weights], expected)


@pytest.mark.parametrize("change", ["reorder", "split", "uneven", "fuse"])
def test_a_cache_laid_out_as_its_loops_run(change: str) -> None:
    a, b, c = product(6, 10, 5)
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    if change == "reorder":
        s[c].reorder(j, i)
        shape = [10, 6]
    elif change == "fuse":
        s[c].fuse(i, j)
        shape = [60]
    else:
        outer, inner = s[c].split(j, factor=5 if change == "split" else 4)
        s[c].reorder(outer, i, inner)
        shape = [2, 6, 5] if change == "split" else [3, 6, 4]
    cache = s.cache_write(c, "global")
    assert [int(size) for size in cache.shape] == shape
    s[cache].parallel(s[cache].op.axis[0])
    x, y = random(6, 5), random(5, 10)
    check(s, [a, b, c], [x, y], x @ y)


def test_a_reduction_whose_length_depends_on_the_element() -> None:
    a = te.placeholder((9,), name="A")

    def up_to(i: Any) -> Any:
        over = te.reduce_axis((0, i + 1), "k")
        return te.sum(a[over], axis=over)

    b = te.compute((9,), up_to, name="B")
    s = te.create_schedule(b.op)
    cache = s.cache_write(b, "local")
    s[cache].compute_root()
    x = random(9)
    check(s, [a, b], [x], x.cumsum())


def test_a_loop_around_one_element() -> None:
    a = te.placeholder((12,), name="A")
    over = te.reduce_axis((0, 12), "k")
    b = te.compute((), lambda: te.sum(a[over], axis=over), name="B")
    s = te.create_schedule(b.op)
    single = s[b].fuse(*b.op.axis)
    assert s[b].leaf_iter_vars[0] is single
    s[b].split(single, factor=4)
    x = random(12)
    check(s, [a, b], [x], x.sum(keepdims=True)[0])


@pytest.mark.parametrize("change", ["split", "fuse"])
def test_a_loop_may_be_changed_after_compute_at(change: str) -> None:
    a, b, c = chain(6, 10)
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    s[b].compute_at(s[c], i)
    _ = s[c].split(i, factor=4) if change == "split" else s[c].fuse(i, j)
    x = random(6, 10)
    check(s, [a, c], [x], (x + 1) * 2)


def test_inlining_by_what_operations_are() -> None:
    a = te.placeholder((4, 5), name="A")
    row = te.compute((5,), lambda j: a[0, j], name="row")
    wide = te.compute((4, 5), lambda i, j: row[j], name="wide")
    same = te.compute((4, 5), lambda i, j: a[i, j] * wide[i, j], name="same")
    out = te.compute((4, 5), lambda i, j: same[i, j] + 1, name="out")
    rules = te.schedule.AutoInlineElemWise, te.schedule.AutoInlineBroadcast
    for rule, inlined in zip(
        (*rules, te.schedule.AutoInlineInjective),
        (["same"], ["wide", "same"], ["row", "wide", "same"]),
        strict=True,
    ):
        s = te.create_schedule(out.op)
        rule(s)
        assert [t.op.name for t in s.stages if t.attach_type == 2] == inlined
        x = random(4, 5)
        check(s, [a, out], [x], x * x[0] + 1)


@pytest.mark.parametrize("length", [1, 16, 37])
@pytest.mark.parametrize("factor_axis", [0, 1, -1])
def test_rfactor(length: int, factor_axis: int) -> None:
    a, b = row_sums(6, length)
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.reduce_axis[0], factor=8)
    parts = s.rfactor(b, inner, factor_axis)
    assert [int(size) for size in parts.shape] == ([8, 6] if factor_axis == 0 else [6, 8])
    s[parts].parallel(s[parts].op.axis[0])
    s[parts].compute_root()
    s[b].split(s[b].op.axis[0], factor=4)
    x = random(6, length)
    check(s, [a, b], [x], x.sum(1))


def test_rfactor_of_an_axis_that_begins_later() -> None:
    a = te.placeholder((4, 9), name="A")
    over = te.reduce_axis((2, 9), "k")
    b = te.compute((4,), lambda i: te.max(a[i, over], axis=over), name="B")
    s = te.create_schedule(b.op)
    s.rfactor(b, b.op.reduce_axis[0])
    x = random(4, 9)
    check(s, [a, b], [x], x[:, 2:].max(1))


def largest(m: int, n: int) -> tuple[list[te.Tensor], tuple[te.Tensor, te.Tensor]]:
    """The place and the value of the largest element of each row, of places and values."""

    def combine(x: list[Any], y: list[Any]) -> tuple[Any, ...]:
        return tuple(tvm.tir.Select(x[1] >= y[1], x[i], y[i]) for i in range(2))

    reducer = te.comm_reducer(
        combine, lambda t0, t1: (tvm.tir.const(-1, t0), te.min_value(t1)), name="argmax"
    )
    places = te.placeholder((m, n), "int32", "places")
    values = te.placeholder((m, n), "float32", "values")
    over = te.reduce_axis((0, n), "k")
    found = te.compute(
        (m,), lambda i: reducer((places[i, over], values[i, over]), axis=over), name="T"
    )
    return [places, values], found


@pytest.mark.parametrize("way", ["loops", "rfactor", "cache"])
def test_tuple_reductions(way: str) -> None:
    inputs, (place, value) = largest(5, 12)
    s = te.create_schedule(place.op)
    over = place.op.reduce_axis[0]
    outer, inner = s[place].split(over, factor=5)
    if way == "loops":
        s[place].reorder(outer, place.op.axis[0], inner)
    elif way == "rfactor":
        parts = s.rfactor(place, outer)
        assert len(parts) == 2
        s[parts[0]].compute_at(s[place], s[place].op.axis[0])
    else:
        s = te.create_schedule(place.op)
        caches = s.cache_write([place, value], "local")
        s[caches[0]].compute_at(s[place], place.op.axis[0])
    x = random(5, 12)
    numbers = np.tile(np.arange(12, dtype="int32"), (5, 1))
    check(s, [*inputs, place, value], [numbers, x], x.argmax(1).astype("int32"), x.max(1))


def test_one_of_several_outputs_in_a_loop_of_its_reader() -> None:
    a0, a1 = (te.placeholder((4, 6), name=n) for n in ("A0", "A1"))
    b0, _ = te.compute((4, 6), lambda i, j: (a0[i, j] + 2, a0[i, j] * 3), name="B")
    c = te.compute((4, 6), lambda i, j: a1[i, j] + b0[i, j], name="C")
    s = te.create_schedule(c.op)
    s[b0].compute_at(s[c], c.op.axis[0])
    x, y = random(4, 6), random(4, 6)
    check(s, [a0, a1, c], [x, y], y + x + 2)


def test_scan_with_scheduled_steps() -> None:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    first = te.compute((1, n), lambda _, i: x[0, i], name="first")
    doubled = te.compute((m, n), lambda t, i: state[t - 1, i] * 2, name="doubled")
    update = te.compute((m, n), lambda t, i: doubled[t, i] + x[t, i], name="update")
    result = te.scan(first, update, state, inputs=[x])
    s = te.create_schedule(result.op)
    outer, inner = s[update].split(update.op.axis[1], factor=32)
    s[doubled].compute_at(s[update], outer)
    s[update].vectorize(inner)
    a = random(6, 50)
    expected = a.copy()
    for t in range(1, 6):
        expected[t] += 2 * expected[t - 1]
    check(s, [x, result], [a], expected)


@pytest.mark.parametrize("place", ["state", "element"])
@pytest.mark.parametrize("levels", [1, 2])
def test_cached_states_of_a_scan(place: str, levels: int) -> None:
    x = te.placeholder((6, 8), name="X")
    state = te.placeholder((6, 8), name="state")
    first = te.compute((1, 8), lambda _, i: x[0, i], name="first")
    update = te.compute((6, 8), lambda t, i: state[t - 1, 7 - i] + x[t, i], name="update")
    result = te.scan(first, update, state, inputs=[x])
    s = te.create_schedule(result.op)
    cached = state
    for _ in range(levels):
        cached = s.cache_read(cached, "local", [update])
        if place == "element":
            s[cached].compute_at(s[update], update.op.axis[1])
    a = random(6, 8)
    expected = a.copy()
    for t in range(1, 6):
        expected[t] += expected[t - 1, ::-1]
    check(s, [x, result], [a], expected)


def test_caches_of_several_first_states_are_refused() -> None:
    state = te.placeholder((6, 8), name="state")
    first = te.compute((2, 8), lambda t, i: 1.0, name="first")
    update = te.compute((6, 8), lambda t, i: state[t - 1, i] + state[t - 2, i], name="update")
    result = te.scan(first, update, state)
    s = te.create_schedule(result.op)
    s.cache_read(state, "local", [update])
    with pytest.raises(Error, match="the scan begins from 2 states"):
        tvm.lower(s, [result])


def test_a_buffer_that_rolls() -> None:
    a = te.placeholder((18, 6), name="A")
    b = te.compute((18, 6), lambda i, j: a[i, j] * 2, name="B")
    c = te.compute((16, 6), lambda i, j: b[i, j] + b[i + 1, j] + b[i + 2, j], name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].rolling_buffer()
    assert "% 3" in tvm.lower(s, [a, c]).script()
    x = random(18, 6)
    check(s, [a, c], [x], 2 * (x[:-2] + x[1:-1] + x[2:]))


def test_notes_change_no_result() -> None:
    a, b, c = product(8, 8, 16)
    s = te.create_schedule(c.op)
    cache = s.cache_read(a, "local", [c])
    i, _ = c.op.axis
    s[cache].compute_at(s[c], i)
    s[cache].double_buffer()
    s[cache].storage_align(s[cache].op.axis[0], 8, 1)
    s[c].pragma(i, "auto_unroll_max_step", 16)
    s[c].pragma(i, "unroll_explicit")
    s[c].prefetch(b, i, 1)
    script = tvm.lower(s, [a, b, c]).script()
    notes = ("pragma_auto_unroll_max_step", "pragma_unroll_explicit", "double_buffer_scope",
             "buffer_dim_align")  # fmt: skip
    assert [note for note in notes if note not in script] == []
    x, y = random(8, 16), random(16, 8)
    check(s, [a, b, c], [x, y], x @ y)


def test_a_condition_on_loops_is_no_store_predicate() -> None:
    _, _, c = chain(8)
    s = te.create_schedule(c.op)
    with pytest.raises(ScheduleError, match="is on loops of C, not on threads"):
        s[c].set_store_predicate(c.op.axis[0].var < 4)
    with pytest.raises(ScheduleError, match="C keeps its layout"):
        s[c].transform_layout(lambda i: [i // 4, i % 4])


def test_a_group_of_stages_in_a_loop() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1, name="B")
    c = te.compute((8, 8), lambda i, j: b[i, j] * b[i, 7 - j], name="C")
    d = te.compute((8, 8), lambda i, j: c[i, j] - 3, name="D")
    s = te.create_schedule(d.op)
    group = s.create_group(outputs=c, inputs=a)
    group.compute_at(s[d], d.op.axis[0])
    assert s[b].attach_stage is s[d] and s[c].attach_stage is s[d]
    assert s[b].group is group and group.num_child_stages == 2
    x = random(8, 8)
    check(s, [a, d], [x], (x + 1) * (x + 1)[:, ::-1] - 3)


def test_scalars_and_buffers_are_arguments_too() -> None:
    n, bias = te.var("n"), te.var("bias", "float32")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + bias, name="B")
    s = te.create_schedule(b.op)
    buffer = tvm.tir.decl_buffer((n,), name="Ab")
    built = tvm.build(s, args=[buffer, bias, b], target="llvm", binds={a: buffer})
    x, out = random(7), np.zeros(7, "float32")
    built(x, 2.5, out)
    np.testing.assert_allclose(out, x + 2.5, rtol=1e-6)


def test_an_object_file_becomes_a_library(tmp_path: Path) -> None:
    a, _, c = chain(9)
    built = tvm.build(te.create_schedule(c.op), [a, c], "llvm", name="twice")
    built.save(str(tmp_path / "twice.o"))
    tvm.contrib.cc.create_shared(str(tmp_path / "twice.so"), [str(tmp_path / "twice.o")])
    loaded = tvm.runtime.load_module(str(tmp_path / "twice.so"))
    x, out = random(9), np.zeros(9, "float32")
    loaded["twice"](tvm.nd.array(x), result := tvm.nd.array(out))
    np.testing.assert_allclose(result.numpy(), (x + 1) * 2, rtol=1e-6)


def test_what_is_refused_says_why() -> None:
    a, b, c = chain(6, 10)
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    outer, _ = s[c].split(i, factor=2)
    with pytest.raises(ScheduleError, match="i0 is no loop of stage C; its loops are i0_outer"):
        s[c].vectorize(i)
    with pytest.raises(ScheduleError, match="do not follow each other"):
        s[c].fuse(outer, j)
    with pytest.raises(ScheduleError, match="either the factor or nparts"):
        s[c].split(j)
    with pytest.raises(ScheduleError, match="C is an output"):
        s[c].compute_inline()
    with pytest.raises(ScheduleError, match="B does not read"):
        s.cache_read(c, "local", [b])
    with pytest.raises(ScheduleError, match="C is an output and not among the arguments"):
        tvm.lower(s, [a, b])
    other, _ = row_sums(3, 4)
    with pytest.raises(ScheduleError, match="A is not in the schedule"):
        s[other]
    with pytest.raises(Error, match="arguments of a schedule's function are missing"):
        tvm.build(s)


def test_spatial_and_reduction_loops_fused() -> None:
    a, b = row_sums(4, 6)
    s = te.create_schedule(b.op)
    fused = s[b].fuse(b.op.axis[0], b.op.reduce_axis[0])
    assert fused.iter_type == fused.CommReduce
    s[b].split(fused, factor=5)
    x = random(4, 6)
    check(s, [a, b], [x], x.sum(1))
    with pytest.raises(ScheduleError, match="a spatial and a reduction loop in one"):
        s.rfactor(b, s[b].leaf_iter_vars[0])
    with pytest.raises(ScheduleError, match="a spatial and a reduction loop in one"):
        s.cache_write(b, "local")


def test_refused_on_reductions() -> None:
    _, b = row_sums(4, 6)
    s = te.create_schedule(b.op)
    (i,), (k,) = b.op.axis, b.op.reduce_axis
    with pytest.raises(ScheduleError, match="rfactor gives each of them"):
        s[b].parallel(k)
    with pytest.raises(ScheduleError, match="i is no reduction loop"):
        s.rfactor(b, i)
