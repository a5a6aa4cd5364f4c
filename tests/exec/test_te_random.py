"""Random numbers of a key and a position: the generators against their published vectors, the
numbers against what their distributions promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from relax_mlir import te
from relax_mlir.errors import Error
from relax_mlir.topi import random
from tests.exec.te_harness import run

ALL = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
"""The digits of pi, which the vectors of Random123 use."""


def drawn(function: Any, shape: Sequence[int], *args: Any, key: tuple[int, int] = (7, 9)) -> Any:
    given = te.placeholder((2,), "uint32", name="key")
    return run(function(given, shape, *args), [given], np.array(key, "uint32"))


def generated(
    state: Sequence[int], shape: Sequence[int], dtype: str, algorithm: str
) -> tuple[np.ndarray, np.ndarray]:
    given = te.placeholder((len(state),), "uint64", name="state")
    outputs = random.rng_bit_generator(given, shape, dtype, algorithm)
    after, bits = run(outputs, [given], np.array(state, "uint64"))
    return after, bits


def wide(low: int, high: int) -> int:
    return high << 32 | low


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ALL, ALL), (ALL, ALL), (0x1CB996FC, 0xBB002BE7)),
        (PI[:2], PI[2:4], (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry(counter: Any, key: Any, expected: Any) -> None:
    state = (wide(*key), wide(*counter))
    assert generated(state, (2,), "uint32", "threefry")[1].tolist() == list(expected)
    assert generated(state, (), "uint64", "threefry")[1] == wide(*expected)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL,) * 4, (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (PI[:4], PI[4:], (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ],
)
def test_philox(counter: Any, key: Any, expected: Any) -> None:
    state = (wide(*key), wide(*counter[:2]), wide(*counter[2:]))
    assert generated(state, (4,), "uint32", "philox")[1].tolist() == list(expected)
    pairs = [wide(*expected[:2]), wide(*expected[2:])]
    assert generated(state, (2,), "uint64", "philox")[1].tolist() == pairs


def test_blocks_follow_each_other() -> None:
    """The state behind a tensor continues it; the bits do not depend on its shape."""
    after, bits = generated((5, 2**64 - 2, 1), (3, 4), "uint32", "philox")
    assert after.tolist() == [5, 1, 2]  # three blocks: the counter carries
    flat = generated((5, 2**64 - 2, 1), (12,), "uint32", "philox")[1]
    assert np.array_equal(bits.ravel(), flat)
    _, rest = generated(after.tolist(), (4,), "uint32", "philox")
    longer = generated((5, 2**64 - 2, 1), (16,), "uint32", "philox")[1]
    assert np.array_equal(longer[12:], rest)
    small = generated((5, 2**64 - 2, 1), (12,), "uint8", "philox")[1]
    assert np.array_equal(small, (flat & 0xFF).astype("uint8"))
    after, odd = generated((5, 10), (5,), "int32", "threefry")
    even = generated((5, 10), (6,), "int32", "threefry")[1]
    assert after.tolist() == [5, 13]
    assert np.array_equal(odd, even[:5])
    assert generated((5, 10), (0,), "uint32", "threefry")[0].tolist() == [5, 10]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform(dtype: str) -> None:
    x = drawn(random.uniform, (100, 300), -1.0, 3.0, dtype).astype("float64")
    assert x.min() >= -1 and x.max() < 3
    assert abs(x.mean() - 1) < 0.03 and abs(x.std() - 4 / 12**0.5) < 0.03
    counts = np.histogram(x, 16, (-1, 3))[0] / x.size
    assert np.abs(counts - 1 / 16).max() < 0.006


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normal(dtype: str) -> None:
    x = drawn(random.normal, (30000,), 2.0, 0.5, dtype).astype("float64")
    z = (x - 2) / 0.5
    assert np.isfinite(z).all() and abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.02
    assert abs((z**3).mean()) < 0.06 and abs((z**4).mean() - 3) < 0.15
    assert abs((np.abs(z) < 1).mean() - 0.6827) < 0.01


def test_integers() -> None:
    x = drawn(random.randint, (7, 5000), -3, 4, "int32")
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == list(range(-3, 4))
    assert np.abs(counts / x.size - 1 / 7).max() < 0.008
    bits = drawn(random.random_bits, (1000,))
    assert bits.min() >= 0 and len(set(bits.tolist())) == 1000
    assert bits.max() > 2**62


def test_keys_tell_sequences_apart() -> None:
    first, again, other = (
        drawn(random.uniform, (500,), key=key) for key in ((1, 2), (1, 2), (2, 1))
    )
    assert np.array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.15
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.15


def test_refused() -> None:
    state = te.placeholder((2,), "uint64", name="state")
    with pytest.raises(Error, match="'threefry' or 'philox', not 'mersenne'"):
        random.rng_bit_generator(state, (3,), "uint32", "mersenne")
    with pytest.raises(Error, match="bits are integers, not float32"):
        random.rng_bit_generator(state, (3,), "float32")
    with pytest.raises(Error, match="no state like"):
        random.rng_bit_generator(te.placeholder((3,), "uint64"), (3,), "uint32", "threefry")
    with pytest.raises(Error, match="a key is two uint32"):
        random.uniform(state, (3,))
    with pytest.raises(Error, match=r"no integer in \[3, 3\)"):
        random.randint(te.placeholder((2,), "uint32"), (3,), 3, 3)
