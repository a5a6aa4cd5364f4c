"""PTX text of kernels, by LLVM's NVPTX back end.

The bindings' own LLVM has no GPU targets; llvmlite's has, and reads the other's text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.lowering.to_nvvm.llvm_text import for_older_llvm
from relax_mlir.lowering.to_nvvm.nvvm import lower_kernels_to_nvvm, split_kernels
from relax_mlir.mlir import ir, llvm

__all__ = ["DEFAULT_ARCH", "assembly", "cuda_arch", "emit_ptx", "llvm_binding", "machine_code"]

DEFAULT_ARCH = "sm_80"
_TRIPLE = "nvptx64-nvidia-cuda"
# Compute capability -> the first version of PTX that has it, 6.0 at least. LLVM ends the process
# for an older one, and takes an architecture that it does not know for the oldest.
_PTX_VERSIONS = {
    capability: version
    for version, capabilities in {
        60: (50, 52, 53, 60, 61, 62, 70),
        61: (72,),
        63: (75,),
        70: (80,),
        71: (86,),
        74: (87,),
        78: (89,),
        80: (90,),
        86: (100, 101),
        87: (120,),
        88: (103, 121),
        90: (88, 110),
    }.items()
    for capability in capabilities
}
_ARCH = re.compile(r"sm_(\d+)([af]?)")
# Architectures from here on have variants: "a" for one of them only, "f" for its family.
_VARIANTS_FROM = 90
_FAMILIES = 88


def cuda_arch(target: Any) -> str:
    """The architecture of a CUDA target: its `arch` or `mcpu`, sm_80 when it does not say."""
    attrs = getattr(target, "attrs", {})
    arch = str(attrs.get("arch", attrs.get("mcpu", DEFAULT_ARCH)))
    ptx_version(arch)
    return arch


def ptx_version(arch: str) -> int:
    """The version of PTX for an architecture: 70 is 7.0.  Raises CompileError for none."""
    found = _ARCH.fullmatch(arch)
    capability, variant = (int(found[1]), found[2]) if found else (0, "")
    if capability not in _PTX_VERSIONS or (variant and capability < _VARIANTS_FROM):
        known = ", ".join(f"sm_{number}" for number in sorted(_PTX_VERSIONS))
        raise CompileError(
            f"'{arch}' is no architecture of NVIDIA's GPUs that we know; there are {known}",
            hint='for example Target({"kind": "cuda", "arch": "sm_80"}); from sm_90 on also with '
            "an a or f behind",
        )
    version = _PTX_VERSIONS[capability]
    return max(version, _FAMILIES) if variant == "f" else version


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
    # Addresses of shared, local and constant memory are of 32 bits: they and the arithmetic on
    # them take half the registers, without which ptxas spills in products of symbolic sizes.
    binding.set_option("relax-mlir", "-nvptx-short-ptr")
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
    target = llvm_binding().Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=arch, features=f"+ptx{ptx_version(arch)}", opt=3)
