"""TVM's names: the passes of `relax.transform`, and that each does something somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.relax import analysis
from relax_mlir.relax.struct_info import FuncType, TensorType
from relax_mlir.script import from_source

NAMES = """
AdjustMatmulOrder AllocateWorkspace AlterOpImpl AnnotateTIROpPattern AttachAttrLayoutFreeBuffers
AttachExternModules AttachGlobalSymbol BindParams BindSymbolicVars BundleModelParams CallTIRRewrite
CanonicalizeBindings CombineParallelMatmul ComputePrimValue ConvertLayout ConvertToDataflow
DataflowUseInplaceCalls DeadCodeElimination DecomposeOpsForInference DecomposeOpsForTraining
EliminateCommonSubexpr ExpandMatmulOfSum ExpandTupleArguments FastMathTransform
FoldBatchnormToConv2D FoldConstant FuseOps FuseOpsByPattern FuseTIR FuseTransposeMatmul Gradient
InlinePrivateFunctions KillAfterLastUse LambdaLift LazyGetInput LazySetOutput LazyTransformParams
LegalizeOps LiftTransformParams LowerAllocTensor LowerRuntimeBuiltin MergeCompositeFunctions
Normalize NormalizeGlobalVar OptimizeLayoutTransform RealizeVDevice RemovePurityChecking
RemoveRedundantReshape RemoveUnusedOutputs RemoveUnusedParameters ReorderPermuteDimsAfterConcat
ReorderTakeAfterMatmul RewriteCUDAGraph RewriteDataflowReshape RunCodegen
SpecializePrimFuncBasedOnCallSite SplitCallTIRByPattern SplitLayoutRewritePreproc
StaticPlanBlockMemory ToMixedPrecision ToNonDataflow TopologicalSort
UpdateParamType UpdateVDevice VMBuiltinLower VMShapeLower
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_the_name_is_there_and_says_what_it_does(name: str) -> None:
    assert getattr(relax.transform, name).__doc__


MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def flat(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi // 4, vi % 4]

    @R.function(private=True)
    def helper(p: R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((4, 4), "float32")),
               idle: R.Tensor((1,), "float32")):
        a = p[0]
        b = R.exp(a)
        return (a, b)

    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32"),
             v: R.Tensor((4, 4), "float32"), n: R.Tensor(("k",), "float32")):
        R.func_attr({"num_input": 1})
        cls = Module
        @R.function
        def local(y: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
            z = R.add(x, y)
            return z
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(x, v)
            t = R.permute_dims(w)
            tt = R.matmul(x, t)
            ww = R.matmul(x, R.add(w, v))
            m = R.matmul(R.matmul(x, w), v)
            c = R.call_tir(cls.flat, (a,), out_sinfo=R.Tensor((8,), "float32"))
            d = R.reshape(R.reshape(c, (4, 2)), (2, 4))
            e = R.layout_transform(R.layout_transform(d, lambda i, j: (j, i)), lambda i, j: (j, i))
            f = R.multiply(R.const(2.0, "float32"), R.const(3.0, "float32"))
            g = R.exp(R.exp(e))
            h = R.tanh(g)
            s = R.concat((R.permute_dims(a), R.permute_dims(b)), axis=1)
            bn = R.nn.batch_norm(g, x[0] if False else R.zeros((4,), "float32"),
                                 R.zeros((4,), "float32"), R.zeros((4,), "float32"),
                                 R.ones((4,), "float32"), axis=1)
            R.output(a, b, tt, ww, m, h, s, f, bn)
        idle = R.negative(a)
        r = local(a)
        q = cls.helper((r, w), R.zeros((1,), "float32"))
        k = q[1]
        again = R.exp(a)
        twice = R.exp(a)
        alias = twice
        return (k, again, alias, b, tt, ww, m, h, s, f, bn)
"""


def _module() -> IRModule:
    text = MODULE.replace("x[0] if False else ", "")
    module = from_source(text)
    assert isinstance(module, IRModule)
    return module


def _after(*names: str) -> IRModule:
    module = _module()
    for name in names:
        module = getattr(relax.transform, name)()(module)
    return module


T = relax.transform
# What changes this module (behind the passes before it): factory arguments by name.
CHANGES: dict[str, Callable[[], tuple[IRModule, Any]]] = {
    **{
        name: lambda name=name: (_module(), getattr(T, name)())
        for name in (
            "AdjustMatmulOrder BundleModelParams CanonicalizeBindings CombineParallelMatmul "
            "DataflowUseInplaceCalls DeadCodeElimination DecomposeOpsForInference "
            "DecomposeOpsForTraining EliminateCommonSubexpr ExpandMatmulOfSum ExpandTupleArguments "
            "FastMathTransform FoldConstant InlinePrivateFunctions LambdaLift LazyGetInput "
            "LazySetOutput LegalizeOps LiftTransformParams OptimizeLayoutTransform "
            "RemovePurityChecking RemoveRedundantReshape RemoveUnusedParameters "
            "ReorderPermuteDimsAfterConcat RewriteDataflowReshape ToMixedPrecision ToNonDataflow "
            "AnnotateTIROpPattern AttachGlobalSymbol"
        ).split()
    },
    "BindSymbolicVars": lambda: (_module(), T.BindSymbolicVars({"k": 3})),
    "BindParams": lambda: (_module(), T.BindParams("main", {"w": np.ones((4, 4), "float32")})),
    "CallTIRRewrite": lambda: (_after("LegalizeOps", "ToNonDataflow"), T.CallTIRRewrite()),
    "StaticPlanBlockMemory": lambda: (
        _after("LegalizeOps", "ToNonDataflow", "CallTIRRewrite"),
        T.StaticPlanBlockMemory(),
    ),
    "LowerAllocTensor": lambda: (
        _after("LegalizeOps", "ToNonDataflow", "CallTIRRewrite"),
        T.LowerAllocTensor(),
    ),
    "KillAfterLastUse": lambda: (_after("ToNonDataflow"), T.KillAfterLastUse()),
    "LowerRuntimeBuiltin": lambda: (
        _after("ToNonDataflow", "KillAfterLastUse"),
        T.LowerRuntimeBuiltin(),
    ),
    "FuseOps": lambda: (_after("LegalizeOps", "AnnotateTIROpPattern"), T.FuseOps()),
    "FuseTIR": lambda: (_after("LegalizeOps", "AnnotateTIROpPattern", "FuseOps"), T.FuseTIR()),
    "FuseTransposeMatmul": lambda: (_after("LegalizeOps"), T.FuseTransposeMatmul()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_pass_changes_a_program(name: str) -> None:
    before, made = CHANGES[name]()
    after = made(before).verify()
    assert after.script() != before.script()


def test_types_against_types() -> None:
    def f32(*shape: Any) -> TensorType:
        return TensorType(shape, "float32")

    check, result = analysis.type_base_check, analysis.BaseCheckResult
    assert check(f32("n", 4), f32("n", 4)) is result.PASS
    assert check(TensorType(None, "float32", ndim=2), f32(3, 4)) is result.PASS
    assert check(f32("n", 4), f32(3, 4)) is result.FAIL_L2
    assert check(f32(3, 4), f32(3, 5)) is result.FAIL_L1
    assert check(f32(3, 4), TensorType((3, 4), "int8")) is result.FAIL_L0
    x = relax.Var("x", f32(5, 4))
    kind = FuncType([f32("n", 4)], f32("n"))
    call = relax.Call(relax.ExternFunc("f"), [x])
    assert analysis.derive_call_ret_type(kind, call) == f32(5)
