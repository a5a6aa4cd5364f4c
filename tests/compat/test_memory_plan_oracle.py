"""The memory planned for intermediate tensors is never more than TVM plans for the same graph."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _planned(package: str) -> list[int]:
    command = [sys.executable, str(Path(__file__).with_name("memory_programs.py")), package]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


@pytest.mark.tvm
def test_no_more_than_tvm_plans() -> None:
    ours, theirs = _planned("relax_mlir"), _planned("tvm")
    assert len(ours) == len(theirs) > 20
    assert all(ours)
    assert all(theirs)
    worse = [pair for pair in zip(ours, theirs, strict=True) if pair[0] > pair[1]]
    assert worse == []
    assert sum(ours) < 0.9 * sum(theirs)
