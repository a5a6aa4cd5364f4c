"""Whole Relax functions run by PyTorch: bindings, calls, control flow, sizes."""

from __future__ import annotations

from typing import Any

import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.relax.relax_to_pyfunc_converter import (
    RelaxToPyFuncConverter,
    convert_relax_to_pyfunc,
)
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

torch = pytest.importorskip("torch")


@I.ir_module
class Calls:
    @T.prim_func
    def shift(x: T.handle, y: T.handle, by: T.int64):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            Y[i] = X[i] + T.Cast("float32", by)

    @T.prim_func
    def twice(X: T.Buffer((3,), "float32")):
        for i in range(3):
            X[i] = X[i] * T.float32(2)

    @I.pyfunc
    def cubed(self, x):
        return torch.from_dlpack(x) ** 3

    @R.function
    def shifted(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Calls
        y = R.call_tir(cls.shift, (x,), R.Tensor((n,), "float32"), tir_vars=R.shape([n]))
        return y

    @R.function
    def nested(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        cls = Calls
        y = cls.shifted(x)
        both = (y, R.concat((y, x)))
        return both[0]

    @R.function
    def inplace(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Calls
        y = R.add(x, x)
        z = R.call_tir_inplace(cls.twice, (y,), [0], R.Tensor((3,), "float32"))
        return z

    @R.function(pure=False)
    def power(n: R.Tensor((), "int64"), x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Calls
        if R.less(n, R.const(1, "int64")):
            result = R.ones_like(x)
        else:
            less = R.subtract(n, R.const(1, "int64"))
            result = R.multiply(x, cls.power(less, x))
        return result

    @R.function(pure=False)
    def python(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.call_py_func("cubed", (x,), R.Tensor((3,), "float32"))
        return y

    @R.function
    def closure(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function
        def add_x(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            return R.add(x, y)

        return add_x(R.multiply(x, x))

    @R.function
    def parts(
        x: R.Tensor(("n", 4), "float32"), scale: R.Prim("float32")
    ) -> R.Tuple(R.Shape(["n", 2]), R.Tensor(("n", 2), "float32")):
        n = T.int64()
        with R.dataflow():
            halves = R.split(x, 2, axis=1)
            first = R.match_cast(halves[0], R.Tensor((n, 2), "float32"))
            both = (R.shape([n, 2]), R.subtract(first, halves[1]))
            R.output(both)
        return both


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    names = "shifted nested inplace power python closure parts".split()
    return RelaxToPyFuncConverter(Calls).convert(names).pyfuncs


def test_kernels_are_called_with_sizes(functions: dict[str, Any]) -> None:
    for n in (1, 5):
        x = torch.arange(n, dtype=torch.float32)
        assert torch.equal(functions["shifted"](x), x + n)
        assert torch.equal(functions["nested"](x), x + n)


def test_kernels_write_in_place(functions: dict[str, Any]) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.equal(functions["inplace"](x), 4 * x)
    assert x.tolist() == [1, 2, 3]


def test_functions_recur(functions: dict[str, Any]) -> None:
    x = torch.tensor([1.0, -2.0, 3.0])
    assert torch.equal(functions["power"](torch.tensor(5), x), x**5)
    assert torch.equal(functions["power"](torch.tensor(0), x), torch.ones(3))


def test_python_and_local_functions_are_called(functions: dict[str, Any]) -> None:
    x = torch.tensor([1.0, -2.0, 3.0])
    assert torch.equal(functions["python"](x), x**3)
    assert torch.equal(functions["closure"](x), x + x * x)


def test_sizes_are_bound_and_checked(functions: dict[str, Any]) -> None:
    x = torch.randn(3, 4)
    shape, difference = functions["parts"](x, 1.0)
    assert shape == (3, 2)
    assert torch.equal(difference, x[:, :2] - x[:, 2:])
    with pytest.raises(Error, match=r"parts: .* has 4 = 4, not 5"):
        functions["parts"](torch.randn(3, 5), 1.0)
    with pytest.raises(Error, match="parts takes 2 arguments, 1 given"):
        functions["parts"](x)


def test_the_same_before_and_after_a_pipeline(functions: dict[str, Any]) -> None:
    @I.ir_module
    class Model:
        @R.function
        def main(x: R.Tensor((2, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
            with R.dataflow():
                y = R.nn.conv2d(x, w, padding=1)
                z = R.nn.softmax(R.nn.gelu(R.nn.max_pool2d(y, [2, 2], [2, 2])), axis=1)
                R.output(z)
            return z

    x, w = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
    pooled = torch.nn.functional.max_pool2d(torch.conv2d(x, w, padding=1), 2)
    expected = torch.softmax(torch.nn.functional.gelu(pooled), 1)
    legal = relax.transform.LegalizeOps()(Model)
    planned = tvm.transform.Sequential(
        [relax.transform.LegalizeOps(), relax.transform.FuseOps(), relax.transform.FuseTIR(),
         relax.transform.CallTIRRewrite(), relax.transform.StaticPlanBlockMemory()]
    )(Model)  # fmt: skip
    for module in (Model, legal, planned):
        result = convert_relax_to_pyfunc(module, "main").pyfuncs["main"](x, w)
        torch.testing.assert_close(result, expected)


def test_a_base_py_module_takes_converted_functions() -> None:
    x = torch.randn(6)
    module = convert_relax_to_pyfunc(Calls, ["shifted"])(tvm.cpu())
    assert torch.equal(module.shifted(x), x + 6)
    assert module.list_functions()["python"] == ["cubed", "shifted"]


def test_operators_are_replaced() -> None:
    converter = RelaxToPyFuncConverter(Calls)
    converter.operator_map["add"] = torch.sub
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.equal(converter.convert("inplace").pyfuncs["inplace"](x), torch.zeros(3))


def test_refused() -> None:
    with pytest.raises(Error, match="no Relax function 'absent' to convert; there are shifted"):
        RelaxToPyFuncConverter(Calls).convert("absent")
