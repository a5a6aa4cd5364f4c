"""Libraries whose constants lie beside them, in a safetensors file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 40), "float32"), w: R.Tensor((40, 3), "float32"),
             b: R.Tensor((3,), "float32")):
        y = R.matmul(x, w)
        z = R.add(y, b)
        return z

    @R.function
    def plain(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return y
"""


def executable(weights: dict[str, np.ndarray]) -> relax.VMExecutable:
    module = from_source(PROGRAM)
    assert isinstance(module, IRModule)
    return relax.build(module, params=weights)


def test_constants_beside_the_library(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((40, 3)).astype("float32"),
        "b": rng.standard_normal(3).astype("float32"),
    }
    path = tmp_path / "model.so"
    executable(weights).export_library(path, constants_beside=True)
    beside = rm.runtime.load_param_dict_from_file(f"{path}.safetensors")
    stored = sum(value.numpy().nbytes for value in beside.values())
    assert stored >= sum(value.nbytes for value in weights.values())
    x = rng.standard_normal((5, 40)).astype("float32")
    loaded = rm.runtime.load_module(path)
    wanted = x @ weights["w"] + weights["b"]
    np.testing.assert_allclose(loaded["main"](x).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_a_library_without_its_constants_says_so(tmp_path: Path) -> None:
    weights = {"w": np.ones((40, 3), "float32"), "b": np.ones(3, "float32")}
    path = tmp_path / "alone.so"
    executable(weights).export_library(path, constants_beside=True)
    library = tvm_ffi.load_module(str(path))
    with pytest.raises(RuntimeError, match="the constants of the library are not loaded"):
        library["main"](np.ones((1, 40), "float32"))
    np.testing.assert_allclose(library["plain"](np.zeros(2, "float32")).numpy(), [1, 1])
    Path(f"{path}.safetensors").write_bytes(
        rm.runtime.save_param_dict({"other": np.ones(2, "float32")})
    )
    with pytest.raises(ValueError, match="does not hold the constants"):
        rm.runtime.load_module(path)
