"""Models of images of Hugging Face's transformers, in tiny sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from relax_mlir.testing.models.case import Input, Keywords, Model, tokens
from relax_mlir.testing.models.text import SPECIAL, TEXT, WIDE, hugging_face, library

_VIT: dict[str, Any] = {**WIDE, "intermediate_size": 64, "image_size": 32, "patch_size": 8}
_SWIN: dict[str, Any] = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "window_size": 4}
_FOUR: dict[str, Any] = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}
_EFFICIENT: dict[str, Any] = {
    "image_size": 32,
    "width_coefficient": 0.25,
    "depth_coefficient": 0.25,
    "hidden_dim": 320,
}
_SEGFORMER: dict[str, Any] = {
    "hidden_sizes": [8, 16, 24, 32],
    "depths": [1, 1, 1, 1],
    "num_attention_heads": [1, 2, 3, 4],
    "decoder_hidden_size": 16,
}
_DETR: dict[str, Any] = {
    "d_model": 32,
    "num_queries": 5,
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 64 for side in ("encoder", "decoder")},
}


def _with_statistics(make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """The model with means and variances of batch norms that matter."""

    def made() -> nn.Module:
        model = make()
        generator = torch.Generator().manual_seed(1)
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.1)
            elif name.endswith("running_var"):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
        return model

    return made


def _image(name: str, family: str, **config: Any) -> Model:
    make = _with_statistics(hugging_face(family, "pixel_values", **config))
    return Model(name, make, [Input(("batch", 3, 32, 32))])


def _segformer() -> nn.Module:
    transformers = library()
    config = transformers.SegformerConfig(**_SEGFORMER)
    return Keywords(transformers.SegformerForSemanticSegmentation(config), "pixel_values")


def _detr() -> nn.Module:
    transformers = library()
    backbone = transformers.ResNetConfig(
        embedding_size=8, layer_type="basic", out_features=["stage4"], **_FOUR
    )
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone_config=backbone, **_DETR
    )
    model = transformers.DetrForObjectDetection(config)
    return Keywords(model, "pixel_values", "pixel_mask")


def _clip() -> nn.Module:
    transformers = library()
    config = transformers.CLIPConfig(
        text_config={**TEXT, **WIDE, **SPECIAL, "intermediate_size": 64, "eos_token_id": 99},
        vision_config=_VIT,
        projection_dim=16,
    )
    return Keywords(transformers.CLIPModel(config), "input_ids", "pixel_values")


MODELS = [
    _image("ViT", "ViT", **_VIT),
    _image("DeiT", "DeiT", **_VIT),
    _image("Swin", "Swin", **_SWIN, depths=[2, 2], num_heads=[2, 4]),
    _image("ConvNeXt", "ConvNext", **_FOUR),
    _image("ResNet", "ResNet", embedding_size=8, **_FOUR),
    _image("MobileNetV1", "MobileNetV1", depth_multiplier=0.25, image_size=32),
    _image("MobileNetV2", "MobileNetV2", depth_multiplier=0.25, image_size=32),
    _image("EfficientNet", "EfficientNet", **_EFFICIENT),
    Model("SegFormer", _with_statistics(_segformer), [Input(("batch", 3, 64, 64))]),
    Model(
        "DETR",
        _with_statistics(_detr),
        [Input(("batch", 3, 64, 64)), Input(("batch", 64, 64), words=2)],
    ),
    Model(
        "CLIP",
        _clip,
        [tokens("texts", "length"), Input(("images", 3, 32, 32))],
        ({"texts": 2, "length": 12, "images": 3}, {"texts": 4, "length": 7, "images": 2}),
    ),
]
