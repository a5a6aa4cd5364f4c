"""`compile`, `build`, `relax.build`: what they take, what they give, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import IRModule, relax
from relax_mlir.driver import OperatorModule, VMExecutable
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Operators:
    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"),
        w: R.Tensor((4, 3), "float32"),
        b: R.Tensor((3,), "float32"),
    ) -> R.Tensor(("n", 3), "float32"):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            gv = R.nn.relu(lv1)
            R.output(gv)
        return gv


@I.ir_module
class Kernels:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0


X, W, B = (np.random.default_rng(0).standard_normal(s).astype("f") for s in ((5, 4), (4, 3), (3,)))
EXPECTED = np.maximum(X @ W + B, 0)


def _check(executable: Any) -> None:
    assert isinstance(executable, VMExecutable)
    result = relax.VirtualMachine(executable, relax_mlir.cpu())["main"](X, W, B)
    np.testing.assert_allclose(result.numpy(), EXPECTED, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [None, "llvm", {"kind": "llvm"}, relax_mlir.Target("llvm")])
def test_targets(target: Any) -> None:
    _check(relax_mlir.compile(Operators, target))


@pytest.mark.parametrize(
    "build", [relax_mlir.compile, relax.build, relax.vm.build, relax_mlir.build]
)
def test_names(build: Any) -> None:
    _check(build(Operators, target="llvm"))


@pytest.mark.parametrize(
    "pipeline",
    [
        "zero",
        "default",
        "relax-legalize-ops",
        relax.get_pipeline("zero"),
        relax.transform.LegalizeOps(),
    ],
    ids=str,
)
def test_relax_pipelines(pipeline: Any) -> None:
    _check(relax_mlir.compile(Operators, relax_pipeline=pipeline))


def test_pipeline_is_a_function_of_modules() -> None:
    seen: list[IRModule] = []

    def pipeline(module: IRModule) -> IRModule:
        seen.append(module)
        return relax.get_pipeline("zero")(module)

    _check(relax_mlir.compile(Operators, relax_pipeline=pipeline))
    assert len(seen) == 1
    _check(relax_mlir.compile(pipeline(Operators), relax_pipeline=None))


def test_compiling_changes_nothing() -> None:
    before = Operators.script()
    relax_mlir.compile(Operators)
    assert Operators.script() == before


def test_without_a_pipeline_operators_are_refused() -> None:
    with pytest.raises(relax_mlir.Error, match=r"relax\.matmul has no host code"):
        relax_mlir.compile(Operators, relax_pipeline=None)


def test_unknown_pipeline_and_option() -> None:
    with pytest.raises(relax_mlir.Error, match="no pass 'nonsense'"):
        relax_mlir.compile(Operators, relax_pipeline="nonsense")
    with pytest.raises(TypeError, match="unknown option 'optlevel'"):
        relax_mlir.compile(Operators, optlevel=3)
    with pytest.raises(ValueError, match="exec_mode"):
        relax.build(Operators, exec_mode="interpreted")
    with pytest.raises(TypeError, match="expected an IRModule or a function, got str"):
        relax_mlir.compile("Operators")


def test_bound_parameters() -> None:
    executable = relax.build(Operators, params={"w": W, "b": relax_mlir.nd.array(B)})
    result = relax.VirtualMachine(executable, relax_mlir.cpu())["main"](X)
    np.testing.assert_allclose(result.numpy(), EXPECTED, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match=r"expected 1 argument \(x\), got 3"):
        executable["main"](X, W, B)


@pytest.mark.parametrize("opt_level", [0, 1, 3])
def test_optimisation_level_of_the_pass_context(opt_level: int) -> None:
    with relax_mlir.transform.PassContext(opt_level=opt_level):
        _check(relax_mlir.compile(Operators))


def test_instruments_see_the_passes() -> None:
    timing = relax_mlir.instrument.PassTimingInstrument()
    with relax_mlir.transform.PassContext(instruments=[timing]):
        relax_mlir.compile(Operators)
        assert "LegalizeOps" in timing.render()


@pytest.mark.parametrize(
    "given",
    [Kernels, Kernels["main"], {"llvm": Kernels}, relax_mlir.tir.Schedule(Kernels)],
    ids=["module", "function", "mapping", "schedule"],
)
def test_build_kernels(given: Any) -> None:
    module = relax_mlir.build(given)
    assert isinstance(module, OperatorModule)
    out = np.zeros(8, "f")
    module(np.arange(8, dtype="f"), out)
    np.testing.assert_array_equal(out, np.arange(8) + 1)


def test_programs_compile_for_a_gpu() -> None:
    made = relax_mlir.compile(Operators, "cuda")
    assert "gpu.func" in made.mod.imports[0].inspect_source("mlir")


def test_programs_without_relax_functions_also_run_in_a_machine() -> None:
    vm = relax.VirtualMachine(relax.build(Kernels), relax_mlir.cpu())
    out = np.zeros(8, "f")
    vm["main"](np.zeros(8, "f"), out)
    assert out.tolist() == [1] * 8
