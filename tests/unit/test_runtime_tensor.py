"""Tensors, devices, the registry and parameter files."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import nd, runtime

PLAIN = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
EXTENDED = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int4", "uint4"]


def _values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(7)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    kind = np.dtype(getattr(ml_dtypes, dtype)) if dtype in EXTENDED else np.dtype(dtype)
    if dtype.startswith("uint"):
        return rng.integers(0, 15, shape).astype(kind)
    if dtype.startswith("int"):
        return rng.integers(-8, 8, shape).astype(kind)
    return rng.standard_normal(shape).astype(kind)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (2, 0, 3), (7, 1, 3)])
@pytest.mark.parametrize("dtype", PLAIN + EXTENDED)
def test_round_trip(dtype: str, shape: tuple[int, ...]) -> None:
    values = _values(dtype, shape)
    made = runtime.tensor(values)
    assert (made.shape, str(made.dtype), str(made.device)) == (shape, dtype, "cpu:0")
    back = made.numpy()
    assert back.dtype == values.dtype
    # Not the bytes: ml_dtypes leaves the upper half of a byte that holds an int4 to chance.
    np.testing.assert_array_equal(back.astype("float64"), values.astype("float64"))
    assert made.data_ptr() % 64 == 0 or values.size == 0


def test_numpy_is_a_copy() -> None:
    made = nd.array(np.zeros(3, "float32"))
    made.numpy()[:] = 1
    assert made.numpy().tolist() == [0, 0, 0]


def test_prints_like_numpy() -> None:
    made = nd.array(np.arange(8).astype("float32"))
    assert str(made) == "[0. 1. 2. 3. 4. 5. 6. 7.]"
    assert "shape=(8,), cpu:0" in repr(made)


@pytest.mark.parametrize(
    ("given", "shape", "dtype"),
    [([[1, 2], [3, 4]], (2, 2), "int64"), (2.5, (), "float64"), (np.float32(1), (), "float32")],
)
def test_from_python_values(given: object, shape: tuple[int, ...], dtype: str) -> None:
    made = runtime.tensor(given)
    assert (made.shape, str(made.dtype)) == (shape, dtype)


def test_copies() -> None:
    source = runtime.tensor(np.arange(6, dtype="float32").reshape(2, 3))
    target = runtime.empty((2, 3), "float32")
    assert source.copyto(target).same_as(target)
    np.testing.assert_array_equal(target.numpy(), source.numpy())
    on_device = source.copyto(relax_mlir.cpu())
    assert not on_device.same_as(source)
    target.copyfrom([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(target.numpy(), [[1, 2, 3], [4, 5, 6]])
    target[0] = [7, 8, 9]
    assert target[0].tolist() == [7, 8, 9]
    assert len(target) == 2


def test_copyfrom_names_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 3\), got \(3, 2\)"):
        runtime.empty((2, 3)).copyfrom(np.zeros((3, 2), "float32"))


def test_strided_memory() -> None:
    base = np.arange(12, dtype="float32").reshape(3, 4)
    shared = runtime.from_dlpack(base.T)
    assert shared.strides == (1, 4)
    np.testing.assert_array_equal(shared.numpy(), base.T)
    shared.copyfrom(np.zeros((4, 3), "float32"))
    assert not base.any()


def test_from_dlpack_shares() -> None:
    array = np.zeros(4, "float32")
    runtime.from_dlpack(array).copyfrom(np.ones(4, "float32"))
    assert array.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("bad", [np.array(["a"]), np.array([1j]), np.array([object()])])
def test_refuses_other_dtypes(bad: np.ndarray) -> None:
    with pytest.raises(TypeError, match="not supported"):
        runtime.tensor(bad)


def test_refuses_negative_sizes() -> None:
    with pytest.raises(ValueError, match="negative"):
        runtime.empty((2, -1))


def test_devices() -> None:
    assert relax_mlir.cpu() == relax_mlir.device("cpu", 0) == runtime.device("llvm")
    assert relax_mlir.cpu().exist
    assert str(relax_mlir.cuda(1)) == "cuda:1"
    with pytest.raises(RuntimeError, match="hexagon:0 cannot be used"):
        runtime.tensor(np.zeros(1), runtime.hexagon())
    with pytest.raises(TypeError, match="expected a device"):
        runtime.tensor(np.zeros(1), "cpu")


def test_registry() -> None:
    @relax_mlir.register_func("test.runtime.twice")
    def twice(value: int) -> int:
        return value * 2

    assert relax_mlir.get_global_func("test.runtime.twice")(21) == 42
    assert "test.runtime.twice" in runtime.list_global_func_names()
    with pytest.raises(ValueError, match="already registered"):
        relax_mlir.register_func("test.runtime.twice", twice)
    relax_mlir.register_global_func("test.runtime.twice", lambda value: value + 1, override=True)
    assert relax_mlir.get_global_func("test.runtime.twice")(21) == 22
    runtime.remove_global_func("test.runtime.twice")
    assert relax_mlir.get_global_func("test.runtime.twice", allow_missing=True) is None
    with pytest.raises(ValueError, match=r"test\.runtime\.twice"):
        relax_mlir.get_global_func("test.runtime.twice")


def test_callbacks_receive_our_tensors() -> None:
    seen: list[object] = []
    relax_mlir.register_func("test.runtime.see", seen.append, override=True)
    relax_mlir.get_global_func("test.runtime.see")(np.zeros(2, "float32"))
    assert type(seen[0]) is nd.NDArray


def test_parameter_files(tmp_path) -> None:
    params = {name: _values(name, (3, 2)) for name in ("float32", "bfloat16", "int8", "bool")}
    path = tmp_path / "params.safetensors"
    runtime.save_param_dict_to_file(params, path)
    loaded = runtime.load_param_dict_from_file(path)
    assert list(loaded) == list(params)
    for name, values in params.items():
        assert str(loaded[name].dtype) == name
        assert loaded[name].numpy().tobytes() == values.tobytes()


@pytest.mark.parametrize(
    "data", [b"", b"1234", b"\xff" * 64, (8).to_bytes(8, "little") + b"{bad json"]
)
def test_damaged_parameter_files(data: bytes) -> None:
    with pytest.raises(ValueError, match="safetensors"):
        runtime.load_param_dict(data)


def test_benchmark_result() -> None:
    result = runtime.BenchmarkResult([1e-3, 3e-3])
    assert result.mean == pytest.approx(2e-3)
    assert result.results == (1e-3, 3e-3)
    assert "mean (ms)" in str(result)


def test_what_is_known_of_the_host() -> None:
    cpu = relax_mlir.cpu()
    assert cpu.total_global_memory > 1 << 20
    assert cpu.multi_processor_count >= runtime.num_threads() >= 1
    assert cpu.warp_size == 1
    assert cpu.sync() is None
    assert runtime.enabled("llvm -mcpu=x")
    assert not runtime.enabled("opencl")
