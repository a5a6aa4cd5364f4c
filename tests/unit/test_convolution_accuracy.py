"""Estimated errors of convolutions, and the forms that a network may have together."""

from __future__ import annotations

from math import inf, sqrt

import pytest

from relax_mlir.lowering.linalg_to_vector.convolution.accuracy import (
    choose_together,
    direct_error,
    error_limit,
    library_error,
    winograd_error,
)
from relax_mlir.topi.nn import bilinear


@pytest.mark.parametrize(
    ("outputs", "taps", "stride", "points"),
    [(2, 3, 1, 4), (4, 3, 1, 6), (2, 5, 1, 6), (4, 3, 2, 5), (2, 3, 2, 3), (2, 7, 2, 5)],
)
def test_points(outputs: int, taps: int, stride: int, points: int) -> None:
    assert bilinear(outputs, taps, stride).points == points


def test_errors_grow_with_points_and_channels() -> None:
    errors = [[winograd_error((p, p), channels) for p in (3, 4, 5, 6)] for channels in (16, 512)]
    for line in errors:
        assert line == sorted(line)
        assert len(set(line)) == 4
    assert all(few < many for few, many in zip(*errors, strict=True))
    mixed = winograd_error((6, 4), 64)
    assert mixed == pytest.approx(
        sqrt(winograd_error((6, 6), 64) * winograd_error((4, 4), 64)), rel=1e-12
    )
    assert direct_error(64) < library_error(9, 64) < library_error(25, 64)
    # Seven points along one axis are about as exact as six along two.
    one, two = winograd_error((7, 1), 64), winograd_error((6, 6), 64)
    assert one < two < 2 * one
    with pytest.raises(KeyError):
        winograd_error((8, 8), 64)


def test_the_fastest_within_the_limit() -> None:
    """Of two layers that could be more exact the one changes that loses less for what it saves."""
    layers = [[(10.0, 1.0), (4.0, 9.0)], [(20.0, 1.0), (5.0, 9.0)], [(3.0, 2.0)]]
    assert choose_together(layers, 20.0) == [1, 1, 0]
    assert choose_together(layers, 19.0) == [0, 1, 0]
    assert choose_together(layers, 11.0) == [0, 0, 0]
    assert choose_together(layers, 0.0) == [0, 0, 0]  # as exact as can be
    assert choose_together([], 0.0) == []


def test_a_step_at_a_time() -> None:
    """A layer may become more exact twice, by way of the form between."""
    layers = [[(10.0, 1.0), (4.0, 3.0), (2.0, 9.0)]]
    assert [choose_together(layers, limit)[0] for limit in (9.0, 3.0, 1.0)] == [2, 1, 0]


def test_few_layers_have_no_limit() -> None:
    assert error_limit([1.0] * 3) == inf
    assert 40 < error_limit([1.0] * 20) < 200
