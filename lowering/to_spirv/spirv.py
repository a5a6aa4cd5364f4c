"""SPIR-V of kernels, as OpenCL takes it, by LLVM's SPIR-V back end.

Shared memory is a variable of the storage class Workgroup, as OpenCL C's `local` arrays of a kernel
are.
"""

from __future__ import annotations

import re

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.pipeline import run
from relax_mlir.lowering.tir_to_gpu.buffers import WORKGROUP
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.lowering.tir_to_gpu.outline_kernels import SHARED_ALIGNMENT
from relax_mlir.lowering.to_nvvm.math_to_intrinsics import MathToIntrinsics
from relax_mlir.lowering.to_nvvm.nvvm import (
    TO_CONTROL_FLOW,
    expand_math,
    refuse_leftovers,
    split_kernels,
)
from relax_mlir.lowering.to_nvvm.ptx import assembly, llvm_binding
from relax_mlir.mlir import ir

__all__ = ["emit_spirv"]

_TRIPLE = "spirv64v1.2-unknown-unknown"
_GLOBAL = "!llvm.ptr<1>"
_WORKGROUP = 3
"""OpenCL's number of the address space `local`."""


def emit_spirv(state: ModuleState) -> str:
    """The text of SPIR-V of all kernels of a module, which stays as it is.

    Raises CompileError when llvmlite is missing, or a kernel uses tensor cores or shuffles.
    """
    kernels = split_kernels(state)
    expand_math(kernels)
    run(kernels, f"gpu.module({TO_CONTROL_FLOW})")
    kernels = _with_address_spaces(kernels)
    after = ",".join(
        (
            "convert-math-to-llvm",
            "convert-gpu-to-llvm-spv{use-64bit-index=true}",
            "convert-vector-to-llvm",
            "convert-to-llvm",
            "canonicalize",
            "cse",
            "reconcile-unrealized-casts",
        )
    )
    run(kernels, f"convert-cf-to-llvm,{MathToIntrinsics()},gpu.module({after})")
    texts: list[str] = []
    for module in kernel_modules(kernels):
        refuse_leftovers(module, ("llvm.",))
        _declare_shared_memory(module)
        _keep_private(module)
        machine = llvm_binding().Target.from_triple(_TRIPLE).create_target_machine(opt=2)
        texts.append(_with_named_labels(assembly(module, machine, _TRIPLE)))
    return "".join(texts)


def _with_address_spaces(state: ModuleState) -> ModuleState:
    """The kernels with pointers that say by their type what they point to: arguments the device's
    memory (all pointers there are at this stage), buffers in shared memory that."""
    text = state.module.operation.get_asm()
    for plain, numbered in (
        ("!llvm.ptr", _GLOBAL),
        ("struct<(ptr, ptr,", "struct<(ptr<1>, ptr<1>,"),
        (WORKGROUP, str(_WORKGROUP)),
    ):
        text = text.replace(plain, numbered)
    return ModuleState(ir.Module.parse(text), {}, state.target)


def _with_named_labels(text: str) -> str:
    """The text with labels apart from other numbers: LLVM's printer, though not its binary, may
    number a label and a value alike.  Names that LLVM made up, of labels most of them, are left
    out."""
    lines = [line for line in text.split("\n") if not _MADE_UP.match(line)]
    return "\n".join(_LABELS.sub(_with_named_labels_in, line) for line in lines)


_MADE_UP = re.compile(r'^\tOpName %\d+ "\.')


# An instruction that makes or names labels: the operands before them, and the rest.
_LABELS = re.compile(
    r"^(?P<made>\t%\d+(?= = OpLabel))"
    r"|^(?P<kept>\t(?:OpBranch|OpBranchConditional %\d+|OpSwitch %\d+|OpLoopMerge|OpSelectionMerge)"
    r"(?= ))(?P<labels>.*)$"
    r"|^(?P<phi>\t%\d+ = OpPhi %\d+)(?P<pairs>.*)$"
)


def _with_named_labels_in(match: re.Match[str]) -> str:
    if match["made"]:
        return match["made"].replace("%", "%label")
    if match["phi"]:
        return match["phi"] + re.sub(r"( %\w+) %(\d+)", r"\1 %label\2", match["pairs"])
    return match["kept"] + re.sub(r"%(\d+)", r"%label\1", match["labels"])


def _keep_private(module: ir.Operation) -> None:
    """Give what threads allocate for themselves the private address space, with all pointers into
    it: the conversion takes every buffer for one of the device."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "llvm.alloca":
            _point_to_private(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)


def _point_to_private(op: ir.Operation) -> None:
    op.results[0].set_type(ir.Type.parse("!llvm.ptr"))
    for use in op.results[0].uses:
        if use.owner.operation.name == "llvm.getelementptr":
            _point_to_private(use.owner.operation)


_ATTRIBUTION = "llvm.workgroup_attribution"


def _declare_shared_memory(module: ir.Operation) -> None:
    """Shared memory, which the conversion makes arguments of, as variables of the module."""
    for view in list(module.regions[0].blocks[0].operations):
        if view.operation.name == "llvm.func" and "arg_attrs" in view.operation.attributes:
            _declare_shared_memory_of(view.operation, module)


def _declare_shared_memory_of(kernel: ir.Operation, module: ir.Operation) -> None:
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    described = [ir.DictAttr(a) for a in ir.ArrayAttr(kernel.attributes["arg_attrs"])]
    entry = kernel.regions[0].blocks[0]
    kept = [n for n, own in enumerate(described) if _ATTRIBUTION not in own]
    for number in reversed(range(len(described))):
        if number in kept:
            continue
        variable = f"{name}_shared_{number - len(kept)}"
        _declare(module, variable, described[number])
        with ir.InsertionPoint.at_block_begin(entry), kernel.location:
            address = ir.Operation.create(
                "llvm.mlir.addressof",
                results=[entry.arguments[number].type],
                attributes={"global_name": ir.FlatSymbolRefAttr.get(variable)},
            )
        entry.arguments[number].replace_all_uses_with(address.results[0])
        entry.erase_argument(number)
    kinds = ", ".join(str(argument.type) for argument in entry.arguments)
    kernel.attributes["function_type"] = ir.Attribute.parse(f"!llvm.func<void ({kinds})>")
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([described[n] for n in kept])


def _declare(module: ir.Operation, name: str, described: ir.DictAttr) -> None:
    """Declare the buffer of an argument: `#llvm.mlir.workgroup_attribution<elements, type>`."""
    count, _, element = str(described[_ATTRIBUTION]).partition("<")[2][:-1].partition(", ")
    i32 = ir.IntegerType.get_signless(32)
    array = ir.Attribute.parse(f"!llvm.array<{count.removesuffix(' : i64')} x {element}>")
    ir.Operation.create(
        "llvm.mlir.global",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "global_type": array,
            "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
            "addr_space": ir.IntegerAttr.get(i32, _WORKGROUP),
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), SHARED_ALIGNMENT),
        },
        regions=1,
        loc=module.location,
        ip=ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]),
    )
