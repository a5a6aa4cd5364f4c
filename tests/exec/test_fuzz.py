"""A few hundred random programs, and as many broken ones; `python -m tests.fuzz.run` runs more."""

from __future__ import annotations

import pytest

from tests.fuzz.check import check_graphs
from tests.fuzz.run import batches

GROUPS = [range(first, first + 10) for first in range(0, 200, 10)]


@pytest.mark.parametrize("seeds", GROUPS, ids=lambda seeds: str(seeds[0]))
def test_random_graphs(seeds: range) -> None:
    check_graphs(seeds)


def test_broken_programs_are_refused() -> None:
    """In a process of its own: one that crashes is a fault like any other."""
    reports = list(batches("mutant", 0, 200))
    faults = [report for report in reports if "fault" in report]
    assert not faults, faults
    totals = next(report["totals"] for report in reports if "totals" in report)
    assert isinstance(totals, dict) and totals["refused"] > 100
