"""`compile` and `build`: from an IRModule to machine code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir import mlir
from relax_mlir.driver.cpu_pipeline import lower_to_machine_ir
from relax_mlir.errors import CompileError
from relax_mlir.ir import IRModule
from relax_mlir.ir.function import BaseFunc
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.runtime.compiled_code import CompiledCode
from relax_mlir.runtime.executable import Executable, VMExecutable
from relax_mlir.target import Target

__all__ = ["OperatorModule", "build", "compile", "relax_build"]

# TVM's names of whole-program pipelines, and what they are here.  TVM's default does not fuse; ours
# does, since nothing else is different for the user.
_RELAX_PIPELINES = {"default": "relax-zero", "zero": "relax-zero", "default_build": "relax-zero"}
# Lowering TensorIR is the driver's own work: TVM's names of its pipelines add nothing.
_TIR_PIPELINES: dict[str, str] = dict.fromkeys(("default", "tirx", "s_tir", "trn", "adreno"), "")


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
    module = _as_module(mod)
    chosen = _cpu_target(target)
    if params:
        from relax_mlir.relax.transform import BindParams

        module = BindParams("main", dict(params))(module)
    module = _apply(module, relax_pipeline, _RELAX_PIPELINES)
    module = _apply(module, tir_pipeline, _TIR_PIPELINES)
    with mlir.scope():
        state = module.state.clone()
        state.target = chosen
        code = lower_to_machine_ir(state)
    return _executable(code)


def build(
    mod: IRModule | BaseFunc | Mapping[Any, IRModule],
    target: Any = None,
    *,
    name: str = "default_function",
    pipeline: Any = "default",
    relax_pipeline: Any = "default",
    tir_pipeline: Any = None,
    **options: Any,
) -> Executable:
    """Compile TensorIR functions (or a whole program) for a target; see `compile`.

    `mod` may also be a mapping from target to module with one entry, as old TVM took.
    """
    if isinstance(mod, Mapping):
        if len(mod) != 1:
            raise CompileError("build: a mapping from targets to modules must have one entry")
        ((target, mod),) = mod.items()
    return compile(
        mod,
        target,
        relax_pipeline=relax_pipeline,
        tir_pipeline=pipeline if tir_pipeline is None else tir_pipeline,
    )


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
        mod, target, relax_pipeline=relax_pipeline, tir_pipeline=tir_pipeline, params=params
    )
    if isinstance(made, VMExecutable):
        return made
    return VMExecutable.of(made)


def _as_module(mod: Any) -> IRModule:
    if isinstance(mod, IRModule):
        return mod
    if isinstance(mod, BaseFunc):
        return IRModule.from_expr(mod)
    inner = getattr(mod, "mod", None)
    if isinstance(inner, IRModule):  # a schedule
        return inner
    raise TypeError(f"expected an IRModule or a function, got {type(mod).__name__}")


def _cpu_target(target: Any) -> Target:
    chosen = Target.current() if target is None else target
    chosen = Target("llvm") if chosen is None else Target(chosen)
    if chosen.device_type != "cpu":
        raise CompileError(
            f"no code generator for target '{chosen.kind}' in this build",
            hint='use target="llvm"; a schedule bound to GPU threads also runs on the CPU',
        )
    return chosen


def _apply(module: IRModule, pipeline: Any, names: Mapping[str, str]) -> IRModule:
    """Run a pipeline given by TVM's name, as text, as a pass or as a function of modules."""
    if pipeline is None:
        return module
    if not isinstance(pipeline, str):
        return pipeline(module)
    text = names.get(pipeline, pipeline)
    if not text or (pipeline in names and not _has_relax(module.state)):
        return module
    result = module.clone()
    run(result.state, text)
    return result


def _has_relax(state: ModuleState) -> bool:
    with mlir.scope():
        return any("relax.attrs" in op.attributes for op in state.functions())


def _executable(code: CompiledCode) -> Executable:
    if any(info.kind == "relax" for info in code.functions.values()):
        return VMExecutable(code)
    return OperatorModule(code)
