"""Convolutional networks, small, through the default pipeline: channels last, nothing transposed on
the way, norms folded, and PyTorch's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import relax_mlir  # noqa: E402
from relax_mlir import relax  # noqa: E402
from relax_mlir.relax.frontend.torch import from_exported_program  # noqa: E402
from relax_mlir.transform import PassPipeline  # noqa: E402
from tests.models.convnets import TINY  # noqa: E402
from tests.models.convnets.blocks import initialised  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

GRAPH = (
    "relax-dead-code-elimination,relax-choose-layout{always=true},relax-fold-scale-axis,"
    "relax-convolution-to-matmul,relax-dead-code-elimination"
)


def _image(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(shape[0]))


def _main(module: Any) -> Any:
    executable = relax_mlir.compile(module)
    return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]


def _check(main: Any, network: Any, *inputs: Any) -> None:
    for x in inputs:
        got = main(relax_mlir.runtime.tensor(x.contiguous().numpy()))[0].numpy()
        wanted = network(x.double()).detach().numpy()
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()


TRANSPOSED = {"VGG-16": 2, "UNet": 4, "ShuffleNetV2": 4}
"""What is left: the image, what a linear layer reads in the order of NCHW or a segmentation gives,
pixels of transposed convolutions, channel shuffles."""


@pytest.mark.parametrize("name", TINY)
def test_networks(name: str) -> None:
    network, x = initialised(TINY[name](), 32), _image(2, 3, 32, 32)
    module = PassPipeline(GRAPH)(from_exported_program(torch.export.export(network, (x,))))
    text = module.script()
    assert 'NCHW"' not in text and "batch_norm" not in text
    # Linear layers have a matrix each that is not transposed yet.
    lines = [line for line in text.splitlines() if "R.permute_dims" in line]
    moved = [line for line in lines if "axes=None" not in line]
    assert len(moved) == TRANSPOSED.get(name, 1), text
    _check(_main(module), network.double(), x)


@pytest.mark.parametrize("name", ["ShuffleNetV2", "UNet"])
def test_any_batch(name: str) -> None:
    network, x = initialised(TINY[name](), 32), _image(2, 3, 32, 32)
    shapes = {"x": {0: torch.export.Dim("batch")}}
    program = torch.export.export(network, (x,), dynamic_shapes=shapes)
    main = _main(from_exported_program(program))
    _check(main, network.double(), x, _image(3, 3, 32, 32), _image(1, 3, 32, 32))


class _ChannelsLast(torch.nn.Module):
    """A network of NHWC images."""

    def __init__(self, network: Any):
        super().__init__()
        self.network = network

    def forward(self, x: Any) -> Any:
        return self.network(x.permute(0, 3, 1, 2))


def test_channels_last_images() -> None:
    network, x = _ChannelsLast(initialised(TINY["ResNet-18"](), 32)), _image(2, 32, 32, 3)
    module = PassPipeline(GRAPH)(from_exported_program(torch.export.export(network, (x,))))
    assert "axes=[" not in module.script()  # of permute_dims: linear layers have axes=None
    _check(_main(module), network.double(), x)


def test_decomposed_norms_are_folded() -> None:
    network, x = initialised(TINY["ResNet-50"](), 32), _image(2, 3, 32, 32)
    program = torch.export.export(network, (x,))
    module = PassPipeline(GRAPH)(from_exported_program(program, run_ep_decomposition=True))
    text = module.script()
    assert not any(f"R.{name}(" in text for name in ("rsqrt", "sqrt", "multiply", "subtract"))
    _check(_main(module), network.double(), x)
