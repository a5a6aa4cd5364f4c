"""TVM's names of the Relax passes: `relax.transform.FuseOps()` makes a pass to call on a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.blocks import BindingBlock, DataflowBlock, SeqExpr
from relax_mlir.relax.expr import Var
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import from_mlir_type
from relax_mlir.relax.transform_backends import AllocateWorkspace as AllocateWorkspace
from relax_mlir.relax.transform_backends import AlterOpImpl as AlterOpImpl
from relax_mlir.relax.transform_backends import AttachExternModules as AttachExternModules
from relax_mlir.relax.transform_backends import ConvertLayout as ConvertLayout
from relax_mlir.relax.transform_backends import FastMathTransform as FastMathTransform
from relax_mlir.relax.transform_backends import FuseOpsByPattern as FuseOpsByPattern
from relax_mlir.relax.transform_backends import MergeCompositeFunctions as MergeCompositeFunctions
from relax_mlir.relax.transform_backends import RunCodegen as RunCodegen
from relax_mlir.relax.transform_backends import SplitCallTIRByPattern as SplitCallTIRByPattern
from relax_mlir.relax.transform_base import custom_legalizer
from relax_mlir.relax.transform_base import lowering_pass as _lowering
from relax_mlir.relax.transform_devices import RealizeVDevice as RealizeVDevice
from relax_mlir.relax.transform_devices import RewriteCUDAGraph as RewriteCUDAGraph
from relax_mlir.relax.transform_devices import (
    SpecializePrimFuncBasedOnCallSite as SpecializePrimFuncBasedOnCallSite,
)
from relax_mlir.relax.transform_devices import UpdateVDevice as UpdateVDevice
from relax_mlir.relax.transform_tuning import (
    MetaScheduleApplyDatabase as MetaScheduleApplyDatabase,
)
from relax_mlir.relax.transform_tuning import MetaScheduleTuneIRMod as MetaScheduleTuneIRMod
from relax_mlir.relax.transform_tuning import MetaScheduleTuneTIR as MetaScheduleTuneTIR
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import (
    FunctionPass,
    ModulePass,
    Pass,
    PassInfo,
    make_decorator,
)

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
    custom = custom_legalizer(dict(customize_legalize_map), skipped)

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return legalize.transform_module(custom(mod), ctx)

    return ModulePass(transform, legalize.info)


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


def FuseAttention() -> Pass:
    """Group `matmul -> (scale, mask) -> softmax -> matmul`; FuseTIR has to follow."""
    return _lowering("FuseAttention", "relax-fuse-attention")


def FuseImageChains(always: bool = False) -> Pass:
    """Group `product -> depthwise convolution or pooling -> (product)` on images, where that pays
    or `always`; FuseTIR has to follow."""
    return _lowering("FuseImageChains", "relax-fuse-image-chains", always=always)


def ChooseLayout() -> Pass:
    """Compute convolutional networks with channels last."""
    return _lowering("ChooseLayout", "relax-choose-layout")


def QuantizedToInteger() -> Pass:
    """Compute convolutions and products of quantized data and weights from their bytes."""
    return _lowering("QuantizedToInteger", "relax-quantized-to-integer")


def FoldScaleAxis() -> Pass:
    """Put what scales and shifts channels into the weights of convolutions and matmuls."""
    return _lowering("FoldScaleAxis", "relax-fold-scale-axis")


def ConvolutionToMatmul() -> Pass:
    """Write convolutions of single pixels, channels last, as matrix products."""
    return _lowering("ConvolutionToMatmul", "relax-convolution-to-matmul")


def SplitGroupedConvolution() -> Pass:
    """Write convolutions of few wide groups as one for each."""
    return _lowering("SplitGroupedConvolution", "relax-split-grouped-convolution")


def TransposedConvolutionToConvolution() -> Pass:
    """Write transposed convolutions as convolutions."""
    return _lowering(
        "TransposedConvolutionToConvolution", "relax-transposed-convolution-to-convolution"
    )


def ReorderPoolBeforeMatmul() -> Pass:
    """Average the pixels of an image before they are multiplied by a matrix, not the products."""
    return _lowering("ReorderPoolBeforeMatmul", "relax-reorder-pool-before-matmul")


def ScaleMatmulWeights() -> Pass:
    """Scale the rows of a weight instead of the columns of a large matrix it is multiplied with."""
    return _lowering("ScaleMatmulWeights", "relax-scale-matmul-weights")


def TransformConvolutionWeights(accuracy: str | None = None) -> Pass:
    """Choose the form of convolutions, and transform and pack constant weights.

    `accuracy` is "default" for the fastest form or "exact" for no more error than a direct
    convolution has; without it the PassContext's `convolution-accuracy` and then the target's
    count.
    """
    asked = PassContext.current().config.get("convolution-accuracy", "")
    chosen = asked if accuracy is None else accuracy
    return _lowering(
        "TransformConvolutionWeights", "relax-transform-convolution-weights", accuracy=chosen
    )


def PackConstantWeights() -> Pass:
    """Lay out constant weights of matmuls as the panels that kernels read."""
    return _lowering("PackConstantWeights", "relax-pack-constant-weights")


def PackNarrowWeights() -> Pass:
    """Lay out constant weights of bfloat16 and of bytes as dot-product instructions read them."""
    return _lowering("PackNarrowWeights", "relax-pack-narrow-weights")


# -- constants, symbols, parameters -----------------------------------------------------------


def FoldConstant(moves_only: bool = False) -> Pass:
    """Compute calls whose arguments are all constants; with `moves_only` those of operators that
    only move elements (reshape, permute_dims, ...), for which nothing is compiled."""
    options = {"moves_only": True} if moves_only else {}
    return _lowering("FoldConstant", "relax-fold-constant", **options)


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


def LambdaLift() -> Pass:
    """Make functions inside functions private functions of the module, and closures of them."""
    return _lowering("LambdaLift", "relax-lambda-lift")


def ResolveClosures() -> Pass:
    """Call the function itself where a closure is made in sight of its call."""
    return _lowering("ResolveClosures", "relax-resolve-closures")


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


def OptimizeLayoutTransform() -> Pass:
    """Make one `layout_transform` of two, none where the second undoes the first."""
    return _lowering("OptimizeLayoutTransform", "relax-optimize-layout-transform")


def DataflowUseInplaceCalls() -> Pass:
    """Write the results of elementwise calls over operands that nothing uses afterwards."""
    return _lowering("DataflowUseInplaceCalls", "relax-dataflow-use-inplace-calls")


def RewriteDataflowReshape() -> Pass:
    """Write calls of functions that only copy in order as `relax.reshape`, which costs nothing."""
    return _lowering("RewriteDataflowReshape", "relax-rewrite-dataflow-reshape")


def StaticPlanBlockMemory() -> Pass:
    """Plan the memory of intermediate tensors: those that are never alive together share it."""
    return _lowering("StaticPlanBlockMemory", "relax-static-plan-block-memory")


def CallTIRRewrite() -> Pass:
    """Allocate the results of calls in destination-passing style by operations of their own."""
    return _lowering("CallTIRRewrite", "relax-call-tir-rewrite")


def LowerAllocTensor() -> Pass:
    """Give each tensor that is allocated a storage of its own."""
    return _lowering("LowerAllocTensor", "relax-lower-alloc-tensor")


def KillAfterLastUse() -> Pass:
    """Say behind the last use of storage and tensors that they are not used any more."""
    return _lowering("KillAfterLastUse", "relax-kill-after-last-use")


def LowerRuntimeBuiltin() -> Pass:
    """Write operators on memory as those of the virtual machine."""
    return _lowering("LowerRuntimeBuiltin", "relax-lower-runtime-builtin")


VMBuiltinLower = LowerRuntimeBuiltin


# -- parameters of models ---------------------------------------------------------------------


def LiftTransformParams(shared_transform: bool | Sequence[str] = False) -> Pass:
    """Compute what depends on a model's parameters only in `<function>_transform_params`.

    `num_input` of a function says where its model parameters begin.  With `shared_transform` (True,
    or names of functions) one function `transform_params` does so for all.
    """
    if isinstance(shared_transform, bool):
        options: dict[str, Any] = {"shared_transform": shared_transform}
    else:
        options = {"shared_transform": True, "shared_functions": tuple(shared_transform)}
    return _lowering("LiftTransformParams", "relax-lift-transform-params", **options)


def LazyTransformParams(
    fget_item: str = "get_item",
    fset_item: str = "set_item",
    extra_get_item_params: Sequence[Any] | None = None,
    extra_set_item_params: Sequence[Any] | None = None,
) -> Pass:
    """Let `*transform_params` functions fetch their parameters and hand over their results one by
    one, by the registered functions `fget_item(i)` and `fset_item(i, value)`."""
    if extra_get_item_params or extra_set_item_params:
        raise PassError("LazyTransformParams takes no extra parameters for its functions")
    return _lowering(
        "LazyTransformParams",
        "relax-lazy-transform-params",
        fget_item=fget_item,
        fset_item=fset_item,
    )


def LazyGetInput() -> Pass:
    """Let functions with `num_input` fetch each model parameter before its first use."""
    return _lowering("LazyGetInput", "relax-lazy-get-input")


def LazySetOutput() -> Pass:
    """Let functions hand over each result as soon as it is there."""
    return _lowering("LazySetOutput", "relax-lazy-set-output")


def BundleModelParams(param_tuple_name: str | None = None) -> Pass:
    """Give the parameters from position `num_input` on as one tuple."""
    name = param_tuple_name or "model_params"
    return _lowering("BundleModelParams", "relax-bundle-model-params", param_tuple_name=name)


def ExpandTupleArguments() -> Pass:
    """Give private functions the fields of their tuple parameters."""
    return _lowering("ExpandTupleArguments", "relax-expand-tuple-arguments")


def UpdateParamType(ty_func: Callable[[Var], Any]) -> Pass:
    """Give parameters of all Relax functions new types: `ty_func(var)` returns one, or None.

    Types inside the functions are inferred again; raises VerificationError when a new type does
    not fit the body.
    """
    from relax_mlir.relax.update_params import update_param_types

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return update_param_types(mod, ty_func)

    return ModulePass(transform, PassInfo(0, "UpdateParamType"))


UpdateParamStructInfo = UpdateParamType


def AttachAttrLayoutFreeBuffers() -> Pass:
    """Note in TensorIR functions which parameters are constants or the model's."""
    return _lowering("AttachAttrLayoutFreeBuffers", "relax-attach-attr-layout-free-buffers")


