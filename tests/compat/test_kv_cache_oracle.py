"""Attention on a paged cache gives what TVM 0.27's cache gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def _results(package: str, folder: Path) -> list[np.ndarray]:
    file = folder / f"{package}.npz"
    script = str(Path(__file__).with_name("kv_cache_program.py"))
    done = subprocess.run(
        [sys.executable, script, package, str(file)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(file) as arrays:
        return [arrays[name] for name in arrays]


@pytest.mark.tvm
@pytest.mark.slow
def test_steps_over_sequences_and_a_fork(tmp_path: Path) -> None:
    ours, theirs = _results("relax_mlir", tmp_path), _results("tvm", tmp_path)
    assert len(ours) == 4
    for found, wanted in zip(ours, theirs, strict=True):
        assert np.abs(wanted).max() > 0.1
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
