"""The register tiles of matrix products: what fits, and what keeps the multipliers busy."""

from __future__ import annotations

import pytest

from relax_mlir.lowering.linalg_to_vector.contraction.tile_config import choose_tile
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget

AVX512 = CPUTarget(vector_bits=512, vector_registers=32)
AVX2 = CPUTarget(vector_bits=256, vector_registers=16)
TARGETS = [AVX512, AVX2, CPUTarget()]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("rows", [1, 3, 7, 49, 196, None])
@pytest.mark.parametrize("columns", [1, 16, 24, 400, 1000, None])
def test_tiles_fit(target: CPUTarget, rows: int | None, columns: int | None) -> None:
    lanes = target.lanes(32)
    tile = choose_tile(rows, columns, lanes, target)
    assert tile.rows * tile.vectors + tile.vectors + 1 <= target.vector_registers
    assert rows is None or tile.rows <= rows
    assert columns is None or (tile.vectors - 1) * lanes < columns + lanes


@pytest.mark.parametrize("rows", [7, 13, 49, 64, 100, 128, 169, 196, 784, 3136])
@pytest.mark.parametrize("columns", [64, 128, 384, 400, 512, 768, 1000])
def test_tiles_do_not_wait_for_b(rows: int, columns: int) -> None:
    """Each vector of B is used for several rows, each element of A for several vectors: tiles of
    2 x 8, which 49 x 512 once got, ran at half the rate."""
    tile = choose_tile(rows, columns, 16, AVX512)
    assert tile.rows >= 5 and tile.vectors >= 2


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [(7, 512, (7, 3)), (8, 512, (8, 2)), (49, 80, (5, 5)), (784, 512, (8, 2)), (1, 512, (1, 8))],
)
def test_tiles_without_a_rest(rows: int, columns: int, expected: tuple[int, int]) -> None:
    tile = choose_tile(rows, columns, 16, AVX512)
    assert (tile.rows, tile.vectors) == expected


@pytest.mark.parametrize(
    ("target", "height"), [(AVX512, 7), (AVX2, 6), (CPUTarget(), 6)], ids=["512", "256", "128"]
)
def test_tiles_of_blocks_leave_the_cache_to_a_panel_of_b(target: CPUTarget, height: int) -> None:
    """1024 rows take tiles of up to 14 otherwise, whose rows of A push the panel out."""
    lanes = target.lanes(32)
    tile = choose_tile(1024, 1024, lanes, target, in_blocks=True)
    assert (tile.rows, tile.vectors) == (height, 2)
    assert choose_tile(1024, lanes, lanes, target, in_blocks=True).vectors == 1


@pytest.mark.parametrize("rows", [64, 512, 1024, None])
@pytest.mark.parametrize("columns", [64, 512, 1024, None])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_slow_products_have_accumulators_enough(
    rows: int | None, columns: int | None, in_blocks: bool
) -> None:
    """Two units of latency six are busy with twelve products in flight, and some to spare."""
    tile = choose_tile(rows, columns, 16, AVX512, in_blocks, chains=16)
    assert tile.rows * tile.vectors >= 16
    assert tile.blocked_rows * tile.vectors >= 16
