"""Modules with Python functions beside compiled ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir.errors import Error
from relax_mlir.relax import BasePyModule
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Model(BasePyModule):
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0

    @T.prim_func
    def increment(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int32")
        B = T.match_buffer(b, (n,), "int32")
        for i in range(n):
            B[i] = A[i] + 1

    @I.pyfunc
    def main(self, x):
        return self.call_tir(self.double, [self.add(x, x)], R.Tensor((4,), "float32"))

    @I.pyfunc
    def shifted(self, x):
        return x + 1

    @R.function
    def add(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        return R.add(x, y)


@pytest.fixture(scope="module")
def model() -> BasePyModule:
    return Model(tvm.cpu())


def test_python_calls_compiled_functions(model: BasePyModule) -> None:
    x = np.arange(4, dtype="float32")
    result = model.main(x)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, 4 * x)
    np.testing.assert_array_equal(model.call_py_func("shifted", [x]), x + 1)
    assert model.list_functions() == {
        "tir": ["double", "increment"], "relax": ["add"], "python": ["main", "shifted"]
    }  # fmt: skip


def test_symbolic_outputs_take_sizes_of_arguments(model: BasePyModule) -> None:
    x = np.arange(7, dtype="int32")
    n = T.int64()
    n.name = "n"
    result = model.call_tir("increment", x, R.Tensor((n,), "int32"))
    np.testing.assert_array_equal(result, x + 1)


def test_registered_functions_write_outputs(model: BasePyModule) -> None:
    def negate(x: Any, out: Any) -> None:
        np.from_dlpack(out)[...] = -np.from_dlpack(x)

    tvm.register_global_func("test_base_py_module.negate", negate, override=True)
    x = np.arange(3, dtype="float32")
    result = model.call_dps_packed(
        "test_base_py_module.negate", [x], out_sinfo=R.Tensor((3,), "float32")
    )
    np.testing.assert_array_equal(result, -x)


def test_functions_are_added(model: BasePyModule) -> None:
    model.add_python_function("halved", lambda self, x: x / 2)
    np.testing.assert_array_equal(model.halved(np.ones(2)), np.full(2, 0.5))


def test_functions_without_self_are_called_plainly(model: BasePyModule) -> None:
    model.add_python_function("product", lambda x, y: x * y)
    np.testing.assert_array_equal(model.product(np.full(2, 3.0), np.full(2, 4.0)), np.full(2, 12.0))
    np.testing.assert_array_equal(model.call_py_func("product", [2.0, 3.0]), 6.0)


def test_torch_in_torch_out(model: BasePyModule) -> None:
    torch = pytest.importorskip("torch")
    result = model.main(torch.ones(4))
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [4.0] * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.call_py_func("nothing", []), "no Python function 'nothing'"),
        (lambda m: m.call_tir("nothing", [], R.Tensor((1,), "int8")), "no TensorIR function"),
        (lambda m: m.nothing, "the module has no function 'nothing'"),
        (lambda m: m.add_python_function("f", 3), "'f' must be a function"),
        (lambda m: m.call_tir("double", [], R.Tensor(dtype="float32")), "known shape and dtype"),
    ],
)
def test_refused(model: BasePyModule, call, message: str) -> None:
    with pytest.raises((Error, AttributeError), match=message):
        call(model)


def test_relax_calls_python() -> None:
    @I.ir_module
    class Calls(BasePyModule):
        @I.pyfunc
        def tripled(self, x):
            return np.from_dlpack(x) * 3

        @R.function(pure=False)
        def run(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_py_func("tripled", (x,), R.Tensor((4,), "float32"))
            return y

    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(Calls(tvm.cpu()).run(x), 3 * x)


def test_python_functions_of_two_modules_with_one_name() -> None:
    @I.ir_module
    class Doubles(BasePyModule):
        @I.pyfunc
        def changed(self, x):
            return np.from_dlpack(x) * 2

        @R.function(pure=False)
        def run(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_py_func("changed", (x,), R.Tensor((4,), "float32"))
            return y

    @I.ir_module
    class Halves(BasePyModule):
        @I.pyfunc
        def changed(self, x):
            return np.from_dlpack(x) / 2

        @R.function(pure=False)
        def run(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_py_func("changed", (x,), R.Tensor((4,), "float32"))
            return y

    x = np.arange(4, dtype="float32")
    doubles, halves = Doubles(tvm.cpu()), Halves(tvm.cpu())
    np.testing.assert_array_equal(doubles.run(x), 2 * x)
    np.testing.assert_array_equal(halves.run(x), x / 2)
    np.testing.assert_array_equal(doubles.run(x), 2 * x)
    halves.add_python_function("changed", lambda self, x: np.from_dlpack(x) + 1)
    np.testing.assert_array_equal(halves.run(x), x + 1)
    assert '"changed"' in doubles.script()
