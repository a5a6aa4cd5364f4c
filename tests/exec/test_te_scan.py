"""te.scan: recurrences over the first axis, against numpy loops."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relax_mlir import te
from relax_mlir.driver import compile
from relax_mlir.errors import Error
from relax_mlir.runtime import register_global_func
from tests.exec.te_harness import run

RNG = np.random.default_rng(11)


def running_sum(x: te.Tensor, shape: list[Any]) -> te.Tensor:
    state = te.placeholder(shape, name="state")
    first = te.compute((1, *shape[1:]), lambda _, i: x[0, i], name="first")
    update = te.compute(shape, lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return te.scan(first, update, state, inputs=[x])


def test_running_sum() -> None:
    a = RNG.standard_normal((7, 5)).astype("float32")
    x = te.placeholder(a.shape, name="X")
    np.testing.assert_allclose(run(running_sum(x, [7, 5]), [x], a), a.cumsum(0), rtol=1e-5)


def test_a_state_computed_from_itself_is_refused() -> None:
    state = te.placeholder((5, 3), name="state")
    first = te.compute((1, 3), lambda _, i: 0.0, name="first")
    update = te.compute((5, 3), lambda t, i: state[t, i] + 1, name="update")
    with pytest.raises(Error, match="update reads the state that is being computed"):
        te.scan(first, update, state)


def test_dynamic_sizes() -> None:
    m, n = te.var("m"), te.var("n")
    x = te.placeholder((m, n), name="X")
    compiled = compile(te.create_prim_func([x, running_sum(x, [m, n])]))
    for shape in ((1, 4), (6, 1), (9, 3)):
        a = RNG.standard_normal(shape).astype("float32")
        found = np.zeros(shape, "float32")
        compiled(a, found)
        np.testing.assert_allclose(found, a.cumsum(0), rtol=1e-5)


def test_two_first_states_and_a_stage_after() -> None:
    """A recurrence of second order, read by a compute."""
    first = te.compute((2, 3), lambda t, i: te.const(1, "int64") + i * 0, name="ones")
    state = te.placeholder((10, 3), "int64", name="state")
    update = te.compute((10, 3), lambda t, i: state[t - 1, i] + state[t - 2, i], name="fib")
    numbers = te.scan(first, update, state)
    doubled = te.compute((10, 3), lambda t, i: numbers[t, i] * te.const(2, "int64"), name="twice")
    wanted = [1, 1]
    while len(wanted) < 10:
        wanted.append(wanted[-1] + wanted[-2])
    np.testing.assert_array_equal(run(doubled, []), np.tile(np.array(wanted)[:, None], 3) * 2)


def test_recurrent_network() -> None:
    """States through a matrix product: a reduction in every step."""
    x_, w_ = RNG.standard_normal((6, 2, 4)).astype("f4"), RNG.standard_normal((4, 4)).astype("f4")
    x, w = te.placeholder(x_.shape, name="X"), te.placeholder(w_.shape, name="W")
    state = te.placeholder((6, 2, 4), name="state")
    first = te.compute((1, 2, 4), lambda _, b, i: te.tanh(x[0, b, i]), name="first")
    k = te.reduce_axis((0, 4), name="k")
    mixed = te.compute((6, 2, 4), lambda t, b, i: te.sum(state[t - 1, b, k] * w[k, i], axis=k),
                       name="mixed")  # fmt: skip
    update = te.compute((6, 2, 4), lambda t, b, i: te.tanh(mixed[t, b, i] + x[t, b, i]), name="h")
    hidden = te.scan(first, update, state, inputs=[x])
    wanted = [np.tanh(x_[0])]
    for t in range(1, 6):
        wanted.append(np.tanh(wanted[-1] @ w_ + x_[t]))
    np.testing.assert_allclose(run(hidden, [x, w], x_, w_), np.stack(wanted), rtol=1e-5, atol=1e-6)


def test_two_states() -> None:
    """Sums and products that read each other's state."""
    a = RNG.uniform(0.5, 1.5, (5, 4))
    x = te.placeholder(a.shape, "float64", name="X")
    s, p = (te.placeholder((5, 4), "float64", name=n) for n in "sp")
    firsts = [te.compute((1, 4), lambda _, i: x[0, i], name=f"first{n}") for n in range(2)]
    sums = te.compute((5, 4), lambda t, i: s[t - 1, i] + p[t - 1, i] * x[t, i], name="sums")
    products = te.compute((5, 4), lambda t, i: p[t - 1, i] * x[t, i] - s[t - 1, i], name="products")
    found = run(te.scan(firsts, [sums, products], [s, p], inputs=[x]), [x], a)
    total, product = [a[0]], [a[0]]
    for t in range(1, 5):
        both = total[-1] + product[-1] * a[t], product[-1] * a[t] - total[-1]
        total.append(both[0])
        product.append(both[1])
    np.testing.assert_allclose(found[0], np.stack(total), rtol=1e-12)
    np.testing.assert_allclose(found[1], np.stack(product), rtol=1e-12)