def SplitLayoutRewritePreproc() -> Pass:
    """Move what lays out weights anew, in TensorIR functions, into functions of their own."""
    return _lowering("SplitLayoutRewritePreproc", "relax-split-layout-rewrite-preproc")


# -- operators rewritten ----------------------------------------------------------------------


def ToMixedPrecision(
    out_dtype: str = "float32",
    fp16_input_names: Sequence[str] | None = None,
    dtype: str = "float16",
) -> Pass:
    """Compute matmuls, convolutions and attention on float16 (or bfloat16) operands."""
    return _lowering(
        "ToMixedPrecision",
        "relax-to-mixed-precision",
        out_dtype=out_dtype,
        fp16_input_names=tuple(fp16_input_names or ()),
        dtype=dtype,
    )


def CombineParallelMatmul(check: Callable[..., bool] | None = None) -> Pass:
    """Multiply a tensor by several matrices at once; `check(input, rights, biases, options)` may
    refuse a group (`biases` is empty: they are combined only when all can be)."""
    if check is None:
        return _lowering("CombineParallelMatmul", "relax-combine-parallel-matmul")

    def ask(left: Any, rights: Sequence[Any]) -> bool:
        return bool(check(_as_var(left), [_as_var(value) for value in rights], [], {}))

    return _lowering("CombineParallelMatmul", "relax-combine-parallel-matmul", check=ask)


