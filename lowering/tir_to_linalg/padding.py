"""Raising a border around data that a windowed reduction reads.

The padding in front of a convolution or a pooling becomes the form that MLIR's own tools have for
it: the whole buffer is filled with the border's value, then the data are copied into its middle.
`linalg-to-vector` recognises the pair and reads the data in place; where it does not, the border
is written twice at most.
"""

from __future__ import annotations

from relax_mlir.lowering.tir_to_linalg.access import fill
from relax_mlir.lowering.tir_to_linalg.conditions import Piece, Unsupported
from relax_mlir.lowering.tir_to_linalg.nest import Nest
from relax_mlir.lowering.tir_to_linalg.piece_emission import PieceEmitter
from relax_mlir.lowering.tir_to_linalg.pieces import pieces_of, single_store
from relax_mlir.mlir import ir

__all__ = ["raise_padding"]


def raise_padding(nest: Nest) -> bool:
    """Raise a nest that surrounds a buffer by a constant for a windowed reduction; False (and
    nothing changed) for any other."""
    store = single_store(nest)
    if store is None or not _feeds_windows(store.operands[1], nest):
        return False
    try:
        pieces = pieces_of(nest, store)
        found = _middle(nest, store, pieces)
        if found is None:
            return False
        middle, border = found
        emitter = PieceEmitter(nest, store, middle, [])
    except Unsupported:
        return False
    if emitter.outer:
        return False
    with ir.InsertionPoint(nest.outermost), nest.block.operation.location:
        value = border.owner.operation.clone().results[0]
        fill(store.operands[1], value)
        emitter.emit_bounds()
        emitter.emit({})
    nest.outermost.erase()
    return True


def _middle(nest: Nest, store: ir.Operation, pieces: list[Piece]) -> tuple[Piece, ir.Value] | None:
    """The one piece that is data, and the constant that all others are."""
    data: list[Piece] = []
    constants: list[ir.Value] = []
    for piece in pieces:
        value = PieceEmitter(nest, store, piece, []).value
        if isinstance(value.owner, ir.Block):
            return None
        name = value.owner.operation.name
        if name == "memref.load":
            data.append(piece)
        elif name == "arith.constant":
            constants.append(value)
        else:
            return None
    if len(data) != 1 or not constants:
        return None
    same = {str(value.owner.operation.attributes["value"]) for value in constants}
    return (data[0], constants[0]) if len(same) == 1 else None


def _feeds_windows(buffer: ir.Value, nest: Nest) -> bool:
    """Whether all that reads a temporary are reductions, at sums of their variables."""
    if isinstance(buffer.owner, ir.Block) or buffer.owner.operation.name != "tir.alloc_buffer":
        return False
    readers = [
        use.owner.operation for use in buffer.uses if use.owner.operation.name == "memref.load"
    ]
    return bool(readers) and all(_reads_window(load, nest) for load in readers)


def _reads_window(load: ir.Operation, nest: Nest) -> bool:
    block = load.parent.operation if load.parent is not None else None
    if block is None or block.name != "tir.block" or block == nest.block.operation:
        return False
    kinds = [ir.StringAttr(kind).value for kind in ir.ArrayAttr(block.attributes["iter_kinds"])]
    sums = [
        index.owner.operation
        for index in list(load.operands)[1:]
        if not isinstance(index.owner, ir.Block)
    ]
    return "R" in kinds and any(
        op.name == "affine.apply" and len(list(op.operands)) > 1 for op in sums
    )
