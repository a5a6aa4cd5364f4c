"""Relax functions compiled for a GPU, on the emulated one."""

from __future__ import annotations

import gc
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, runtime
from relax_mlir.runtime import emulator
from relax_mlir.runtime.emulator.memory import MEMORY
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

DEVICE = runtime.device("cuda-emu")
RNG = np.random.default_rng(12)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype=np.float32)


def on_device(value: np.ndarray) -> Any:
    return runtime.tensor(value, DEVICE)


@I.ir_module
class Mlp:
    @R.function
    def main(
        x: R.Tensor(("n", 12), "float32"),
        w0: R.Tensor((12, 20), "float32"),
        b0: R.Tensor((20,), "float32"),
        w1: R.Tensor((20, 6), "float32"),
    ):
        with R.dataflow():
            a = R.matmul(x, w0)
            b = R.nn.relu(R.add(a, b0))
            c = R.matmul(b, w1)
            R.output(c)
        return c


def mlp(x: np.ndarray, w0: np.ndarray, b0: np.ndarray, w1: np.ndarray) -> np.ndarray:
    return np.maximum(x @ w0 + b0, 0) @ w1


@pytest.fixture(scope="module")
def weights() -> list[np.ndarray]:
    return [array(12, 20), array(20), array(20, 6)]


@pytest.fixture(scope="module")
def machine() -> relax.VirtualMachine:
    return relax.VirtualMachine(tvm.compile(Mlp, target="cuda"), DEVICE)


def test_any_batch(machine: relax.VirtualMachine, weights: list[np.ndarray]) -> None:
    given = [on_device(w) for w in weights]
    for batch in (1, 5, 17):
        x = array(batch, 12)
        result = machine["main"](on_device(x), *given)
        assert result.device == DEVICE
        np.testing.assert_allclose(result.numpy(), mlp(x, *weights), rtol=1e-4, atol=1e-5)


def test_numpy_arrays_are_copied_to_the_machines_device(
    machine: relax.VirtualMachine, weights: list[np.ndarray]
) -> None:
    x = array(3, 12)
    result = machine["main"](x, *weights)
    assert result.device == DEVICE
    np.testing.assert_allclose(result.numpy(), mlp(x, *weights), rtol=1e-4, atol=1e-5)


def test_stateful_calls_and_saved_functions(
    machine: relax.VirtualMachine, weights: list[np.ndarray]
) -> None:
    x = array(2, 12)
    machine.set_input("main", on_device(x), *[on_device(w) for w in weights])
    machine.invoke_stateful("main")
    first = machine.get_outputs("main").numpy()
    machine.save_function("main", "saved", on_device(x), *[on_device(w) for w in weights])
    np.testing.assert_array_equal(machine["saved"]().numpy(), first)
    np.testing.assert_allclose(first, mlp(x, *weights), rtol=1e-4, atol=1e-5)


def test_bound_parameters_are_constants_on_the_device(weights: list[np.ndarray]) -> None:
    params = dict(zip(("w0", "b0", "w1"), weights, strict=True))
    built = tvm.compile(Mlp, target="cuda", params=params)
    x = array(4, 12)
    result = relax.VirtualMachine(built, DEVICE)["main"](on_device(x))
    np.testing.assert_allclose(result.numpy(), mlp(x, *weights), rtol=1e-4, atol=1e-5)


def test_nothing_is_left_behind(machine: relax.VirtualMachine, weights: list[np.ndarray]) -> None:
    args = [on_device(array(4, 12)), *[on_device(w) for w in weights]]
    machine["main"](*args)
    gc.collect()
    before = MEMORY.allocated
    for _ in range(3):
        result = machine["main"](*args)
    assert MEMORY.allocated == before + 4 * 6 * 4
    del result
    assert MEMORY.allocated == before


def test_graph(machine: relax.VirtualMachine, weights: list[np.ndarray]) -> None:
    x = on_device(array(4, 12))
    graph = runtime.capture_graph(machine["main"], x, *[on_device(w) for w in weights])
    for _ in range(2):
        values = array(4, 12)
        x.copyfrom(values)
        np.testing.assert_allclose(graph().numpy(), mlp(values, *weights), rtol=1e-4, atol=1e-5)
    with pytest.raises(tvm.Error, match="no argument is a tensor on a GPU"):
        runtime.capture_graph(machine["main"], array(4, 12))


