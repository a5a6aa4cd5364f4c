"""The demo: the compiled network recognises exactly as many digits as the numpy expression does."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from relax_mlir.testing import digits

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", ROOT / "demo" / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def numpy_right() -> np.ndarray:
    _, test = digits.split(digits.load())
    return digits.load_mlp().reference(test.images).argmax(axis=1) == test.labels


@pytest.mark.parametrize("count", [0, 1, 2, 7, 449])
def test_scores_are_numpys(demo: ModuleType, count: int) -> None:
    import relax_mlir
    from relax_mlir import relax

    executable = relax_mlir.compile(demo.Module, target="llvm")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    mlp = digits.load_mlp()
    _, test = digits.split(digits.load())
    images = test.images[:count]
    np.testing.assert_allclose(
        main(images, *mlp).numpy(), mlp.reference(images), rtol=1e-4, atol=1e-4
    )


def test_accuracy_is_numpys(numpy_right: np.ndarray) -> None:
    output = subprocess.run(
        [sys.executable, "-W", "error", "demo/demo.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert output.returncode == 0, output.stderr
    assert f"{numpy_right.sum()} read correctly" in output.stdout
    assert f"accuracy {numpy_right.mean():.2%}" in output.stdout
    assert len(re.findall(r"reads \d", output.stdout)) == 4
    assert re.search(r"reads (\d), is (?!\1)\d", output.stdout)
    assert re.search(r"compiled in \d", output.stdout)


def test_drawing(demo: ModuleType) -> None:
    images = np.zeros((2, 64), np.float32)
    images[1, :8] = 1  # the top row of the second image
    lines = demo.drawing(images, ["left", "right"]).split("\n")
    assert len(lines) == 9
    assert lines[0] == "  " + " " * 19 + "%" * 16
    assert all(line == "" for line in lines[1:8])
    assert lines[8].split() == ["left", "right"]
