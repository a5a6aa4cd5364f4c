"""Signatures of TensorIR functions, read from their types and argument attributes.

`tir.name` names an argument, `tir.shape` its symbolic sizes, `tir.dtype` the TVM dtype when it is
not the one of the signless element type.
"""

from __future__ import annotations

from relax_mlir.dialects import dims, dtypes
from relax_mlir.lowering.to_llvm.ffi_arguments import ScalarSpec, TensorSpec
from relax_mlir.mlir import dynamic, ir

__all__ = ["MAY_RAISE", "Spec", "is_prim_func", "read_signature", "symbol_name"]

MAY_RAISE = "ffi.may_raise"
"""Marks a function that may return with an error raised in the thread."""

Spec = TensorSpec | ScalarSpec


def symbol_name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def is_prim_func(op: ir.Operation) -> bool:
    """True for a TensorIR function with a body."""
    return op.name == "func.func" and "tir.attrs" in op.attributes and len(op.regions[0].blocks) > 0


def is_private(op: ir.Operation) -> bool:
    """True for a function that is seen in its module only."""
    visibility = op.attributes.get("sym_visibility", None)
    return visibility is not None and ir.StringAttr(visibility).value == "private"


def _string(attributes: ir.DictAttr, key: str) -> str | None:
    return ir.StringAttr(attributes[key]).value if key in attributes else None


def _argument_attributes(op: ir.Operation, count: int) -> list[ir.DictAttr]:
    if "arg_attrs" not in op.attributes:
        return [ir.DictAttr.get({}) for _ in range(count)]
    return [ir.DictAttr(entry) for entry in ir.ArrayAttr(op.attributes["arg_attrs"])]


def _shape(kind: ir.MemRefType, attributes: ir.DictAttr) -> tuple[dims.Dim | None, ...]:
    if "tir.shape" not in attributes:
        return tuple(None if size == dynamic() else size for size in kind.shape)
    return tuple(
        ir.IntegerAttr(entry).value
        if isinstance(entry, ir.IntegerAttr)
        else dims.canonical(ir.StringAttr(entry).value)
        for entry in ir.ArrayAttr(attributes["tir.shape"])
    )


def read_signature(op: ir.Operation) -> list[Spec]:
    """What each argument of a TensorIR function must be."""
    kinds = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    specs: list[Spec] = []
    for index, (kind, attributes) in enumerate(
        zip(kinds, _argument_attributes(op, len(kinds)), strict=True)
    ):
        name = _string(attributes, "tir.name") or f"arg{index}"
        if isinstance(kind, ir.MemRefType):
            dtype = _string(attributes, "tir.dtype") or dtypes.from_mlir(kind.element_type)
            strided = kind.affine_map != ir.AffineMap.get_identity(kind.rank)
            specs.append(TensorSpec(name, dtype, _shape(kind, attributes), strided))
        else:
            dtype = _string(attributes, "tir.dtype") or dtypes.from_mlir(kind)
            specs.append(ScalarSpec(name, dtype, name if dtypes.is_integer(dtype) else None))
    return specs


def argument_names(op: ir.Operation, key: str) -> list[str]:
    """The names of a function's arguments, from the argument attribute `key`."""
    kinds = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    attributes = _argument_attributes(op, len(kinds))
    return [_string(entry, key) or f"arg{i}" for i, entry in enumerate(attributes)]
