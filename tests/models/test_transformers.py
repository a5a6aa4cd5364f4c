"""Hugging Face's models in tiny sizes with random weights, against PyTorch, at fixed and dynamic
sizes."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.models.torch_harness import check_model  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

_TEXT = {"vocab_size": 100, "max_position_embeddings": 64}
_WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_GROUPED = {**_TEXT, **_WIDE, "intermediate_size": 64, "num_key_value_heads": 2, "use_cache": False}
_TOKENS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
_GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "use_cache": False}
_DISTIL = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
_VIT = {**_WIDE, "intermediate_size": 64, "image_size": 32, "patch_size": 8}

TEXT_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {**_TEXT, **_WIDE, "intermediate_size": 64}),
    "distilbert": ("DistilBert", {**_TEXT, **_DISTIL}),
    "roberta": ("Roberta", {**_TEXT, **_WIDE, "intermediate_size": 64}),
    "gpt2": ("GPT2", {"vocab_size": 100, **_GPT2, **_TOKENS}),
    "llama": ("Llama", {**_GROUPED, **_TOKENS}),
    "qwen2": ("Qwen2", {**_GROUPED, **_TOKENS}),
    "mistral": ("Mistral", {**_GROUPED, **_TOKENS}),
}


def _model(family: str, config: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    made = getattr(transformers, f"{family}Config")(**config)
    return getattr(transformers, f"{family}Model")(made).eval()


def _tokens(*shape: int) -> torch.Tensor:
    return torch.randint(1, 100, shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("name", list(TEXT_MODELS))
def test_text_models(name: str) -> None:
    check_model(_model(*TEXT_MODELS[name]), [_tokens(2, 12)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama"])
def test_text_models_with_any_batch_and_length(name: str) -> None:
    sizes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=64)},)
    more = [[_tokens(3, 37)], [_tokens(2, 5)]]
    check_model(_model(*TEXT_MODELS[name]), [_tokens(2, 12)], sizes, more)


def test_bert_with_padding() -> None:
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 7:] = 0
    check_model(_model(*TEXT_MODELS["bert"]), [_tokens(2, 12), mask])


@pytest.mark.parametrize("family", ["ViT", "DeiT"])
def test_image_models(family: str) -> None:
    image = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    check_model(_model(family, _VIT), [image])
