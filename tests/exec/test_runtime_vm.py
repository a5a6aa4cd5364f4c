"""The virtual machine's interface, and libraries that live without this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import runtime
from relax_mlir.driver import VMExecutable, compile
from relax_mlir.ir import IRModule
from relax_mlir.runtime import VirtualMachine

from .runtime_programs import KERNELS, RELU_OF_X, N, call_tir, function, machine
from .runtime_programs import tensor as ty

SUM = KERNELS + function(
    "main",
    {"x": N, "w": N, "b": ty("n")},
    N,
    f"  %r = {call_tir('linear', {'%x': N, '%w': N, '%b': ty('n')}, N)}\n  return %r : {N}",
)
X, W, B = (np.random.default_rng(0).standard_normal(s).astype("f") for s in ((4, 4), (4, 4), (4,)))


@pytest.fixture(scope="module")
def vm() -> VirtualMachine:
    return machine(SUM)


def _close(result: Any) -> None:
    np.testing.assert_allclose(result.numpy(), X @ W + B, rtol=1e-4, atol=1e-5)


def test_call(vm: VirtualMachine) -> None:
    _close(vm["main"](X, W, B))
    _close(vm.module["main"](X, W, B))
    _close(vm.invoke_closure(vm["main"], X, W, B))


def test_stateful(vm: VirtualMachine) -> None:
    vm.set_input("main", X, b=B, w=W)
    vm.invoke_stateful("main")
    _close(vm.get_outputs("main"))
    with pytest.raises(TypeError, match="no parameter 'q'; it has x, w, b"):
        vm.set_input("main", X, W, q=B)
    with pytest.raises(TypeError, match="argument 'w' is missing"):
        vm.set_input("main", X, b=B)
    with pytest.raises(AttributeError, match="no function 'other'"):
        vm.set_input("other", X)
    fresh = machine(SUM)
    with pytest.raises(ValueError, match="set_input was not called"):
        fresh.invoke_stateful("main")
    with pytest.raises(ValueError, match="invoke_stateful was not called"):
        fresh.get_outputs("main")


def test_save_function(vm: VirtualMachine) -> None:
    vm.save_function("main", "saved", X, W, B)
    _close(vm["saved"]())
    vm.save_function("main", "silent", X, W, B, include_return=False)
    assert vm["silent"]() is None
    with pytest.raises(ValueError, match="is a function of the program"):
        vm.save_function("main", "main", X, W, B)


def test_time_evaluator(vm: VirtualMachine) -> None:
    vm.save_function("main", "saved", X, W, B)
    vm.set_input("main", X, W, B)
    for timed, args in (("main", (X, W, B)), ("saved", ()), ("invoke_stateful", ("main",))):
        result = vm.module.time_evaluator(timed, relax_mlir.cpu(), number=3, repeat=2)(*args)
        assert len(result.results) == 2
        assert 0 < result.mean < 1
    long = vm.time_evaluator("main", relax_mlir.cpu(), number=1, min_repeat_ms=2)(X, W, B)
    assert long.mean < 1e-3


def test_instrument() -> None:
    vm, seen = machine(SUM), []
    vm.set_instrument(lambda func, name, before, result, *args: seen.append((name, before)))
    _close(vm["main"](X, W, B))
    assert seen == [("main", True), ("main", False)]
    vm.set_instrument(lambda *args: 1)
    assert vm["main"](X, W, B) is None


def test_executable() -> None:
    ex = compile(IRModule.parse(SUM), target="llvm", relax_pipeline=None)
    assert isinstance(ex, VMExecutable)
    assert "relax function main(x, w, b)" in ex.stats()
    assert "llvm.func" in ex.as_text()
    _close(ex["main"](X, W, B))
    _close(ex(X, W, B))
    _close(ex.jit()["main"](X, W, B))
    _close(VirtualMachine(ex.jit(), [relax_mlir.cpu()])["main"](X, W, B))


def test_what_a_machine_needs() -> None:
    program: Any = IRModule.parse(SUM)
    with pytest.raises(TypeError, match="expected an executable"):
        VirtualMachine(program, relax_mlir.cpu())
    with pytest.raises(RuntimeError, match="cannot be used"):
        VirtualMachine(machine(SUM)._rt_mod, runtime.hexagon())


LIBRARY = KERNELS + function(
    "main",
    {"x": ty("n", 3)},
    ty("n", 2),
    f"""
  %w = "relax.constant"() {{key = "w"}} : () -> {ty(3, 2)}
  %b = "relax.constant"() {{value = dense<[1.0, -1.0]> : tensor<2xf32>}} : () -> {ty(2)}
  %h = {call_tir("relu", {"%x": ty("n", 3)}, ty("n", 3))}
  %r = {call_tir("linear", {"%h": ty("n", 3), "%w": ty(3, 2), "%b": ty(2)}, ty("n", 2))}
  return %r : {ty("n", 2)}""",
)
LIBRARY += function(
    "weight",
    {},
    ty(3, 2),
    f'  %w = "relax.constant"() {{key = "w"}} : () -> {ty(3, 2)}\n  return %w : {ty(3, 2)}',
)
WEIGHT = np.arange(6, dtype="f").reshape(3, 2)

ALONE = """
import sys
import numpy as np
import tvm_ffi
library = tvm_ffi.load_module(sys.argv[1])
x = np.array([[1, -2, 3], [-1, 2, 0.5]], "f")
w = np.arange(6, dtype="f").reshape(3, 2)
expected = np.maximum(x, 0) @ w + np.array([1, -1], "f")
np.testing.assert_allclose(np.from_dlpack(library.main(x)), expected)
kept = library.weight()
try:
    library.main(x[:, :2].copy())
