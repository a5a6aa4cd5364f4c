"""Passes as Python objects (TVM's `tvm.transform`): a pass is called on an IRModule and returns a
new one."""

from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import (
    ApplyPassToFunction,
    FunctionPass,
    LoweringPass,
    ModulePass,
    Pass,
    PassInfo,
    PassPipeline,
    PrintIR,
    Sequential,
    module_pass,
)

__all__ = [
    "ApplyPassToFunction",
    "FunctionPass",
    "LoweringPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PassPipeline",
    "PrintIR",
    "Sequential",
    "module_pass",
]
