"""Tensor intrinsics of te, and statements written with ir_builder, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import te
from relax_mlir.contrib import cblas
from relax_mlir.errors import Error, ScheduleError
from relax_mlir.tir import ir_builder
from tests.exec.te_schedule_programs import check, random


def matrix_vector(rows: int, length: int, parts: bool = True) -> te.TensorIntrin:
    """c = b a for a matrix of these sizes: the whole, or (whole, start, update)."""
    a = te.placeholder((length,), name="a")
    b = te.placeholder((rows, length), name="b")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((rows,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    stride = te.var("stride")
    binds = {
        a: tvm.tir.decl_buffer(a.shape, a.dtype, "A", offset_factor=1, strides=[1]),
        b: tvm.tir.decl_buffer(b.shape, b.dtype, "B", offset_factor=1, strides=[stride, 1]),
        c: tvm.tir.decl_buffer(c.shape, c.dtype, "C", offset_factor=1, strides=[1]),
    }

    def statements(ins: list[Any], outs: list[Any]) -> Any:
        def update() -> Any:
            ib = ir_builder.create()
            x, y, z = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
            with ib.for_range(0, rows, "i") as i, ib.for_range(0, length, "j") as j:
                z[i] = z[i] + x[j] * y[i, j]
            return ib.get()

        def start() -> Any:
            ib = ir_builder.create()
            z = ib.buffer_ptr(outs[0])
            with ib.for_range(0, rows, "i") as i:
                z[i] = 0.0
            return ib.get()

        return (update(), start(), update()) if parts else update()

    return te.decl_tensor_intrin(c.op, statements, name="gemv", binds=binds)


def products() -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    a, b = te.placeholder((6, 12), name="A"), te.placeholder((16, 12), name="B")
    k = te.reduce_axis((0, 12), "k")
    c = te.compute((6, 16), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    return a, b, c


@pytest.mark.parametrize("parts", [True, False])
def test_a_whole_reduction(parts: bool) -> None:
    a, b, c = products()
    s = te.create_schedule(c.op)
    x, y = c.op.axis
    y_outer, y_inner = s[c].split(y, factor=8)
    s[c].reorder(x, y_outer, y_inner, c.op.reduce_axis[0])
    s[c].tensorize(y_inner, matrix_vector(8, 12, parts))
    left, right = random(6, 12), random(16, 12)
    check(s, [a, b, c], [left, right], left @ right.T)


@pytest.mark.parametrize("in_cache", [False, True])
def test_a_reduction_in_steps(in_cache: bool) -> None:
    a, b, c = products()
    s = te.create_schedule(c.op)
    made = s.cache_write(c, "global") if in_cache else c
    if in_cache:
        s[made].compute_at(s[c], c.op.axis[0])
    x, y = s[made].op.axis
    (k,) = s[made].op.reduce_axis
    y_outer, y_inner = s[made].split(y, factor=8)
    k_outer, k_inner = s[made].split(k, factor=4)
    s[made].reorder(x, y_outer, k_outer, y_inner, k_inner)
    s[made].tensorize(y_inner, matrix_vector(8, 4))
    left, right = random(6, 12), random(16, 12)
    check(s, [a, b, c], [left, right], left @ right.T)


def test_copies_are_intrinsics_too() -> None:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1, name="B")
    small = te.placeholder((4,), name="small")
    copied = te.compute((4,), lambda i: small[i], name="copied")

    def statements(ins: list[Any], outs: list[Any]) -> Any:
        ib = ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, kind="unroll") as i:
            target[i] = source[i]
        return ib.get()

    s = te.create_schedule(b.op)
    cache = s.cache_read(a, "global", [b])
    s[cache].compute_at(s[b], b.op.axis[0])
    _, inner = s[cache].split(s[cache].op.axis[1], factor=4)
    s[cache].tensorize(inner, te.decl_tensor_intrin(copied.op, statements))
    x = random(8, 8)
    check(s, [a, b], [x], x + 1)


def test_refused() -> None:
    _, _, c = products()
    s = te.create_schedule(c.op)
    y_outer, y_inner = s[c].split(c.op.axis[1], factor=8)
    k_outer, k_inner = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(y_outer, k_outer, y_inner, k_inner)
    s[c].tensorize(y_inner, matrix_vector(8, 4, parts=False))
    with pytest.raises(ScheduleError, match="k_outer reduces outside of j_inner"):
        tvm.lower(s, [*c.op.input_tensors, c])
    s[c].tensorize(y_inner, matrix_vector(8, 3))
    with pytest.raises(ScheduleError, match="describes"):
        tvm.lower(s, [*c.op.input_tensors, c])
    with pytest.raises(ScheduleError, match=r"is no te\.compute"):
        te.decl_tensor_intrin(c.op.input_tensors[0].op, lambda ins, outs: 0)


# -- statements -------------------------------------------------------------------------------


def run_extern(
    write: Callable[[Any, Any], Any], x: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """What the statements store in an output of a shape."""
    a = te.placeholder(x.shape, str(x.dtype), "A")
    b = te.extern(shape, [a], lambda ins, outs: write(ins[0], outs[0]), name="B")
    built = tvm.build(te.create_schedule(b.op), [a, b], "llvm")
    out = np.zeros(shape, x.dtype)
    built(x, out)
    return out


def test_loops_conditions_and_values() -> None:
    def write(a: Any, b: Any) -> Any:
        ib = ir_builder.create()
        x, y = ib.buffer_ptr(a), ib.buffer_ptr(b)
        total = ib.allocate("float32", (1,), name="total")
        total[0] = 0.0
        with ib.for_range(0, 3, name="row") as row, ib.for_range(0, 5, name="column") as column:
            value = ib.let("value", x[row * 5 + column])
            with ib.if_scope(value > 0.0):
                total[0] = total[0] + value
            with ib.else_scope():
                total[0] = total[0] - value
            y[row, column] = total[0]
        return ib.get()

    a = random(3, 5)
    expected = np.abs(a).ravel().cumsum().reshape(3, 5)
    np.testing.assert_allclose(run_extern(write, a, (3, 5)), expected, rtol=1e-5)


def test_while_loops() -> None:
    def write(a: Any, b: Any) -> Any:
        ib = ir_builder.create()
        x, y = ib.buffer_ptr(a), ib.buffer_ptr(b)
        at = ib.allocate("int32", (1,), name="at")
        at[0] = 0
        with ib.while_loop(tvm.tir.all(at[0] < 6, x[at[0]] < 10)):
            y[at[0]] = x[at[0]] * 2
            at[0] = at[0] + 1
        return ib.get()

    a = np.array([1, 5, 3, 12, 4, 2], "int32")
    np.testing.assert_array_equal(run_extern(write, a, (6,)), [2, 10, 6, 0, 0, 0])


def test_mistakes_with_scopes() -> None:
    ib = ir_builder.create()
    with pytest.raises(Error, match="else_scope without an if_scope"), ib.else_scope():
        pass
    with ib.for_range(0, 2), pytest.raises(Error, match="still open"):
        ib.get()


@pytest.mark.parametrize("turned", [False, True])
def test_library_products(turned: bool) -> None:
    a, b = te.placeholder((5, 4), name="A"), te.placeholder((3, 4) if turned else (4, 3), name="B")
    c = cblas.matmul(a, b, transb=turned)
    d = te.compute(c.shape, lambda i, j: c[i, j] + 1, name="D")
    x, y = random(5, 4), random(3, 4) if turned else random(4, 3)
    check(te.create_schedule(d.op), [a, b, d], [x, y], x @ (y.T if turned else y) + 1)
    p, q = te.placeholder((2, 5, 4), name="P"), te.placeholder((2, 4, 3), name="Q")
    x, y = random(2, 5, 4), random(2, 4, 3)
    batches = cblas.batch_matmul(p, q)
    check(te.create_schedule(batches.op), [p, q, batches], [x, y], x @ y)
