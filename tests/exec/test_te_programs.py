"""Programs in tensor expressions as users write them, compiled and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import te, tir, topi
from relax_mlir.driver import compile
from relax_mlir.errors import Error

from .te_harness import run


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def test_one_compilation_serves_every_size() -> None:
    n, m = te.var("n", "int64"), te.var("m", "int64")
    A, B = te.placeholder((n, m), name="A"), te.placeholder((m, 8), name="B")
    compiled = compile(te.create_prim_func([A, B, topi.nn.softmax(topi.matmul(A, B))]))
    for rows, inner in [(1, 1), (3, 5), (17, 33), (64, 7)]:
        a, b = draw(rows, inner), draw(inner, 8, seed=1)
        out = np.zeros((rows, 8), "float32")
        compiled(a, b, out)
        exponent = np.exp(a @ b - (a @ b).max(1, keepdims=True))
        np.testing.assert_allclose(out, exponent / exponent.sum(1, keepdims=True), rtol=1e-4)


def test_sizes_computed_from_symbols() -> None:
    n = te.var("n", "int64")
    A = te.placeholder((n * 2,), name="A")
    N = te.placeholder((n,), name="N")
    C = te.compute((n,), lambda i: A[i * 2] + A[i * 2 + 1] + N[i], name="C")
    compiled = compile(te.create_prim_func([A, N, C]))
    for size in (1, 5, 32):
        a, b, out = draw(2 * size), draw(size, seed=1), np.zeros(size, "float32")
        compiled(a, b, out)
        np.testing.assert_allclose(out, a[::2] + a[1::2] + b, rtol=1e-6)


def test_symbolic_reshape_and_concatenation() -> None:
    n = te.var("n", "int64")
    A = te.placeholder((n, 6), name="A")
    out = topi.concatenate([topi.reshape(A, (n * 2, 3)), topi.reshape(A, (n * 2, 3))], 1)
    compiled = compile(te.create_prim_func([A, out]))
    a, result = draw(5, 6), np.zeros((10, 6), "float32")
    compiled(a, result)
    np.testing.assert_array_equal(result, np.concatenate([a.reshape(10, 3)] * 2, 1))


def test_scalar_parameters() -> None:
    A, s = te.placeholder((16,), name="A"), te.var("s", "float32")
    k = te.var("k", "int32")
    C = te.compute((16,), lambda i: A[i] * s + tir.Cast("float32", i * k), name="C")
    compiled = compile(te.create_prim_func([A, s, k, C]))
    a, out = draw(16), np.zeros(16, "float32")
    compiled(a, 2.5, 3, out)
    np.testing.assert_allclose(out, a * 2.5 + np.arange(16) * 3, rtol=1e-6)


def test_several_outputs() -> None:
    A = te.placeholder((4, 5), name="A")
    both = te.compute((4, 5), lambda i, j: (A[i, j] + 1.0, A[i, j] * A[j % 4, i]), name="T")
    a = draw(4, 5)
    first, second = run(list(both), [A], a)
    np.testing.assert_allclose(first, a + 1)
    rows, columns = np.indices((4, 5))
    np.testing.assert_allclose(second, a * a[columns % 4, rows], rtol=1e-6)


def test_an_intermediate_may_be_an_output() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0)
    C = te.compute((8,), lambda i: B[i] * 2.0)
    a = draw(8)
    b, c = run([B, C], [A], a)
    np.testing.assert_allclose(b, a + 1)
    np.testing.assert_allclose(c, (a + 1) * 2)


def argmax_reducer() -> Any:
    def combine(x: Any, y: Any) -> Any:
        keep = x[1] >= y[1]
        return tir.Select(keep, x[0], y[0]), tir.Select(keep, x[1], y[1])

    return te.comm_reducer(combine, lambda i, v: (tir.const(-1, i), te.min_value(v)), "argmax")


def test_users_reducers() -> None:
    index, value = te.placeholder((5, 9), "int32", "I"), te.placeholder((5, 9), name="V")
    k = te.reduce_axis((0, 9), "k")
    outputs = te.compute(
        (5,), lambda i: argmax_reducer()((index[i, k], value[i, k]), axis=k), name="A"
    )
    v = draw(5, 9)
    numbers = np.broadcast_to(np.arange(9, dtype="int32"), (5, 9)).copy()
    which, best = run(list(outputs), [index, value], numbers, v)
    np.testing.assert_array_equal(which, v.argmax(1))
    np.testing.assert_array_equal(best, v.max(1))


def test_conditions_initial_values_and_partial_domains() -> None:
    A, a = te.placeholder((6, 10), name="A"), draw(6, 10)
    k = te.reduce_axis((2, 9), "k")
    part = te.compute((6,), lambda i: te.sum(A[i, k], axis=k), name="part")
    np.testing.assert_allclose(run(part, [A], a), a[:, 2:9].sum(1), rtol=1e-5)
    j = te.reduce_axis((0, 10), "j")
    above = te.compute((6,), lambda i: te.max(A[i, j], axis=j, where=j > i), name="above")
    wanted = [a[i, i + 1 :].max() for i in range(6)]
    np.testing.assert_array_equal(run(above, [A], a), wanted)
    r = te.reduce_axis((1, 10), "r")
    started = te.compute((6,), lambda i: te.sum(A[i, r], axis=r, init=A[i, 0]), name="started")
    np.testing.assert_allclose(run(started, [A], a), a.sum(1), rtol=1e-5)


def test_reduction_over_a_triangle() -> None:
    A, a = te.placeholder((6, 6), name="A"), draw(6, 6)

    def row_sum(i: Any) -> Any:
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k], axis=k)

    lower = te.compute((6,), row_sum, name="lower")
    np.testing.assert_allclose(run(lower, [A], a), np.tril(a).sum(1), rtol=1e-5)


def test_data_dependent_indices() -> None:
    A, X = te.placeholder((7, 4), name="A"), te.placeholder((5,), "int64", "X")
    picked = te.compute((5, 4), lambda i, j: A[X[i], j] + tir.Cast("float32", X[i]), name="P")
    a, x = draw(7, 4), np.array([6, 0, 3, 3, 1])
    np.testing.assert_allclose(run(picked, [A, X], a, x), a[x] + x[:, None], rtol=1e-6)


def test_bool_and_small_integers() -> None:
    A, a = te.placeholder((9,), "int8", "A"), np.arange(-4, 5, dtype="int8")
    odd = te.compute((9,), lambda i: tir.all(A[i] % 2 == 1, A[i] > -4), name="odd")
    np.testing.assert_array_equal(run(odd, [A], a), (a % 2 == 1) & (a > -4))
    wrapped = te.compute((9,), lambda i: A[i] * tir.const(100, "int8"), name="wrapped")
    np.testing.assert_array_equal(run(wrapped, [A], a), a * np.int8(100))


def test_tensors_know_their_operators() -> None:
    A, B = te.placeholder((3, 4), name="A"), te.placeholder((4,), name="B")
    a, b = draw(3, 4), draw(4, seed=1)
    np.testing.assert_allclose(run((A + B) * 2.0 - A / B, [A, B], a, b), (a + b) * 2 - a / b, 1e-5)
    np.testing.assert_array_equal(run((-A).astype("int32"), [A], a), (-a).astype("int32"))


def test_extern_calls_registered_functions_with_tensors() -> None:
    seen: list[tuple[Any, ...]] = []

    @tvm.register_global_func("test.te.scale", override=True)
    def scale(source: Any, target: Any, factor: float) -> None:
        seen.append((tuple(source.shape), str(source.dtype)))
        np.from_dlpack(target)[:] = np.from_dlpack(source) * factor

    for dtype in ("float32", "uint8", "int64"):
        A = te.placeholder((3, 5), dtype, "A")
        B = te.compute((3, 5), lambda i, j, A=A: A[i, j] + tir.const(1, A.dtype), name="B")
        C = te.extern(
            (3, 5), [B], lambda ins, outs: tir.call_packed("test.te.scale", *ins, *outs, 3.0)
        )
        a = np.arange(15).reshape(3, 5).astype(dtype)
        np.testing.assert_array_equal(run(C, [A], a), (a + 1) * 3)
    assert seen == [((3, 5), dtype) for dtype in ("float32", "uint8", "int64")]


def test_an_error_in_a_registered_function_is_the_callers() -> None:
    @tvm.register_global_func("test.te.refuse", override=True)
    def refuse(source: Any, target: Any) -> None:
        raise ValueError("not today")

    A = te.placeholder((3,), name="A")
    C = te.extern((3,), [A], lambda ins, outs: tir.call_packed("test.te.refuse", *ins, *outs))
    with pytest.raises(ValueError, match="not today"):
        run(C, [A], draw(3))


def test_a_prim_func_as_an_operation() -> None:
    n = te.var("n")
    X = te.placeholder((n, 4), name="X")
    twice = te.compute((n, 4), lambda i, j: X[i, j] * 2.0, name="twice")
    function = te.create_prim_func([X, te.compute((n,), lambda i: twice[i, 0] + twice[i, 3])])
    A = te.placeholder((6, 4), name="A")
    B = te.compute((6, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.extern_primfunc([B], function)
    D = te.compute((6,), lambda i: C[i] * C[i], name="D")
    a = draw(6, 4)
    np.testing.assert_allclose(run(D, [A], a), (2 * (a[:, 0] + a[:, 3] + 2)) ** 2, rtol=1e-5)
    with pytest.raises(Error, match="float32 of 2 dimensions"):
        te.extern_primfunc([te.placeholder((6,))], function)


def test_extern_functions_of_c() -> None:
    A = te.placeholder((4,), "float64", "A")
    C = te.compute((4,), lambda i: tir.call_pure_extern("float64", "cbrt", A[i]), name="C")
    a = np.array([8.0, -27.0, 0.0, 2.0])
    np.testing.assert_allclose(run(C, [A], a), np.cbrt(a))


def test_how_tensors_show() -> None:
    A = te.placeholder((128, 64), name="A")
    assert str(A.shape) == "[128, 64]" and A.dtype == "float32"
    assert type(A).__name__ == "Tensor" and A.op.name == "A"
    n = te.var("n")
    assert str(te.placeholder((n, n * 2)).shape) == "[n, n * 2]"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda A: te.compute((4, 4), lambda i: A[i, i]), "takes 1 indices, the shape has 2"),
        (lambda A: A[0, 0, 0], "2 dimensions, 3 indices"),
        (lambda A: A(0), "2 dimensions, 1 indices"),
        (lambda A: A[0:2], "indexed one by one"),
        (lambda A: te.sum(A[0, 0]), "needs its axis"),
        (lambda A: te.create_prim_func([A, 3]), "te.Tensor or Var expected"),
        (lambda A: te.create_prim_func([A, A]), "given twice"),
        (lambda A: te.create_prim_func([te.compute((4,), lambda i: A[i, i])]), "input A is used"),
        (lambda A: topi.add(A, te.placeholder((3,))), "do not broadcast: 4 and 3"),
        (lambda A: topi.matmul(A, te.placeholder((3, 2))), "contracted sizes differ, 4 and 3"),
        (lambda A: topi.sum(A, 2), "axis 2 is out of range"),
        (lambda A: topi.einsum("ij,jk", A), "2 terms"),
        (lambda A: te.compute((4,), lambda i: topi), "cannot make an expression of a module"),
    ],
)
def test_mistakes_are_errors(build: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        build(te.placeholder((4, 4), name="A"))


def test_a_reduction_must_be_on_top() -> None:
    A, k = te.placeholder((4, 4)), te.reduce_axis((0, 4), "k")
    with pytest.raises(Error, match="must be the whole expression"):
        te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1.0)
