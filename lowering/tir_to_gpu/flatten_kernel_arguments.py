"""`gpu-flatten-kernel-arguments`: kernels take pointers and numbers only.

A buffer is passed as the pointer to its first element, then each of its dynamic sizes, strides and
its dynamic offset as i64; what is static is known.  Scalars are passed as they are.  The kernel
puts the buffer together again, so that its body does not change.  Calls follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernels_of
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.mlir import arith, dynamic, ir, memref, operations_named

__all__ = ["FlattenKernelArguments", "rebuild"]


@register_pass("gpu-flatten-kernel-arguments")
@dataclass(frozen=True)
class FlattenKernelArguments(Pass):
    """Give kernels and their launches arguments that are pointers and numbers."""

    def run(self, state: ModuleState) -> None:
        kernels = kernels_of(state)
        noalias: dict[str, bool] = {}
        for function in state.functions():
            for op in operations_named(function, ["gpu.launch_func"]):
                noalias[_kernel_name(op)] = _says_noalias(function)
                _flatten_call(op)
        for kernel in kernels:
            _flatten_kernel(kernel, noalias.get(symbol_name(kernel), False))


def _kernel_name(call: ir.Operation) -> str:
    return list(ir.SymbolRefAttr(call.attributes["kernel"]).value)[-1]


def _says_noalias(function: ir.Operation) -> bool:
    if "tir.attrs" not in function.attributes:
        return False
    return bool(from_attribute(function.attributes["tir.attrs"]).get("tir.noalias", False))


@dataclass(frozen=True)
class _Layout:
    """What is static of a buffer; None where it is passed."""

    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    offset: int | None

    @classmethod
    def of(cls, kind: ir.MemRefType) -> _Layout:
        strides, offset = kind.get_strides_and_offset()
        identity = kind.affine_map == ir.AffineMap.get_identity(kind.rank)
        # The dynamic strides of a row-major buffer follow from its sizes.
        known = tuple(-1 if identity and _unknown(s) else _static(s) for s in strides)
        return cls(tuple(map(_static, kind.shape)), known, _static(offset))

    def parameters(self) -> int:
        """The number of i64 values that are passed."""
        return sum(x is None for x in (*self.sizes, *self.strides, self.offset))


def _unknown(value: int) -> bool:
    return value == dynamic() or value == ir.ShapedType.get_dynamic_stride_or_offset()


def _static(value: int) -> int | None:
    return None if _unknown(value) else value


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


# -- the host's side --------------------------------------------------------------------------


def _flatten_call(call: ir.Operation) -> None:
    segments = list(ir.DenseI32ArrayAttr(call.attributes["operandSegmentSizes"]))
    operands = list(call.operands)
    count = segments[11]
    fixed, arguments = operands[: len(operands) - count], operands[len(operands) - count :]
    flat: list[ir.Value] = []
    with ir.InsertionPoint(call), call.location:
        for value in arguments:
            flat += _parts(value) if isinstance(value.type, ir.MemRefType) else [value]
    segments[11] = len(flat)
    ir.Operation.create(
        "gpu.launch_func",
        operands=[*fixed, *flat],
        attributes={
            "kernel": call.attributes["kernel"],
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
        },
        loc=call.location,
        ip=ir.InsertionPoint(call),
    )
    call.erase()


def _parts(value: ir.Value) -> list[ir.Value]:
    """A buffer's pointer and dynamic sizes, strides and offset."""
    index = ir.Operation.create(
        "memref.extract_aligned_pointer_as_index", results=[ir.IndexType.get()], operands=[value]
    ).result
    address = arith.index_cast(_i64(), index)
    pointer = ir.Operation.create(
        "llvm.inttoptr", results=[ir.Type.parse("!llvm.ptr")], operands=[address]
    ).result
    layout = _Layout.of(ir.MemRefType(value.type))
    found = [pointer]
    for axis, size in enumerate(layout.sizes):
        if size is None:
            dim = memref.dim(value, arith.constant(ir.IndexType.get(), axis))
            found.append(arith.index_cast(_i64(), dim))
    if None in layout.strides or layout.offset is None:
        found += _strides_and_offset(value, layout)
    return found


def _strides_and_offset(value: ir.Value, layout: _Layout) -> list[ir.Value]:
    made = memref.ExtractStridedMetadataOp(value).operation
    results = list(made.results)
    rank = len(layout.sizes)
    offset, strides = results[1], results[2 + rank :]
    wanted = [v for v, known in zip(strides, layout.strides, strict=True) if known is None]
    wanted += [offset] if layout.offset is None else []
    return [arith.index_cast(_i64(), v) for v in wanted]