def _as_var(value: Any) -> Var:
    from relax_mlir.dialects.names import name_of

    return Var(name_of(value) or "lv", from_mlir_type(value.type))


def FoldBatchnormToConv2D() -> Pass:
    """Fold batch normalisation with constant parameters into the convolution before it."""
    return _lowering("FoldBatchnormToConv2D", "relax-fold-batchnorm-to-conv2d")


def DecomposeOpsForInference(func_name: str | None = None) -> Pass:
    """Write batch normalisation as arithmetic with the running statistics."""
    return _lowering(
        "DecomposeOpsForInference", "relax-decompose-ops-for-inference", func_name=func_name or ""
    )


def DecomposeOpsForTraining(func_name: str | None = None) -> Pass:
    """Write batch and layer normalisation as arithmetic whose gradients are known."""
    return _lowering(
        "DecomposeOpsForTraining", "relax-decompose-ops-for-training", func_name=func_name or ""
    )


def ReorderPermuteDimsAfterConcat() -> Pass:
    """Transpose after a concatenation instead of each part before it."""
    return _lowering("ReorderPermuteDimsAfterConcat", "relax-reorder-permute-dims-after-concat")


def ReorderTakeAfterMatmul() -> Pass:
    """Take columns of a product instead of columns of the matrix."""
    return _lowering("ReorderTakeAfterMatmul", "relax-reorder-take-after-matmul")