except ValueError as error:
    assert "argument 0 'x': expected float32 tensor of shape (n, 3)" in str(error), error
else:
    raise AssertionError("a wrong shape was taken")
assert not any(name.startswith(("relax_mlir", "torch_mlir")) for name in sys.modules)
np.testing.assert_array_equal(np.from_dlpack(kept), w)
print("right")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ex = compile(IRModule.parse(LIBRARY, {"w": WEIGHT}), relax_pipeline=None)
    path = tmp_path_factory.mktemp("library") / "program.so"
    ex.export_library(path)
    return path


def test_library_without_this_package(library: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(library)],
        capture_output=True, text=True, timeout=120, cwd=library.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "right"


def test_library_in_a_virtual_machine(library: Path) -> None:
    module = runtime.load_module(library)
    x = np.array([[1, -2, 3]], "f")
    result = VirtualMachine(module, relax_mlir.cpu())["main"](x)
    np.testing.assert_allclose(result.numpy(), np.maximum(x, 0) @ WEIGHT + [1, -1])
    assert module.implements_function("weight")
    assert not module.implements_function("other")
    with pytest.raises(relax_mlir.Error, match="no source"):
        module.inspect_source()


def test_library_tells_its_functions(library: Path) -> None:
    module = runtime.load_module(library)
    info = module.function_info("main")
    assert info is not None
    assert (info.kind, len(info.parameters)) == ("relax", 1)
    assert "relax function main(" in module["stats"]()
    assert module.function_info("stats") is None


def test_missing_library(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        runtime.load_module(tmp_path / "none.so")


def test_linker_errors_are_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ex = compile(
        IRModule.parse(KERNELS + function("main", {"x": N}, N, RELU_OF_X)), relax_pipeline=None
    )
    monkeypatch.setenv("CC", "false")
    with pytest.raises(relax_mlir.Error, match="false failed"):
        ex.export_library(tmp_path / "out.so")


def test_custom_linker(tmp_path: Path) -> None:
    ex = compile(
        IRModule.parse(KERNELS + function("main", {"x": N}, N, RELU_OF_X)), relax_pipeline=None
    )
    seen: list[Any] = []
    ex.export_library(tmp_path / "out.so", fcompile=lambda path, objects: seen.append(objects))
    assert seen[0][0].endswith("module.o")


def test_helpers_of_contrib() -> None:
    from relax_mlir.contrib import cc, utils

    ex = compile(
        IRModule.parse(KERNELS + function("main", {"x": N}, N, RELU_OF_X)), relax_pipeline=None
    )
    with utils.tempdir() as folder:
        path = folder.relpath("out.so")
        ex.export_library(path, fcompile=cc.create_shared)
        assert folder.listdir() == ["out.so"]
        result = runtime.load_module(path)["main"](X)
    np.testing.assert_array_equal(result.numpy(), np.maximum(X, 0))
    assert not folder.path.exists()


def test_files_of_a_module(tmp_path: Path) -> None:
    module = machine(SUM)._rt_mod
    module.write_to_file(tmp_path / "out.mlir")
    assert "llvm.func" in (tmp_path / "out.mlir").read_text()
    module.write_to_file(tmp_path / "out.bin", "o")
    assert (tmp_path / "out.bin").read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    with pytest.raises(ValueError, match="unknown format 'txt'; there are: mlir, o"):
        module.write_to_file(tmp_path / "out.txt")


def test_imported_modules() -> None:
    outer = machine(SUM)._rt_mod
    outer.import_module(machine(LIBRARY.replace("@main", "@inner"), {"w": WEIGHT})._rt_mod)
    assert outer.get_function("inner", query_imports=True) is not None
    with pytest.raises(AttributeError, match="no function 'inner'; it has main"):
        outer.get_function("inner")
