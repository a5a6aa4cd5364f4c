"""The seed documents' modules, printed here, compiled and run by TVM 0.27: the same numbers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.testing import assert_allclose

pytestmark = [pytest.mark.tvm, pytest.mark.slow]

# Reads NAME.py and NAME.npz for each name given, runs `main`, writes NAME.out.npy.
RUN = """
import sys
import numpy as np
import tvm
from tvm import relax
from tvm.script import from_source, ir as I, tirx as T, relax as R
for name in sys.argv[1:]:
    module = from_source(open(name + ".py").read(), extra_vars={"I": I, "T": T, "R": R})
    stored = np.load(name + ".npz")
    arrays = [tvm.runtime.tensor(stored[key]) for key in stored.files]
    executable = tvm.compile(module, "llvm")
    if any(isinstance(f, relax.Function) for f in module.functions.values()):
        result = relax.VirtualMachine(executable, tvm.cpu())["main"](*arrays)
    else:
        executable["main"](*arrays)
        result = arrays[-1]
    np.save(name + ".out.npy", result.numpy())
"""


def programs() -> Iterator[tuple[str, tvm.IRModule, list[np.ndarray]]]:
    """(name, module, arguments) of each program."""
    from tests.seeds.test_000_relax_abstraction import Module, arguments
    from tests.seeds.test_001_notes import MatmulRelu, MyModule, mlp_data
    from tests.seeds.test_002_ir_module import AsPrintedFromTorch, data
    from tests.seeds.test_003_tensorir import MyModule as AddOne

    yield "abstraction", Module, arguments(3, 256, 0)
    x, params, _ = mlp_data(1)
    yield "notes", MyModule, [x, *params.values()]
    rng = np.random.default_rng(2)
    square = [rng.standard_normal((128, 128), dtype=np.float32) for _ in range(3)]
    named = MatmulRelu["mm_relu"].with_attr("global_symbol", "main")
    yield "matmul", tvm.IRModule({"main": named}), square
    yield "tutorial", AsPrintedFromTorch, data(3)
    yield "fused", relax.get_pipeline("zero")(AsPrintedFromTorch), data(4)
    yield "tensorir", AddOne, [np.arange(8, dtype="float32"), np.zeros(8, "float32")]


def ours(module: tvm.IRModule, arrays: list[np.ndarray]) -> np.ndarray:
    executable = tvm.compile(module, target="llvm")
    tensors = [tvm.runtime.tensor(a) for a in arrays]
    if any(isinstance(f, relax.Function) for f in module.functions.values()):
        return relax.VirtualMachine(executable, tvm.cpu())["main"](*tensors).numpy()
    executable["main"](*tensors)
    return tensors[-1].numpy()


def test_tvm_computes_the_same(tmp_path: Path) -> None:
    expected = {}
    for name, module, arrays in programs():
        (tmp_path / f"{name}.py").write_text(module.script(syntax="tirx"))
        np.savez(tmp_path / f"{name}.npz", *arrays)
        expected[name] = ours(module, arrays)
    names = [str(tmp_path / name) for name in expected]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, *names], capture_output=True, text=True
    )
    if "No module named 'tvm'" in done.stderr:
        pytest.skip("apache-tvm is not installed")
    assert done.returncode == 0, done.stderr[-3000:]
    for name, result in expected.items():
        assert_allclose(np.load(tmp_path / f"{name}.out.npy"), result, rtol=1e-5, atol=2e-5)
