"""The kernels of a compiled module, for the device's own compiler or the emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from relax_mlir import mlir

__all__ = ["DeviceCode"]


@dataclass
class DeviceCode:
    """`state` holds the kernels at the gpu, memref and vector level, with flat arguments; `names`
    are theirs in the order that host code numbers them; `target` is what they are compiled for."""

    state: Any
    names: Sequence[str]
    target: Any
    _sources: dict[str, str] = field(default_factory=dict)

    @cached_property
    def arch(self) -> str:
        """The architecture that the target names, or the default one."""
        from relax_mlir.lowering.to_nvvm.ptx import cuda_arch

        return cuda_arch(self.target)

    def text(self) -> str:
        """The kernels as MLIR text."""
        with mlir.scope():
            return self.state.module.operation.get_asm(use_name_loc_as_prefix=True)

    def ptx(self, arch: str | None = None) -> str:
        """The kernels as PTX for an architecture, the target's by default.

        Raises CompileError when llvmlite is missing.
        """
        from relax_mlir.lowering.to_nvvm.ptx import emit_ptx

        chosen = arch or self.arch
        if chosen not in self._sources:
            with mlir.scope():
                self._sources[chosen] = emit_ptx(self.state, chosen)
        return self._sources[chosen]

    def amdgcn(self) -> str:
        """The kernels as assembly of AMD's GPUs."""
        from relax_mlir.lowering.to_rocdl.amdgcn import amd_arch, emit_amdgcn

        return self._made("asm", lambda: emit_amdgcn(self.state, amd_arch(self.target)))

    def spirv(self) -> str:
        """The kernels as text of SPIR-V for OpenCL."""
        from relax_mlir.lowering.to_spirv.spirv import emit_spirv

        return self._made("spirv", lambda: emit_spirv(self.state))

    def _made(self, name: str, make: Callable[[], str]) -> str:
        if name not in self._sources:
            with mlir.scope():
                self._sources[name] = make()
        return self._sources[name]

    def sources(self) -> dict[str, Callable[[], str]]:
        """The formats that the kernels can be shown in beside MLIR, and how they are made."""
        kind = str(self.target.kind)
        if kind == "rocm":
            return {"asm": self.amdgcn}
        return {"spirv": self.spirv} if kind == "opencl" else {"ptx": self.ptx}
