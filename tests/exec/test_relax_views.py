"""Views: reshapes that copy nothing, memory.view, and what leaves a function."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

VIEWS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.sum(x, axis=[1], keepdims=True)
            b = R.reshape(a, (2, 2))
            c = R.sum(b, axis=[0])
            d = R.reshape(c, (1, 2))
            e = R.reshape(x, (24,))
            R.output(b, c, d, e)
        return (b, c, d, e)

    @R.function
    def inside(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.sum(x, axis=[1], keepdims=True)
            b = R.reshape(a, (2, 2))
            c = R.sum(b, axis=[0])
            d = R.sum(a, axis=[0])
            e = R.add(d, c)
            R.output(e)
        return e

    @R.function
    def open_sizes(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["p", "q"])):
        p, q = T.int64(), T.int64()
        y = R.memory.view(x, R.shape([p, q]))
        z = R.add(y, R.const(1.0, "float32"))
        return z

    @R.function
    def symbolic(x: R.Tensor(("n", 4, 6), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.sum(x, axis=[2])
            b = R.reshape(a, (2, n * 2))
            R.output(b)
        return b

    @R.function
    def chain(x: R.Tensor(("n", 4, 6), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.sum(x, axis=[2])
            b = R.reshape(a, (n * 4,))
            c = R.reshape(b, (2, n * 2))
            R.output(c)
        return c

    @R.function
    def both(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.exp(x)
        b = R.reshape(a, (n * 4,))
        return (a, b)

    @R.function(pure=False)
    def given(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.exp(x)
        b = R.memory.view(a, R.shape([n * 4]))
        _ = R.call_packed("test.views.clear", b, sinfo_args=R.Tuple([]))
        c = R.add(a, a)
        return c

    @R.function(pure=False)
    def given_last(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.exp(x)
        c = R.add(a, a)
        b = R.memory.view(a, R.shape([n * 4]))
        _ = R.call_packed("test.views.clear", b, sinfo_args=R.Tuple([]))
        return c

    @R.function
    def tail(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        a = R.exp(x)
        b = R.memory.view(a, R.shape([n, 2]), "float32", R.prim_value(8))
        return b

    @R.function
    def bytes_of(x: R.Tensor((4,), "float32")) -> R.Tensor((8,), "uint8"):
        y = R.memory.view(x, R.shape([8]), "uint8", R.prim_value(8))
        return y

    @R.function
    def too_far(x: R.Tensor(("n",), "float32")) -> R.Tensor((4,), "float32"):
        y = R.memory.view(x, R.shape([4]), relative_byte_offset=R.prim_value(4))
        return y
"""


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    module = from_source(VIEWS)
    assert isinstance(module, IRModule)
    return relax.VirtualMachine(relax.build(module), rm.cpu())


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


def test_what_leaves_the_function_is_a_tensor_of_its_own(machine: relax.VirtualMachine) -> None:
    x = values(4, 6)
    b, c, d, e = machine["main"](x)
    rows = x.sum(1).reshape(2, 2)
    np.testing.assert_allclose(b.numpy(), rows, rtol=1e-5)
    np.testing.assert_allclose(c.numpy(), rows.sum(0), rtol=1e-5)
    np.testing.assert_allclose(d.numpy(), rows.sum(0).reshape(1, 2), rtol=1e-5)
    np.testing.assert_array_equal(e.numpy(), x.ravel())
    x[...] = 0
    assert e.numpy().any()
    np.testing.assert_array_equal(c.numpy(), d.numpy()[0])


def test_a_view_keeps_the_memory_it_reads(machine: relax.VirtualMachine) -> None:
    x = values(4, 6)
    rows = x.sum(1)
    wanted = rows.sum() + rows.reshape(2, 2).sum(0)
    np.testing.assert_allclose(machine["inside"](x).numpy(), wanted, rtol=1e-5)


def test_reshapes_become_views() -> None:
    module = from_source(VIEWS)
    pipeline = relax.get_pipeline("default")
    text = pipeline(module).mlir()
    assert '"relax.reshape"' in text and "@reshape" not in text


def test_sizes_that_only_run_time_knows(machine: relax.VirtualMachine) -> None:
    x = values(2, 6)
    shape = rm.runtime.ShapeTuple([3, 4])
    np.testing.assert_array_equal(
        machine["open_sizes"](x, shape).numpy(), x.reshape(3, 4) + np.float32(1)
    )
    with pytest.raises(ValueError, match=r"the view must end by byte: expected 48, got 64"):
        machine["open_sizes"](x, rm.runtime.ShapeTuple([4, 4]))


def test_views_of_other_dtypes_and_starts(machine: relax.VirtualMachine) -> None:
    x = values(4)
    np.testing.assert_array_equal(machine["bytes_of"](x).numpy(), x.view("uint8")[8:])
    np.testing.assert_array_equal(machine["too_far"](values(5)).numpy(), values(5)[1:])
    with pytest.raises(ValueError, match=r"expected 16, got 20"):
        machine["too_far"](x)


def test_symbolic_reshapes_become_views() -> None:
    module = from_source(VIEWS)
    assert isinstance(module, IRModule)
    text = relax.get_pipeline("default")(module).mlir()
    assert "func.func private @reshape" not in text
    for name in ("symbolic", "chain"):
        body = text.split(f"func.func @{name}(")[1].split("func.func")[0]
        assert body.count('"relax.call_tir"') == 1 and body.count('"relax.reshape"') == 1


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_memory_made_inside_leaves_under_its_last_shape(
    machine: relax.VirtualMachine, rows: int
) -> None:
    x = values(rows, 4, 6)
    made = machine["symbolic"](x)
    assert tuple(made.shape) == (2, rows * 2)
    np.testing.assert_allclose(made.numpy(), x.sum(2).reshape(2, -1), rtol=1e-5)
    kept = made.numpy().copy()
    machine["symbolic"](x).numpy()[...] = 0
    np.testing.assert_array_equal(made.numpy(), kept)


def test_two_outputs_share_no_memory(machine: relax.VirtualMachine) -> None:
    a, b = (tensor.numpy() for tensor in machine["both"](values(3, 4)))
    np.testing.assert_array_equal(a.ravel(), b)
    assert not np.shares_memory(a, b)


@pytest.mark.parametrize("name", ["given", "given_last"])
def test_a_call_that_writes_into_a_view_changes_no_other_value(
    machine: relax.VirtualMachine, name: str
) -> None:
    seen: list[tuple[int, ...]] = []

    def clear(view: rm.runtime.Tensor) -> None:
        seen.append(tuple(view.shape))
        view.copyfrom(np.zeros(tuple(view.shape), "float32"))

    rm.register_global_func("test.views.clear", clear, override=True)
    x = values(3, 4)
    np.testing.assert_allclose(machine[name](x).numpy(), 2 * np.exp(x), rtol=1e-6)
    assert seen == [(12,)]


def test_part_of_a_tensor_leaves(machine: relax.VirtualMachine) -> None:
    x = values(3, 4)
    part = machine["tail"](x)
    np.testing.assert_allclose(part.numpy().ravel(), np.exp(x).ravel()[2:8], rtol=1e-6)
