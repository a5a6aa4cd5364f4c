"""Whole models in their real sizes with random weights: BERT, GPT-2, ViT, ResNet, MobileNetV2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from benchmarks.problems import Problem, count_flops
from tests.models.vision_models import MobileNetV2, ResNet, with_statistics

SLOT, ROUNDS = 0.0, 9


class GPT2Step(torch.nn.Module):
    """One decoding step: a token, and the keys and values of all before it."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(
        self, token: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer in range(keys.shape[0]):
            cache.update(keys[layer], values[layer], layer)
        out = self.model(token, past_key_values=cache, use_cache=True)
        layers = out.past_key_values.layers
        return (
            out.last_hidden_state,
            torch.stack([layer.keys for layer in layers]),
            torch.stack([layer.values for layer in layers]),
        )


class OneInput(torch.nn.Module):
    """The model with its first input as its only parameter, and its last hidden state."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)[0]


def _hugging_face(family: str, **config: Any) -> torch.nn.Module:
    import transformers

    transformers.logging.set_verbosity_error()
    made = getattr(transformers, f"{family}Config")(**config)
    return getattr(transformers, f"{family}Model")(made).eval()


def _tokens(*shape: int) -> torch.Tensor:
    return torch.randint(0, 1000, shape, generator=torch.Generator().manual_seed(0))


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _bert() -> Problem:
    return Problem(
        "BERT-base, 128 tokens", OneInput(_hugging_face("Bert")).eval(), (_tokens(1, 128),)
    )


class AllTokens(torch.nn.Module):
    """A language model that is told that no token is padding, so that it need not look."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(x.shape, dtype=torch.long)
        return self.model(x, attention_mask=mask)[0]


def _gpt2() -> Problem:
    model = _hugging_face("GPT2", use_cache=False)
    return Problem("GPT-2, 64 tokens", AllTokens(model).eval(), (_tokens(1, 64),))


def _gpt2_step() -> Problem:
    past = (_normal(12, 1, 12, 128, 64), _normal(12, 1, 12, 128, 64))
    return Problem(
        "GPT-2, a decode step at 128",
        GPT2Step(_hugging_face("GPT2")).eval(),
        (_tokens(1, 1), *past),
    )


def _vit() -> Problem:
    return Problem("ViT-B/16", OneInput(_hugging_face("ViT")).eval(), (_normal(1, 3, 224, 224),))


def _resnet() -> Problem:
    return Problem("ResNet-18", with_statistics(ResNet()), (_normal(1, 3, 224, 224),))


def _mobilenet() -> Problem:
    return Problem("MobileNetV2", with_statistics(MobileNetV2()), (_normal(1, 3, 224, 224),))


MODELS: dict[str, Callable[[], Problem]] = {
    "bert": _bert,
    "gpt2": _gpt2,
    "gpt2-step": _gpt2_step,
    "vit": _vit,
    "resnet": _resnet,
    "mobilenet": _mobilenet,
}


def make(name: str) -> Problem:
    """A model's problem, with its number of operations and the bytes that it reads at least."""
    torch.manual_seed(0)
    problem = MODELS[name]()
    return replace(problem, flops=count_flops(problem), moved=_bytes_of_weights(problem.module))


def _bytes_of_weights(model: torch.nn.Module) -> float:
    """All weights but those of embeddings, of which a few rows are read."""
    read = [m for m in model.modules() if not isinstance(m, torch.nn.Embedding)]
    weights = {id(w): w.nbytes for m in read for w in m.parameters(recurse=False)}
    return float(sum(weights.values()))


def problems(names: list[str] | None = None) -> list[Callable[[], Problem]]:
    """Functions that make the problems, so that one model is in memory at a time.

    Ends the program for a name that no model has.
    """
    unknown = sorted(set(names or ()) - set(MODELS))
    if unknown:
        raise SystemExit(f"no model is called {', '.join(unknown)}; there are {', '.join(MODELS)}")
    return [lambda name=name: make(name) for name in names or MODELS]
