"""The CUDA backend against a libcuda that is compiled here: it logs calls and adds vectors."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relax_mlir import runtime
from relax_mlir.driver import build
from relax_mlir.runtime import device_api as gpu
from relax_mlir.runtime.device_api import backend, driver
from relax_mlir.runtime.device_api.cuda import CudaBackend
from relax_mlir.runtime.device_api.driver import CudaDriver
from relax_mlir.runtime.engine import ffi_library
from relax_mlir.target import Target
from tests.gpu.gpu_programs import vector_add

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here"),
]
DEVICE = runtime.cuda(0)
FAKE_CUDA = Path(__file__).with_name("fake_cuda.c")


class Fake:
    """The library's log, and how to make a function of it fail."""

    def __init__(self, library: Any) -> None:
        library.fake_log.restype = ctypes.c_char_p
        library.fake_fail.argtypes = [ctypes.c_char_p, ctypes.c_int]
        self._library = library

    def log(self) -> list[str]:
        """The calls since the last time."""
        lines = self._library.fake_log().decode().splitlines()
        self._library.fake_clear()
        return lines

    def fail(self, function: str = "", status: int = 1) -> None:
        self._library.fake_fail(function.encode(), status)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("fake_cuda") / "libcuda.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(path), str(FAKE_CUDA)]
    subprocess.run(command, check=True, timeout=60)
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def cuda_backend(library: Any) -> CudaBackend:
    return CudaBackend(0, CudaDriver(library))


@pytest.fixture
def fake(
    library: Any, cuda_backend: CudaBackend, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fake]:
    monkeypatch.setitem(backend._BACKENDS, (backend.CUDA, 0), cuda_backend)
    found = Fake(library)
    found.log()
    yield found
    found.fail()


def tensors(count: int = 300) -> tuple[list[np.ndarray], list[Any]]:
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal(count, dtype=np.float32) for _ in range(2)]
    return arrays, [*(runtime.tensor(a, DEVICE) for a in arrays),
                    runtime.empty((count,), "float32", DEVICE)]  # fmt: skip


@pytest.fixture(scope="module")
def add() -> Any:
    pytest.importorskip("llvmlite", reason="PTX is made by llvmlite, of the extra 'gpu'")
    return build(vector_add(128), target="cuda")


def test_without_a_driver() -> None:
    if runtime.cuda(0).exist:
        pytest.skip("this machine has a CUDA driver")
    with pytest.raises(RuntimeError, match=r'no CUDA driver is installed.*"cuda-emu"'):
        driver.cuda_driver()
    with pytest.raises(RuntimeError, match="cuda:0 cannot be used: no CUDA driver"):
        runtime.tensor(np.zeros(3), runtime.cuda(0))
    assert runtime.cuda(0).device_name is None


def test_properties(fake: Fake) -> None:
    assert DEVICE.exist
    assert DEVICE.device_name == "Fake GPU"
    assert DEVICE.compute_version == "9.0"
    assert DEVICE.max_threads_per_block == 101
    assert DEVICE.max_shared_memory_per_block == 108
    assert DEVICE.warp_size == 110
    assert DEVICE.multi_processor_count == 116
    assert DEVICE.max_thread_dimensions == [102, 103, 104]
    assert DEVICE.total_global_memory == 1 << 30
    assert DEVICE.available_global_memory == 7
    assert Target.from_device(DEVICE).attrs["arch"] == "sm_90"


def test_tensors(fake: Fake) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = runtime.tensor(values, DEVICE)
    assert str(made.device) == "cuda:0"
    other = runtime.empty((2, 3), "float32", DEVICE).copyfrom(made)
    np.testing.assert_array_equal(other.numpy(), values)
    np.testing.assert_array_equal(other.copyto(runtime.cpu()).numpy(), values)
    del made, other
    log = fake.log()
    assert log.count("cuMemAllocAsync 24 stream (nil)") == 2
    assert log.count("cuMemFreeAsync stream (nil)") == 2
    assert "cuMemcpyDtoDAsync_v2 24 stream (nil)" in log


