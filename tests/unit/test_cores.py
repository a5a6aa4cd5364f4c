"""How many threads compiling uses, and constants that are hashed by several."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir.cores import compile_threads, usable_cores
from relax_mlir.dialects.relax.constants import constant_key


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("0", 1), ("7", 7)])
def test_number_of_threads_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, text: str, number: int
) -> None:
    monkeypatch.setenv("RELAX_MLIR_COMPILE_THREADS", text)
    assert compile_threads() == number


def test_number_of_threads_by_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_COMPILE_THREADS", "many")
    assert compile_threads() == min(4, usable_cores())


@pytest.mark.parametrize("size", [0, 100, 1 << 20, (1 << 20) + 1, (5 << 20) + 7])
def test_keys_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    array = np.random.default_rng(0).integers(0, 255, size, dtype="uint8")
    keys: set[str] = set()
    for threads in ("1", "3"):
        monkeypatch.setenv("RELAX_MLIR_COMPILE_THREADS", threads)
        keys.add(constant_key(array))
    assert len(keys) == 1


@pytest.mark.parametrize("at", [0, (1 << 20) - 1, 1 << 20, 3 << 20, -1])
def test_every_byte_of_a_constant_counts(at: int) -> None:
    array = np.zeros((4 << 20) + 3, "uint8")
    other = array.copy()
    other[at] = 1
    assert constant_key(array) != constant_key(other)
    assert constant_key(array) != constant_key(array.reshape(1, -1))
    assert constant_key(array) != constant_key(array.view("int8"))
