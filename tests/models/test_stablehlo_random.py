"""Random numbers of StableHLO programs."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import Error
from relax_mlir.relax.frontend.stablehlo import from_stablehlo
from tests.models.stablehlo_harness import run


def generator(algorithm: str, length: int, result: str) -> str:
    state = f"tensor<{length}xui64>"
    return f"""func.func @main(%a: {state}) -> ({state}, {result}) {{
      %s, %r = stablehlo.rng_bit_generator %a, algorithm = {algorithm}
        : ({state}) -> ({state}, {result})
      return %s, %r : {state}, {result} }}"""


def test_generators_give_the_published_numbers() -> None:
    """The vectors of Random123 for the digits of pi."""
    state = np.array([0x299F31D0A4093822, 0x85A308D3243F6A88, 0x0370734413198A2E], "uint64")
    after, bits = run(generator("PHILOX", 3, "tensor<2x2xui32>"), state)
    assert bits.ravel().tolist() == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    assert after.tolist() == [state[0], state[1] + 1, state[2]]
    state = np.array([0x0370734413198A2E, 0x85A308D3243F6A88], "uint64")
    after, bits = run(generator("THREE_FRY", 2, "tensor<2xui32>"), state)
    assert bits.tolist() == [0xC4923A9C, 0x483DF7A0]
    assert after.tolist() == [state[0], state[1] + 1]


@pytest.mark.parametrize("kind", ["ui8", "i16", "ui64", "i64"])
def test_numbers_of_other_sizes(kind: str) -> None:
    state = np.array([1, 2], "uint64")
    bits = run(generator("DEFAULT", 2, f"tensor<50x40x{kind}>"), state)[1]
    # Each bit is set in half of the numbers.
    for bit in range(bits.itemsize * 8):
        assert abs((bits >> bit & 1).mean() - 0.5) < 0.06


def rng(a: str, b: str, element: str, distribution: str) -> str:
    return f"""func.func @main() -> tensor<100x50x{element}> {{
      %a = stablehlo.constant dense<{a}> : tensor<{element}>
      %b = stablehlo.constant dense<{b}> : tensor<{element}>
      %s = stablehlo.constant dense<[100, 50]> : tensor<2xi64>
      %r = stablehlo.rng %a, %b, %s, distribution = {distribution}
        : (tensor<{element}>, tensor<{element}>, tensor<2xi64>) -> tensor<100x50x{element}>
      return %r : tensor<100x50x{element}> }}"""


def test_distributions() -> None:
    relax_mlir.runtime.seed(4)
    (x,) = run(rng("-1.0", "3.0", "f32", "UNIFORM"))
    assert x.min() >= -1 and x.max() < 3 and abs(x.mean() - 1) < 0.1
    (x,) = run(rng("5.0", "2.0", "f64", "NORMAL"))
    assert abs(x.mean() - 5) < 0.15 and abs(x.std() - 2) < 0.1
    (x,) = run(rng("-2", "3", "i32", "UNIFORM"))
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2] and np.abs(counts / 5000 - 0.2).max() < 0.03
    with pytest.raises(Error, match="uniform distribution of truth values"):
        from_stablehlo(rng("false", "true", "i1", "UNIFORM"))
