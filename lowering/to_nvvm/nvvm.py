"""From kernels at the gpu, memref and vector level to the nvvm and llvm dialects.

Elementary functions are our own expansions (`math-to-polynomials`): NVIDIA's libdevice is not
needed.
"""

from __future__ import annotations

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside, kernel_modules
from relax_mlir.lowering.tir_to_gpu.outline_kernels import MIN_BLOCKS
from relax_mlir.lowering.tir_to_gpu.swizzle_shared_memory import MATRIX_ALIGNMENT
from relax_mlir.lowering.to_llvm.arith_guard_division import ArithGuardDivision
from relax_mlir.lowering.to_llvm.math_to_polynomials import MathToPolynomials
from relax_mlir.lowering.to_nvvm.device_math import DeviceMath
from relax_mlir.lowering.to_nvvm.lower_matrix_descriptors import LowerMatrixDescriptors
from relax_mlir.lowering.to_nvvm.math_to_intrinsics import MathToIntrinsics
from relax_mlir.lowering.to_nvvm.scalarize_quotients import ScalarizeQuotients
from relax_mlir.mlir import ir

__all__ = [
    "TO_CONTROL_FLOW",
    "expand_math",
    "lower_kernels_to_nvvm",
    "nvvm_pipeline",
    "refuse_leftovers",
    "split_kernels",
]


TO_CONTROL_FLOW = ",".join(
    (
        "canonicalize",
        "cse",
        "loop-invariant-code-motion",
        "convert-vector-to-scf",
        "lower-affine",
        "expand-strided-metadata",
        "lower-affine",
        "convert-scf-to-cf",
    )
)
"""From structured kernels to branches, for all devices: pipeline text for gpu.module."""


def expand_math(state: ModuleState) -> None:
    """Expand what no GPU has an instruction for, in the kernels of a module."""
    # Each of the two expansions may use functions that the other expands.
    expand = f"{DeviceMath()},{MathToPolynomials()},{DeviceMath()}"
    run(state, f"{ArithGuardDivision()},{expand}")


def nvvm_pipeline() -> str:
    """The way of a module of kernels to the nvvm dialect, as pipeline text."""
    after = ",".join(
        (
            "convert-math-to-llvm",
            "convert-vector-to-llvm",
            "convert-gpu-to-nvvm{has-redux=false}",
            "convert-nvvm-to-llvm",
            "canonicalize",
            "cse",
            "reconcile-unrealized-casts",
            # A quotient of float16 by the reciprocal of float32 and a step of Newton's, rounded
            # correctly, where LLVM would divide in float32.
            "llvm.func(llvm-optimize-for-nvvm-target)",
        )
    )
    # After scf is gone: matrices of tensor cores may be carried through loops.
    before = f"{LowerMatrixDescriptors()},gpu.module({TO_CONTROL_FLOW},convert-nvgpu-to-nvvm)"
    return f"{before},{MathToIntrinsics()},{ScalarizeQuotients()},gpu.module({after})"


def split_kernels(state: ModuleState) -> ModuleState:
    """A copy of the kernels of a module, without its host code."""
    module = ir.Module.create()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    for op in kernel_modules(state):
        module.body.append(op.clone())
    return ModuleState(module, {}, state.target)


def lower_kernels_to_nvvm(state: ModuleState) -> None:
    """Lower the kernels of a module to the nvvm and llvm dialects, in place.

    Raises CompileError for an operation that has no counterpart on the device.
    """
    expand_math(state)
    run(state, nvvm_pipeline())
    for module in kernel_modules(state):
        _make_dynamic_memory_external(module)
        _bound_registers(module)
        _hand_on_loop_annotations(module)
        refuse_leftovers(module, ("llvm.", "nvvm."))


def _make_dynamic_memory_external(module: ir.Operation) -> None:
    """The dynamic part of shared memory is external: as an internal symbol, which it is made as, it
    would lie over the static buffers.  Tiles that are swizzled by their addresses are at multiples
    of 1024 bytes from its start."""
    for view in module.regions[0].blocks[0].operations:
        op = view.operation
        if op.name != "llvm.mlir.global":
            continue
        if ir.StringAttr(op.attributes["sym_name"]).value.startswith("__dynamic_shmem__"):
            op.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
            if _uses_warpgroups(module):
                i64 = ir.IntegerType.get_signless(64)
                op.attributes["alignment"] = ir.IntegerAttr.get(i64, MATRIX_ALIGNMENT)


def _uses_warpgroups(module: ir.Operation) -> bool:
    return any(op.name == "nvvm.wgmma.fence.aligned" for op in inside(module))


def _bound_registers(module: ir.Operation) -> None:
    """Hand on how many blocks of a kernel a multiprocessor should hold: where nothing says so,
    ptxas spills some registers for the sake of more blocks than launches of products have."""
    i32 = ir.IntegerType.get_signless(32)
    for view in module.regions[0].blocks[0].operations:
        attributes = view.operation.attributes
        if MIN_BLOCKS in attributes and "nvvm.maxntid" in attributes:
            count = ir.IntegerAttr(attributes[MIN_BLOCKS]).value
            attributes["nvvm.minctasm"] = ir.IntegerAttr.get(i32, count)


def _hand_on_loop_annotations(module: ir.Operation) -> None:
    """What loops asked LLVM for (to be unrolled) stands on their branches under the name of an
    attribute that the translation does not look at."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if _LOOP_ANNOTATION in op.attributes:
            annotation = op.attributes[_LOOP_ANNOTATION]
            del op.attributes[_LOOP_ANNOTATION]
            op.attributes[_LOOP_ANNOTATION.removeprefix("llvm.")] = annotation
        return ir.WalkResult.ADVANCE

    module.walk(visit)


_LOOP_ANNOTATION = "llvm.loop_annotation"

_WITHOUT_INSTRUCTION = frozenset(
    f"llvm.intr.{name}"
    for name in (
        "acos asin atan atan2 cos cosh exp exp10 exp2 log log10 log2 pow sin sincos sinh tan tanh"
    ).split()
)
"""What LLVM ends the process for when it comes to machine code."""


def refuse_leftovers(module: ir.Operation, dialects: tuple[str, ...]) -> None:
    """Raises CompileError for operations of other dialects, and for those that LLVM would end the
    process for."""
    strays: set[str] = set()
    called: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        known = op.name.startswith((*dialects, "gpu.module"))
        if not known or op.name in _WITHOUT_INSTRUCTION:
            strays.add(op.name)
        if op.name == "llvm.func" and not len(op.regions[0].blocks):
            called.add(ir.StringAttr(op.attributes["sym_name"]).value)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    outside = sorted(name for name in called if name.startswith(("__nv_", "__ocml_")))
    if strays or outside:
        what = ", ".join([*sorted(strays), *outside])
        raise CompileError(f"operations that a GPU kernel cannot use are left: {what}")
