"""Trains the demo's network, 64-128-10, on handwritten digits with numpy, and stores its weights.

Stochastic gradient descent with momentum on the cross entropy, from fixed seeds. Running it again
gives the same weights up to the rounding of numpy's matrix product:

    python demo/train_digits.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relax_mlir.testing import digits

Array = npt.NDArray[np.float32]

HIDDEN = 128
CLASSES = 10
EPOCHS = 60
BATCH = 32
RATE = 0.1
MOMENTUM = 0.9
DECAY = 1e-4
SEED = 7
WEIGHTS = Path(digits.__file__).parent / "data" / "digits_mlp.npz"


def initial(rng: np.random.Generator, inputs: int, outputs: int) -> Array:
    """He's initialisation: normal, scaled for a rectified linear layer."""
    weights = rng.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs)
    return weights.astype(np.float32)


def gradients(mlp: digits.MLP, images: Array, labels: npt.NDArray[np.int64]) -> digits.MLP:
    """The gradient of the mean cross entropy of a batch, one array a parameter."""
    hidden = np.maximum(images @ mlp.w0 + mlp.b0, 0)
    scores = hidden @ mlp.w1 + mlp.b1
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    errors = exponentials / exponentials.sum(axis=1, keepdims=True)
    errors[np.arange(len(labels)), labels] -= 1
    errors /= np.float32(len(labels))
    back = (errors @ mlp.w1.T) * (hidden > 0)
    return digits.MLP(images.T @ back, back.sum(axis=0), hidden.T @ errors, errors.sum(axis=0))


def train(data: digits.Digits) -> digits.MLP:
    """Weights after EPOCHS passes over the data, the learning rate falling to zero."""
    rng = np.random.default_rng(SEED)
    mlp = digits.MLP(
        initial(rng, data.images.shape[1], HIDDEN),
        np.zeros(HIDDEN, np.float32),
        initial(rng, HIDDEN, CLASSES),
        np.zeros(CLASSES, np.float32),
    )
    velocities = digits.MLP(*(np.zeros_like(parameter) for parameter in mlp))
    steps = EPOCHS * (len(data.labels) // BATCH)
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(data.labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            rate = RATE * (1 - step / steps)
            slopes = gradients(mlp, data.images[batch], data.labels[batch])
            for parameter, slope, velocity in zip(mlp, slopes, velocities, strict=True):
                velocity *= MOMENTUM
                velocity -= rate * (slope + DECAY * parameter)
                parameter += velocity
            step += 1
    return mlp


def accuracy(mlp: digits.MLP, data: digits.Digits) -> float:
    """The share of the digits whose highest score is at their label."""
    return float(np.mean(mlp.reference(data.images).argmax(axis=1) == data.labels))


def main() -> None:
    training, test = digits.split(digits.load())
    mlp = train(training)
    np.savez_compressed(WEIGHTS, **mlp._asdict())
    print(f"accuracy in training {accuracy(mlp, training):.4f}, in test {accuracy(mlp, test):.4f}")


if __name__ == "__main__":
    main()
