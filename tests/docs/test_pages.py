"""The pages of docs/ that are made from tables say what the tables say."""

from __future__ import annotations

import pytest

from relax_mlir.dialects.relax.spec import SPECS
from tools.docs import operators


def _own_columns(text: str) -> list[str]:
    """The lines without the columns of the importers, whose sources change by themselves."""
    return [line.rsplit("|", 3)[0] if line.count("|") == 7 else line for line in text.splitlines()]


def test_the_page_of_operators_is_up_to_date() -> None:
    text = operators.PAGE.read_text(encoding="utf-8")
    assert _own_columns(text) == _own_columns(operators.page()), (
        "run python -m tools.docs.operators"
    )
    assert all(f"| `{name}` |" in text for name in SPECS)


@pytest.mark.torch
def test_the_page_of_pytorch_operators_is_up_to_date() -> None:
    pytest.importorskip("torch")
    from tools.docs import torch_operators

    text = torch_operators.PAGE.read_text(encoding="utf-8")
    if f"PyTorch {torch_operators.RELEASE} " not in text:
        pytest.skip("the page is of another release of PyTorch, whose core set differs")
    assert text == torch_operators.page(), "run python -m tools.docs.torch_operators"
