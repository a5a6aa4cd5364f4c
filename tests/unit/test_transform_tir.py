"""The TensorIR passes under TVM's names, from every module that TVM has had them in."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import relax_mlir as rm
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.target import Target
from relax_mlir.transform import tir as passes


@I.ir_module
class Module:
    @T.prim_func
    def total(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        C = T.alloc_buffer((4, 8), "float32")
        for i, j in T.grid(4, 8):
            with T.block("c"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(4, 8):
            with T.block("b"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + C[vi, vj]

    @T.prim_func(private=True)
    def idle(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("a"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(1)


@pytest.mark.parametrize("name", ["tir.transform", "tirx.transform", "s_tir.transform"])
def test_the_modules_of_other_versions(name: str) -> None:
    assert importlib.import_module(f"relax_mlir.{name}") is passes
    assert rm.tir.transform is passes and rm.s_tir.transform is passes


def test_every_name_says_what_it_does() -> None:
    factories = [getattr(passes, name) for name in passes.__all__ if name[0].isupper()]
    assert len(factories) > 12 and all(factory.__doc__ for factory in factories)


def test_passes_that_rewrite() -> None:
    init = passes.LowerInitBlock()(Module).script()
    assert "T.init()" not in init and "b_init" in init
    with Target("cuda"):
        bound = passes.DefaultGPUSchedule()(Module).script()
    assert bound.count('thread="blockIdx.x"') == 2
    packed = passes.MakePackedAPI()(Module).mlir()
    assert "__tvm_ffi_total" in packed and "__tvm_ffi_idle" not in packed


def test_passes_on_functions() -> None:
    kept = passes.Filter(lambda f: f.get_attr("global_symbol") is not None)(Module)
    assert [var.name_hint for var in kept.functions] == ["total"]
    marked = passes.Apply(lambda f: f.with_attr("seen", True))(Module)
    assert all(function.get_attr("seen") for function in marked.functions.values())
    entry = passes.AnnotateEntryFunc()(Module)
    assert entry["total"].get_attr("tir.is_entry_func")
    assert entry["idle"].get_attr("tir.is_entry_func") is None
    targets = passes.BindTarget("llvm")(Module)
    assert all("llvm" in f.get_attr("target") for f in targets.functions.values())

    @passes.prim_func_pass(opt_level=0)
    def rename(func: Any, mod: Any, ctx: Any) -> Any:
        return func.with_attr("visited", 1)

    assert rename(Module)["idle"].get_attr("visited") == 1
