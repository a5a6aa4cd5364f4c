"""Which chains of image operations go row by row, and how many rows are computed at a time.

What blocks save is that the image goes to the third-level cache or memory and comes back; what they
take is moving shared rows and more, shorter loops.  Measured on one core of a server with 1 MB of
second-level cache, 1x1 convolution, relu6, depthwise convolution, relu6, 1x1 convolution, in us
(`x2` is the stride, `+` a residual):

| rows, channels | image | three kernels | in blocks |
|---|---|---|---|
| 112, 16 to 96, 3x3 x2, to 24   | 4.8 MB | 357 | 326 |
| 56, 24 to 144, 3x3, to 24 +    | 1.8 MB | 282 | 272 |
| 56, 24 to 144, 3x3 x2, to 32   | 1.8 MB | 150 | 148 |
| 56, 24 to 144, 5x5 x2, to 40, SiLU | 1.8 MB | 256 | 263 |
| 28, 32 to 192, 3x3, to 32 +    | 0.6 MB | 101 | 101 |

It is no more because products of few channels keep the multipliers busy while what they make is
written behind them: writing to the second-level cache alone makes none of them faster.  On two
cores a chain also starts its threads once instead of three times: MobileNetV2 takes 5 per cent less
where images beyond 1 MB are made in blocks, EfficientNet-B0 3, and on one core 1 and none.
"""

from __future__ import annotations

import math

from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.image_chain.matching import ImageChain, Step, shape_of
from relax_mlir.mlir import ir

__all__ = ["is_worth_blocks", "rows_of_block"]

_CACHE_SHARE = 0.45
"""Of the second-level cache for what a block reads and writes; weights and the code's own reading
ahead take the rest."""

_SHARED_ROW = 0.1
"""What it takes to move a row to the front of the buffer beside making it."""

_WORTH, _WORTH_IN_PIECES = 2.0, 1.0
"""Images of more than so many second-level caches are made in blocks, on one core and on more."""


def is_worth_blocks(image_bytes: int, target: CPUTarget) -> bool:
    """Whether a chain is better computed in blocks of rows than image by image."""
    worth = _WORTH if target.num_cores < 2 else _WORTH_IN_PIECES
    return image_bytes > worth * target.l2_bytes


def rows_of_block(chain: ImageChain, target: CPUTarget, asked: int = 0) -> int | None:
    """Rows of the result in a block; None where the chain is better computed image by image, or
    cannot be in blocks of as many rows as are `asked` for (0 for any number)."""
    if asked:
        return asked if _is_possible(chain, asked) else None
    best: tuple[float, int] | None = None
    budget = _CACHE_SHARE * target.l2_bytes
    most = -(-chain.output_rows * chain.images // target.num_cores)
    for rows in range(1, min(most, chain.output_rows) + 1):
        if not _is_possible(chain, rows):
            continue
        if best and _block_bytes(chain, rows) > budget:
            break
        done = -(-chain.output_rows // rows) * rows / chain.output_rows
        cost = done + _SHARED_ROW * chain.window.shared / (rows * chain.window.stride)
        if best is None or cost < best[0]:
            best = cost, rows
    if best is None or (best[1] == chain.output_rows and target.num_cores < 2):
        return None
    return best[1]


def _is_possible(chain: ImageChain, rows: int) -> bool:
    """Whether blocks have no more new rows than there are and no less than two share, the last
    one too, which begins where it ends with the image."""
    window = chain.window
    fresh = rows * window.stride
    moved = (chain.output_rows % rows) * window.stride
    if rows > chain.output_rows or not window.shared <= fresh <= chain.image_rows:
        return False
    return not moved or moved >= window.shared


def _block_bytes(chain: ImageChain, rows: int) -> int:
    """About what a block reads and writes: the image, and what is read and written ahead of it and
    behind it."""
    fresh = rows * chain.window.stride
    made = (chain.window.shared + fresh) * _row_bytes(chain.image)
    read = fresh * sum(map(_row_bytes, _read_by_row(chain.ahead)))
    written = rows * (_row_bytes(chain.sliding.output) + _row_bytes(chain.output))
    return made + read + written


def _read_by_row(steps: tuple[Step, ...]) -> list[ir.Value]:
    """What steps read of their own row that none of them has written."""
    written = [step.output for step in steps]
    return [
        value
        for step in steps
        for value, by_row in zip(step.op.operands, step.by_row, strict=True)
        if by_row and value not in written
    ]


def _row_bytes(buffer: ir.Value) -> int:
    width = ir.MemRefType(buffer.type).element_type.width
    return math.prod(shape_of(buffer)[2:]) * width // 8
