"""Convolutional networks as plain PyTorch modules, by their papers: `NETWORKS` names them all.

Each is made in its real size for the benchmarks and, narrow and on 32 x 32 images, for tests.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from tests.models.convnets.connected import DenseNet, SqueezeNet
from tests.models.convnets.mobile import EfficientNet, MobileNetV3, ShuffleNetV2
from tests.models.convnets.plain import VGG, ConvNeXt, UNet
from tests.models.convnets.residual import RegNet, ResNet50
from tests.models.vision_models import MobileNetV2, ResNet

NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "ResNet-18": ResNet,
    "ResNet-50": ResNet50,
    "VGG-16": VGG,
    "UNet": UNet,
    "MobileNetV2": MobileNetV2,
    "MobileNetV3": MobileNetV3,
    "EfficientNet-B0": EfficientNet,
    "ConvNeXt-tiny": ConvNeXt,
    "DenseNet-121": DenseNet,
    "ShuffleNetV2": ShuffleNetV2,
    "SqueezeNet": SqueezeNet,
    "RegNetX-400MF": RegNet,
}
"""The networks in their real sizes."""

TINY: dict[str, Callable[[], nn.Module]] = {
    "ResNet-18": lambda: ResNet((1, 1), (8, 12), classes=10),
    "ResNet-50": lambda: ResNet50((1, 1), (4, 6), classes=10),
    "VGG-16": lambda: VGG(((8,), (12, 12)), head=(24,), classes=10, pooled=2),
    "UNet": lambda: UNet((4, 8, 12), classes=3),
    "MobileNetV2": lambda: MobileNetV2(((1, 8, 1, 1), (3, 12, 2, 2)), 8, 20, 10),
    "MobileNetV3": lambda: MobileNetV3(
        (
            (3, 8, 8, True, "relu", 2),
            (3, 24, 12, False, "relu", 1),
            (5, 36, 12, True, "hardswish", 1),
        ),
        8,
        30,
        40,
        classes=10,
    ),
    "EfficientNet-B0": lambda: EfficientNet(((1, 3, 1, 8, 1), (3, 5, 2, 12, 2)), 8, 24, 10),
    "ConvNeXt-tiny": lambda: ConvNeXt((1, 1), (8, 12), 10),
    "DenseNet-121": lambda: DenseNet((2, 2), growth=4, stem=8, classes=10),
    "ShuffleNetV2": lambda: ShuffleNetV2((2, 1), (8, 12, 16), 24, 10),
    "SqueezeNet": lambda: SqueezeNet(12, ((4, 8), (6, 8)), (0,), classes=10),
    "RegNetX-400MF": lambda: RegNet((1, 2), (8, 16), 4, stem=8, classes=10),
    "RegNetY": lambda: RegNet((1, 1), (8, 16), 4, stem=8, classes=10, squeeze=0.25),
}
"""The same networks, and one more, small."""
