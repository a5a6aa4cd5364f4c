"""Parallel loops on the cores: results, privacy of temporaries, numbers of threads, living together
with other modules and torch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.driver.build_module import build
from relax_mlir.errors import CompileError
from relax_mlir.ir import IRModule
from relax_mlir.lowering.to_llvm.num_threads import ENVIRONMENT, num_threads
from relax_mlir.script import from_source
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

HEADER = "@I.ir_module\nclass Module:\n    @T.prim_func\n    def main({}):\n"


def program(parameters: str, body: str) -> IRModule:
    return from_source(HEADER.format(parameters) + textwrap.indent(textwrap.dedent(body), " " * 8))


# Every iteration fills a buffer of its own; sharing it among threads would mix the rows.
PRIVATE = program(
    'A: T.Buffer((4096, 16), "float32"), B: T.Buffer((4096, 16), "float32")',
    """
    for i in T.parallel(4096):
        with T.block("row"):
            v = T.axis.spatial(4096, i)
            L = T.alloc_buffer((16,), "float32")
            for r in range(8):
                for k in range(16):
                    L[k] = A[v, k] + T.Cast("float32", r)
                for k in range(16):
                    B[v, 15 - k] = L[k]
    """,
)
# The same with a buffer that is too large for the stack.
PRIVATE_HEAP = program(
    'A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")',
    """
    for i in T.parallel(64):
        with T.block("row"):
            v = T.axis.spatial(64, i)
            L = T.alloc_buffer((20000,), "float32")
            for k in range(20000):
                L[k] = A[v] + T.Cast("float32", k)
            B[v] = L[19999] - L[0]
    """,
)
NESTED = program(
    'A: T.Buffer((37, 53), "float32"), B: T.Buffer((37, 53), "float32")',
    """
    for i in T.parallel(37):
        for j in T.parallel(53):
            B[i, j] = A[i, j] * A[i, j]
    """,
)
DYNAMIC = program(
    "a: T.handle, b: T.handle",
    """
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.parallel(n):
        B[i] = A[i] + T.float32(1)
    """,
)


def rows(n: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(shape).astype("float32")


def target(cores: int) -> Any:
    return Target({"kind": "llvm", "num-cores": cores})


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_temporaries_are_private(cores: int) -> None:
    function = build(PRIVATE, target(cores))
    a, b = rows(0, 4096, 16), np.zeros((4096, 16), "float32")
    for _ in range(5):
        b[:] = 0
        function(a, b)
        np.testing.assert_array_equal(b, (a + 7)[:, ::-1])


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_large_temporaries_are_private(cores: int) -> None:
    function = build(PRIVATE_HEAP, target(cores))
    a, b = np.zeros(64, "float32"), np.zeros(64, "float32")
    function(a, b)
    np.testing.assert_array_equal(b, 19999)


@pytest.mark.parametrize("cores", [1, 2])
def test_nested_loops(cores: int) -> None:
    function = build(NESTED, target(cores))
    a, b = rows(1, 37, 53), np.zeros((37, 53), "float32")
    function(a, b)
    np.testing.assert_array_equal(b, a * a)


@pytest.mark.parametrize("size", [0, 1, 2, 1001])
def test_dynamic_extent(size: int) -> None:
    function = build(DYNAMIC, target(2))
    a, b = rows(2, size), np.zeros(size, "float32")
    function(a, b)
    np.testing.assert_array_equal(b, a + 1)


def text(module: IRModule, cores: int | None = None) -> str:
    from relax_mlir.driver.cpu_pipeline import lower_to_machine_ir

    with mlir.scope():
        return lower_to_machine_ir(module.state.clone(), num_cores=cores).text()


def test_only_the_outer_loop_is_divided() -> None:
    assert text(NESTED, 2).count("omp.parallel") == 1
    assert "omp." not in text(NESTED, 1)


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    default = num_threads()
    assert default == (1 if len(os.sched_getaffinity(0)) == 1 else 0)
    for count, name in enumerate(reversed(ENVIRONMENT), start=2):
        monkeypatch.setenv(name, f"{count},9")
        assert num_threads() == count
    assert num_threads(7) == 7
    assert "num_threads(" in text(NESTED)
    with PassContext(config={"num-cores": 1}):
        assert "omp." not in text(NESTED)
    monkeypatch.setenv(ENVIRONMENT[0], "many")
    with pytest.raises(CompileError, match=ENVIRONMENT[0]):
        num_threads()
    with pytest.raises(CompileError, match="num-cores"):
        num_threads(0)


TOGETHER = """
import numpy as np
from tests.exec.test_parallel import NESTED, PRIVATE, build, rows, target
{extra}
first, second = build(PRIVATE, target(2)), build(NESTED, target(3))
a, b = rows(0, 4096, 16), np.zeros((4096, 16), "float32")
c, d = rows(1, 37, 53), np.zeros((37, 53), "float32")
for step in range(20):
    first(a, b)
    second(c, d)
    {step}
np.testing.assert_array_equal(b, (a + 7)[:, ::-1])
np.testing.assert_array_equal(d, c * c)
del first
second(c, d)
print("fine")
"""


def run_script(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_two_modules_in_one_process() -> None:
    assert run_script(TOGETHER.format(extra="", step="pass")) == "fine"


@pytest.mark.torch
@pytest.mark.parametrize("torch_first", [True, False])
def test_with_torch_in_one_process(torch_first: bool) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    extra = "import torch\nx = torch.randn(300, 300)\n" + ("y = x @ x\n" if torch_first else "")
    assert run_script(TOGETHER.format(extra=extra, step="y = x @ x")) == "fine"


def test_exported_library(tmp_path: Any) -> None:
    """The library links the OpenMP runtime and loads without this package."""
    path = str(tmp_path / "nested.so")
    build(NESTED, target(2)).export_library(path)
    script = f"""
import numpy as np, sys, tvm_ffi
function = tvm_ffi.load_module({path!r})["main"]
a, b = np.ones((37, 53), "float32") * 3, np.zeros((37, 53), "float32")
function(a, b)
assert (b == 9).all() and "relax_mlir" not in sys.modules
print("fine")
"""
    assert run_script(script) == "fine"
