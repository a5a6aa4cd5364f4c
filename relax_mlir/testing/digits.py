"""Real handwritten digits and a small network trained on them, for tests, tutorials and the demo.

The source and the licence of the data are named in ``data/README.md``.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

TEST_SHARE = 4  # one image in four is kept for testing
SPLIT_SEED = 20261129


class Digits(NamedTuple):
    """Images as rows of 64 float32 in [0, 1], and labels as int64 from 0 to 9."""

    images: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


class MLP(NamedTuple):
    """Weights of the 64-128-10 network, float32, in the order of its main function's parameters."""

    w0: npt.NDArray[np.float32]
    b0: npt.NDArray[np.float32]
    w1: npt.NDArray[np.float32]
    b1: npt.NDArray[np.float32]

    def reference(self, images: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """What the network computes, by numpy: (n, 64) images to (n, 10) scores."""
        return np.maximum(images @ self.w0 + self.b0, 0) @ self.w1 + self.b1


def _arrays(name: str) -> dict[str, npt.NDArray[np.generic]]:
    with as_file(files("relax_mlir.testing") / "data" / name) as path, np.load(path) as archive:
        return {key: archive[key] for key in archive.files}


def load() -> Digits:
    """All 1797 digits, in the order of the source."""
    arrays = _arrays("digits.npz")
    pixels = arrays["images"].reshape(-1, 64)
    images = np.divide(pixels, 16, dtype=np.float32)
    return Digits(images, arrays["labels"].astype(np.int64))


def split(digits: Digits) -> tuple[Digits, Digits]:
    """The digits to train on (1348) and those to test with (449), the same in every run."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(digits.labels))
    test = np.sort(order[: len(order) // TEST_SHARE])
    train = np.sort(order[len(order) // TEST_SHARE :])
    return (
        Digits(digits.images[train], digits.labels[train]),
        Digits(digits.images[test], digits.labels[test]),
    )


def load_mlp() -> MLP:
    """The trained weights."""
    arrays = _arrays("digits_mlp.npz")
    return MLP(*(arrays[name].astype(np.float32) for name in MLP._fields))
