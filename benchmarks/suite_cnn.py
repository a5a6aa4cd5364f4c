"""Convolutional networks in their real sizes: random weights, one image of 224 x 224, NCHW."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from benchmarks.problems import Problem, count_flops
from tests.models.convnets import NETWORKS
from tests.models.convnets.blocks import initialised

SLOT, ROUNDS = 0.0, 15
SIZE = 224
MODELS = NETWORKS
PEERS = ("torch", "torch, channels last", "torch.compile", "ONNX Runtime", "OpenVINO")


def make(name: str) -> Problem:
    """A network's problem, with its number of operations."""
    generator = torch.Generator().manual_seed(1)
    image = torch.randn((1, 3, SIZE, SIZE), generator=generator)
    torch.manual_seed(0)
    network = initialised(MODELS[name](), SIZE)
    problem = Problem(name, network, (image,), image="NCHW", exact=True)
    return replace(problem, flops=count_flops(problem))


def problems(only: list[str] | None = None) -> list[Callable[[], Problem]]:
    """Functions that make the problems, so that one network is in memory at a time."""
    names = [n for n in MODELS if not only or any(text.lower() in n.lower() for text in only)]
    return [lambda name=name: make(name) for name in names]
