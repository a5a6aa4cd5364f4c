"""A few hundred random programs, and as many broken ones; `python -m tests.fuzz.run` runs more."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.dialects.relax.spec import SPECS
from tests.fuzz.check import check_graphs
from tests.fuzz.graphs import random_graph
from tests.fuzz.run import batches

OTHERWISE_TESTED = ("builtin", "ccl", "dist", "inspect", "memory", "null_value", "print", "vm")
"""Operators and families of them that test_ops_effects.py and tests/compat look at."""

GROUPS = [range(first, first + 10) for first in range(0, 200, 10)]


@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: str(seeds[0]))
def test_random_graphs(seeds: range) -> None:
    check_graphs(seeds)


CHANGED = {"mutant": 200, "script": 200, "mlir": 200, "onnx": 100, "torch": 40}
"""Kinds of changed programs, and how many of each are tried; at least half of them are broken."""


@pytest.mark.parametrize("kind", CHANGED)
def test_broken_programs_are_refused(kind: str) -> None:
    """In a process of its own: one that crashes is a fault like any other."""
    if kind in ("onnx", "torch"):
        pytest.importorskip(kind)
    reports = list(batches(kind, 0, CHANGED[kind]))
    faults = [report for report in reports if "fault" in report]
    assert not faults, faults
    totals = next(report["totals"] for report in reports if "totals" in report)
    assert isinstance(totals, dict) and totals["refused"] > CHANGED[kind] // 2


def test_the_graphs_have_the_operators_of_the_table() -> None:
    """All but those of several devices, of explicit memory, and what prints or looks into tensors,
    which have tests of their own."""
    names = {node.name for seed in range(1500) for node in random_graph(seed).nodes}
    left = {name for name in SPECS if name.partition(".")[0] not in OTHERWISE_TESTED} - names
    assert len(left) <= 5, left


@pytest.mark.parametrize(("length", "taps"), [(3, 2), (5, 3), (9, 2)])
def test_dilated_taps_of_one_channel(length: int, taps: int) -> None:
    """Sums over taps alone were added once for each tap."""
    x = relax.Var("x", relax.TensorType((2, 1, length), "float32"))
    w = relax.Var("w", relax.TensorType((4, 1, taps), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(relax.op.nn.conv1d(x, w, dilation=2)))
    machine = relax.VirtualMachine(relax.build(builder.get()), rm.cpu())
    rng = np.random.default_rng(0)
    data = rng.standard_normal((2, 1, length)).astype("float32")
    weight = rng.standard_normal((4, 1, taps)).astype("float32")
    width = length - 2 * (taps - 1)
    parts = [data[:, 0, None, 2 * t : 2 * t + width] * weight[:, 0, t, None] for t in range(taps)]
    got = machine["main"](data, weight).numpy()
    np.testing.assert_allclose(got, sum(parts), rtol=1e-5, atol=1e-5)
