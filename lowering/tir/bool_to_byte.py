"""Store bool buffers as bytes.

A `memref<..xi1>` cannot be lowered to LLVM (upstream aborts on it), and DLPack tensors hold one
byte a bool.  Loads compare with zero, stores extend.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import arith, ir, memref
from relax_mlir.tir.schedule.nest import descend


@register_pass("tir-bool-to-byte")
@dataclass(frozen=True)
class BoolToByte(Pass):
    """Turn buffers of i1 into buffers of i8; loads and stores convert."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes:
                _convert_arguments(function)
                for view in list(descend(function.opview)):
                    _convert(view.operation)


def _is_bool_buffer(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.MemRefType):
        return False
    element = kind.element_type
    return isinstance(element, ir.IntegerType) and element.width == 1


def _byte_buffer(kind: ir.MemRefType) -> ir.MemRefType:
    byte = ir.IntegerType.get_signless(8)
    return ir.MemRefType.get(kind.shape, byte, kind.layout, kind.memory_space)


def _convert_arguments(function: ir.Operation) -> None:
    if not len(function.regions[0].blocks):
        return
    arguments = list(function.regions[0].blocks[0].arguments)
    changed = [a for a in arguments if _is_bool_buffer(a.type)]
    if not changed:
        return
    attributes = [dict_of(a) for a in ir.ArrayAttr(function.attributes["arg_attrs"])]
    for argument in changed:
        argument.set_type(_byte_buffer(ir.MemRefType(argument.type)))
        attributes[argument.arg_number]["tir.dtype"] = ir.StringAttr.get("bool")
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    kind = ir.FunctionType.get([a.type for a in arguments], results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])


def dict_of(attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    """The entries of a dictionary attribute."""
    return {named.name: named.attr for named in ir.DictAttr(attribute)}


def _convert(op: ir.Operation) -> None:
    if op.name == "memref.load" and isinstance(op.results[0].type, ir.IntegerType):
        if op.results[0].type.width == 1:
            _convert_load(op)
    elif op.name == "memref.store" and isinstance(op.operands[0].type, ir.IntegerType):
        if op.operands[0].type.width == 1:
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = arith.extui(ir.IntegerType.get_signless(8), op.operands[0])
    elif len(op.results) == 1 and _is_bool_buffer(op.results[0].type):
        op.results[0].set_type(_byte_buffer(ir.MemRefType(op.results[0].type)))
        if op.name == "tir.alloc_const":
            _convert_constants(op)


def _convert_constants(op: ir.Operation) -> None:
    byte = ir.IntegerType.get_signless(8)
    held = ir.DenseIntElementsAttr(op.attributes["value"])
    kind = ir.RankedTensorType.get(ir.ShapedType(held.type).shape, byte)
    bytes_ = [ir.IntegerAttr.get(byte, int(bool(value))) for value in held]
    op.attributes["value"] = ir.DenseElementsAttr.get(bytes_, kind)


def _convert_load(op: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        byte = memref.load(op.operands[0], list(op.operands)[1:])
        zero = arith.constant(byte.type, 0)
        op.results[0].replace_all_uses_with(arith.cmpi(arith.CmpIPredicate.ne, byte, zero))
    op.erase()
