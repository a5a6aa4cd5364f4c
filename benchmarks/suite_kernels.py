"""Single operators: products, attention, normalisation, elementwise functions, reductions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.export import Dim
from torch.nn import functional as F

from benchmarks.problems import Function, Problem, count_moved

SLOT, ROUNDS = 0.01, 15
MATMULS = (
    (2048, 2048, 2048),
    (1024, 1024, 1024),
    (512, 512, 512),
    (256, 256, 256),
    (128, 128, 128),
    (64, 64, 64),
    (16, 16, 16),
    (1, 256, 784),
    (1, 10, 256),
    (1, 4096, 4096),
    (64, 256, 784),
    (32, 10, 256),
    (7, 10, 128),
    (128, 3072, 768),
    (1000, 999, 1001),
    (33, 65, 77),
    (8, 1024, 1024),
    (2, 4096, 1024),
    (1024, 1, 1024),
)
"""(M, N, K)"""
# Ours is told no size of two matrices, not even one; numpy and torch never are.
_UNKNOWN = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, {0: Dim.DYNAMIC, 1: Dim.DYNAMIC})
_FUSED = ((64, 256, 784), (128, 3072, 768), (512, 512, 512))


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _bytes(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-128, 128, shape, generator=generator, dtype=torch.int8)


def problems() -> list[Problem]:
    return [*_matmuls(), *_narrow_matmuls(), *_elementwise(), *_attention()]


def _matmuls() -> list[Problem]:
    found = []
    for m, n, k in MATMULS:
        inputs, flops = (_random(m, k), _random(k, n)), 2.0 * m * n * k
        product = partial(Problem, module=Function(torch.matmul), inputs=inputs, flops=flops)
        found.append(product(f"matmul {m}x{n}x{k}", numpy=np.matmul))
        if 1 not in (m, n):
            name = f"matmul {m}x{n}x{k}, dynamic"
            found.append(product(name, numpy=np.matmul, dynamic=(_UNKNOWN,)))
    for m, n, k in _FUSED:
        inputs = (_random(m, k), _random(k, n), _random(n))
        gelu = Function(lambda x, w, b: F.gelu(x @ w + b))
        name = f"matmul + bias + gelu {m}x{n}x{k}"
        found.append(Problem(name, gelu, inputs, flops=2.0 * m * n * k))
    return found


def _narrow_matmuls() -> list[Problem]:
    """bfloat16, and bytes summed as int32; torch takes oneDNN."""
    found = []
    for size in (512, 1024):
        flops = 2.0 * size**3
        floats = (_random(size, size).bfloat16(), _random(size, size).bfloat16())
        whole = (_bytes(size, size), _bytes(size, size))
        for kind, function, inputs, tolerance in (
            ("bfloat16", torch.matmul, floats, 2e-2),
            ("int8", torch._int_mm, whole, 0.0),
        ):
            product = partial(
                Problem, module=Function(function), inputs=inputs, flops=flops, tolerance=tolerance
            )
            name = f"matmul {size}x{size}x{size} {kind}"
            found += [product(name), product(f"{name}, dynamic", dynamic=(_UNKNOWN,))]
    return found


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "softmax": (lambda x: F.softmax(x, -1), _softmax),
    "layer_norm": (lambda x: F.layer_norm(x, x.shape[-1:]), None),
    "gelu": (F.gelu, None),
    "tanh": (torch.tanh, np.tanh),
    "exp": (torch.exp, np.exp),
    "sum of rows": (lambda x: x.sum(-1), lambda x: x.sum(-1)),
    "sum of columns": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "argmax": (lambda x: x.argmax(-1), lambda x: x.argmax(-1)),
    "transpose": (
        lambda x: x.transpose(-1, -2).contiguous() + 0.0,
        lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)) + 0.0,
    ),
}


def _elementwise() -> list[Problem]:
    shapes = ((512, 1024), (8, 12, 128, 128))
    found = [
        Problem(f"{name} {shape}", Function(function), (_random(*shape),), numpy)
        for name, (function, numpy) in _FUNCTIONS.items()
        for shape in shapes
    ]
    return [replace(problem, moved=count_moved(problem)) for problem in found]


def _attention() -> list[Problem]:
    found = []
    for length in (64, 128, 256, 512, 1024):
        inputs = tuple(_random(1, 12, length, 64) for _ in range(3))
        for causal in (False, True):
            name = f"attention (1,12,{length},64){' causal' if causal else ''}"
            function = Function(
                lambda q, k, v, causal=causal: F.scaled_dot_product_attention(
                    q, k, v, is_causal=causal
                )
            )
            flops = 4.0 * 12 * length * length * 64 / (2 if causal else 1)
            found.append(Problem(name, function, inputs, flops=flops))
    inputs = (_random(1, 12, 1, 64), _random(1, 12, 1024, 64), _random(1, 12, 1024, 64))
    step = Function(F.scaled_dot_product_attention)
    return [*found, Problem("attention, a decode step at 1024", step, inputs)]
