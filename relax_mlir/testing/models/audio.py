"""Models of speech of Hugging Face's transformers, in tiny sizes."""

from __future__ import annotations

from typing import Any

from torch import nn

from relax_mlir.testing.models.case import Input, Keywords, Model, tokens
from relax_mlir.testing.models.text import SPECIAL, WIDE, hugging_face, library

_WHISPER: dict[str, Any] = {
    "vocab_size": 100,
    "num_mel_bins": 8,
    "d_model": 32,
    "max_source_positions": 24,
    "max_target_positions": 32,
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")},
}
_WAV2VEC2: dict[str, Any] = {
    "vocab_size": 100,
    **WIDE,
    "intermediate_size": 64,
    "conv_dim": (16, 16, 16),
    "conv_kernel": (10, 3, 2),
    "conv_stride": (5, 2, 2),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}


def _whisper() -> Any:
    transformers = library()
    special = {**SPECIAL, "decoder_start_token_id": 1, "use_cache": False}
    return transformers.WhisperModel(transformers.WhisperConfig(**_WHISPER, **special))


def _encoder() -> nn.Module:
    return Keywords(_whisper().encoder, "input_features")


def _decoder() -> nn.Module:
    return Keywords(_whisper().decoder, "input_ids", "encoder_hidden_states", use_cache=False)


MODELS = [
    Model("Whisper encoder", _encoder, [Input(("batch", 8, 48))]),
    Model(
        "Whisper decoder",
        _decoder,
        [tokens("batch", "length"), Input(("batch", 24, 32))],
        ({"batch": 2, "length": 5}, {"batch": 3, "length": 11}),
        ranges={"length": (1, 32)},
    ),
    Model(
        "Wav2Vec2",
        hugging_face("Wav2Vec2", "input_values", **_WAV2VEC2),
        [Input(("batch", 800))],
    ),
]
