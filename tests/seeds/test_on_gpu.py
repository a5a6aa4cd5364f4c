"""The CUDA programs of the seed documents, on the emulated GPU: where they say `tvm.cuda(0)`, the
device is "cuda-emu"; nothing else differs."""

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import dlight as dl
from relax_mlir import relax
from relax_mlir.ir.module import IRModule
from relax_mlir.testing import assert_allclose
from tests.seeds.test_002_ir_module import AsPrintedFromTorch, data, expected
from tests.seeds.test_003_tensorir import AsPrinted, MyModule, from_te


@pytest.mark.parametrize("module", [MyModule, AsPrinted, from_te()], ids=["script", "old", "te"])
def test_bind_and_build(module: IRModule) -> None:
    sch = tvm.tir.Schedule(module)
    (i,) = sch.get_loops(sch.get_block("B"))
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    sch.reorder(i_0, i_2, i_1)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    ctx = tvm.device("cuda-emu", 0)
    cuda_mod = tvm.build(sch.mod, target="cuda")
    cuda_a = tvm.nd.array(np.arange(8).astype("float32"), ctx)
    cuda_b = tvm.nd.array(np.zeros((8,)).astype("float32"), ctx)
    cuda_mod(cuda_a, cuda_b)
    np.testing.assert_array_equal(cuda_b.numpy(), np.arange(1, 9, dtype="float32"))


@pytest.mark.parametrize("prepared", ["zero", "plain"])
def test_deploy_on_gpu(prepared: str) -> None:
    """The model is scheduled by DLight, explicitly as the document does or by compiling."""
    gpu_mod = AsPrintedFromTorch
    if prepared == "zero":
        mod = relax.get_pipeline("zero")(gpu_mod)
        with tvm.target.Target("cuda"):
            gpu_mod = dl.ApplyDefaultSchedule(
                dl.gpu.Matmul(),
                dl.gpu.Fallback(),
            )(mod)
    exec = tvm.compile(gpu_mod, target="cuda")
    dev = tvm.device("cuda-emu", 0)
    vm = relax.VirtualMachine(exec, dev)
    raw_data, *params = arrays = data(3)
    gpu_params = [tvm.nd.array(p, dev) for p in params]
    gpu_out = vm["main"](tvm.nd.array(raw_data, dev), *gpu_params).numpy()
    assert_allclose(gpu_out, expected(*arrays), rtol=1e-5, atol=1e-3)
