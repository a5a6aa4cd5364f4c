"""Parts of row-major buffers."""

from __future__ import annotations

from relax_mlir.mlir import dynamic, ir

__all__ = ["Size", "subview"]

Size = int | ir.Value


def subview(buffer: ir.Value, offsets: list[Size], sizes: list[Size]) -> ir.Value:
    """A part of a row-major buffer, at the insertion point; the buffer itself where that is all of
    it."""
    type_ = ir.MemRefType(buffer.type)
    known = all(isinstance(size, int) for size in (*offsets, *sizes))
    whole = (
        known
        and not any(offsets)
        and sizes == [None if size == dynamic() else size for size in type_.shape]
    )
    if whole:
        return buffer
    strides = _strides(type_)
    start: int = 0
    for offset, stride in zip(offsets, strides, strict=True):
        known = isinstance(offset, int) and (offset == 0 or stride != dynamic())
        start = (
            dynamic()
            if not known or start == dynamic()
            else start + offset * (0 if offset == 0 else stride)
        )
    static_offsets, dynamic_offsets = _split(offsets)
    static_sizes, dynamic_sizes = _split(sizes)
    layout = ir.StridedLayoutAttr.get(start, strides)
    result = ir.MemRefType.get(
        static_sizes, type_.element_type, layout, memory_space=type_.memory_space
    )
    return ir.Operation.create(
        "memref.subview",
        results=[result],
        operands=[buffer, *dynamic_offsets, *dynamic_sizes],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get(static_offsets),
            "static_sizes": ir.DenseI64ArrayAttr.get(static_sizes),
            "static_strides": ir.DenseI64ArrayAttr.get([1] * type_.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(
                [1, len(dynamic_offsets), len(dynamic_sizes), 0]
            ),
        },
    ).result


def _strides(type_: ir.MemRefType) -> list[int]:
    strides: list[int] = []
    step = 1
    for size in reversed(type_.shape):
        strides.append(step)
        step = dynamic() if dynamic() in (size, step) else step * size
    return strides[::-1]


def _split(sizes: list[Size]) -> tuple[list[int], list[ir.Value]]:
    static = [size if isinstance(size, int) else dynamic() for size in sizes]
    return static, [size for size in sizes if not isinstance(size, int)]
