"""relax_mlir.testing: the comparison helper, and the digits with the network trained on them."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir.testing import assert_allclose, digits


class Wrapped:
    """Stands for a runtime tensor: an object with `numpy()`."""

    def __init__(self, values: list[float]):
        self.values = values

    def numpy(self) -> np.ndarray:
        return np.array(self.values, np.float32)


def test_allclose_takes_arrays_and_tensors() -> None:
    assert_allclose(Wrapped([1, 2]), np.array([1, 2 + 1e-8]))
    assert_allclose([np.nan, np.inf], [np.nan, np.inf])


@pytest.mark.parametrize(
    "desired",
    [[1.0, 2.001], [1.0], [[1.0, 2.0]], [1.0, np.nan]],
    ids=["value", "length", "rank", "nan"],
)
def test_allclose_refuses(desired: list[float]) -> None:
    with pytest.raises(AssertionError):
        assert_allclose(Wrapped([1.0, 2.0]), desired)


def test_digits_are_the_uci_test_set() -> None:
    data = digits.load()
    assert data.images.shape == (1797, 64)
    assert data.images.dtype == np.float32
    assert (data.images.min(), data.images.max()) == (0, 1)
    # Counts of each class as the data set's description gives them.
    expected = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(data.labels).tolist() == expected


def test_split_is_a_partition() -> None:
    data = digits.load()
    training, test = digits.split(data)
    assert (len(training.labels), len(test.labels)) == (1348, 449)
    both = np.concatenate([training.images, test.images])
    assert np.array_equal(np.sort(both.sum(axis=1)), np.sort(data.images.sum(axis=1)))


def test_stored_weights_recognise_unseen_digits() -> None:
    _, test = digits.split(digits.load())
    scores = digits.load_mlp().reference(test.images)
    assert np.mean(scores.argmax(axis=1) == test.labels) > 0.96
