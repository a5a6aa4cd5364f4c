"""A few of the convolutions that `tests/exec/convolution_fuzz.py` makes."""

from __future__ import annotations

import pytest

from tests.exec.convolution_fuzz import check


@pytest.mark.parametrize("seed", range(32))
def test_convolutions_of_everything_at_random(seed: int) -> None:
    check(seed)