def test_what_is_no_scan_is_refused() -> None:
    x = te.placeholder((4, 3), name="X")
    state = te.placeholder((4, 3), name="state")
    first = te.compute((1, 3), lambda _, i: x[0, i])
    update = te.compute((4, 3), lambda t, i: state[t - 1, i])
    with pytest.raises(Error, match="differ in more than the length"):
        te.scan(te.compute((1, 2), lambda _, i: x[0, i]), update, state)
    with pytest.raises(Error, match="is no placeholder"):
        te.scan(first, update, first)
    with pytest.raises(Error, match="1 first states, 2 updates"):
        te.scan(first, [update, update], state)
    with pytest.raises(Error, match="first states of float64"):
        te.scan(te.compute((1, 3), lambda _, i: te.const(1.0, "float64")), update, state)
    flat = te.compute((3,), lambda i: state[0, i], name="flat")
    with pytest.raises(Error, match="axis of flat has 3 values, not 4"):
        te.scan(first, te.compute((4, 3), lambda t, i: flat[i]), state)


# -- the other names of tvm.te ------------------------------------------------------------------

NAMES = """
CommReducer ComputeOp ExternOp PlaceholderOp Reduce ScanOp Tensor TensorSlice abs acos acosh all
any asin asinh atan atanh ceil comm_reducer compute const cos cosh create_prim_func div erf exp
extern extern_primfunc floor floordiv floormod fmod if_then_else indexdiv indexmod isfinite
isinf isnan log log10 log2 logaddexp max max_value min min_value nearbyint operation placeholder
popcount power reduce_axis round rsqrt scan sigmoid sin sinh sqrt sum tag tag_scope tan tanh
tensor thread_axis trace trunc truncdiv truncmod var
""".split()
"""The public names of TVM 0.27's `te`."""

A = np.array([-2.75, -0.5, 0.25, 0.75, 1.5, 3.25], "float32")
B = np.array([2, 3, -4, 5, 7, -3], "float32")
N, M = np.array([-7, 8, 9, -10, 11, 5], "int32"), np.array([2, -3, 4, 5, -6, 7], "int32")


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf as one

    return np.vectorize(one)(x)


_CLIPPED = np.clip(A / 4, -0.9, 0.9)
FLOATS: dict[str, tuple[np.ndarray, Any]] = {
    "abs": (A, np.abs), "acos": (_CLIPPED, np.arccos), "acosh": (np.abs(A) + 1, np.arccosh),
    "asin": (_CLIPPED, np.arcsin), "asinh": (A, np.arcsinh), "atan": (A, np.arctan),
    "atanh": (_CLIPPED, np.arctanh), "ceil": (A, np.ceil), "cos": (A, np.cos),
    "cosh": (A, np.cosh), "erf": (A, erf), "exp": (A, np.exp), "floor": (A, np.floor),
    "log": (np.abs(A), np.log), "log10": (np.abs(A), np.log10), "log2": (np.abs(A), np.log2),
    "nearbyint": (A, np.rint), "round": (A, np.round), "rsqrt": (np.abs(A), lambda x: x**-0.5),
    "sigmoid": (A, lambda x: 1 / (1 + np.exp(-x))), "sin": (A, np.sin), "sinh": (A, np.sinh),
    "sqrt": (np.abs(A), np.sqrt), "tan": (A, np.tan), "tanh": (A, np.tanh), "trunc": (A, np.trunc),
}  # fmt: skip


def test_every_name_is_there() -> None:
    assert len(NAMES) == 72
    assert not [name for name in NAMES if not hasattr(te, name)]
    tested = re.findall(r"te\.(\w+)", Path(__file__).read_text(encoding="utf-8"))
    assert not set(NAMES) - set(tested) - set(FLOATS) - set(_CHECKED)


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_a_float(name: str) -> None:
    a, reference = FLOATS[name]
    x = te.placeholder(a.shape, name="X")
    found = run(te.compute(a.shape, lambda i: getattr(te, name)(x[i])), [x], a.astype("f4"))
    np.testing.assert_allclose(found, reference(a.astype("f8")), rtol=2e-5, atol=1e-6)