def test_launch(fake: Fake, add: Any) -> None:
    (a, b), args = tensors()
    add(*args)
    np.testing.assert_array_equal(args[2].numpy(), a + b)
    log = fake.log()
    assert "cuModuleLoadDataEx has an entry" in log
    assert "cuModuleGetFunction main_kernel" in log
    assert "cuLaunchKernel (3, 1, 1) (128, 1, 1) shared 0 stream (nil)" in log
    add(*args)
    assert fake.log() == ["cuLaunchKernel (3, 1, 1) (128, 1, 1) shared 0 stream (nil)"]


def test_streams_and_events(fake: Fake, add: Any) -> None:
    _, args = tensors()
    stream = gpu.Stream(DEVICE)
    with stream:
        start = gpu.Event(DEVICE).record()
        add(*args)
        end = gpu.Event(DEVICE).record()
    assert start.elapsed_time(end) == 2.5
    stream.synchronize()
    log = fake.log()
    assert log.count("cuEventRecord stream 0x5000") == 2
    assert any(line.startswith("cuLaunchKernel") and "0x5000" in line for line in log)
    assert "cuStreamSynchronize 0x5000" in log
    DEVICE.sync()
    assert fake.log() == ["cuCtxSynchronize"]
    del stream
    assert fake.log() == ["cuStreamDestroy_v2 0x5000"]


def test_launches_are_on_the_stream_of_the_callers_framework(fake: Fake, add: Any) -> None:
    _, args = tensors()
    add(*args)
    fake.log()
    library = ctypes.CDLL(ffi_library())
    library.TVMFFIEnvSetStream.argtypes = [ctypes.c_int32, ctypes.c_int32] + [ctypes.c_void_p] * 2
    library.TVMFFIEnvSetStream(2, 0, 0x9000, None)
    try:
        add(*args)
    finally:
        library.TVMFFIEnvSetStream(2, 0, None, None)
    assert fake.log() == ["cuLaunchKernel (3, 1, 1) (128, 1, 1) shared 0 stream 0x9000"]


def test_time_evaluator_uses_events(fake: Fake, add: Any) -> None:
    _, args = tensors()
    measured = add.time_evaluator("main", DEVICE, number=5, repeat=2)(*args)
    assert measured.results == (2.5e-3 / 5, 2.5e-3 / 5)


def test_graph(fake: Fake, add: Any) -> None:
    _, args = tensors()
    graph = gpu.capture_graph(add, *args)
    fake.log()
    graph()
    assert fake.log() == ["cuGraphLaunch stream (nil)"]
    del graph
    assert "cuGraphExecDestroy" in fake.log()


@pytest.mark.parametrize(
    "function,status,kind,message",
    [
        ("cuLaunchKernel", 1, RuntimeError, "CUDA_ERROR_INVALID_VALUE.*65,535 along y and z"),
        ("cuMemAllocAsync", 2, MemoryError, "cuMemAllocAsync failed: .*out of memory"),
        ("cuMemcpyDtoHAsync_v2", 1, RuntimeError, "cuMemcpyDtoHAsync_v2 failed"),
    ],
)
def test_failures(
    fake: Fake, add: Any, function: str, status: int, kind: type[Exception], message: str
) -> None:
    _, args = tensors()
    add(*args)
    fake.fail(function, status)
    with pytest.raises(kind, match=message):
        add(*args)
        args[2].numpy()
        runtime.empty((4,), "float32", DEVICE)


def test_ptx_that_the_driver_refuses(fake: Fake) -> None:
    pytest.importorskip("llvmlite", reason="PTX is made by llvmlite, of the extra 'gpu'")
    _, args = tensors()
    fake.fail("cuModuleLoadDataEx")
    with pytest.raises(RuntimeError, match="no such instruction"):
        build(vector_add(64), target="cuda")(*args)


def test_too_old_a_driver() -> None:
    with pytest.raises(RuntimeError, match="too old: it has no cuInit"):
        CudaDriver(ctypes.CDLL(None))


def test_missing_device(library: Any) -> None:
    with pytest.raises(RuntimeError, match="no CUDA device 3: the machine has 1"):
        CudaBackend(3, CudaDriver(library))