def test_time_evaluator(machine: relax.VirtualMachine, weights: list[np.ndarray]) -> None:
    args = [on_device(array(2, 12)), *[on_device(w) for w in weights]]
    measured = machine.time_evaluator("main", DEVICE, number=2, repeat=2)(*args)
    assert len(measured.results) == 2 and measured.min > 0


@I.ir_module
class Branches:
    @R.function
    def main(flag: R.Tensor((), "bool"), x: R.Tensor((5,), "float32")) -> R.Tensor((5,), "float32"):
        if flag:
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        return y


def test_the_host_reads_conditions_from_the_device() -> None:
    vm = relax.VirtualMachine(tvm.compile(Branches, target="cuda"), DEVICE)
    x = array(5)
    for flag, expected in ((True, x + x), (False, x * x)):
        result = vm["main"](on_device(np.array(flag)), on_device(x))
        np.testing.assert_array_equal(result.numpy(), expected)


@I.ir_module
class Shapes:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), s: R.Tensor((2,), "int64")):
        shape = R.tensor_to_shape(s)
        y = R.reshape(x, shape)
        z = R.multiply(x, x)
        return (y, z, R.shape_of(x))


def test_the_host_reads_shapes_from_the_device() -> None:
    vm = relax.VirtualMachine(tvm.compile(Shapes, target="cuda"), DEVICE)
    x = array(4, 6)
    y, z, shape = vm["main"](on_device(x), on_device(np.array([3, 8])))
    np.testing.assert_array_equal(y.numpy(), x.reshape(3, 8))
    np.testing.assert_array_equal(z.numpy(), x * x)
    assert tuple(shape) == (4, 6)
    assert y.device == z.device == DEVICE


def test_python_functions_get_tensors_of_the_device() -> None:
    seen: list[Any] = []

    @runtime.register_global_func("tests.gpu.note", override=True)
    def note(x: Any, out: Any) -> None:
        seen.append((str(x.device), str(out.device)))
        out.copyfrom(x.numpy() + 1)

    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((5,), "float32")) -> R.Tensor((5,), "float32"):
            y = R.multiply(x, x)
            z = R.call_dps_packed("tests.gpu.note", (y,), out_ty=R.Tensor((5,), "float32"))
            return R.add(z, x)

    x = array(5)
    vm = relax.VirtualMachine(tvm.compile(Calls, target="cuda"), DEVICE)
    np.testing.assert_allclose(vm["main"](on_device(x)).numpy(), x * x + 1 + x, rtol=1e-6)
    assert seen == [("cuda-emu:0", "cuda-emu:0")]


def test_tensors_on_the_wrong_device_are_refused(
    machine: relax.VirtualMachine, weights: list[np.ndarray]
) -> None:
    wrong = runtime.tensor(array(3, 12))
    with pytest.raises(ValueError, match=r"argument 0 'x': expected .* on the GPU"):
        machine["main"](wrong, *[on_device(w) for w in weights])


def test_machines_and_modules_must_fit() -> None:
    built = tvm.compile(Mlp, target="cuda")
    with pytest.raises(ValueError, match=r"compiled for a GPU, it cannot run on cpu:0"):
        relax.VirtualMachine(built, tvm.cpu())
    with pytest.raises(ValueError, match=r"compiled for the CPU, it cannot run on cuda-emu:0"):
        relax.VirtualMachine(tvm.compile(Mlp, target="llvm"), DEVICE)
    with pytest.raises(RuntimeError, match="one emulated GPU"):
        relax.VirtualMachine(built, runtime.device("cuda-emu", 1))


