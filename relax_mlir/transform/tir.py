"""TVM's names of the TensorIR passes (`tvm.tir.transform`, `tirx.transform`, `s_tir.transform`).

Those are here whose work is a step of its own in this compiler too.  The others of TVM's are parts
of the way to LLVM or PTX that MLIR's dialects go in other steps (`relax-opt --list-passes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import find_pass
from relax_mlir.tir.function import PrimFunc
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import (
    FunctionPass,
    LoweringPass,
    ModulePass,
    Pass,
    PassInfo,
    make_decorator,
)

__all__ = [
    "AnnotateEntryFunc",
    "Apply",
    "BindTarget",
    "CompactBufferAllocation",
    "DefaultGPUSchedule",
    "Filter",
    "InjectSoftwarePipeline",
    "InjectVirtualThread",
    "LowerCrossThreadReduction",
    "LowerInitBlock",
    "MakePackedAPI",
    "PlanAndUpdateBufferAllocationLocation",
    "PrimFuncPass",
    "UnifyThreadBinding",
    "prim_func_pass",
]


class PrimFuncPass(FunctionPass):
    """A pass made from a Python function `(func, mod, ctx) -> func` on TensorIR functions."""

    def __init__(self, transform: Callable[..., BaseFunc], info: PassInfo) -> None:
        super().__init__(transform, info, PrimFunc)


prim_func_pass = make_decorator("transform_function", PrimFuncPass)
"""Decorator: a pass on TensorIR functions from `def transform_function(func, mod, ctx) -> func` or
a class with that method."""


def _lowering(name: str, pass_name: str, doc: str) -> Callable[[], Pass]:
    """The factory of a lowering pass under TVM's name."""

    def make() -> Pass:
        cls = find_pass(pass_name)
        if cls is None:
            raise PassError(f"there is no pass '{pass_name}'")
        return LoweringPass(name, cls())

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return make


CompactBufferAllocation = _lowering(
    "CompactBufferAllocation",
    "tir-compact-buffer-allocation",
    "Make buffers as large as what is accessed of them where they are allocated.",
)
LowerInitBlock = _lowering(
    "LowerInitBlock",
    "tir-decompose-reduction",
    "Write the initialisation of reductions as a block of its own in front of their loops.",
)
PlanAndUpdateBufferAllocationLocation = _lowering(
    "PlanAndUpdateBufferAllocationLocation",
    "tir-plan-buffer-allocation",
    "Allocate buffers in the innermost loop around all their uses.",
)
UnifyThreadBinding = _lowering(
    "UnifyThreadBinding",
    "tir-unify-thread-binding",
    "One loop for each thread axis, around the whole kernel.",
)
LowerCrossThreadReduction = _lowering(
    "LowerCrossThreadReduction",
    "tir-lower-cross-thread-reduction",
    "Reductions bound to threads as shuffles and staging in shared memory.",
)
InjectVirtualThread = _lowering(
    "InjectVirtualThread",
    "tir-inject-virtual-thread",
    "Virtual threads as loops, with a part of each buffer of their own.",
)
InjectSoftwarePipeline = _lowering(
    "InjectSoftwarePipeline",
    "tir-inject-software-pipeline",
    "Loops with pipeline annotations as prologue, body and epilogue on several buffers.",
)
MakePackedAPI = _lowering(
    "MakePackedAPI",
    "tir-make-packed-api",
    "Wrap public functions in functions of the TVM FFI that check their arguments.",
)


def DefaultGPUSchedule() -> Pass:
    """Bind what has no schedule to threads of a GPU."""
    from relax_mlir.dlight import ApplyDefaultSchedule
    from relax_mlir.dlight.gpu import Fallback

    apply = ApplyDefaultSchedule(Fallback())
    return ModulePass(lambda mod, ctx: apply(mod), PassInfo(0, "DefaultGPUSchedule"))


def Apply(ftransform: Callable[[Any], BaseFunc]) -> Pass:
    """Replace each TensorIR function by what `ftransform(function)` returns."""
    return PrimFuncPass(lambda func, mod, ctx: ftransform(func), PassInfo(0, "Apply"))


def Filter(fcond: Callable[[Any], bool]) -> Pass:
    """Keep only the TensorIR functions of which `fcond(function)` is true."""

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        for var, function in mod.functions.items():
            if isinstance(function, PrimFunc) and not fcond(function):
                result.remove(var)
        return result

    return ModulePass(transform, PassInfo(0, "Filter"))


def BindTarget(target: Any) -> Pass:
    """Note in every TensorIR function the target it is compiled for, where it has none."""
    from relax_mlir.target import Target

    text = str(Target(target) if isinstance(target, (str, dict)) else target)

    def bind(func: Any) -> BaseFunc:
        return func if func.get_attr("target") is not None else func.with_attr("target", text)

    return PrimFuncPass(lambda func, mod, ctx: bind(func), PassInfo(0, "BindTarget"))


def AnnotateEntryFunc() -> Pass:
    """Mark the only public TensorIR function of a module as `tir.is_entry_func`."""

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        public = [
            (var, function)
            for var, function in mod.functions.items()
            if isinstance(function, PrimFunc) and function.get_attr("global_symbol") is not None
        ]
        if len(public) == 1:
            ((var, function),) = public
            result.update_func(var, function.with_attr("tir.is_entry_func", True))
        return result

    return ModulePass(transform, PassInfo(0, "AnnotateEntryFunc"))
