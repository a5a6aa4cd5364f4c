"""What a model of the table is, and how its inputs are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Sizes = Mapping[str, int]
"""The value of every named size."""


@dataclass(frozen=True)
class Input:
    """An argument: its shape in numbers and names of sizes, and what fills it.

    `words` is the number of tokens; 0 fills with normally distributed numbers.
    """

    shape: tuple[int | str, ...]
    words: int = 0

    def draw(self, sizes: Sizes, generator: torch.Generator) -> torch.Tensor:
        """The argument at these sizes."""
        shape = [sizes[size] if isinstance(size, str) else size for size in self.shape]
        if self.words:
            return torch.randint(1, self.words, shape, generator=generator)
        return torch.randn(shape, generator=generator)


def tokens(*shape: int | str, words: int = 100) -> Input:
    """An argument of tokens."""
    return Input(shape, words)


@dataclass(frozen=True)
class Model:
    """A model of the table.

    `sizes` are the values of the named sizes, one mapping a run: the program is exported at the
    first, with every size that differs between them dynamic.  Random weights come from seed 0.
    """

    name: str
    make: Callable[[], nn.Module]
    inputs: Sequence[Input]
    sizes: Sequence[Sizes] = ({"batch": 2}, {"batch": 3})
    tolerance: tuple[float, float] = (1e-3, 1e-4)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The least and largest value of a dynamic size."""

    def build(self) -> nn.Module:
        """The module in inference mode."""
        torch.manual_seed(0)
        return self.make().eval()

    def dynamic_shapes(self) -> tuple[dict[int, Any], ...] | None:
        """What `torch.export.export` is to know of the sizes; None when all are fixed."""
        named = [n for n in self.sizes[0] if len({sizes[n] for sizes in self.sizes}) > 1]
        if not named:
            return None
        dims = {
            name: torch.export.Dim(name, min=low, max=high)
            for name in named
            for low, high in [self.ranges.get(name, (1, 64))]
        }
        shapes = (enumerate(argument.shape) for argument in self.inputs)
        return tuple(
            {axis: dims[size] for axis, size in shape if isinstance(size, str) and size in dims}
            for shape in shapes
        )

    def arguments(self, run: int) -> tuple[torch.Tensor, ...]:
        """The arguments of a run."""
        generator = torch.Generator().manual_seed(run)
        return tuple(argument.draw(self.sizes[run], generator) for argument in self.inputs)


class Keywords(nn.Module):
    """A model called by keywords, as one called by position."""

    def __init__(self, model: nn.Module, *names: str, **fixed: Any):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *values: torch.Tensor) -> Any:
        return self.model(**dict(zip(self.names, values, strict=True)), **self.fixed)
