"""The pages of docs/ that are made from tables say what the tables say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs import operators


def _own_columns(text: str) -> list[str]:
    """The lines without the columns of the importers, whose sources change by themselves."""
    return [line.rsplit("|", 3)[0] if line.count("|") == 7 else line for line in text.splitlines()]


def _made_apart() -> str:
    """The page as a process of its own makes it: other tests register gradients and operators."""
    code = "import sys; from tools.docs import operators; sys.stdout.write(operators.page())"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout


def test_the_page_of_operators_is_up_to_date() -> None:
    text = operators.PAGE.read_text(encoding="utf-8")
    assert _own_columns(text) == _own_columns(_made_apart()), "run python -m tools.docs.operators"


@pytest.mark.torch
def test_the_page_of_pytorch_operators_is_up_to_date() -> None:
    pytest.importorskip("torch")
    from tools.docs import torch_operators

    text = torch_operators.PAGE.read_text(encoding="utf-8")
    if f"PyTorch {torch_operators.RELEASE} " not in text:
        pytest.skip("the page is of another release of PyTorch, whose core set differs")
    assert text == torch_operators.page(), "run python -m tools.docs.torch_operators"