def ExpandMatmulOfSum() -> Pass:
    """Write `x @ (A + B)` as `x @ A + x @ B`."""
    return _lowering("ExpandMatmulOfSum", "relax-expand-matmul-of-sum")


def AdjustMatmulOrder() -> Pass:
    """Multiply chains of matrices in the cheaper order."""
    return _lowering("AdjustMatmulOrder", "relax-adjust-matmul-order")


def AttachGlobalSymbol() -> Pass:
    """Make every function public, under its name."""
    return _lowering("AttachGlobalSymbol", "relax-attach-global-symbol")


def RemovePurityChecking() -> Pass:
    """Mark pure functions as `relax.force_pure` and let them call anything."""
    return _lowering("RemovePurityChecking", "relax-remove-purity-checking")


def TopologicalSort(order: str = "depth-first", direction: str = "from-inputs") -> Pass:
    """Order the bindings of dataflow blocks anew, as early or as late as possible."""
    return _lowering("TopologicalSort", "relax-topological-sort", order=order, direction=direction)


def Gradient(
    func_name: str,
    require_grads: Var | str | Sequence[Var | str] | None = None,
    target_index: int = 0,
) -> Pass:
    """Add `<func_name>_adjoint`, which returns (what the function returns, gradients).

    The gradients are those of the scalar it returns (field `target_index` of a tuple) by the
    parameters `require_grads` (variables or names), all float ones by default.
    """
    chosen: Sequence[Var | str] = (
        []
        if require_grads is None
        else [require_grads]
        if isinstance(require_grads, (Var, str))
        else require_grads
    )
    return _lowering(
        "Gradient",
        "relax-gradient",
        func_name=func_name,
        require_grads=tuple(str(getattr(var, "name_hint", var)) for var in chosen),
        target_index=target_index,
    )


def __getattr__(name: str) -> Any:
    if name in ("FusionPattern", "PatternCheckContext"):
        from relax_mlir.relax import fuse_by_pattern

        return getattr(fuse_by_pattern, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


# -- passes whose work is done elsewhere -------------------------------------------------------


def _holds(name: str, why: str) -> Callable[..., Pass]:
    """The factory of a pass of TVM's pipelines whose result every module here has already."""

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.verify()

    def make(**options: Any) -> Pass:
        return ModulePass(transform, PassInfo(0, name))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"Verifies the module and leaves it as it is: {why}."
    return make


NormalizeGlobalVar = _holds("NormalizeGlobalVar", "a public function's name is its symbol")
ComputePrimValue = _holds("ComputePrimValue", "compiled host code computes scalars")
VMShapeLower = _holds("VMShapeLower", "compiled host code computes and checks shapes")

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
