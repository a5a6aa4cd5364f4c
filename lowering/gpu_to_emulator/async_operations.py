"""Asynchronous copies: what a kernel issues, commits and waits for, as calls of `async_copies`."""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.async_copies import (
    ASYNC_COMMIT,
    ASYNC_COPY,
    ASYNC_WAIT,
)
from relax_mlir.lowering.gpu_to_emulator.checks import Place, announce, check, place_of
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import KernelWriter, byte_size, handles
from relax_mlir.lowering.gpu_to_emulator.layout import Access, access_info
from relax_mlir.mlir import arith, ir, llvm

__all__: list[str] = []


def _issue(
    writer: KernelWriter, op: ir.Operation, to: Place, source: Place,
    buffers: tuple[ir.Value, ir.Value], size: int, read: ir.Value,
) -> None:  # fmt: skip
    """Check both sides as they are now and put the copy into the thread's queue."""
    written = writer.add_site(op, buffers[0])
    if writer.checks:
        check(writer, source, read, Access.READ, size, writer.add_site(op, buffers[1]))
        _announce_nothing(writer)
        check(writer, to, size, Access.WRITE, size, written, sets=False)
    info = writer.constant(access_info(written, Access.WRITE, size))
    writer.call(ASYNC_COPY, [to.address, source.address, writer.constant(size), read, info])


def _announce_nothing(writer: KernelWriter) -> None:
    """What a copy will write is not there yet, so it cannot be what another thread stored."""
    byte = ir.IntegerType.get_signless(8)
    kind = ir.VectorType.get([16], byte)
    unlikely = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(byte, 0x5A))
    announce(writer, arith.constant(kind, unlikely))


@handles("nvgpu.device_async_copy")
def device_async_copy(writer: KernelWriter, op: ir.Operation) -> None:
    view = op.opview
    element = ir.MemRefType(view.src.type).element_type
    count = ir.IntegerAttr(op.attributes["dstElements"]).value
    size = count * byte_size(element)
    read = writer.constant(size)
    if view.srcElements is not None:
        elements = writer.as_i64(view.srcElements)
        read = arith.muli(elements, writer.constant(byte_size(element)))
    to = place_of(writer, view.dst, list(view.dstIndices), count)
    # Of a copy that reads nothing the source may lie outside of its buffer.
    source = place_of(writer, view.src, list(view.srcIndices), count)
    if view.srcElements is not None:
        source = Place(source.address, _yes())
    _issue(writer, op, to, source, (view.dst, view.src), size, read)
    _drop(writer, op)


def _yes() -> ir.Value:
    """That a place is in range, where no indices tell."""
    return arith.constant(ir.IntegerType.get_signless(1), 1)


def _drop(writer: KernelWriter, op: ir.Operation) -> None:
    """Erase an operation; a token that it makes orders nothing here."""
    for result in op.results:
        if list(result.uses):
            token = ir.Operation.create(
                "builtin.unrealized_conversion_cast", [result.type], [writer.constant(0)]
            )
            result.replace_all_uses_with(token.results[0])
    op.erase()


@handles("nvgpu.device_async_create_group", "nvvm.cp.async.commit.group")
def commit(writer: KernelWriter, op: ir.Operation) -> None:
    writer.call(ASYNC_COMMIT, [])
    _drop(writer, op)


@handles("nvgpu.device_async_wait")
def wait(writer: KernelWriter, op: ir.Operation) -> None:
    pending = 0
    if "numGroups" in op.attributes:
        pending = ir.IntegerAttr(op.attributes["numGroups"]).value
    writer.call(ASYNC_WAIT, [writer.constant(pending)])
    op.erase()


@handles("nvvm.cp.async.wait.group")
def wait_group(writer: KernelWriter, op: ir.Operation) -> None:
    writer.call(ASYNC_WAIT, [writer.constant(ir.IntegerAttr(op.attributes["n"]).value)])
    op.erase()


@handles("nvvm.cp.async.shared.global")
def cp_async(writer: KernelWriter, op: ir.Operation) -> None:
    to, source, *rest = op.operands
    size = ir.IntegerAttr(op.attributes["size"]).value
    read = writer.as_i64(rest[0]) if rest else writer.constant(size)
    places = [Place(llvm.ptrtoint(writer.i64, pointer), _yes()) for pointer in (to, source)]
    _issue(writer, op, places[0], places[1], (to, source), size, read)
    op.erase()
