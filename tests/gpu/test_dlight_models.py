"""Whole models with default schedules on the emulated GPU, against PyTorch: transformers,
convolutional and recurrent networks at tiny sizes.  All of them by hand, in a minute or two:

    RELAX_MLIR_ALL_MODELS=1 python -m pytest tests/gpu/test_dlight_models.py
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import relax_mlir  # noqa: E402
from relax_mlir import relax  # noqa: E402
from relax_mlir.relax.frontend.torch import from_exported_program  # noqa: E402
from relax_mlir.transform import PassContext  # noqa: E402
from tests.models import test_model_table, test_torch_models, torch_harness  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

MODELS: dict[str, Callable[[], None]] = {
    "bert": lambda: test_model_table.check_fixed("BERT"),
    "gpt2": lambda: test_model_table.check_fixed("GPT-2"),
    "llama": lambda: test_model_table.check_fixed("Llama"),
    "vit": lambda: test_model_table.check_fixed("ViT"),
    "resnet": test_torch_models.test_resnet,
    "resnet_with_any_batch": test_torch_models.test_resnet_with_any_batch,
    "mobilenet": test_torch_models.test_mobilenet_v2,
    "unet": test_torch_models.test_unet,
    "lstm": lambda: test_torch_models.test_taggers("LSTM"),
}


def compiled(program: Any, **options: Any) -> Any:
    module = from_exported_program(program, **options)
    with PassContext(opt_level=0):
        executable = relax_mlir.compile(module, target={"kind": "cuda", "arch": "sm_80"})
    return relax.VirtualMachine(executable, relax_mlir.device("cuda-emu"))["main"]


def called(main: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    device = relax_mlir.device("cuda-emu")
    tensors = [relax_mlir.runtime.tensor(x.contiguous().numpy(), device) for x in inputs]
    result = main(*tensors)
    return [x.numpy() for x in (result if not hasattr(result, "numpy") else [result])]


CHOSEN = list(MODELS) if os.environ.get("RELAX_MLIR_ALL_MODELS") else ["bert", "unet", "lstm"]


@pytest.mark.parametrize("name", CHOSEN)
def test_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_harness, "compiled", compiled)
    monkeypatch.setattr(torch_harness, "called", called)
    MODELS[name]()