# -- the kernel's side ------------------------------------------------------------------------


def _flatten_kernel(kernel: ir.Operation, noalias: bool) -> None:
    """Replace a kernel by one with flat arguments; its body, one block, moves over."""
    body = kernel.regions[0].blocks[0]
    count = len(ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs)
    arguments = list(body.arguments)
    groups = [_flat_types(a.type) for a in arguments[:count]]
    flat = [(kind, a) for a, kinds in zip(arguments, groups, strict=False) for kind in kinds]
    flat += [(a.type, a) for a in arguments[count:]]
    made = ir.Operation.create(
        "gpu.func",
        attributes=_attributes(kernel, groups, noalias),
        regions=1,
        loc=kernel.location,
        ip=ir.InsertionPoint(kernel),
    )
    entry = made.regions[0].blocks.append(
        *[kind for kind, _ in flat], arg_locs=[a.location for _, a in flat]
    )
    parts = iter(list(entry.arguments))
    with ir.InsertionPoint(entry):
        for argument, kinds in zip(arguments, [*groups, *[None] * len(arguments)], strict=False):
            given = [next(parts) for _ in kinds or (argument,)]
            if isinstance(argument.type, ir.MemRefType) and kinds is not None:
                with argument.location:
                    argument.replace_all_uses_with(rebuild(argument.type, given))
            else:
                argument.replace_all_uses_with(given[0])
    for view in list(body.operations):
        op = view.operation
        op.detach_from_parent()
        entry.append(op)
    kernel.erase()


def _attributes(
    kernel: ir.Operation, groups: Sequence[Sequence[ir.Type]], noalias: bool
) -> dict[str, ir.Attribute]:
    found = {name: kernel.attributes[name] for name in kernel.attributes}
    flat = [kind for kinds in groups for kind in kinds]
    found["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(flat, []))
    given = [ir.DictAttr.get({})] * len(groups)
    if "arg_attrs" in found:
        given = [ir.DictAttr(entry) for entry in ir.ArrayAttr(found["arg_attrs"])]
    marks: list[ir.Attribute] = []
    for kinds, attributes in zip(groups, given, strict=True):
        own = {named.name: named.attr for named in attributes}
        if noalias and kinds[0] == ir.Type.parse("!llvm.ptr"):
            own["llvm.noalias"] = ir.UnitAttr.get()
        marks += [ir.DictAttr.get(own), *[ir.DictAttr.get({})] * (len(kinds) - 1)]
    found["arg_attrs"] = ir.ArrayAttr.get(marks)
    return found


def _flat_types(kind: ir.Type) -> list[ir.Type]:
    """The types of the parts that an argument is passed as."""
    if not isinstance(kind, ir.MemRefType):
        return [kind]
    return [ir.Type.parse("!llvm.ptr"), *[_i64()] * _Layout.of(kind).parameters()]


def rebuild(kind: ir.MemRefType, parts: Sequence[ir.Value]) -> ir.Value:
    """The buffer as a descriptor, put together from its parts."""
    layout, rank = _Layout.of(kind), kind.rank
    struct = ir.Type.parse(_descriptor(rank))
    rest = iter(parts[1:])
    sizes = [next(rest) if s is None else _number(s) for s in layout.sizes]
    strides = [next(rest) if s is None else s for s in layout.strides]
    offset = next(rest) if layout.offset is None else _number(layout.offset)
    value = ir.Operation.create("llvm.mlir.undef", results=[struct]).result
    value = _insert(_insert(value, parts[0], 0), parts[0], 1)
    value = _insert(value, offset, 2)
    for axis, size in enumerate(sizes):
        value = _insert(value, size, 3, axis)
    step: ir.Value | None = None
    for axis in reversed(range(rank)):
        given = strides[axis]
        if isinstance(given, int):
            given = step if given == -1 and step is not None else _number(given)
        value = _insert(value, given, 4, axis)
        step = arith.muli(given, sizes[axis]) if axis else None
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[kind], operands=[value]
    ).result


def _descriptor(rank: int) -> str:
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    return f"!llvm.struct<(ptr, ptr, i64{arrays})>"


def _number(value: int) -> ir.Value:
    return arith.constant(_i64(), value)


def _insert(struct: ir.Value, value: ir.Value, *path: int) -> ir.Value:
    return ir.Operation.create(
        "llvm.insertvalue",
        results=[struct.type],
        operands=[struct, value],
        attributes={"position": ir.DenseI64ArrayAttr.get(list(path))},
    ).result
