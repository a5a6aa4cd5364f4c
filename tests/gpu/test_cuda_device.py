"""An NVIDIA GPU, where there is one: what runs on the emulated GPU runs there, and the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, runtime
from tests.gpu.gpu_programs import shared_matmul, vector_add
from tests.gpu.test_gpu_reduction import bound_row_sum
from tests.gpu.test_gpu_relax import Branches, Mlp, Shapes, array, mlp

pytestmark = pytest.mark.gpu
CUDA, EMULATED = runtime.cuda(0), runtime.device("cuda-emu")


def on(device: Any, *arrays: np.ndarray) -> list[Any]:
    return [runtime.tensor(value, device) for value in arrays]


@pytest.mark.parametrize(
    "program,shapes",
    [
        (lambda: vector_add(128), [(1000,)] * 3),
        (lambda: shared_matmul(64), [(64, 64)] * 3),
        (lambda: shared_matmul(64, dtype="float16"), [(64, 64)] * 3),
        (lambda: bound_row_sum(8, 256, 128), [(8, 256), (8,)]),
    ],
    ids=["vector add", "matmul", "matmul float16", "row sum"],
)
def test_kernels(program: Any, shapes: list[tuple[int, ...]]) -> None:
    built = tvm.build(program(), target="cuda")
    half = "f16" in built.mod.imports[0].inspect_source("mlir")
    arrays = [
        array(*shape).astype("float16" if half and index < 2 else "float32")
        for index, shape in enumerate(shapes)
    ]
    real, emulated = on(CUDA, *arrays), on(EMULATED, *arrays)
    built(*real)
    built(*emulated)
    tolerance = 1e-2 if half else 1e-5
    np.testing.assert_allclose(
        real[-1].numpy(), emulated[-1].numpy(), rtol=tolerance, atol=tolerance
    )


def test_relax_functions() -> None:
    weights = [array(12, 20), array(20), array(20, 6)]
    vm = relax.VirtualMachine(tvm.compile(Mlp, target="cuda"), CUDA)
    for batch in (1, 5, 17):
        x = array(batch, 12)
        result = vm["main"](*on(CUDA, x, *weights))
        assert result.device == CUDA
        np.testing.assert_allclose(result.numpy(), mlp(x, *weights), rtol=1e-4, atol=1e-5)


def test_the_host_reads_from_the_device() -> None:
    vm = relax.VirtualMachine(tvm.compile(Branches, target="cuda"), CUDA)
    x = array(5)
    for flag, expected in ((True, x + x), (False, x * x)):
        result = vm["main"](*on(CUDA, np.array(flag), x))
        np.testing.assert_array_equal(result.numpy(), expected)
    vm = relax.VirtualMachine(tvm.compile(Shapes, target="cuda"), CUDA)
    x = array(4, 6)
    y, _, _ = vm["main"](*on(CUDA, x, np.array([3, 8])))
    np.testing.assert_array_equal(y.numpy(), x.reshape(3, 8))


def test_graph_streams_and_timing() -> None:
    weights = [array(12, 20), array(20), array(20, 6)]
    vm = relax.VirtualMachine(tvm.compile(Mlp, target="cuda"), CUDA)
    x, *rest = on(CUDA, array(4, 12), *weights)
    graph = runtime.capture_graph(vm["main"], x, *rest)
    for _ in range(2):
        values = array(4, 12)
        x.copyfrom(values)
        np.testing.assert_allclose(graph().numpy(), mlp(values, *weights), rtol=1e-4, atol=1e-5)
    with runtime.Stream(CUDA) as stream:
        result = vm["main"](x, *rest)
        stream.synchronize()
    np.testing.assert_allclose(result.numpy(), mlp(values, *weights), rtol=1e-4, atol=1e-5)
    assert vm.time_evaluator("main", CUDA, number=3, repeat=2)(x, *rest).min > 0


def test_tensors_are_shared_with_torch() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch is built without CUDA")
    built = tvm.build(vector_add(128), target="cuda")
    a, b = (torch.randn(1000, device="cuda") for _ in range(2))
    c = torch.empty(1000, device="cuda")
    built(*(runtime.from_dlpack(value) for value in (a, b, c)))
    CUDA.sync()
    torch.testing.assert_close(c, a + b)
    back = torch.from_dlpack(runtime.tensor(array(3, 4), CUDA))
    assert back.is_cuda and back.shape == (3, 4)


def test_tensors_are_shared_with_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    built = tvm.build(vector_add(128), target="cuda")
    a, b = (cupy.random.rand(1000, dtype=cupy.float32) for _ in range(2))
    c = cupy.empty(1000, cupy.float32)
    built(*(runtime.from_dlpack(value) for value in (a, b, c)))
    CUDA.sync()
    cupy.testing.assert_allclose(c, a + b)


def test_properties() -> None:
    assert CUDA.exist and CUDA.device_name
    assert float(CUDA.compute_version or 0) >= 7
    assert CUDA.warp_size == 32
    assert CUDA.available_global_memory <= CUDA.total_global_memory
