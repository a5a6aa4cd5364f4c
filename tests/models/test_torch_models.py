"""Whole models through both PyTorch importers, with random weights, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import relax_mlir  # noqa: E402
from relax_mlir import relax  # noqa: E402
from relax_mlir.relax.frontend.torch import from_exported_program, from_fx  # noqa: E402
from relax_mlir.testing.models.own import CachedDecoder, Tagger, UNet  # noqa: E402
from tests.models.torch_harness import called, check_model, compare, compiled  # noqa: E402
from tests.models.vision_models import MobileNetV2, ResNet, with_statistics  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
TOLERANCE = (1e-3, 1e-4)


def _tokens(*shape: int, words: int = 50) -> torch.Tensor:
    return torch.randint(0, words, shape, generator=torch.Generator().manual_seed(sum(shape)))


def _image(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _small_resnet() -> Any:
    torch.manual_seed(0)
    return with_statistics(ResNet((1, 1), (8, 16), 10))


def _small_mobilenet() -> Any:
    torch.manual_seed(0)
    stages = ((1, 8, 1, 1), (6, 12, 2, 2))
    return with_statistics(MobileNetV2(stages, 8, 32, 10))


# -- exported programs -------------------------------------------------------------------------


def test_resnet() -> None:
    check_model(_small_resnet(), [_image(2, 3, 32, 32)])


def test_mobilenet_v2() -> None:
    check_model(_small_mobilenet(), [_image(1, 3, 32, 32)])


def test_unet() -> None:
    check_model(UNet(), [_image(1, 3, 16, 16)])


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_taggers(kind: str) -> None:
    check_model(Tagger(getattr(torch.nn, kind)), [_tokens(2, 6)])


def test_resnet_with_any_batch() -> None:
    batch = torch.export.Dim("batch")
    shapes = ({0: batch},)
    check_model(_small_resnet(), [_image(2, 3, 32, 32)], shapes, [[_image(5, 3, 32, 32)]])


def test_decoder_with_cache_decodes_as_pytorch() -> None:
    """32 tokens: each step's keys and values are the next one's arguments."""
    model = CachedDecoder().eval()
    past = torch.export.Dim("past", min=1, max=64)
    example = (_tokens(1, 1), _image(1, 4, 3, 8), _image(1, 4, 3, 8))
    shapes = ({}, {2: past}, {2: past})
    main = compiled(torch.export.export(model, example, dynamic_shapes=shapes))
    ours = theirs = (_image(1, 4, 2, 8), _image(1, 4, 2, 8))
    token = _tokens(1, 1)
    for _ in range(32):
        logits, *ours = (torch.from_numpy(x) for x in called(main, [token, *ours]))
        with torch.no_grad():
            expected, *theirs = model(token, *theirs)
        assert not compare("logits", logits.numpy(), expected, TOLERANCE)
        assert not compare("keys", ours[0].numpy(), theirs[0], TOLERANCE)
        token = expected[:, -1:].argmax(-1)


def test_parameters_as_inputs() -> None:
    model = _small_resnet()
    program = torch.export.export(model, (_image(1, 3, 32, 32),))
    module = from_exported_program(program, keep_params_as_input=True)
    module, params = relax.frontend.detach_params(module)
    executable = relax_mlir.compile(module, target="llvm")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    image = _image(1, 3, 32, 32)
    (got,) = main(relax_mlir.runtime.tensor(image.numpy()), *params["main"])
    assert not compare("logits", got.numpy(), model(image), TOLERANCE)


# -- traced graphs -----------------------------------------------------------------------------


def _run_traced(model: Any, image: torch.Tensor) -> np.ndarray:
    module = from_fx(torch.fx.symbolic_trace(model), [(tuple(image.shape), "float32")])
    executable = relax_mlir.compile(module, target="llvm")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    return main(relax_mlir.runtime.tensor(image.numpy())).numpy()


@pytest.mark.parametrize("make", [_small_resnet, _small_mobilenet, UNet])
def test_traced_models(make: Any) -> None:
    torch.manual_seed(0)
    model, image = make().eval(), _image(1, 3, 32, 32)
    assert not compare("output", _run_traced(model, image), model(image), TOLERANCE)


def test_traced_subscripts_and_methods() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x[:, 0, ..., 1:] + x[:, -1, None, 2, 1:]
            return y.view(y.size(0), -1).transpose(0, 1) @ x.reshape(x.shape[0], -1)

    model, image = Model(), _image(2, 3, 4, 5)
    assert not compare("output", _run_traced(model, image), model(image), TOLERANCE)


# -- what is refused ---------------------------------------------------------------------------


def test_unknown_operators_are_named_together() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.linalg.qr(x), torch.linalg.svdvals(x), torch.relu(x)

    program = torch.export.export(Model(), (_image(3, 3),))
    listed = r"\n.*qr.*: 1x, first at.*line \d+.*\n.*svdvals.*: 1x"
    message = f"2 PyTorch operators have no converter:{listed}"
    with pytest.raises(NotImplementedError, match=message):
        from_exported_program(program)


def test_indices_of_pooling_are_numbers() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.nn.functional.max_pool2d(x, 2, return_indices=True)[1] + 1

    check_model(Model(), [_image(1, 1, 4, 4)])


def test_own_converters() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.i0(x)

    program = torch.export.export(Model(), (_image(4),))
    convert = {"i0": lambda importer, x: importer.op.add(x, x)}
    key = {f"{prefix}{name}": f for prefix in ("", "special_") for name, f in convert.items()}
    main = compiled(program, custom_convert_map=key)
    np.testing.assert_array_equal(called(main, [_image(4)])[0], 2 * _image(4).numpy())
