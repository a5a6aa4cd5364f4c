"""TVM's names of the Relax passes: `relax.transform.FuseOps()` makes a pass to call on a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import find_pass
from relax_mlir.relax.blocks import BindingBlock, DataflowBlock, SeqExpr
from relax_mlir.relax.function import Function
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import (
    FunctionPass,
    LoweringPass,
    ModulePass,
    Pass,
    PassInfo,
    make_decorator,
)


def _lowering(name: str, pass_name: str, **options: Any) -> LoweringPass:
    """The lowering pass `pass_name` under TVM's name."""
    cls = find_pass(pass_name)
    if cls is None:
        raise PassError(f"there is no pass '{pass_name}'")
    return LoweringPass(name, cls(**options))


# -- operators to TensorIR, fusion ------------------------------------------------------------


def LegalizeOps(
    customize_legalize_map: Mapping[str, Callable[..., Any]] | None = None,
    skip_ops: Sequence[str] | None = None,
    enable_warning: bool = False,
) -> Pass:
    """Replace operators by calls to TensorIR functions that compute them.

    `customize_legalize_map` gives functions `(BlockBuilder, Call) -> Expr` for operators by name;
    operators in `skip_ops` stay.
    """
    skipped = tuple(str(getattr(op, "name", op)) for op in skip_ops or ())
    legalize = _lowering(
        "LegalizeOps", "relax-legalize-ops", **({"skip_ops": skipped} if skipped else {})
    )
    if not customize_legalize_map:
        return legalize
    custom = _custom_legalizer(dict(customize_legalize_map), skipped)

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return legalize.transform_module(custom(mod), ctx)

    return ModulePass(transform, legalize.info)


def _custom_legalizer(
    legalizers: Mapping[str, Callable[..., Any]], skipped: Sequence[str]
) -> Callable[[IRModule], IRModule]:
    """Applies a user's functions for operators, before the table's."""
    from relax_mlir.relax.block_builder import BlockBuilder
    from relax_mlir.relax.rewrite import rewrite_calls

    def apply(mod: IRModule) -> IRModule:
        builder = BlockBuilder(mod)

        def replace(call: Any) -> Any:
            name = str(getattr(call.op, "name", ""))
            if name in skipped or name not in legalizers:
                return None
            return legalizers[name](builder, call)

        return rewrite_calls(mod, builder, replace)

    return apply


def AnnotateTIROpPattern() -> Pass:
    """Write each TensorIR function's fusion pattern into its attribute `op_pattern`."""
    return _lowering("AnnotateTIROpPattern", "relax-annotate-tir-op-pattern")


def FuseOps(fuse_opt_level: int = -1) -> Pass:
    """Group calls by the `op_pattern` of what they call; level 0 groups nothing."""
    return _lowering("FuseOps", "relax-fuse-ops", fuse_opt_level=fuse_opt_level)


def FuseTIR() -> Pass:
    """Make one TensorIR function of each group that FuseOps made."""
    return _lowering("FuseTIR", "relax-fuse-tir")


def FuseTransposeMatmul() -> Pass:
    """Group each matmul with the transpositions of its operands; FuseTIR has to follow."""
    return _lowering("FuseTransposeMatmul", "relax-fuse-transpose-matmul")


# -- constants, symbols, parameters -----------------------------------------------------------


def FoldConstant() -> Pass:
    """Compute calls whose arguments are all constants."""
    return _lowering("FoldConstant", "relax-fold-constant")


def BindParams(func_name: str, params: Mapping[Any, Any]) -> Pass:
    """Replace parameters of a function, by name or Var, by constants (arrays or tensors)."""
    named = {str(getattr(key, "name_hint", key)): value for key, value in params.items()}
    return _lowering("BindParams", "relax-bind-params", func_name=func_name, params=named)


def BindSymbolicVars(binding_map: Mapping[Any, Any], func_name: str | None = None) -> Pass:
    """Give symbols of shapes, by name or `tir.Var`, a value."""
    return _lowering(
        "BindSymbolicVars",
        "relax-bind-symbolic-vars",
        binding_map=dict(binding_map),
        func_name=func_name or "",
    )


