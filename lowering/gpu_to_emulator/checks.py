"""Putting checks in front of the accesses of a kernel, and what the accesses become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.gpu_to_emulator.check_access import CHECK_ACCESS
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import (
    KernelWriter,
    byte_size,
    flat,
    handles,
)
from relax_mlir.lowering.gpu_to_emulator.layout import Access, Word, access_info
from relax_mlir.mlir import arith, dynamic, ir, llvm, memref, scf, vector

__all__ = ["Place", "announce", "check", "place_of"]


@dataclass(frozen=True)
class Place:
    """Memory that an access touches: its address (i64), whether its indices are in range (i1), and
    the indices (i64) for the report."""

    address: ir.Value
    in_bounds: ir.Value
    indices: Sequence[ir.Value] = ()


def _strides(writer: KernelWriter, buffer: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
    """Offset and strides of a memref in elements (i64)."""
    kind = ir.MemRefType(buffer.type)
    strides, offset = kind.get_strides_and_offset()
    if dynamic() not in (offset, *strides):
        return writer.constant(offset), [writer.constant(stride) for stride in strides]
    data = memref.ExtractStridedMetadataOp(buffer)
    parts = list(data.operation.results)
    rank = kind.rank
    starts, steps = parts[1], parts[2 + rank : 2 + 2 * rank]
    return writer.as_i64(starts), [writer.as_i64(step) for step in steps]


def place_of(
    writer: KernelWriter, buffer: ir.Value, indices: Sequence[ir.Value], elements: int = 1
) -> Place:
    """Where `buffer[indices]` and the elements that follow in the last dimension lie."""
    kind = ir.MemRefType(buffer.type)
    offset, strides = _strides(writer, buffer)
    in_bounds = arith.constant(ir.IntegerType.get_signless(1), 1)
    numbers = [writer.as_i64(index) for index in indices]
    below = arith.CmpIPredicate.ult
    for axis, (number, stride) in enumerate(zip(numbers, strides, strict=True)):
        offset = arith.addi(offset, arith.muli(number, stride))
        size = kind.shape[axis]
        if size == dynamic():
            axis_value = arith.constant(writer.index, axis)
            extent = writer.as_i64(memref.dim(buffer, axis_value))
        else:
            extent = writer.constant(size)
        if axis == kind.rank - 1 and elements > 1:
            # Unsigned, so that a negative index and a size below `elements` are refused too.
            last = arith.addi(number, writer.constant(elements - 1))
            in_bounds = arith.andi(in_bounds, arith.cmpi(below, last, extent))
        in_bounds = arith.andi(in_bounds, arith.cmpi(below, number, extent))
    base = writer.as_i64(memref.extract_aligned_pointer_as_index(buffer))
    address = arith.addi(base, arith.muli(offset, writer.constant(byte_size(kind.element_type))))
    return Place(address, in_bounds, numbers)


def check(
    writer: KernelWriter,
    place: Place,
    size: int | ir.Value,
    access: Access,
    align: int,
    site: int,
    sets: bool = True,
) -> None:
    """Check an access of `size` bytes at a place; the thread stops there when it is refused."""
    if place.indices:
        refused = arith.xori(place.in_bounds, arith.constant(place.in_bounds.type, 1))
        branch = scf.IfOp(refused)
        with ir.InsertionPoint(branch.then_block):
            for axis, number in enumerate(place.indices[:8]):
                llvm.store(number, writer.offset(writer.state, int(Word.index0) + 8 * axis))
            scf.yield_([])
    count = writer.constant(size) if isinstance(size, int) else size
    info = writer.constant(access_info(site, access, align, sets))
    in_bounds = arith.extui(writer.i64, place.in_bounds)
    writer.call(CHECK_ACCESS, [place.address, count, info, in_bounds])


def announce(writer: KernelWriter, value: ir.Value) -> None:
    """Show the checks what a store is about to write."""
    if isinstance(value.type, ir.IndexType):
        value = writer.as_i64(value)
    llvm.store(flat(value), writer.offset(writer.state, int(Word.scratch)), alignment=1)


def _natural(kind: ir.Type) -> int:
    """The alignment that a scalar access needs; odd sizes need none."""
    size = byte_size(kind)
    return size if size & (size - 1) == 0 else 1


def _alignment(op: ir.Operation, kind: ir.Type) -> int:
    """What the operation says, at least that of one element."""
    natural = _natural(kind)
    if "alignment" not in op.attributes:
        return natural
    return max(natural, ir.IntegerAttr(op.attributes["alignment"]).value)


def _element(kind: ir.Type) -> ir.Type:
    return kind.element_type if isinstance(kind, ir.VectorType) else kind


def _elements(kind: ir.Type, buffer: ir.Value) -> int:
    """Elements of a buffer, which may be vectors, that an access touches."""
    return byte_size(kind) // byte_size(ir.MemRefType(buffer.type).element_type)


@handles("memref.load", "vector.load")
def load(writer: KernelWriter, op: ir.Operation) -> None:
    if not writer.checks:
        return
    buffer, *indices = op.operands
    kind = op.results[0].type
    place = place_of(writer, buffer, indices, _elements(kind, buffer))
    align = _alignment(op, _element(kind))
    check(writer, place, byte_size(kind), Access.READ, align, writer.add_site(op, buffer))


@handles("memref.store", "vector.store")
def store(writer: KernelWriter, op: ir.Operation) -> None:
    if not writer.checks:
        return
    value, buffer, *indices = op.operands
    place = place_of(writer, buffer, indices, _elements(value.type, buffer))
    align = _alignment(op, _element(value.type))
    announce(writer, value)
    check(writer, place, byte_size(value.type), Access.WRITE, align, writer.add_site(op, buffer))


@handles("memref.atomic_rmw")
def atomic_rmw(writer: KernelWriter, op: ir.Operation) -> None:
    if not writer.checks:
        return
    value, buffer, *indices = op.operands
    place = place_of(writer, buffer, indices)
    align, site = _natural(value.type), writer.add_site(op, buffer)
    check(writer, place, byte_size(value.type), Access.ATOMIC, align, site)


@handles("memref.generic_atomic_rmw")
def generic_atomic_rmw(writer: KernelWriter, op: ir.Operation) -> None:
    if not writer.checks:
        return
    buffer, *indices = op.operands
    kind = op.results[0].type
    place = place_of(writer, buffer, indices)
    site = writer.add_site(op, buffer)
    check(writer, place, byte_size(kind), Access.ATOMIC, _natural(kind), site)


@handles("llvm.load")
def pointer_load(writer: KernelWriter, op: ir.Operation) -> None:
    if writer.checks:
        _check_pointer(writer, op, op.operands[0], op.results[0].type, Access.READ)


@handles("llvm.store")
def pointer_store(writer: KernelWriter, op: ir.Operation) -> None:
    if writer.checks:
        announce(writer, op.operands[0])
        _check_pointer(writer, op, op.operands[1], op.operands[0].type, Access.WRITE)


@handles("llvm.atomicrmw")
def pointer_atomic(writer: KernelWriter, op: ir.Operation) -> None:
    if writer.checks:
        _check_pointer(writer, op, op.operands[0], op.operands[1].type, Access.ATOMIC)


@handles("llvm.cmpxchg")
def pointer_exchange(writer: KernelWriter, op: ir.Operation) -> None:
    if writer.checks:
        _check_pointer(writer, op, op.operands[0], op.operands[1].type, Access.ATOMIC)


def _check_pointer(
    writer: KernelWriter, op: ir.Operation, pointer: ir.Value, kind: ir.Type, access: Access
) -> None:
    """Check an access through a bare address: there are no indices to compare with a shape."""
    address = llvm.ptrtoint(writer.i64, pointer)
    place = Place(address, arith.constant(ir.IntegerType.get_signless(1), 1))
    site = writer.add_site(op, pointer)
    check(writer, place, byte_size(kind), access, _alignment(op, _element(kind)), site)


@handles("vector.maskedload", "vector.maskedstore")
def masked(writer: KernelWriter, op: ir.Operation) -> None:
    """Each lane whose mask is set, by itself."""
    if not writer.checks:
        return
    is_load = op.name == "vector.maskedload"
    segments = op.opview
    buffer, mask = segments.base, segments.mask
    indices = list(segments.indices)
    kind = ir.VectorType(op.results[0].type if is_load else segments.valueToStore.type)
    site, access = writer.add_site(op, buffer), Access.READ if is_load else Access.WRITE
    element = kind.element_type
    for lane in range(kind.shape[0]):
        bit = vector.extract(mask, [], [lane])
        branch = scf.IfOp(bit)
        with ir.InsertionPoint(branch.then_block):
            last = arith.addi(indices[-1], arith.constant(writer.index, lane))
            place = place_of(writer, buffer, [*indices[:-1], last])
            if not is_load:
                announce(writer, vector.extract(segments.valueToStore, [], [lane]))
            check(writer, place, byte_size(element), access, _natural(element), site)
            scf.yield_([])


@handles("vector.transfer_read", "vector.transfer_write")
def transfer(writer: KernelWriter, op: ir.Operation) -> None:
    """Each lane by itself; lanes outside of the buffer are not touched."""
    if not writer.checks:
        return
    is_read = op.name == "vector.transfer_read"
    view = op.opview
    buffer, indices = view.base, list(view.indices)
    kind = ir.VectorType(op.results[0].type if is_read else view.valueToStore.type)
    minor = ir.AffineMap.get_minor_identity(len(indices), 1)
    if kind.rank != 1 or view.mask is not None or view.permutation_map.value != minor:
        raise writer.error(op, "the emulator checks plain transfers of one dimension")
    site, access = writer.add_site(op, buffer), Access.READ if is_read else Access.WRITE
    size = byte_size(kind.element_type)
    for lane in range(kind.shape[0]):
        last = arith.addi(indices[-1], arith.constant(writer.index, lane))
        place = place_of(writer, buffer, [*indices[:-1], last])
        inside = ir.BoolAttr(view.in_bounds[0]).value
        branch = None if inside else scf.IfOp(place.in_bounds)
        point = ir.InsertionPoint(op) if branch is None else ir.InsertionPoint(branch.then_block)
        with point:
            if not is_read:
                announce(writer, vector.extract(view.valueToStore, [], [lane]))
            check(writer, place, size, access, _natural(kind.element_type), site)
            if branch is not None:
                scf.yield_([])


@handles("memref.copy", "vector.gather", "vector.scatter")
def unchecked_forms(writer: KernelWriter, op: ir.Operation) -> None:
    """Accesses that must have become loads and stores before."""
    if writer.checks:
        raise writer.error(op, "a kernel's accesses must be loads and stores of scalars or vectors")


@handles("func.call")
def call(writer: KernelWriter, op: ir.Operation) -> None:
    """A device function: the kernel that calls it is emulated after it was inlined."""
    callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    raise writer.error(op, f"the call of @{callee} must be inlined before")
