"""What a small program does not wait for: modules that its compilation does not import."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from relax_mlir.lowering.relax_to_host.vm_builtins import CACHE_FUNCTIONS
from relax_mlir.on_demand import names_on_demand
from relax_mlir.runtime.kv_cache import FUNCTIONS

IMPORT = "import relax_mlir"
MLP = """
import numpy as np
import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.relax.frontend import nn

class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(784, 256), nn.Linear(256, 10)

    def forward(self, x):
        return self.out(nn.op.relu(self.hidden(x)))

specification = {"forward": {"x": nn.spec.Tensor((1, 784), "float32")}}
module, parameters = MLP().export_tvm(specification)
executable = tvm.compile(module, target="llvm")
weights = [np.zeros(p.shape, "float32") for _, p in parameters]
call = relax.VirtualMachine(executable, tvm.cpu())["forward"]
assert call(np.ones((1, 784), "float32"), *weights).numpy().shape == (1, 10)
"""

# Packages and modules that only other programs need, with what is inside of them.
OTHERS = (
    "torch", "onnx", "llvmlite", "islpy", "pygments",
    "relax_mlir.dlight",
    "relax_mlir.meta_schedule",
    "relax_mlir.contrib",
    "relax_mlir.driver.gpu_pipeline",
    "relax_mlir.relax.backend",
    "relax_mlir.relax.frontend.torch",
    "relax_mlir.relax.training",
    "relax_mlir.runtime.device_api",
    "relax_mlir.runtime.emulator",
    "relax_mlir.runtime.export",
    "relax_mlir.runtime.kv_cache",
    "relax_mlir.runtime.paged_kv_cache",
    "relax_mlir.te.schedule",
    "relax_mlir.tir.schedule.schedule",
    "relax_mlir.tir.tensor_intrin",
    "relax_mlir.topi.nn.winograd",
    "relax_mlir.lowering.linalg_to_vector.convolution.strategy",
    "relax_mlir.lowering.linalg_to_vector.convolution.winograd",
    "relax_mlir.lowering.tir_to_scf.vectorized",
    "relax_mlir.lowering.to_nvvm",
)  # fmt: skip


@cache
def imported_by(program: str) -> frozenset[str]:
    """The modules that are imported when a process of its own has run the program."""
    ending = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program + ending],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "RELAX_MLIR_CACHE": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return frozenset(json.loads(run.stdout))


@pytest.mark.parametrize("name", OTHERS)
def test_a_small_program_imports_only_what_it_needs(name: str) -> None:
    assert not [m for m in imported_by(MLP) if f"{m}.".startswith(f"{name}.")]


def test_the_program_is_compiled() -> None:
    assert "relax_mlir.lowering.linalg_to_vector.linalg_to_vector" in imported_by(MLP)


def test_importing_the_package_imports_neither_mlir_nor_numpy() -> None:
    names = {module.split(".")[0] for module in imported_by(IMPORT)}
    assert not names & {"torch_mlir", "tvm_ffi", "numpy", "ml_dtypes"}


def test_functions_of_caches_are_those_that_are_registered() -> None:
    assert set(FUNCTIONS) == set(CACHE_FUNCTIONS)


def test_names_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "late"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "shapes.py").write_text("square = object()")
    monkeypatch.syspath_prepend(tmp_path)
    late = importlib.import_module("late")
    monkeypatch.setitem(vars(late), "__getattr__", names_on_demand("late", {"shapes": "square"}))
    assert "late.shapes" not in sys.modules
    assert late.square is late.shapes.square
    assert vars(late)["square"] is late.square
    with pytest.raises(AttributeError, match=r"module 'late' has no attribute 'circle'"):
        _ = late.circle