# -- structure --------------------------------------------------------------------------------


def Normalize() -> Pass:
    """Infer every type again from what it is computed from."""
    return _lowering("Normalize", "relax-normalize")


def CanonicalizeBindings() -> Pass:
    """Remove bindings that only rename a value or take a known tuple apart."""
    return _lowering("CanonicalizeBindings", "relax-canonicalize-bindings")


def EliminateCommonSubexpr(call_only: bool = False) -> Pass:
    """Compute equal expressions without effects once."""
    return _lowering(
        "EliminateCommonSubexpr", "relax-eliminate-common-subexpr", call_only=call_only
    )


def DeadCodeElimination(entry_functions: Sequence[Any] | None = None) -> Pass:
    """Remove bindings nobody needs and functions not reached from public ones and entries."""
    names = tuple(str(getattr(f, "name_hint", f)) for f in entry_functions or ())
    return _lowering("DeadCodeElimination", "relax-dead-code-elimination", entry_functions=names)


def ToNonDataflow() -> Pass:
    """Put the bindings of dataflow blocks where the blocks were."""
    return _lowering("ToNonDataflow", "relax-to-non-dataflow")


def ConvertToDataflow(min_size: int = 2) -> Pass:
    """Gather runs of at least `min_size` bindings without effects into dataflow blocks."""
    return _lowering("ConvertToDataflow", "relax-convert-to-dataflow", min_size=min_size)


def InlinePrivateFunctions() -> Pass:
    """Replace calls to private Relax functions by their bodies."""
    return _lowering("InlinePrivateFunctions", "relax-inline-private-functions")


def RemoveUnusedParameters() -> Pass:
    """Drop the parameters that private functions do not use."""
    return _lowering("RemoveUnusedParameters", "relax-remove-unused-parameters")


def RemoveUnusedOutputs() -> Pass:
    """Drop the fields of private functions' results that no caller uses."""
    return _lowering("RemoveUnusedOutputs", "relax-remove-unused-outputs")


def RemoveRedundantReshape() -> Pass:
    """Reshape from the first tensor of a chain of reshapes; drop those that change nothing."""
    return _lowering("RemoveRedundantReshape", "relax-remove-redundant-reshape")


def StaticPlanBlockMemory() -> Pass:
    """Plan the memory of intermediate tensors: those that are never alive together share it."""
    return _lowering("StaticPlanBlockMemory", "relax-static-plan-block-memory")


# -- passes written in Python -----------------------------------------------------------------


def _function_pass(transform: Callable[..., Any], info: PassInfo) -> Pass:
    return FunctionPass(transform, info, Function)


function_pass = make_decorator("transform_function", _function_pass)
"""Decorator: a pass on Relax functions from `def transform_function(func, mod, ctx) -> func` or a
class with that method."""


class DataflowBlockPass(FunctionPass):
    """A pass made from a Python function `(block, mod, ctx) -> block` on dataflow blocks."""

    def __init__(self, transform: Callable[..., DataflowBlock], info: PassInfo):
        super().__init__(self._transform_blocks, info, Function)
        self._transform_block = transform

    def _transform_blocks(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        blocks: list[BindingBlock] = []
        for block in func.body.blocks:
            if isinstance(block, DataflowBlock):
                block = self._transform_block(block, mod, ctx)
                if not isinstance(block, DataflowBlock):
                    raise PassError(
                        f"pass '{self.info.name}' returned a {type(block).__name__}, "
                        "not a DataflowBlock"
                    )
            blocks.append(block)
        return Function(
            func.params,
            SeqExpr(blocks, func.body.body),
            func.ret_struct_info,
            func.is_pure,
            func.attrs,
        )


dataflowblock_pass = make_decorator("transform_dataflowblock", DataflowBlockPass)
"""Decorator: a pass on dataflow blocks from `def transform_dataflowblock(block, mod, ctx) -> block`
or a class with that method."""
