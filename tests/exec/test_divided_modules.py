"""Large modules become machine code in parts, at the same time, and compute what they did whole."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import relax_mlir
from relax_mlir import mlir, relax
from relax_mlir.driver.cached_compile import CachedCode
from relax_mlir.errors import CompileError
from relax_mlir.mlir import ir
from relax_mlir.runtime import split_module
from relax_mlir.runtime.compiled_code import CompiledCode
from relax_mlir.runtime.engine import Engine
from relax_mlir.runtime.split_module import divide, survey
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Layers:
    @R.function
    def main(x: R.Tensor((8, 32), "float32"), w: R.Tensor((32, 32), "float32")) -> R.Tensor(
        (8,), "float32"
    ):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=1)
            z = R.nn.gelu(R.cumsum(R.matmul(w, R.permute_dims(y)), axis=0))
            s = R.sum(z, axis=0)
            R.output(s)
        return s


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of any size are divided, for three threads."""
    monkeypatch.setattr(split_module, "MIN_OPERATIONS", 1)
    monkeypatch.setenv("RELAX_MLIR_COMPILE_THREADS", "3")


def arguments() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return (
        rng.standard_normal((8, 32)).astype("float32"),
        rng.standard_normal((32, 32)).astype("float32"),
    )


def result() -> tuple[relax.VMExecutable, np.ndarray]:
    executable = relax_mlir.compile(Layers, "llvm")
    return executable, relax.VirtualMachine(executable, relax_mlir.cpu())["main"](
        *arguments()
    ).numpy()


def parts_of(executable: relax.VMExecutable) -> int:
    code = executable.mod.code
    assert isinstance(code, CompiledCode)
    return len(code._engine()._kernels)


def test_parts_compute_the_same(monkeypatch: pytest.MonkeyPatch, small_parts: None) -> None:
    executable, divided = result()
    assert parts_of(executable) == 3
    monkeypatch.setenv("RELAX_MLIR_COMPILE_THREADS", "1")
    executable, whole = result()
    assert parts_of(executable) == 0
    np.testing.assert_array_equal(divided, whole)


def test_small_modules_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_COMPILE_THREADS", "3")
    executable, _ = result()
    assert parts_of(executable) == 0


def test_parts_are_filed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_parts: None
) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", "1")
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELAX_MLIR_CACHE_MIN_SECONDS", "0")
    _, first = result()
    for thread in threading.enumerate():
        if thread.name == "relax_mlir cache":
            thread.join()
    executable, second = result()
    assert isinstance(executable.mod.code, CachedCode)
    np.testing.assert_array_equal(second, first)


@I.ir_module
class OneKernel:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.exp(A[i])


def test_no_part_is_empty(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_parts: None
) -> None:
    """Of a part without a kernel there would be no machine code to file."""
    monkeypatch.setenv("RELAX_MLIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELAX_MLIR_CACHE_MIN_SECONDS", "0")
    monkeypatch.delenv("RELAX_MLIR_CACHE", raising=False)
    a = np.linspace(-1, 1, 8, dtype="float32")
    b = relax_mlir.runtime.empty((8,), "float32")
    relax_mlir.build(OneKernel, "llvm")(relax_mlir.runtime.tensor(a), b)
    np.testing.assert_allclose(b.numpy(), np.exp(a), rtol=1e-6)
    for thread in threading.enumerate():
        if thread.name == "relax_mlir cache":
            thread.join()
    assert len(list(tmp_path.glob("*/index.json"))) == 1


def test_threads_make_code_at_the_same_time(small_parts: None) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            np.testing.assert_array_equal(result()[1], expected)
        except BaseException as error:
            errors.append(error)

    _, expected = result()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


KERNELS = """
llvm.mlir.global internal constant @table(dense<[3, 5]> : tensor<2xi32>) : !llvm.array<2 x i32>
llvm.mlir.global internal @count(0 : i32) : i32
llvm.func @abs(i32) -> i32
llvm.func internal @helper(%a: i32) -> i32 { llvm.return %a : i32 }
llvm.func internal @reads__kernel(%a: i32) -> i32 {
  %p = llvm.mlir.addressof @table : !llvm.ptr
  %q = llvm.getelementptr %p[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<2 x i32>
  %x = llvm.load %q : !llvm.ptr -> i32
  %y = llvm.add %x, %a : i32
  llvm.return %y : i32
}
llvm.func internal @calls_libc__kernel(%a: i32) -> i32 {
  %x = llvm.call @abs(%a) : (i32) -> i32
  llvm.return %x : i32
}
llvm.func internal @counts__kernel(%a: i32) -> i32 {
  %p = llvm.mlir.addressof @count : !llvm.ptr
  %x = llvm.load %p : !llvm.ptr -> i32
  %y = llvm.add %x, %a : i32
  llvm.store %y, %p : i32, !llvm.ptr
  llvm.return %y : i32
}
llvm.func internal @calls__kernel(%a: i32) -> i32 {
  %x = llvm.call @helper(%a) : (i32) -> i32
  llvm.return %x : i32
}
llvm.func @entry(%p: !llvm.ptr) {
  %a = llvm.load %p : !llvm.ptr -> i32
  %b = llvm.call @reads__kernel(%a) : (i32) -> i32
  %c = llvm.call @calls_libc__kernel(%b) : (i32) -> i32
  %d = llvm.call @counts__kernel(%c) : (i32) -> i32
  %e = llvm.call @calls__kernel(%d) : (i32) -> i32
  llvm.store %e, %p : i32, !llvm.ptr
  llvm.return
}
"""


def test_kernels_move_that_need_nothing_of_their_module(small_parts: None) -> None:
    with mlir.scope():
        module = ir.Module.parse(KERNELS)
        divided = divide(module, survey(module), 2)
        assert divided is not None
        host, parts = divided
        assert sorted(part.symbols for part in parts) == [
            ("calls_libc__kernel",),
            ("reads__kernel",),
        ]
        assert "llvm.func @reads__kernel(i32) -> i32\n" in str(host.module)
        assert "internal @counts__kernel(%arg0: i32) -> i32 {" in str(host.module)
        assert "internal @reads__kernel(%arg0: i32) -> i32 {" in str(module)  # as it was
        engine = Engine(module, share_support=False, threads=2)
    value = np.array([-10], "int32")
    call(engine.address("entry"), value)
    assert value[0] == 5
    call(engine.address("entry"), value)
    assert value[0] == 15  # the count is one


def call(address: int, value: np.ndarray) -> None:
    pointer = ctypes.c_void_p(value.ctypes.data)
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(packed)


def test_kernels_that_do_not_link_are_refused(small_parts: None) -> None:
    text = KERNELS.replace("@abs", "@no_such_function_anywhere")
    with mlir.scope(), pytest.raises(CompileError, match="calls_libc__kernel does not link"):
        Engine(ir.Module.parse(text), share_support=False, threads=2)


def test_objects_of_all_parts_are_written(tmp_path: Path, small_parts: None) -> None:
    with mlir.scope():
        engine = Engine(ir.Module.parse(KERNELS), share_support=False, threads=2)
    engine.address("entry")
    paths = engine.dump_objects(str(tmp_path / "module.o"))
    assert len(paths) == 3
    symbols = [subprocess.run(["nm", p], capture_output=True, text=True).stdout for p in paths]
    assert "U reads__kernel" in symbols[0]
    assert sum(" T reads__kernel" in text for text in symbols) == 1