def test_errors_of_kernels_come_out_as_they_are(
    machine: relax.VirtualMachine, weights: list[np.ndarray]
) -> None:
    never_written = runtime.empty((3, 12), "float32", DEVICE)
    with pytest.raises(emulator.EmulatorError) as caught:
        machine["main"](never_written, *[on_device(w) for w in weights])
    assert caught.value.kind == "uninitialised"
    assert caught.value.buffer == "x" or caught.value.buffer
    # The machine goes on as if nothing had been.
    x = array(2, 12)
    result = machine["main"](on_device(x), *[on_device(w) for w in weights])
    np.testing.assert_allclose(result.numpy(), mlp(x, *weights), rtol=1e-4, atol=1e-5)


# -- tensors, streams, events -----------------------------------------------------------------
def test_tensors_of_the_device() -> None:
    values = array(3, 4)
    made = on_device(values)
    assert str(made.device) == "cuda-emu:0" and made.shape == (3, 4)
    np.testing.assert_array_equal(made.numpy(), values)
    other = runtime.empty((3, 4), "float32", DEVICE)
    made.copyto(other)
    np.testing.assert_array_equal(other.numpy(), values)
    np.testing.assert_array_equal(made.copyto(tvm.cpu()).numpy(), values)
    for dtype in ("bfloat16", "int4", "bool", "float8_e4m3fn", "int64"):
        written = runtime.empty((5,), dtype, DEVICE).copyfrom(np.array([0, 1, 1, 0, 1]))
        assert written.numpy().astype(int).tolist() == [0, 1, 1, 0, 1], dtype
    assert runtime.empty((0, 3), "float32", DEVICE).numpy().shape == (0, 3)
    assert runtime.tensor(np.float32(3), DEVICE).numpy() == 3
    with pytest.raises(ValueError, match="expected an array of shape"):
        made.copyfrom(array(4, 3))


def test_properties_streams_and_events() -> None:
    assert DEVICE.exist and DEVICE.device_name
    assert DEVICE.warp_size == 32 and DEVICE.max_threads_per_block == 1024
    assert DEVICE.compute_version and DEVICE.total_global_memory
    with runtime.Stream(DEVICE) as stream:
        start = runtime.Event(DEVICE).record()
        end = runtime.Event(DEVICE).record(stream)
    assert start.elapsed_time(end) >= 0
    stream.synchronize()
    DEVICE.sync()
    raw = DEVICE.create_raw_stream()
    DEVICE.set_raw_stream(raw)
    DEVICE.sync(raw)
    DEVICE.set_raw_stream(0)
    DEVICE.free_raw_stream(raw)
    assert runtime.device("cuda_emu") == DEVICE == runtime.cuda_emu(0)
    assert str(tvm.target.Target.from_device(DEVICE).kind) == "cuda"


# -- libraries --------------------------------------------------------------------------------
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here")
def test_exported_library(tmp_path: Path, weights: list[np.ndarray]) -> None:
    pytest.importorskip("llvmlite", reason="PTX is made by llvmlite, of the extra 'gpu'")
    params = dict(zip(("w0", "b0", "w1"), weights, strict=True))
    path = tmp_path / "mlp.so"
    tvm.compile(Mlp, target="cuda", params=params).export_library(path)
    loaded = runtime.load_module(path)
    assert loaded.runs_on_gpu
    assert ".entry" in loaded.imports[0].inspect_source("ptx")
    x = array(4, 12)
    for result in (
        loaded["main"](on_device(x)),
        relax.VirtualMachine(loaded, DEVICE)["main"](on_device(x)),
    ):
        assert result.device == DEVICE
        np.testing.assert_allclose(result.numpy(), mlp(x, *weights), rtol=1e-4, atol=1e-5)


def test_calls_from_several_threads(
    machine: relax.VirtualMachine, weights: list[np.ndarray]
) -> None:
    given = [on_device(w) for w in weights]
    inputs = [array(3, 12) for _ in range(4)]
    results: dict[int, np.ndarray] = {}

    def call(number: int) -> None:
        for _ in range(3):
            results[number] = machine["main"](on_device(inputs[number]), *given).numpy()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for number, x in enumerate(inputs):
        np.testing.assert_allclose(results[number], mlp(x, *weights), rtol=1e-4, atol=1e-5)
