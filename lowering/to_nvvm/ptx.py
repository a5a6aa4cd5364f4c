"""PTX text of kernels, by LLVM's NVPTX back end.

The bindings' own LLVM has no GPU targets; llvmlite's has, and reads the other's text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.lowering.tir_to_gpu.limits import compute_capability
from relax_mlir.lowering.to_nvvm.llvm_text import for_older_llvm
from relax_mlir.lowering.to_nvvm.nvvm import lower_kernels_to_nvvm, split_kernels
from relax_mlir.mlir import ir, llvm

__all__ = ["DEFAULT_ARCH", "assembly", "cuda_arch", "emit_ptx", "llvm_binding", "machine_code"]

DEFAULT_ARCH = "sm_80"
_TRIPLE = "nvptx64-nvidia-cuda"
# Compute capability -> the first version of PTX that has it.
_PTX_VERSIONS = ((100, 86), (90, 80), (89, 78), (86, 71), (80, 70), (75, 63), (0, 60))


def cuda_arch(target: Any) -> str:
    """The architecture of a CUDA target: its `arch` or `mcpu`, sm_80 when it does not say."""
    attrs = getattr(target, "attrs", {})
    arch = str(attrs.get("arch", attrs.get("mcpu", DEFAULT_ARCH)))
    if not arch.startswith("sm_") or not arch[3:4].isdigit():
        raise CompileError(
            f"'{arch}' is no architecture of NVIDIA's GPUs",
            hint='for example Target({"kind": "cuda", "arch": "sm_80"})',
        )
    return arch


@cache
def llvm_binding() -> Any:
    """llvmlite's binding of LLVM with all its targets.

    Raises CompileError naming the extra when llvmlite is not installed.
    """
    try:
        import llvmlite.binding as binding
    except ImportError:
        raise CompileError(
            "compiling for a GPU needs llvmlite", hint="pip install 'relax-mlir[gpu]'"
        ) from None
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def emit_ptx(state: ModuleState, arch: str = DEFAULT_ARCH) -> str:
    """PTX of all kernels of a module, which stays as it is; one text a kernel module.

    Raises CompileError when a kernel uses what `arch` does not have.
    """
    kernels = split_kernels(state)
    lower_kernels_to_nvvm(kernels)
    texts = [_to_ptx(module, arch) for module in kernel_modules(kernels)]
    return texts[0] + "".join(_without_header(text) for text in texts[1:]) if texts else ""


def _without_header(text: str) -> str:
    """PTX without its version, target and address size, which a file says once."""
    lines = text.splitlines(keepends=True)
    return "".join(x for x in lines if not x.startswith((".version", ".target", ".address_size")))


def _to_ptx(module: ir.Operation, arch: str) -> str:
    return assembly(module, _target_machine(arch), _TRIPLE)


def assembly(module: ir.Operation, machine: Any, triple: str) -> str:
    """The machine's assembly of a module in the llvm dialect, optimised."""
    return machine.emit_assembly(_optimised(module, machine, triple))


def machine_code(module: ir.Operation, machine: Any, triple: str) -> bytes:
    """The machine's object file of a module in the llvm dialect, optimised."""
    return machine.emit_object(_optimised(module, machine, triple))


def _optimised(module: ir.Operation, machine: Any, triple: str) -> Any:
    """LLVM's module of one in the llvm dialect, optimised for a machine."""
    binding = llvm_binding()
    parsed = binding.parse_assembly(for_older_llvm(llvm.translate_module_to_llvmir(module)))
    parsed.triple, parsed.data_layout = triple, str(machine.target_data)
    builder = binding.create_pass_builder(
        machine, binding.create_pipeline_tuning_options(speed_level=3)
    )
    builder.getModulePassManager().run(parsed, builder)
    return parsed


def _target_machine(arch: str) -> Any:
    capability = compute_capability(arch)
    version = next(v for least, v in _PTX_VERSIONS if capability >= least)
    target = llvm_binding().Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=arch, features=f"+ptx{version}", opt=3)
