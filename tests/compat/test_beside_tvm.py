"""TVM and this package live in one process, whichever is imported first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = """
import numpy as np
import relax_mlir
from relax_mlir import relax
builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(relax.op.exp(x)))
vm = relax.VirtualMachine(relax_mlir.compile(builder.get()), relax_mlir.cpu())
np.testing.assert_allclose(vm["main"](np.ones(3, "float32")).numpy(), np.e, rtol=1e-6)
"""
TVMS = """
import numpy as np
import tvm
from tvm import relax as tvm_relax
builder = tvm_relax.BlockBuilder()
x = tvm_relax.Var("x", getattr(tvm_relax, "TensorType", None)((3,), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(tvm_relax.op.exp(x)))
vm = tvm_relax.VirtualMachine(tvm.compile(builder.get(), "llvm"), tvm.cpu())
result = vm["main"](tvm.runtime.tensor(np.ones(3, "float32")))
np.testing.assert_allclose(result.numpy(), np.e, rtol=1e-6)
"""


@pytest.mark.tvm
@pytest.mark.parametrize("order", ["ours first", "TVM first"])
def test_both_compile_and_run(order: str) -> None:
    parts = [OURS, TVMS] if order == "ours first" else [TVMS, OURS]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*parts, parts[0]])],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "RELAX_MLIR_CACHE": "0"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
