"""Small models for a GPU, on the emulated one: the results of the CPU, in any order of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax, runtime
from relax_mlir.relax.frontend import nn
from relax_mlir.relax.frontend.nn import op
from relax_mlir.runtime import emulator

DEVICE = runtime.device("cuda-emu")
HIDDEN, HEADS = 32, 2


class Attention(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        heads = op.reshape(self.qkv(self.norm(x)), (batch, length, 3 * HEADS, HIDDEN // HEADS))
        q, k, v = op.split(heads, 3, axis=2)
        mixed = op.scaled_dot_product_attention(q, k, v, is_causal=False)
        return x + self.out(op.reshape(mixed, (batch, length, HIDDEN)))


class FeedForward(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.gate = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.up = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        self.down = nn.Linear(2 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        return x + self.down(op.silu(self.gate(y)) * self.up(y))


class Transformer(nn.Module):
    """A Llama-like layer."""

    def __init__(self) -> None:
        self.attention = Attention()
        self.feed_forward = FeedForward()

    def forward(self, x: Any) -> Any:
        return self.feed_forward(self.attention(x))


class Convolutions(nn.Module):
    """A residual block and a classifier."""

    def __init__(self) -> None:
        self.first = nn.Conv2D(3, 8, 3, padding=1)
        self.second = nn.Conv2D(8, 8, 3, padding=1)
        self.classify = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        y = op.relu(self.first(x))
        y = op.relu(self.second(y) + y)
        return op.softmax(self.classify(op.sum(y, axis=[2, 3]) * 0.01))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model,shape", [(Transformer, (1, 7, HIDDEN)), (Convolutions, (2, 3, 10, 10))]
)
def test_models(model: type[nn.Module], shape: tuple[int, ...]) -> None:
    mod, params = model().export_tvm(spec={"forward": {"x": nn.spec.Tensor(shape, "float32")}})
    rng = np.random.default_rng(8)
    args = [rng.standard_normal(shape, dtype=np.float32)]
    args += [0.2 * rng.standard_normal(p.shape, dtype=np.float32) for _, p in params]
    args = [value.astype(np.float32) for value in args]
    expected = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())["forward"](*args).numpy()
    machine = relax.VirtualMachine(tvm.compile(mod, "cuda"), DEVICE)
    given = [runtime.tensor(value, DEVICE) for value in args]
    for order in ("forward", "reverse", "random"):
        with emulator.options(order=order, seed=3):
            result = machine["forward"](*given).numpy()
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
