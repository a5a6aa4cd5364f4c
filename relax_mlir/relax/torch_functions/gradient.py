"""Gradient operators: torch's automatic differentiation of what they are the gradient of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from relax_mlir.relax.torch_functions.convolution import CONVOLUTION
from relax_mlir.relax.torch_functions.index import INDEX
from relax_mlir.relax.torch_functions.nn import NN

__all__ = ["GRADIENT"]


def _gradient(forward: Callable[..., Tensor], **fixed: Any) -> Callable[..., Tensor]:
    """The row of the gradient of `forward` with respect to its first operand."""

    def backward(output_grad: Tensor, x: Tensor, *operands: Any, **attributes: Any) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            result = forward(leaf, *operands, **attributes, **fixed)
        return torch.autograd.grad(result, leaf, output_grad)[0]

    return backward


GRADIENT: dict[str, Callable[..., Any]] = {
    "grad.max_pool2d_backward": _gradient(CONVOLUTION["nn.max_pool2d"]),
    "grad.avg_pool2d_backward": _gradient(CONVOLUTION["nn.avg_pool2d"]),
    "grad.nll_loss_backward": _gradient(NN["nn.nll_loss"]),
    "grad.take_backward": _gradient(INDEX["take"], mode="fast"),
}
