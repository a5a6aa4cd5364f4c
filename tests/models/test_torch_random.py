"""PyTorch programs that draw random numbers: their distributions, and that seeds repeat them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import Error

torch = pytest.importorskip("torch")
# torch copies the nodes of a program that writes in place, and warns of its own classes.
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")
F = torch.nn.functional

ROWS = 3000


class Draws(torch.nn.Module):
    """Everything in one program, with a symbolic number of rows."""

    def __init__(self, functions: list[Callable[..., Any]]):
        super().__init__()
        self.functions = functions

    def forward(self, x: Any) -> tuple[Any, ...]:
        return tuple(function(x) for function in self.functions)


def moments(mean: float, std: float, low: float = -np.inf, high: float = np.inf) -> Any:
    def check(x: np.ndarray) -> None:
        assert abs(x.mean() - mean) < 0.05 * (std + 0.1), (x.mean(), mean)
        assert abs(x.std() - std) < 0.05 * (std + 0.1), (x.std(), std)
        assert x.min() >= low and x.max() <= high

    return check


def parts(x: np.ndarray) -> None:
    """The probabilities 0.1, 0.2 and 0.7."""
    assert np.abs(np.bincount(x.ravel()) / x.size - [0.1, 0.2, 0.7]).max() < 0.02


def two_different(x: np.ndarray) -> None:
    assert (x[:, 0] != x[:, 1]).all()
    assert np.abs(np.bincount(x[:, 0]) / len(x) - [0.1, 0.2, 0.7]).max() < 0.03


def whole_channels(x: np.ndarray) -> None:
    kept = x.reshape(len(x), 4, -1)
    assert ((kept == 0).all(2) | (kept == 2).all(2)).all()
    assert abs((kept == 0).mean() - 0.5) < 0.05


CASES: list[tuple[Callable[..., Any], Callable[[np.ndarray], None]]] = [
    (lambda x: torch.rand(x.shape[0], 9), moments(0.5, 12**-0.5, 0, 1)),
    (lambda x: torch.rand(x.shape[0], 9), moments(0.5, 12**-0.5, 0, 1)),
    (lambda x: torch.randn(x.shape[0], 9, dtype=torch.float64), moments(0, 1)),
    (torch.rand_like, moments(0.5, 12**-0.5, 0, 1)),
    (torch.randn_like, moments(0, 1)),
    (lambda x: torch.randint(3, 9, (x.shape[0], 9)), moments(5.5, 1.708, 3, 8)),
    (lambda x: torch.randint(4, (x.shape[0], 9), dtype=torch.int32), moments(1.5, 1.118, 0, 3)),
    (lambda x: torch.randint_like(x, 4), moments(1.5, 1.118, 0, 3)),
    (lambda x: torch.bernoulli(torch.full_like(x, 0.25)), moments(0.25, 0.433, 0, 1)),
    (lambda x: torch.empty_like(x).bernoulli_(0.25), moments(0.25, 0.433, 0, 1)),
    (lambda x: torch.empty_like(x).uniform_(-1, 3), moments(1, 4 / 12**0.5, -1, 3)),
    (lambda x: torch.empty_like(x).normal_(1, 2), moments(1, 2)),
    (lambda x: torch.empty_like(x).exponential_(2), moments(0.5, 0.5, 0)),
    (lambda x: torch.normal(x, 2.0), moments(0, 2)),
    (lambda x: torch.normal(x, torch.full_like(x, 2)), moments(0, 2)),
    (lambda x: torch.normal(1.0, 2.0, (x.shape[0], 9)), moments(1, 2)),
    (lambda x: torch.multinomial(torch.tensor([1.0, 2.0, 7.0]), 9000, True), parts),
    (lambda x: torch.multinomial(torch.tensor([1.0, 2, 7]).expand(3000, 3), 2), two_different),
    (lambda x: F.dropout(x + 1, 0.2, True), moments(1, 0.5, 0, 1.25001)),
    (lambda x: F.dropout(x + 1, 0.2, False), moments(1, 0, 1, 1)),
    (lambda x: F.dropout(x + 1, 1.0, True), moments(0, 0, 0, 0)),
    (lambda x: F.dropout2d((x[:, :8] + 1).reshape(-1, 4, 2, 1), 0.5, True), whole_channels),
    (lambda x: F.alpha_dropout(torch.randn_like(x), 0.2, True), moments(0, 1)),
    (lambda x: torch.native_dropout(x + 1, 0.2, True)[1], moments(0.8, 0.4)),
]


@pytest.fixture(scope="module")
def main() -> Any:
    from tests.models.torch_harness import compiled

    rows = torch.export.Dim("rows", min=2)
    program = torch.export.export(
        Draws([function for function, _ in CASES]),
        (torch.zeros(ROWS, 9),),
        dynamic_shapes={"x": {0: rows}},
    )
    return compiled(program)


def test_distributions(main: Any) -> None:
    relax_mlir.runtime.seed(20)
    results = [t.numpy() for t in main(np.zeros((ROWS, 9), "float32"))]
    for (_, check), result in zip(CASES, results, strict=True):
        check(result)
    assert results[2].dtype == np.float64 and results[6].dtype == np.int32
    assert not np.array_equal(results[0], results[1])


def test_seeds_repeat(main: Any) -> None:
    x = np.zeros((5, 9), "float32")

    def run() -> list[np.ndarray]:
        return [t.numpy() for t in main(x)]

    relax_mlir.runtime.seed(3)
    first, second = run(), run()
    relax_mlir.runtime.seed(3)
    again = run()
    assert first[0].shape == (5, 9)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], second[0])
    with pytest.raises(Error, match="a seed is not negative"):
        relax_mlir.runtime.seed(-1)


def test_permutations() -> None:
    from tests.models.torch_harness import compiled

    class Shuffle(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.randperm(x.shape[0]), x[torch.randperm(x.shape[0])]

    program = torch.export.export(
        Shuffle(), (torch.arange(6),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}}
    )
    main = compiled(program)
    relax_mlir.runtime.seed(0)
    for n in (2, 6, 500):
        order, shuffled = (t.numpy() for t in main(np.arange(n)))
        assert sorted(order) == sorted(shuffled) == list(range(n))
    places = np.mean([main(np.arange(9))[0].numpy() for _ in range(400)], axis=0)
    assert places.max() - places.min() < 1.2  # each element is as often at the front as behind


def test_attention_drops_weights() -> None:
    from tests.models.torch_harness import compiled

    class Attention(torch.nn.Module):
        def forward(self, q: Any, k: Any, v: Any) -> Any:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)

    q, k = torch.randn(2, 2, 5, 4), torch.randn(2, 2, 64, 4)
    v = torch.ones(2, 2, 64, 500)
    main = compiled(torch.export.export(Attention(), (q, k, v)))
    relax_mlir.runtime.seed(1)
    results = [main(q.numpy(), k.numpy(), v.numpy())[0].numpy() for _ in range(40)]
    assert abs(np.mean(results) - 1) < 0.05 and np.std(results) > 0.05


def test_resizing() -> None:
    from tests.models.torch_harness import compiled

    class Resize(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y, z = x.clone(), x.clone()
            return y.resize_(3, 2), z.resize_(5, 7)

    x = torch.arange(24.0).reshape(4, 6)
    program = torch.export.export(Resize(), (x,))
    smaller, larger = (t.numpy() for t in compiled(program)(x.numpy()))
    assert np.array_equal(smaller, np.arange(6.0).reshape(3, 2))
    assert larger.shape == (5, 7) and np.array_equal(larger.ravel()[:24], np.arange(24.0))


def test_strides_are_those_of_the_program() -> None:
    from tests.models.torch_harness import compiled

    class Strided(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            rows = torch.ops.aten.sym_stride.int(x, 0)
            start = torch.ops.aten.sym_storage_offset.default(x)
            return x * rows + start + torch.ops.aten.sym_numel.default(x)

    x = np.ones((4, 6), "float32")
    program = torch.export.export(
        Strided(), (torch.ones(4, 6),), dynamic_shapes={"x": {1: torch.export.Dim("m", min=2)}}
    )
    assert np.array_equal(compiled(program)(x)[0].numpy(), np.full((4, 6), 30.0))
