"""The temporaries of a call lie in memory that the call before it used."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax

ROWS, COLUMNS = 1000, 4000
"""Of float32, 16 MB: two of them are more than libc ever keeps for itself."""


def _program(rows: int | str) -> Any:
    """Flips, joins and sums along rows: kernels with temporaries between them."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((rows, COLUMNS), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            turned = builder.emit(relax.op.flip(x, 1))
            wide = builder.emit(relax.op.concat([x, turned], 1))
            sums = builder.emit_output(relax.op.cumsum(wide, 1))
        builder.emit_func_output(relax.op.sum(sums, 1))
    return relax.VirtualMachine(relax_mlir.compile(builder.get(), "llvm"), relax_mlir.cpu())["main"]


def _expected(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x[:, ::-1]], 1).astype("float64").cumsum(1).sum(1)


def _images(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (rows, COLUMNS)).astype("float32")


@pytest.mark.parametrize("rows", [ROWS, "n"])
def test_pages_are_not_made_anew(rows: int | str) -> None:
    resource = pytest.importorskip("resource")
    main = _program(rows)
    x = relax_mlir.runtime.tensor(_images(ROWS))

    def faults() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    got = main(x)
    before = faults()
    for _ in range(5):
        got = main(x)
    # Each call of five would have more than 8000 pages of 4 KiB.
    assert faults() - before < 8000
    np.testing.assert_allclose(got.numpy(), _expected(_images(ROWS)), rtol=1e-4)


def test_a_larger_call_follows_a_smaller_one() -> None:
    main = _program("n")
    for rows in (3, 700, 0, 1000, 20, 701):
        x = _images(rows, rows)
        np.testing.assert_allclose(main(x).numpy(), _expected(x), rtol=1e-4)


def test_calls_at_the_same_time_have_memory_of_their_own() -> None:
    main = _program("n")

    def check(seed: int) -> None:
        x = _images(50 + 40 * (seed % 5), seed)
        np.testing.assert_allclose(main(x).numpy(), _expected(x), rtol=1e-4)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, range(40)))