TWO: dict[str, tuple[np.ndarray, np.ndarray, Any]] = {
    "div": (A, B, lambda a, b: a / b),
    "fmod": (A, B, np.fmod),
    "power": (np.abs(A), B, np.power),
    "logaddexp": (A * 100, B, np.logaddexp),
    "floordiv": (N, M, lambda a, b: a // b),
    "floormod": (N, M, lambda a, b: a % b),
    "indexdiv": (np.abs(N), np.abs(M), lambda a, b: a // b),
    "indexmod": (np.abs(N), np.abs(M), lambda a, b: a % b),
    "truncdiv": (N, M, lambda a, b: np.trunc(a / b).astype("i4")),
    "truncmod": (N, M, np.fmod),
}


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str) -> None:
    a, b, reference = TWO[name]
    x, y = (te.placeholder(v.shape, str(v.dtype), name=n) for v, n in ((a, "X"), (b, "Y")))
    found = run(te.compute(a.shape, lambda i: getattr(te, name)(x[i], y[i])), [x, y], a, b)
    np.testing.assert_allclose(found, reference(a, b), rtol=2e-5)


def test_logaddexp_of_infinities() -> None:
    a = np.array([np.inf, -np.inf, -np.inf, np.inf], "f4")
    b = np.array([np.inf, -np.inf, 1, 2], "f4")
    x, y = te.placeholder((4,), name="X"), te.placeholder((4,), name="Y")
    found = run(te.compute((4,), lambda i: te.logaddexp(x[i], y[i])), [x, y], a, b)
    np.testing.assert_array_equal(found, np.logaddexp(a, b))


def test_conditions_and_classes() -> None:
    a = np.array([1, np.nan, np.inf, -np.inf, 0, 5], "f4")
    x = te.placeholder(a.shape, name="X")
    one, zero = te.const(1, "int32"), te.const(0, "int32")
    for name, reference in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        is_so = getattr(te, name)
        body = te.compute((6,), lambda i, is_so=is_so: te.if_then_else(is_so(x[i]), one, zero))
        np.testing.assert_array_equal(run(body, [x], a), reference(a))
    inside = te.compute(
        (6,),
        lambda i: te.if_then_else(te.any(te.all(x[i] > 0.0, x[i] < 3.0), i == 4), one, zero),
    )
    found = run(inside, [x], a)
    np.testing.assert_array_equal(found, [1, 0, 0, 0, 1, 0])
    assert str(te.max_value("int8")) == str(te.const(127, "int8"))
    assert str(te.min_value("int8")) == str(te.const(-128, "int8"))


def test_popcount_and_reductions() -> None:
    x = te.placeholder((6,), "int32", name="X")
    found = run(te.compute((6,), lambda i: te.popcount(x[i])), [x], np.abs(N))
    np.testing.assert_array_equal(found, [bin(abs(int(n))).count("1") for n in N])
    for name, reference in (("sum", np.sum), ("max", np.max), ("min", np.min)):
        k = te.reduce_axis((0, 6), name="k")
        total = getattr(te, name)(x[k], axis=k)
        assert run(te.compute((1,), lambda i, total=total: total), [x], N)[0] == reference(N)
    product = te.comm_reducer(lambda a, b: a * b, lambda t: te.const(1, dtype=t), name="product")
    k = te.reduce_axis((0, 6), name="k")
    body = product(x[k], axis=k)
    assert isinstance(body, te.Reduce) and isinstance(body.combiner, te.CommReducer)
    assert run(te.compute((1,), lambda i: body), [x], N)[0] == np.prod(N)


def test_tags_and_kinds() -> None:
    x = te.placeholder((6,), name="X")
    with te.tag.tag_scope("injective"), pytest.raises(Error, match="nest"), te.tag_scope("other"):
        pass
    with te.tag_scope("injective"):
        y = te.compute((6,), lambda i: x[i])
    assert y.op.tag == "injective"
    assert isinstance(y, te.tensor.Tensor) and isinstance(y, te.Tensor)
    assert isinstance(y.op, te.ComputeOp) and isinstance(x.op, te.PlaceholderOp)
    assert isinstance(te.placeholder((2, 3))[1], te.TensorSlice)
    assert te.operation.compute is te.compute
    assert te.thread_axis((0, 4), "threadIdx.x").thread_tag == "threadIdx.x"
    assert te.var("n").dtype == "int32"
    assert isinstance(running_sum(te.placeholder((4, 3)), [4, 3]).op, te.ScanOp)


def test_extern_and_primfunc() -> None:
    def double(source: Any, target: Any) -> None:
        np.multiply(np.from_dlpack(source), np.float32(2), out=np.from_dlpack(target))

    register_global_func("test.te.double", double, override=True)
    from relax_mlir import tir

    x = te.placeholder((6,), name="X")
    y = te.extern((6,), [x], lambda i, o: tir.call_packed("test.te.double", i[0], o[0]), name="Y")
    assert isinstance(y.op, te.ExternOp)
    np.testing.assert_array_equal(run(y, [x], A), A * 2)
    inner = te.create_prim_func([x, te.compute((6,), lambda i: x[i] + 1.0)])
    np.testing.assert_array_equal(run(te.extern_primfunc([x], inner), [x], A), A + 1)


def test_trace_shows_values(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[float, ...]] = []
    register_global_func("test.te.look", lambda *values: seen.append(values), override=True)
    x = te.placeholder((3,), name="X")
    y = te.compute((3,), lambda i: te.trace([i, x[i] * 2.0], "test.te.look") + 1.0)
    np.testing.assert_array_equal(run(y, [x], A[:3]), A[:3] * 2 + 1)
    assert seen == [(i, float(A[i]) * 2) for i in range(3)]
    run(te.compute((3,), lambda i: te.trace([x[i]])), [x], A[:3])
    assert capsys.readouterr().out.split() == [str(float(a)) for a in A[:3]]


_CHECKED = TWO.keys() | {"isnan", "isinf", "isfinite", "sum", "max", "min"}
