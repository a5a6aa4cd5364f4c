"""Passes make of a module what TVM 0.27 makes of it."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from relax_mlir.ir import BaseFunc, IRModule
from relax_mlir.relax.transform import CanonicalizeBindings, DeadCodeElimination
from relax_mlir.script import from_source
from tests.compat.pass_programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]


@cache
def _printed_by(package: str) -> dict[str, str]:
    command = [sys.executable, str(Path(__file__).with_name("pass_programs.py")), package]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    parts = done.stdout.split("\n-----\n")[:-1]
    return dict(part.split("\n", 1) for part in parts)


def _functions(text: str) -> dict[str, BaseFunc]:
    """The functions of a module, without the names that TVM's normal form gives parts of values."""
    read = from_source(text)
    assert isinstance(read, IRModule)
    module = DeadCodeElimination()(CanonicalizeBindings()(read))
    return {var.name_hint: function for var, function in module.functions.items()}


@pytest.mark.tvm
@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_is_tvms(name: str) -> None:
    ours, theirs = (_functions(_printed_by(package)[name]) for package in ("relax_mlir", "tvm"))
    assert set(ours) == set(theirs)
    for function, wanted in theirs.items():
        assert ours[function] == wanted, f"{ours[function].script()}\n{wanted.script()}"
