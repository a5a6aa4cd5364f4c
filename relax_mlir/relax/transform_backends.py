"""TVM's names of the passes that take functions or modules of users: back ends, implementations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.relax.transform_base import custom_legalizer, lowering_pass
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import ModulePass, Pass, PassInfo

__all__ = [
    "AllocateWorkspace",
    "AlterOpImpl",
    "AttachExternModules",
    "ConvertLayout",
    "FastMathTransform",
    "FuseOpsByPattern",
    "MergeCompositeFunctions",
    "RunCodegen",
    "SplitCallTIRByPattern",
]


def AlterOpImpl(
    op_impl_map: Mapping[str, Any], op_buffer_transforms: Mapping[str, Sequence[Any]]
) -> Pass:
    """Call other TensorIR functions, by the attribute `operator_name`, with their own layouts.

    See `relax_mlir.relax.alter_op_impl`.
    """
    from relax_mlir.relax.alter_op_impl import alter_op_impl

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return alter_op_impl(mod, op_impl_map, op_buffer_transforms)

    return ModulePass(transform, PassInfo(0, "AlterOpImpl"))


def ConvertLayout(
    desired_layouts: Mapping[str, Sequence[str]], layout_cb: Callable[..., Any] | None = None
) -> Pass:
    """Compute operators in other layouts: `{"relax.nn.conv2d": ["NHWC", "OHWI"]}` gives the layouts
    of the data (and result) and of the weight.

    With `layout_cb` it is asked for such a dictionary for each call instead.
    """
    if layout_cb is None:
        entries = tuple(f"{name}={':'.join(given)}" for name, given in desired_layouts.items())
        return lowering_pass("ConvertLayout", "relax-convert-layout", desired_layouts=entries)
    from relax_mlir.relax.layout_callback import convert_layouts

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return convert_layouts(mod, layout_cb)

    return ModulePass(transform, PassInfo(0, "ConvertLayout"))


def FastMathTransform() -> Pass:
    """Compute exp, erf, tanh and softmax by faster, less exact formulas."""
    from relax_mlir import topi

    def softmax(builder: Any, call: Any) -> Any:
        fast = topi.nn.fast_softmax
        name = "fast_softmax"
        return builder.call_te(fast, call.args[0], call.attrs["axis"], primfunc_name_hint=name)

    def elementwise(name: str) -> Callable[..., Any]:
        function = getattr(topi, name)
        return lambda builder, call: builder.call_te(
            function, call.args[0], primfunc_name_hint=name
        )

    fast = {
        "relax.exp": elementwise("fast_exp"),
        "relax.erf": elementwise("fast_erf"),
        "relax.tanh": elementwise("fast_tanh"),
        "relax.nn.softmax": softmax,
    }
    apply = custom_legalizer(fast, ())
    return ModulePass(lambda mod, ctx: apply(mod), PassInfo(0, "FastMathTransform"))


def AttachExternModules(extern_modules: Sequence[Any]) -> Pass:
    """Load external modules (`nn.ExternModule`) and note them in the module."""
    from relax_mlir.relax.extern_modules import attach_extern_modules

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return attach_extern_modules(mod, extern_modules)

    return ModulePass(transform, PassInfo(0, "AttachExternModules"))


def AllocateWorkspace() -> Pass:
    """Give functions of back ends that ask for a workspace (`WorkspaceSize`) one."""
    from relax_mlir.relax.extern_modules import allocate_workspace

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return allocate_workspace(mod)

    return ModulePass(transform, PassInfo(0, "AllocateWorkspace"))


# -- back ends of users -----------------------------------------------------------------------


def FuseOpsByPattern(
    patterns: Sequence[Any],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> Pass:
    """Move what `patterns` match into private functions with the attribute `Composite`.

    A pattern is a FusionPattern or a tuple `(name, pattern, annotation_patterns, check,
    attrs_getter)`, of which the last three may be left out.  Earlier ones win.
    """
    from relax_mlir.relax.fuse_by_pattern import FusionPattern as Wanted
    from relax_mlir.relax.fuse_by_pattern import fuse_ops_by_pattern

    wanted = [Wanted.of(item) for item in patterns]

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return fuse_ops_by_pattern(mod, wanted, bind_constants, annotate_codegen, entry_functions)

    return ModulePass(transform, PassInfo(0, "FuseOpsByPattern"))


def MergeCompositeFunctions() -> Pass:
    """Gather neighbouring composite functions for one back end into one function for it."""
    return lowering_pass("MergeCompositeFunctions", "relax-merge-composite-functions")


def RunCodegen(
    target_options: Mapping[str, Mapping[str, Any]] | None = None,
    entry_functions: Sequence[str] | None = None,
) -> Pass:
    """Let registered back ends (`relax.register_codegen`) compile what is meant for them."""
    from relax_mlir.relax.codegen import run_codegen

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return run_codegen(mod, target_options, entry_functions)

    return ModulePass(transform, PassInfo(0, "RunCodegen"))


def SplitCallTIRByPattern(
    patterns: Sequence[Any], fcodegen: Callable[[Sequence[Any]], Sequence[Any]]
) -> Pass:
    """Let library code, in C++, compute the first loop nests of TensorIR functions.

    `fcodegen(matches)` returns the code, how many nests it computes and the buffers it takes: see
    `relax_mlir.relax.split_by_pattern`.
    """
    from relax_mlir.relax.split_by_pattern import split_call_tir_by_pattern

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return split_call_tir_by_pattern(mod, patterns, fcodegen)

    return ModulePass(transform, PassInfo(0, "SplitCallTIRByPattern"))
