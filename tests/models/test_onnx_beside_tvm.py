"""ONNX's node tests in TVM: how the figures beside ours are made."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from relax_mlir.testing import onnx_backend
from relax_mlir.testing.onnx_backend import Result

pytestmark = pytest.mark.onnx


def test_the_table_counts_the_cases_that_both_ran():
    ours = [Result("a", "passed"), Result("b", "unsupported"), Result("c", "other dtype")]
    theirs = [Result("a", "wrong"), Result("b", "passed"), Result("c", "failed")]
    rows = {
        row[:22].strip(): row[22:].split() for row in onnx_backend.beside(ours, theirs).splitlines()
    }
    assert rows["passed"] == ["1", "50.0", "%", "1", "50.0", "%"]
    assert rows["wrong"] == ["0", "0.0", "%", "1", "50.0", "%"]
    assert rows["failed"][0] == rows["failed"][3] == "0" and rows["cases"] == ["2"]


# As the command does: the cases' processes are forked from one that has done nothing else.
PROGRAM = """
from relax_mlir.testing import onnx_backend
from relax_mlir.testing.onnx_backend_tvm import run_tvm_case
chosen = onnx_backend.cases("^test_(add|det_2d)$")
for result in onnx_backend.run(chosen, jobs=1, limit=120, runner=run_tvm_case):
    print(result.name, result.outcome, result.detail)
"""


@pytest.mark.slow
@pytest.mark.tvm
def test_tvm_runs_cases_in_a_process_of_its_own():
    if importlib.util.find_spec("tvm") is None:
        pytest.skip("needs apache-tvm")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
    )
    outcomes = dict(line.split()[:2] for line in done.stdout.splitlines())
    # TVM has no Det: what it refuses is neither a crash nor a wrong number.
    assert outcomes == {"test_add": "passed", "test_det_2d": "unsupported"}, done.stdout
