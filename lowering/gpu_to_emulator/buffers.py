"""Shared and local memory of a kernel, placed in the arenas of the block and the thread."""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.kernel_writer import (
    KernelWriter,
    buffer_name,
    byte_size,
    handles,
    strip,
)
from relax_mlir.lowering.gpu_to_emulator.layout import Word
from relax_mlir.mlir import arith, dynamic, ir, llvm, memref

__all__ = ["is_shared", "place_local", "place_shared"]

# Buffers start at multiples of this, further apart than an access is long.
_ALIGNMENT = 128


def is_shared(kind: ir.Type) -> bool:
    """True for a memref in the memory of a block."""
    space = kind.memory_space if isinstance(kind, ir.MemRefType) else None
    return space is not None and str(space) in (
        "#gpu.address_space<workgroup>", "3 : i32", "3 : i64", "3", "#nvvm.memory_space<shared>",
    )  # fmt: skip


def _bytes(writer: KernelWriter, op: ir.Operation, kind: ir.MemRefType) -> int:
    total = byte_size(kind.element_type)
    for size in kind.shape:
        if size == dynamic():
            raise writer.error(op, f"{kind} in a kernel needs a size that is known")
        total *= size
    return total


def place_shared(writer: KernelWriter, op: ir.Operation, value: ir.Value) -> ir.Value:
    """A place in the block's memory for the buffer that `value` is."""
    kind = strip(value.type)
    assert isinstance(kind, ir.MemRefType)
    start = writer.shared_bytes
    writer.shared_bytes += _padded(_bytes(writer, op, kind))
    base = llvm.inttoptr(writer.ptr, writer.word(Word.shared))
    made = writer.memref(writer.offset(base, start), kind)
    writer.spaces[made] = "shared"
    writer.names[made] = buffer_name(value) or "shared memory"
    return made


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT


def place_local(writer: KernelWriter, op: ir.Operation, value: ir.Value) -> ir.Value:
    """Memory of the thread: checked in its arena, unchecked a variable of the coroutine."""
    kind = strip(value.type)
    assert isinstance(kind, ir.MemRefType)
    size = _bytes(writer, op, kind)
    if not writer.checks:
        made = memref.alloca(kind, [], [], alignment=64)
    else:
        start = writer.local_bytes
        writer.local_bytes += _padded(size)
        base = llvm.inttoptr(writer.ptr, writer.word(Word.local))
        threads = writer.word(Word.threads)
        # Of one buffer all threads' copies lie side by side, so that what is compiled later does
        # not have to know how much a thread needs in all.
        place = arith.addi(
            arith.muli(threads, writer.constant(start)),
            arith.muli(writer.thread, writer.constant(_padded(size))),
        )
        made = writer.memref(writer.offset(base, place), kind)
    writer.spaces[made] = "local"
    writer.names[made] = buffer_name(value) or "a local buffer"
    return made


@handles("memref.alloca", "memref.alloc")
def allocate(writer: KernelWriter, op: ir.Operation) -> None:
    place = place_shared if is_shared(op.results[0].type) else place_local
    # A coroutine keeps what is allocated on entry.
    with ir.InsertionPoint(writer.entry):
        made = place(writer, op, op.results[0])
    op.results[0].replace_all_uses_with(made)
    op.erase()


@handles("memref.dealloc")
def release(writer: KernelWriter, op: ir.Operation) -> None:
    op.erase()


@handles("gpu.dynamic_shared_memory")
def dynamic_shared_memory(writer: KernelWriter, op: ir.Operation) -> None:
    kind = strip(op.results[0].type)
    assert isinstance(kind, ir.MemRefType)
    base = llvm.inttoptr(writer.ptr, writer.word(Word.dynamic))
    made = writer.memref(base, kind, [writer.word(Word.dynamic_bytes)])
    writer.spaces[made] = "shared"
    writer.names[made] = buffer_name(op.results[0]) or "dynamic shared memory"
    op.results[0].replace_all_uses_with(made)
    op.erase()
