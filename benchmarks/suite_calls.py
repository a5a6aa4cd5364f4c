"""Small programs, where the call from Python counts."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from benchmarks.problems import Function, Problem

SLOT, ROUNDS = 0.004, 25


def problems() -> list[Problem]:
    return [_add(), *(_mlp(batch) for batch in (1, 64))]


def _add() -> Problem:
    x = torch.randn(4, generator=torch.Generator().manual_seed(0))
    return Problem("add of 4 numbers", Function(torch.add), (x, x.clone()), np.add)


def _mlp(batch: int) -> Problem:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).eval()
    w0, b0, w1, b1 = (p.detach().numpy() for p in model.parameters())
    w0, w1 = np.ascontiguousarray(w0.T), np.ascontiguousarray(w1.T)
    x = torch.randn(batch, 784)
    return Problem(
        f"MLP 784-256-10, batch {batch}",
        model,
        (x,),
        lambda x: np.maximum(x @ w0 + b0, 0) @ w1 + b1,
        flops=2.0 * batch * (784 * 256 + 256 * 10),
    )
