"""Language models of Hugging Face's transformers, in tiny sizes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from torch import nn

from relax_mlir.testing.models.case import Input, Keywords, Model, tokens

TEXT: dict[str, Any] = {"vocab_size": 100, "max_position_embeddings": 64}
WIDE: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SPECIAL: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
_ENCODER: dict[str, Any] = {**TEXT, **WIDE, "intermediate_size": 64}
_FOURIER: dict[str, Any] = {
    **TEXT,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
}
_GROUPED: dict[str, Any] = {**_ENCODER, **SPECIAL, "num_key_value_heads": 2, "use_cache": False}
_DISTIL: dict[str, Any] = {
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "dim": 32,
    "n_layers": 2,
}
_GPT2: dict[str, Any] = {
    "vocab_size": 100,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
}
_T5: dict[str, Any] = {
    "vocab_size": 100,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
}
_BART: dict[str, Any] = {
    "d_model": 32,
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")},
}
_EXPERTS: dict[str, Any] = {**_GROUPED, "num_experts_per_tok": 2}
_MAMBA: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "state_size": 8,
}


def library() -> Any:
    """Hugging Face's transformers, loaded when a model is made."""
    return import_module("transformers")


def hugging_face(family: str, *names: str, **config: Any) -> Callable[[], nn.Module]:
    """A maker of `family`'s model, called with arguments of these names by position."""

    def make() -> nn.Module:
        transformers = library()
        made = getattr(transformers, f"{family}Config")(**config)
        return Keywords(getattr(transformers, f"{family}Model")(made), *names)

    return make


def _text(name: str, family: str, config: dict[str, Any]) -> Model:
    sizes = ({"batch": 2, "length": 12}, {"batch": 3, "length": 37})
    make = hugging_face(family, "input_ids", **config)
    return Model(name, make, [tokens("batch", "length")], sizes)


def _translating(name: str, family: str, config: dict[str, Any]) -> Model:
    sizes = (
        {"batch": 2, "length": 12, "decoded": 5},
        {"batch": 3, "length": 31, "decoded": 9},
    )
    make = hugging_face(family, "input_ids", "decoder_input_ids", **config)
    return Model(name, make, [tokens("batch", "length"), tokens("batch", "decoded")], sizes)


def _padded_bert() -> Model:
    """BERT with an attention mask, which must be of zeros and ones."""
    sizes = ({"batch": 2, "length": 12}, {"batch": 3, "length": 37})
    make = hugging_face("Bert", "input_ids", "attention_mask", **_ENCODER)
    inputs = [tokens("batch", "length"), Input(("batch", "length"), words=2)]
    return Model("BERT with a mask", make, inputs, sizes)


MODELS = [
    _text("BERT", "Bert", _ENCODER),
    _padded_bert(),
    _text("DistilBERT", "DistilBert", {**_DISTIL, "n_heads": 4, "hidden_dim": 64}),
    _text("RoBERTa", "Roberta", {**_ENCODER, "max_position_embeddings": 80}),
    _text("GPT-2", "GPT2", {**_GPT2, **SPECIAL, "use_cache": False}),
    _text("Llama", "Llama", _GROUPED),
    _text("Qwen2", "Qwen2", _GROUPED),
    _text("Mistral", "Mistral", _GROUPED),
    _text("Gemma", "Gemma", {**_GROUPED, "head_dim": 8}),
    _text("Falcon", "Falcon", {**TEXT, **WIDE, **SPECIAL, "use_cache": False}),
    _text("Mixtral", "Mixtral", {**_EXPERTS, "num_local_experts": 4}),
    Model(
        "FNet",
        hugging_face("FNet", "input_ids", **_FOURIER),
        [tokens("batch", 12)],
    ),
    _translating("T5", "T5", {**_T5, "use_cache": False}),
    _translating("BART", "Bart", {**TEXT, **_BART, **SPECIAL, "use_cache": False}),
    Model(
        "Mamba",
        hugging_face("Mamba", "input_ids", **_MAMBA, **SPECIAL, use_cache=False),
        [tokens("batch", 9)],
    ),
]
