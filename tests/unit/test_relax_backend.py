"""`relax.backend`: patterns by name, and pipelines by stages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.relax import backend
from relax_mlir.relax.backend import pattern_registry, patterns
from relax_mlir.relax.dpl import is_op, wildcard
from relax_mlir.relax.transform import FuseOpsByPattern
from relax_mlir.script import from_source
from relax_mlir.target import Target
from relax_mlir.transform import Sequential

DENSE = """
@R.function
def main(
    x: R.Tensor(("n", 8), "float32"), w: R.Tensor((4, 8), "float32"), b: R.Tensor((4,), "float32")
):
    with R.dataflow():
        t = R.permute_dims(w)
        p = R.matmul(x, t)
        s = R.add(p, b)
        y = R.nn.relu(s)
        o = R.sort(y, axis=-1)
        R.output(o)
    return o
"""


def module_of(text: str) -> IRModule:
    function = from_source(f"from tvm.script import relax as R\n{text}")
    assert isinstance(function, relax.Function)
    return IRModule({"main": function})


@pytest.fixture
def dense() -> IRModule:
    return module_of(DENSE)


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pattern_registry, "_PATTERNS", [])
    yield


def test_of_patterns_the_later_one_is_preferred(dense: IRModule) -> None:
    product = patterns.make_matmul_pattern(transposed_rhs=True)
    whole = patterns.make_matmul_pattern(True, "relax.nn.relu", transposed_rhs=True)
    backend.register_patterns([("npu.matmul", *product), ("npu.matmul_bias_relu", *whole)])
    backend.register_patterns([("other.sort", is_op("relax.sort")(wildcard()))])
    found = backend.get_patterns_with_prefix("npu.")
    assert [p.name for p in found] == ["npu.matmul_bias_relu", "npu.matmul"]
    fused = FuseOpsByPattern(found)(dense)
    names = {var.name_hint for var in fused.functions}
    assert len(names) == 2
    assert "npu.matmul_bias_relu" in fused.script()


def test_patterns_are_found_by_name() -> None:
    backend.register_patterns([("npu.norm", *patterns.make_rms_norm_pattern())])
    found = backend.get_pattern("npu.norm")
    assert found is not None
    assert set(found.annotation_patterns) == {"inp", "weight"}
    assert backend.get_pattern("npu") is None
    with pytest.raises(TypeError, match="expected a FusionPattern"):
        backend.register_patterns(["npu.norm"])


@pytest.mark.parametrize("swapped", [False, True])
def test_residual_blocks_match_either_order(swapped: bool) -> None:
    sides = "x, s" if swapped else "s, x"
    module = module_of(
        "@R.function\n"
        'def main(x: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")):\n'
        "    with R.dataflow():\n"
        "        s = R.multiply(x, b)\n"
        f"        y = R.add({sides})\n"
        "        z = R.nn.relu(y)\n"
        "        R.output(z)\n"
        "    return z\n"
    )
    inner = patterns.make_fused_bias_activation_pattern("relax.multiply")
    whole = patterns.make_residual_block_pattern(inner, activation="relax.nn.relu")
    fused = FuseOpsByPattern([("npu.block", *whole)])(module)
    assert "npu.block" in fused.script()


def test_one_family_of_operators_becomes_kernels(dense: IRModule) -> None:
    text = backend.DispatchSortScan()(dense).script()
    assert "R.sort(" not in text
    assert "R.matmul(" in text


def test_stages_make_a_program_that_runs(dense: IRModule) -> None:
    target = Target("llvm")
    stages = backend.cpu_generic
    passes = [
        *stages.library_dispatch_passes(target),
        *stages.legalize_passes(target),
        *stages.dataflow_lower_passes(target),
        *stages.finalize_passes(target),
    ]
    executable = rm.compile(dense, target, relax_pipeline=Sequential(passes))
    rng = np.random.default_rng(1)
    x, w, b = (rng.standard_normal(s).astype("float32") for s in ((3, 8), (4, 8), (4,)))
    got = relax.VirtualMachine(executable, rm.cpu())["main"](x, w, b).numpy()
    expected = np.sort(np.maximum(x @ w.T + b, 0), axis=-1)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_kernels_for_gpus_are_bound_to_threads(dense: IRModule) -> None:
    target = Target("cuda")
    with target:
        module = Sequential(backend.gpu_generic.legalize_passes(target))(dense)
    assert "threadIdx.x" in module.script()
    assert import_module("relax_mlir.relax.backend.cuda") is backend.gpu_generic
