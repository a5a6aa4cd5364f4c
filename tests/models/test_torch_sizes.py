"""Sizes that are symbols, or that depend on data, through the PyTorch importer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.models.torch_harness import check_model  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


class _Call(torch.nn.Module):
    """A function of one tensor as a model."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def _last_of_runs(x: Any) -> Any:
    """The last of each run of equal numbers, and the sum of the run."""
    last = torch.cat([x[1:] != x[:-1], torch.ones(1, dtype=torch.bool)])
    sums = x.cumsum(0)[last]
    return x[last], torch.cat([sums[:1], sums[1:] - sums[:-1]])


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "repeat": lambda x: x[:4].repeat(x.shape[0], 2),
    "repeat by rank": lambda x: x[:1].repeat(x.shape[0], 1, x.shape[0]),
    "repeat_interleave": lambda x: x[:3].repeat_interleave(x.shape[0], 0),
    "repeat_interleave of all": lambda x: x[:2].repeat_interleave(x.shape[0]),
    "sym_max": lambda x: x.new_ones(torch.sym_max(x.shape[0], 7), torch.sym_min(x.shape[0], 7)),
    "mask": lambda x: x[x[:, 0] > 0] * 2,
    "mask twice": lambda x: x[x[:, 0] > 0] - x[x[:, 0] > 0].flip(0),
    "runs": lambda x: _last_of_runs((x[:, 0] * 2).round()),
}


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_sizes(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    first, *more = (torch.randn(rows, 3, generator=generator) for rows in (6, 9, 31))
    rows = torch.export.Dim("rows", min=5, max=64)
    check_model(_Call(_FUNCTIONS[name]), [first], ({0: rows},), [[x] for x in more])
