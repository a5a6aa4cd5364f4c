"""What is timed: a PyTorch function with example arguments, and what it costs at least."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Problem:
    """`module` on `inputs`; `numpy` computes the same from the inputs' arrays, if given.

    flops: floating-point operations, moved: bytes read and written, where they are known.
    image: the axes of a network's images, `NCHW` or `NHWC`, or those of lines or volumes.  exact:
    compare with float64.
    dynamic: the sizes that our compiler is not told, as `torch.export` takes them.
    """

    name: str
    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    numpy: Callable[..., Any] | None = None
    flops: float = 0.0
    moved: float = 0.0
    tolerance: float = 1e-3
    image: str = ""
    exact: bool = False
    dynamic: Any = None

    def expected(self) -> list[Any]:
        module, inputs = self.module, self.inputs
        if self.exact:
            module = copy.deepcopy(module).double()
            inputs = tuple(x.double() for x in inputs)
        with torch.no_grad():
            return [as_array(tensor) for tensor in tensors_of(module(*inputs))]

    def stored_as(self, memory: str) -> tuple[torch.Tensor, ...]:
        """The inputs with images lying in memory in this order of axes, `NCHW` or `NHWC`."""
        if not self.image:
            return self.inputs
        spatial = self.image.strip("NC")
        memory = f"NC{spatial}" if memory == "NCHW" else f"N{spatial}C"
        there = [self.image.index(axis) for axis in memory]
        back = [memory.index(axis) for axis in self.image]
        return tuple(x.permute(there).contiguous().permute(back) for x in self.inputs)


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if hasattr(value, "values") else value
    return [tensor for item in values if item is not None for tensor in tensors_of(item)]


def as_array(tensor: torch.Tensor) -> Any:
    """The values as numpy has them; bfloat16 as float32."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def count_flops(problem: Problem) -> float:
    """Operations of the matrix products and convolutions, as PyTorch counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        problem.module(*problem.inputs)
    return float(counter.get_total_flops())


def count_moved(problem: Problem) -> float:
    """Bytes of all inputs and outputs, each read or written once."""
    with torch.no_grad():
        outputs = tensors_of(problem.module(*problem.inputs))
    return float(sum(tensor.nbytes for tensor in (*problem.inputs, *outputs)))
