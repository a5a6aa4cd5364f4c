"""Tiles that read one block of a matrix bring all of the next one into the cache."""

from __future__ import annotations

import pytest

from relax_mlir import mlir
from relax_mlir.lowering.linalg_to_vector.builder import Builder
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import fetched_ahead
from relax_mlir.mlir import ir

LANES = 16


@pytest.mark.parametrize("tiles", [1, 2, 3, 7, 14, 100])
@pytest.mark.parametrize("vectors", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("depth", [64, 192])
def test_every_vector_is_fetched(tiles: int, vectors: int, depth: int) -> None:
    block = depth * vectors * LANES
    with mlir.scope():
        b = Builder(ir.Module.create(loc=ir.Location.unknown()).body)
        fetched: set[int] = set()
        for tile in range(tiles):
            ahead = fetched_ahead(b, block, vectors, tile, tiles)
            assert isinstance(ahead.start, int)
            for step in range(depth):
                first = ahead.start + step * vectors * LANES // ahead.parts
                fetched |= {first // LANES + line for line in range(ahead.lines)}
    # A tile of its own fetches from its block first, if that is long.
    start = min(block, 8192) if tiles == 1 else block
    needed = set(range(start // LANES, (start + block) // LANES))
    assert needed <= fetched
    assert min(fetched) == min(needed)


def test_tiles_share_evenly() -> None:
    with mlir.scope():
        b = Builder(ir.Module.create(loc=ir.Location.unknown()).body)
        shares = [fetched_ahead(b, 1 << 16, 2, tile, 8) for tile in range(8)]
    assert [share.parts for share in shares] == [8] * 8
    starts = [share.start for share in shares]
    assert starts == [(1 << 16) + tile * (1 << 13) for tile in range(8)]
