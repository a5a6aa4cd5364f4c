"""The named pipelines of Relax (TVM's `relax.pipeline`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.remove_vdevice import RemoveVDevice
from relax_mlir.relax import transform
from relax_mlir.target import Target
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import (
    LoweringPass,
    ModulePass,
    Pass,
    PassInfo,
    PassPipeline,
    Sequential,
)


def _one_device() -> Pass:
    """Refuses programs for several devices."""
    return LoweringPass("RemoveVDevice", RemoveVDevice())


def zero_pipeline(*, enable_warning: bool = False) -> Pass:
    """Operators to TensorIR functions, constants folded, calls fused; inside of `with database:`
    the functions get the schedules that were found by tuning."""
    return Sequential(
        [
            _one_device(),
            transform.LegalizeOps(enable_warning=enable_warning),
            transform.AnnotateTIROpPattern(),
            transform.FoldConstant(),
            transform.FuseOps(),
            transform.FuseTIR(),
            ModulePass(_apply_database, PassInfo(0, "ApplyCurrentDatabase")),
        ],
        name="zero",
    )


def _apply_database(mod: IRModule, ctx: PassContext) -> IRModule:
    # The tuner is not imported to find that out: a database can only be current where it is.
    tuner = sys.modules.get("relax_mlir.meta_schedule.scope")
    entered = tuner is not None and tuner.DATABASES
    return transform.MetaScheduleApplyDatabase()(mod) if entered else mod


def default_build_pipeline() -> Pass:
    """What `relax.build` runs: the zero pipeline on all code, inside dataflow blocks or not, after
    what is computed twice or in vain is gone; images have their channels last, constant weights
    lie as kernels read them, and transposed operands of matmuls are read in place.

    TVM's default does not fuse; nothing else differs for the user.  Products of one operand by
    several weights (Q, K and V) stay apart: `CombineParallelMatmul` before this makes BERT-base
    3 % slower, since what takes the wide product apart again reads and writes it once more.
    """
    return Sequential(
        [
            _one_device(),
            transform.LambdaLift(),
            transform.ResolveClosures(),
            transform.RemoveRedundantReshape(),
            transform.DeadCodeElimination(),
            transform.EliminateCommonSubexpr(),
            transform.ConvertToDataflow(),
            transform.QuantizedToInteger(),
            transform.ChooseLayout(),
            transform.FoldScaleAxis(),
            transform.ConvolutionToMatmul(),
            transform.ReorderPoolBeforeMatmul(),
            transform.ScaleMatmulWeights(),
            transform.TransposedConvolutionToConvolution(),
            transform.SplitGroupedConvolution(),
            transform.TransformConvolutionWeights(),
            transform.PackConstantWeights(),
            transform.PackNarrowWeights(),
            transform.FoldConstant(moves_only=True),
            zero_pipeline(),
            transform.FuseTransposeMatmul(),
            transform.FuseTIR(),
            transform.FuseAttention(),
            transform.FuseImageChains(),
            transform.FuseTIR(),
            transform.RewriteDataflowReshape(),
        ],
        name="default_build",
    )


def static_shape_tuning_pipeline(
    total_trials: int,
    target: Any,
    work_dir: str = "tuning_logs",
    cpu_weight_prepack: bool = False,
    max_trials_per_task: int | None = None,
) -> Pass:
    """Tunes a program of static shapes for a target, and schedules it by what was found.

    On a CPU what is tuned are the functions that compiling makes, with its layouts and fusions, so
    that the result is never slower than the program compiled without tuning.  Without
    `max_trials_per_task` each task may use all of `total_trials`; with 0 trials the records in
    `work_dir` are only applied.

    `cpu_weight_prepack` moves what only depends on the parameters behind the first `num_input` of
    a function into `<name>_transform_params`, to be run once: see `LiftTransformParams`.
    """
    chosen = Target(target)

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        is_cpu = chosen.device_type == "cpu"
        passes: list[Pass] = [
            transform.DecomposeOpsForInference(),
            transform.CanonicalizeBindings(),
            default_build_pipeline() if is_cpu else zero_pipeline(),
        ]
        if cpu_weight_prepack:
            passes.append(transform.AttachAttrLayoutFreeBuffers())
        with chosen:
            if total_trials > 0:
                passes.append(
                    transform.MetaScheduleTuneIRMod(
                        params={},
                        work_dir=work_dir,
                        max_trials_global=total_trials,
                        max_trials_per_task=max_trials_per_task,
                    )
                )
            passes.append(transform.MetaScheduleApplyDatabase(work_dir))
            if cpu_weight_prepack:
                passes += [
                    transform.SplitLayoutRewritePreproc(),
                    transform.LiftTransformParams(),
                    transform.FoldConstant(),
                ]
            return Sequential(passes, name="static_shape_tuning")(mod)

    return ModulePass(run, PassInfo(0, "static_shape_tuning"))


PIPELINE_MAP: dict[str, Callable[..., Pass]] = {
    "zero": zero_pipeline,
    "default": default_build_pipeline,
    "default_build": default_build_pipeline,
    "static_shape_tuning": static_shape_tuning_pipeline,
}
"""Functions that make a pipeline, by its name."""


def get_pipeline(name: str = "zero", **options: Any) -> Pass:
    """The pipeline of that name; options go to the function that makes it.

    Raises PassError for an unknown name.
    """
    if name not in PIPELINE_MAP:
        known = ", ".join(sorted(PIPELINE_MAP))
        raise PassError(f"there is no pipeline '{name}'; there are {known}")
    return PIPELINE_MAP[name](**options)


def register_pipeline(name: str) -> Callable[[Callable[..., Pass]], Callable[..., Pass]]:
    """Decorator: file a function that makes a pipeline under a name."""
    if name in PIPELINE_MAP:
        raise PassError(f"pipeline '{name}' is registered already")

    def register(function: Callable[..., Pass]) -> Callable[..., Pass]:
        PIPELINE_MAP[name] = function
        return function

    return register


def default_gpu_pipeline() -> Pass:
    """What compiling for a GPU runs: no layouts for CPUs, and a default schedule for each function
    that binds no threads, for the target that is current when it runs."""
    from relax_mlir import dlight
    from relax_mlir.dlight.base.transform import schedule_unbound

    def apply(mod: IRModule, ctx: PassContext) -> IRModule:
        del ctx
        return schedule_unbound(mod, dlight.gpu.RULES)

    schedule = ModulePass(apply, PassInfo(0, "ScheduleUnbound"))
    return Sequential([PassPipeline("relax-gpu-default"), schedule], name="default_gpu")


def get_default_pipeline(target: Any = None) -> Pass:
    """The pipeline that compiles for a target (the current one by default)."""
    chosen = Target.current() if target is None else Target(target)
    if chosen is not None and "gpu" in chosen.keys:
        return default_gpu_pipeline()
    return default_build_pipeline()
