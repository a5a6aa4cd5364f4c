"""Every model of the table `python -m relax_mlir.testing.models`, at its sizes."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from relax_mlir.testing.models import own  # noqa: E402
from relax_mlir.testing.models.__main__ import MODELS, difference, run_model  # noqa: E402
from relax_mlir.testing.models.case import Input, Model  # noqa: E402
from tests.models import torch_harness  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
OWN = {model.name for model in own.MODELS}


def check_fixed(name: str) -> None:
    """A model at its first sizes, none of them a symbol."""
    (model,) = (model for model in MODELS if model.name == name)
    torch_harness.check_model(model.build(), model.arguments(0))


@pytest.mark.parametrize("name", ["BERT", "ViT"])
def test_models_at_fixed_sizes(name: str) -> None:
    pytest.importorskip("transformers")
    check_fixed(name)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])
def test_models(model: Model) -> None:
    if model.name not in OWN:
        pytest.importorskip("transformers")
    row = run_model(model, rounds=1)
    assert not row.error, str(row)
    assert len(row.errors) == len(model.sizes) > 1 and max(row.errors) < 1e-4


def test_names_are_apart() -> None:
    assert len({model.name for model in MODELS}) == len(MODELS)


def test_a_row_says_what_differs() -> None:
    x = torch.ones(2, 3)
    tolerance = (1e-3, 1e-4)
    assert difference(x, x, tolerance) == ("", 0)
    assert difference(x + 0.5, x, tolerance) == ("output 0 differs", 0.5)
    assert difference([x, x], x, tolerance)[0] == "2 outputs for 1"
    assert difference(x[:1], x, tolerance)[0] == "output 0: float32[1, 3] for float32[2, 3]"
    assert difference(x.double(), x, tolerance)[0].startswith("output 0: float64")
    nothing = torch.full((2, 3), float("nan"))
    assert difference(nothing, x, tolerance)[0] == "output 0 differs"


def test_a_model_that_cannot_be_imported_is_a_row() -> None:
    class Unknown(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.linalg.qr(x)

    row = run_model(Model("unknown", Unknown, [Input((3, 3))]))
    assert "no converter" in row.error and "unknown" in str(row)
