"""`compile` and `build`: from an IRModule to machine code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.driver.cached_compile import through_cache
from relax_mlir.driver.lower import is_te_schedule, lower
from relax_mlir.errors import CompileError, Error
from relax_mlir.ir import IRModule
from relax_mlir.ir.function import BaseFunc
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.pipeline import verified_by_stage, verify_stage
from relax_mlir.runtime.compiled_code import Code, CompiledCode
from relax_mlir.runtime.executable import Executable, VMExecutable
from relax_mlir.target import Target
from relax_mlir.transform import PassContext, PassPipeline

if TYPE_CHECKING:
    from relax_mlir.te import Schedule, Tensor
    from relax_mlir.tir import Buffer

__all__ = ["OperatorModule", "build", "compile", "relax_build"]

# Pipelines of ours, which need not be watched pass by pass.
_RELAX_PIPELINES = ("default", "default_build", "zero")
# Lowering TensorIR is the driver's own work: TVM's names of its pipelines add nothing.
_TIR_PIPELINES = ("default", "tirx", "s_tir", "trn", "adreno")


# Options of TVM's that have no meaning here: host code is always compiled, libraries always shared.
_ACCEPTED_OPTIONS = frozenset(("exec_mode", "system_lib", "target_host", "runtime", "name"))


class OperatorModule(Executable):
    """Compiled TensorIR functions: `mod(a, b)` or `mod["add"](a, b)`."""


def compile(
    mod: IRModule | BaseFunc,
    target: Any = None,
    *,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> Executable:
    """Compile a module for a target (the host CPU by default).

    `relax_pipeline` and `tir_pipeline` are names ("default", "zero"), pipeline text, passes or
    functions from module to module; None skips.  `params` are bound to the parameters of `main` by
    name.  The result is a `VMExecutable` when the module has Relax functions.

    Raises CompileError for a module that cannot be lowered or a target without a code generator.
    """
    _refuse_options(options)
    module = _as_module(mod)
    chosen = _chosen_target(target)
    if params:
        from relax_mlir.relax.transform import BindParams

        module = BindParams("main", dict(params))(module)

    if chosen.device_type != "cpu":
        return _executable(_for_device(module, chosen, relax_pipeline, tir_pipeline))

    def make(profile: bool = False) -> CompiledCode:
        given = module.clone()
        given.state.target = chosen
        lowered = _apply(given, relax_pipeline) if _has_relax(module.state) else module
        if tir_pipeline not in _TIR_PIPELINES:
            lowered = _apply(lowered, tir_pipeline)
        verify_stage(lowered.state)
        from relax_mlir.driver.cpu_pipeline import lower_to_machine_ir

        with mlir.scope():
            state = lowered.state.clone()
            state.target = chosen
            return lower_to_machine_ir(state, opt_level=_opt_level(), profile=profile)

    def lower(profile: bool = False) -> CompiledCode:
        if _verifies_each(relax_pipeline, tir_pipeline):
            return make(profile)
        try:
            with verified_by_stage():
                return make(profile)
        except Error:
            return make(profile)  # which pass it was, or that it was none

    code = through_cache(module, chosen, (relax_pipeline, tir_pipeline), lower)
    context = copy_context()  # the PassContext of now
    code.profiled = lambda: context.run(lower, True)
    return _executable(code)


def build(
    mod: IRModule | BaseFunc | Schedule | Mapping[Any, IRModule],
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    *,
    pipeline: Any = "default",
    relax_pipeline: Any = "default",
    tir_pipeline: Any = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    **options: Any,
) -> Executable:
    """Compile TensorIR functions (or a whole program) for a target; see `compile`.

    `build(mod, target)`, or of a te schedule `build(s, [A, B, C], target, name="add")`: see
    `lower` for its arguments.  `mod` may also be a mapping from target to module with one entry,
    as old TVM took.  `target_host` is accepted: host code is for this machine.
    """
    del target_host
    if isinstance(mod, Mapping):
        if len(mod) != 1:
            raise CompileError("build: a mapping from targets to modules must have one entry")
        ((target, module),) = mod.items()
    else:
        module = _without_schedule(mod, args, name, binds)
        if module is mod and args is not None and not isinstance(args, (list, tuple)):
            target = args
    return compile(
        module,
        target,
        relax_pipeline=relax_pipeline,
        tir_pipeline=pipeline if tir_pipeline is None else tir_pipeline,
        **options,
    )


def _without_schedule(
    mod: Any, args: Any, name: str, binds: Mapping[Tensor, Buffer] | None
) -> IRModule | BaseFunc:
    """The module of a te schedule; anything else as it is."""
    if isinstance(mod, (IRModule, BaseFunc)) or not is_te_schedule(mod):
        return mod
    return lower(mod, args, name, binds)


def relax_build(
    mod: IRModule | BaseFunc,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: Any = "default",
    tir_pipeline: Any = "default",
    exec_mode: str = "compiled",
    **options: Any,
) -> VMExecutable:
    """`relax.build`, `relax.vm.build`: compile a program with Relax functions.

    `exec_mode` is accepted for compatibility: host code is always compiled.
    """
    if exec_mode not in ("bytecode", "compiled"):
        raise ValueError(f"exec_mode must be 'bytecode' or 'compiled', got {exec_mode!r}")
    made = compile(
        mod,
        target,
        relax_pipeline=relax_pipeline,
        tir_pipeline=tir_pipeline,
        params=params,
        **options,
    )
    if isinstance(made, VMExecutable):
        return made
    return VMExecutable.of(made)


def _refuse_options(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in _ACCEPTED_OPTIONS:
            raise TypeError(f"compile: unknown option {name!r}")


def _as_module(mod: Any) -> IRModule:
    if isinstance(mod, IRModule):
        return mod
    if isinstance(mod, BaseFunc):
        return IRModule.from_expr(mod)
    inner = getattr(mod, "mod", None)
    if isinstance(inner, IRModule):  # a schedule
        return inner
    raise TypeError(f"expected an IRModule or a function, got {type(mod).__name__}")


def _for_device(
    module: IRModule, target: Target, relax_pipeline: Any, tir_pipeline: Any
) -> CompiledCode:
    """Code for a GPU: what no schedule binds gets the default one."""
    from relax_mlir import dlight
    from relax_mlir.dlight.base.transform import schedule_unbound
    from relax_mlir.driver.gpu_pipeline import lower_to_device_code

    with target:
        if _has_relax(module.state):
            chosen = "relax-gpu-default" if relax_pipeline == "default" else relax_pipeline
            module = _apply(module, chosen)
        if tir_pipeline not in _TIR_PIPELINES:
            module = _apply(module, tir_pipeline)
        module = schedule_unbound(module, dlight.gpu.RULES)
    with mlir.scope():
        state = module.state.clone()
        state.target = target
        return lower_to_device_code(state, opt_level=_opt_level())


def _chosen_target(target: Any) -> Target:
    chosen = Target.current() if target is None else target
    return Target("llvm") if chosen is None else Target(chosen)


def _apply(module: IRModule, pipeline: Any) -> IRModule:
    """Run a pipeline given by name, as text, as a pass or as a function of modules."""
    from relax_mlir.relax.pipelines import PIPELINE_MAP, get_pipeline

    if pipeline is None:
        return module
    if not isinstance(pipeline, str):
        return pipeline(module)
    chosen = get_pipeline(pipeline) if pipeline in PIPELINE_MAP else PassPipeline(pipeline)
    return chosen(module)


def _verifies_each(*pipelines: Any) -> bool:
    """Whether the module is verified after each pass: when that is asked for, and when passes or
    instruments are not ours."""
    context = PassContext.current()
    asked = context.config.get("verify-each", os.environ.get("RELAX_MLIR_VERIFY_EACH", "0") != "0")
    named = all(part is None or part in (*_RELAX_PIPELINES, *_TIR_PIPELINES) for part in pipelines)
    return bool(asked or context.instruments or not named)


def _opt_level() -> int:
    """LLVM's optimisation level: the one of the current PassContext."""
    return min(3, max(0, PassContext.current().opt_level))


def _has_relax(state: ModuleState) -> bool:
    with mlir.scope():
        return any("relax.attrs" in op.attributes for op in state.functions())


def _executable(code: Code) -> Executable:
    if any(info.kind == "relax" for info in code.functions.values()):
        return VMExecutable(code)
    return OperatorModule(code)
