"""Values from other threads of a warp, of any type: the hardware moves 32 bits."""

from __future__ import annotations

from relax_mlir.mlir import arith, ir

__all__ = ["WARP", "shuffle"]

WARP = 32

# Mode -> the lane number that a shuffle does not go beyond, in PTX's operand c.
_CLAMPS = {"xor": 31, "down": 31, "idx": 31, "up": 0}
_KINDS = {"xor": "bfly", "down": "down", "up": "up", "idx": "idx"}


def shuffle(value: ir.Value, mode: str, offset: ir.Value | int, width: int = WARP) -> ir.Value:
    """The value of another thread: `mode` is "xor", "down", "up" (by `offset`) or "idx" (of the
    thread `offset`), among `width` threads in a row."""
    i32 = ir.IntegerType.get_signless(32)
    by = arith.constant(i32, offset) if isinstance(offset, int) else offset
    return _any_type(value, mode, by, width)


def _any_type(value: ir.Value, mode: str, offset: ir.Value, width: int) -> ir.Value:
    kind = value.type
    i32 = ir.IntegerType.get_signless(32)
    if isinstance(kind, ir.IndexType):
        wide = ir.IntegerType.get_signless(64)
        moved = _any_type(arith.index_cast(wide, value), mode, offset, width)
        return arith.index_cast(kind, moved)
    if isinstance(kind, ir.F32Type) or kind == i32:
        return _shuffle(value, mode, offset, width)
    bits = ir.IntegerType.get_signless(kind.width)
    if not isinstance(kind, ir.IntegerType):
        moved = _any_type(arith.bitcast(bits, value), mode, offset, width)
        return arith.bitcast(kind, moved)
    if kind.width < 32:
        return arith.trunci(kind, _shuffle(arith.extui(i32, value), mode, offset, width))
    half = arith.constant(kind, 32)
    low = _shuffle(arith.trunci(i32, value), mode, offset, width)
    high = _shuffle(arith.trunci(i32, arith.shrui(value, half)), mode, offset, width)
    return arith.ori(arith.extui(kind, low), arith.shli(arith.extui(kind, high), half))


def _shuffle(value: ir.Value, mode: str, offset: ir.Value, width: int) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    if width == WARP:
        return ir.Operation.create(
            "gpu.shuffle",
            results=[value.type, ir.IntegerType.get_signless(1)],
            operands=[value, offset, arith.constant(i32, WARP)],
            attributes={"mode": ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")},
        ).results[0]
    # The gpu dialect would leave the threads of the other parts of a warp out of the mask.
    clamp = (WARP - width) << 8 | _CLAMPS[mode]
    return ir.Operation.create(
        "nvvm.shfl.sync",
        results=[value.type],
        operands=[arith.constant(i32, -1), value, offset, arith.constant(i32, clamp)],
        attributes={"kind": ir.Attribute.parse(f"#nvvm<shfl_kind {_KINDS[mode]}>")},
    ).results[0]
