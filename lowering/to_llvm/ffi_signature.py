"""Signatures of TensorIR functions, kept as an attribute while their bodies are lowered.

Lowering changes argument types (bool memrefs become i8) and may lose argument attributes; the
callers that are written last, packed wrappers and Relax host functions, still have to know TVM's
dtypes, the names and the symbolic sizes.  `ffi.signature` holds one dictionary an argument:
`{name, dtype, dims = ["n", 784]}` for a buffer, without `dims` for a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dims, dtypes
from relax_mlir.lowering.to_llvm.ffi_arguments import ScalarSpec, TensorSpec
from relax_mlir.mlir import dynamic, ir

__all__ = ["SIGNATURE", "is_prim_func", "read_signature", "symbol_name", "write_signature"]

SIGNATURE = "ffi.signature"

Spec = TensorSpec | ScalarSpec


def symbol_name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def is_prim_func(op: ir.Operation) -> bool:
    """True for a TensorIR function with a body."""
    return op.name == "func.func" and "tir.attrs" in op.attributes and len(op.regions[0].blocks) > 0


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


def _derive(op: ir.Operation) -> list[Spec]:
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


def read_signature(op: ir.Operation) -> list[Spec]:
    """The arguments of a TensorIR function, as recorded or as its types and attributes say."""
    if SIGNATURE not in op.attributes:
        return _derive(op)
    specs: list[Spec] = []
    for entry in ir.ArrayAttr(op.attributes[SIGNATURE]):
        fields = ir.DictAttr(entry)
        name, dtype = _string(fields, "name") or "", _string(fields, "dtype") or ""
        if "dims" not in fields:
            specs.append(ScalarSpec(name, dtype, name if dtypes.is_integer(dtype) else None))
            continue
        sizes = [_read_dim(dim) for dim in ir.ArrayAttr(fields["dims"])]
        specs.append(TensorSpec(name, dtype, tuple(sizes), "strided" in fields))
    return specs


def write_signature(op: ir.Operation) -> None:
    """Record the signature of a TensorIR function on it."""
    op.attributes[SIGNATURE] = ir.ArrayAttr.get([_write(spec) for spec in _derive(op)])


def _write(spec: Spec) -> ir.DictAttr:
    entry: dict[str, ir.Attribute] = {
        "name": ir.StringAttr.get(spec.name),
        "dtype": ir.StringAttr.get(spec.dtype or ""),
    }
    if isinstance(spec, TensorSpec):
        entry["dims"] = ir.ArrayAttr.get([_write_dim(dim) for dim in spec.dims or ()])
        if spec.strided:
            entry["strided"] = ir.UnitAttr.get()
    return ir.DictAttr.get(entry)


def _write_dim(dim: dims.Dim | None) -> ir.Attribute:
    if isinstance(dim, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
    return ir.StringAttr.get(dim or "")


def _read_dim(attribute: ir.Attribute) -> dims.Dim | None:
    if isinstance(attribute, ir.IntegerAttr):
        return attribute.value
    return ir.StringAttr(attribute).value or None


def argument_names(specs: Sequence[Spec]) -> list[str]:
    return [spec.name for spec in specs]
