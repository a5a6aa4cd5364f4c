"""Functions that fetch their parameters and hand over their results one by one."""

from __future__ import annotations

import numpy as np

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "m"), "float32"),
        b: R.Tensor(("m",), "float32"), unused: R.Tensor((2,), "float32"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.matmul(x, w)
            y = R.add(a, b)
            z = R.exp(y)
            R.output(y, z)
        return (y, z)

    @R.function
    def one(x: R.Tensor((4,), "float32")):
        return x
"""


def test_parameters_in_and_results_out() -> None:
    module = from_source(PROGRAM)
    assert isinstance(module, IRModule)
    for name in ("LazyGetInput", "LazySetOutput"):
        module = getattr(relax.transform, name)()(module).verify()
        assert from_source(module.script()) == module
    vm = relax.VirtualMachine(relax.build(module), rm.cpu())
    rng = np.random.default_rng(0)
    params = [rng.standard_normal(shape).astype("float32") for shape in ((4, 5), (5,), (2,))]
    x = rng.standard_normal((3, 4)).astype("float32")
    asked: list[tuple[int, str]] = []
    got: dict[int, np.ndarray] = {}

    def fetch(index: int, name: str) -> rm.runtime.Tensor:
        asked.append((index, str(name)))
        return rm.runtime.tensor(params[index])

    def take(index: int, value: rm.runtime.Tensor) -> None:
        got[index] = value.numpy()

    vm["main"](x, take, fetch)
    assert asked == [(0, "w"), (1, "b")] and list(got) == [0, 1]
    np.testing.assert_allclose(got[0], x @ params[0] + params[1], rtol=1e-5)
    np.testing.assert_allclose(got[1], np.exp(got[0]), rtol=1e-5)
    vm["one"](take, x[0])
    np.testing.assert_array_equal(got[0], x[0])
