"""Raising blocks that choose between sources or read at computed places.

A block such as that of a concatenation or a padding chooses by conditions on its iteration
variables: the iteration space is cut where the conditions change, and each piece is a loop nest
without conditions.  A block such as that of a gather reads at positions that it loads: the
variables those depend on become loops, and what remains inside is an affine nest.  Both become
`linalg.generic` on subviews, which `linalg-to-vector` lowers to whole vectors.
"""

from __future__ import annotations

from relax_mlir.lowering.tir_to_linalg.conditions import (
    Comparison,
    Piece,
    Unsupported,
    decide,
)
from relax_mlir.lowering.tir_to_linalg.linear import Linear, linear
from relax_mlir.lowering.tir_to_linalg.nest import Nest
from relax_mlir.lowering.tir_to_linalg.piece_emission import PieceEmitter
from relax_mlir.mlir import ir

__all__ = ["pieces_of", "raise_in_pieces", "single_store"]

_MAX_PIECES = 32
_DECLARATIONS = ("tir.read", "tir.write")


def raise_in_pieces(nest: Nest) -> bool:
    """Raise an unscheduled nest piece by piece; False (and nothing changed) if it cannot be."""
    store = single_store(nest)
    if store is None:
        return False
    try:
        pieces = pieces_of(nest, store)
        shared = _shared_loops(nest, store, pieces)
        emitters = [PieceEmitter(nest, store, piece, shared) for piece in pieces]
    except Unsupported:
        return False
    with ir.InsertionPoint(nest.outermost), nest.block.operation.location:
        for emitter in emitters:
            emitter.emit_bounds()
        _emit_shared(shared, emitters, {})
    nest.outermost.erase()
    return True


def _shared_loops(nest: Nest, store: ir.Operation, pieces: list[Piece]) -> list[int]:
    """The variables outside of those that tell the pieces apart: inside their loops the pieces
    of a row are written one after the other, in memory order."""
    order = [linear(index, nest.block.iter_vars).coefficients for index in store.operands[2:]]
    shared: list[int] = []
    for coefficients in order[:-1]:
        if len(coefficients) > 1 or len(pieces) < 2:
            break
        variables = list(coefficients)
        if any(piece.ranges[v] != pieces[0].ranges[v] for piece in pieces for v in variables):
            break
        shared += variables
    return shared


def _emit_shared(
    variables: list[int], emitters: list[PieceEmitter], positions: dict[int, ir.Value]
) -> None:
    if not variables:
        for emitter in emitters:
            emitter.emit(positions)
        return
    with emitters[0].loop(variables[0]) as position:
        _emit_shared(variables[1:], emitters, {**positions, variables[0]: position})


def single_store(nest: Nest) -> ir.Operation | None:
    """The one store of a block of spatial variables that does not read what it writes."""
    if any(kind != "S" for kind in nest.block.kinds):
        return None
    stores: list[ir.Operation] = []
    loaded: list[ir.Value] = []
    fits = True

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal fits
        if op.name == "memref.store":
            stores.append(op)
        elif op.name == "memref.load":
            loaded.append(op.operands[0])
        elif op.name == "scf.if":
            fits = fits and len(op.results) == 1
        elif op.name not in ("scf.yield", "tir.block", *_DECLARATIONS):
            fits = fits and op.name.split(".")[0] in ("arith", "math", "affine")
        return ir.WalkResult.ADVANCE

    nest.block.operation.walk(visit)
    if not fits or len(stores) != 1 or stores[0].operands[1] in loaded:
        return None
    return stores[0] if stores[0].block == nest.block.block else None


def pieces_of(nest: Nest, store: ir.Operation) -> list[Piece]:
    """The iteration space, cut until every condition is known everywhere."""
    ranges = tuple((0, _extent(loop.extent)) for loop in nest.loops)
    open_: list[Piece] = [Piece(ranges)]
    done: list[Piece] = []
    while open_:
        piece = open_.pop(0)
        asked = _undecided(store.operands[0], nest, piece)
        if asked is None:
            done.append(piece)
        else:
            open_ = [*piece.cut(asked), *open_]
        if len(done) + len(open_) > _MAX_PIECES:
            raise Unsupported
    return done


def _extent(extent: int | ir.Value) -> int | Linear:
    if isinstance(extent, int):
        return extent
    found = linear(extent, [])
    return found.constant if found.is_constant else found


def _undecided(value: ir.Value, nest: Nest, piece: Piece) -> Comparison | None:
    """The first condition in the computation of `value` that the piece has no answer to."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    if op.name != "scf.if":
        for operand in op.operands:
            found = _undecided(operand, nest, piece)
            if found is not None:
                return found
        return None
    answer = decide(op.operands[0], nest, piece)
    if not isinstance(answer, bool):
        return answer
    branch = op.regions[0 if answer else 1].blocks[0]
    return _undecided(list(branch.operations)[-1].operation.operands[0], nest, piece)
