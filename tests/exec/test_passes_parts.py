"""Passes that take TensorIR functions apart, or place what they compute, keep the results."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.transform import PassContext
from tests.compat.pass_programs import DEVICES, GRAPHS, WEIGHTS

T = relax.transform


def _results(module: IRModule, function: str, *inputs: np.ndarray) -> np.ndarray:
    vm = relax.VirtualMachine(relax.build(module))
    return vm[function](*inputs).numpy()


def test_weights_are_laid_out_ahead_of_time() -> None:
    rng = np.random.default_rng(0)
    x, v, w = (rng.random((16, 16), np.float32) for _ in range(3))
    split = T.SplitLayoutRewritePreproc()(from_source(WEIGHTS))
    np.testing.assert_allclose(_results(split, "main", x, v, w), x + v * w, rtol=1e-6)
    lifted = T.LiftTransformParams()(split)
    packed = relax.VirtualMachine(relax.build(lifted))["main_transform_params"]([v, w])
    assert tuple(packed[0].shape) == (4, 4, 4, 4)
    np.testing.assert_allclose(_results(lifted, "main", x, *packed), x + v * w, rtol=1e-6)


def test_a_kernel_that_reads_both_layouts_is_refused() -> None:
    text = WEIGHTS.replace("X[vi, vj] +", "X[vi, vj] + W[vi, vj] +")
    with pytest.raises(PassError, match="'kernel_prepacked' needs parameter 2 too"):
        T.SplitLayoutRewritePreproc()(from_source(text))


ON_ONE_DEVICE = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 0, "global.fast")]})
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.hint_on_device(R.exp(x), "cpu:0")
        return R.add(y, y)
"""


def test_a_placed_program_computes_the_same() -> None:
    placed = T.RealizeVDevice()(from_source(ON_ONE_DEVICE))
    assert 'vdevice="llvm:0:global"' in placed.script()
    moved = T.UpdateVDevice(I.vdevice("llvm", 0, "global.slow"), 0)(placed)
    assert 'vdevice="llvm:0:global.slow"' in moved.script()
    assert [str(device) for device in moved.global_infos["vdevice"]] == [
        "llvm:0:global.slow",
        "llvm:0:global.fast",
    ]
    x = np.array([0.0, 1.0, -np.inf], np.float32)
    for module in (placed, moved):
        np.testing.assert_allclose(_results(module, "main", x), 2 * np.exp(x), rtol=1e-6)


def test_hints_at_devices_that_are_not_there() -> None:
    text = DEVICES.replace("tvm.cpu()", '"cpu:0"').replace("tvm.cuda()", '"cuda:3"')
    with pytest.raises(PassError, match=r"no virtual device 'cuda:3': it has llvm:0:global"):
        T.RealizeVDevice()(from_source(text))


def test_an_update_of_a_device_that_is_not_there() -> None:
    text = DEVICES.replace("tvm.cpu()", '"cpu:0"').replace("tvm.cuda()", '"cuda:0"')
    with pytest.raises(PassError, match="has 3 virtual devices, none at 3"):
        T.UpdateVDevice(I.vdevice("llvm"), 3)(from_source(text))


def test_a_region_that_runs_as_one_graph() -> None:
    text = GRAPHS.split("    @R.function\n    def func2")[0].replace(
        'R.call_packed("vm.builtin.dummy", x, lv2, ty_args=R.Tuple())', "cls.exp(x, lv2)"
    )
    module = from_source(text)
    assert isinstance(module, IRModule)
    assert T.RewriteCUDAGraph()(module) == module
    with PassContext(config={"relax.backend.use_cuda_graph": True}):
        rewritten = T.RewriteCUDAGraph()(module)
    assert "func1_cuda_graph_capture" in rewritten.script()
    x = np.linspace(-8, -6, 8, dtype=np.float32)
    np.testing.assert_array_equal(_results(rewritten, "func1", x), _results(module, "func1", x))
