"""TVM's names of the passes that say on which device what is computed."""

from __future__ import annotations

from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.transform_base import lowering_pass
from relax_mlir.script.ir import VDevice
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import ModulePass, Pass, PassInfo

__all__ = [
    "RealizeVDevice",
    "RewriteCUDAGraph",
    "SpecializePrimFuncBasedOnCallSite",
    "UpdateVDevice",
]


def _vdevices(mod: IRModule) -> tuple[str, ...]:
    """The names of a module's virtual devices."""
    return tuple(map(str, mod.global_infos.get("vdevice", ())))


def RealizeVDevice() -> Pass:
    """Write into every tensor's type where it is, as types, results and hints say.

    Raises PassError for a hint at a device that the module's global infos do not have.
    """

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        realize = lowering_pass("RealizeVDevice", "relax-realize-vdevice", vdevices=_vdevices(mod))
        return realize.transform_module(mod, ctx)

    return ModulePass(transform, PassInfo(0, "RealizeVDevice"))


def UpdateVDevice(new_vdevice: VDevice, index: int) -> Pass:
    """Put `new_vdevice` in the place of the virtual device at `index` of the module's list."""

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        devices = list(mod.global_infos.get("vdevice", ()))
        if not 0 <= index < len(devices):
            raise PassError(f"the module has {len(devices)} virtual devices, none at {index}")
        update = lowering_pass(
            "UpdateVDevice",
            "relax-update-vdevice",
            vdevices=_vdevices(mod),
            index=index,
            new=str(new_vdevice),
        )
        result = update.transform_module(mod, ctx)
        devices[index] = new_vdevice
        result.global_infos["vdevice"] = devices
        return result

    return ModulePass(transform, PassInfo(0, "UpdateVDevice"))


def SpecializePrimFuncBasedOnCallSite() -> Pass:
    """Give buffers of TensorIR functions the memory scopes of the devices they are called for."""
    return lowering_pass(
        "SpecializePrimFuncBasedOnCallSite", "relax-specialize-prim-func-based-on-call-site"
    )


def RewriteCUDAGraph() -> Pass:
    """Move runs of kernels on memory that stays in place into functions that run as one graph.

    Does so under `PassContext(config={"relax.backend.use_cuda_graph": True})`, as TVM's.
    """

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        if not ctx.config.get("relax.backend.use_cuda_graph", False):
            return mod
        rewrite = lowering_pass("RewriteCUDAGraph", "relax-rewrite-cuda-graph")
        return rewrite.transform_module(mod, ctx)

    return ModulePass(transform, PassInfo(0, "RewriteCUDAGraph"))
