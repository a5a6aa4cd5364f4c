"""`python -m benchmarks.convolution_errors`: what the forms of convolutions round.

Convolutions of images after a ReLU against float64, relative root mean square in 1e-7; PyTorch, as
ONNX Runtime, computes them directly.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import relax_mlir
from relax_mlir import te, topi
from relax_mlir.topi.nn.winograd import bilinear

SIZE, OUTPUTS = 24, 64
CHANNELS = (16, 64, 128, 256, 512)
# Outputs of a tile, taps and stride; 0 outputs: direct.
FORMS = {
    "direct": (0, 3, 1),
    "F(2,3)": (2, 3, 1),
    "F(4,3) by 2": (4, 3, 2),
    "F(4,3)": (4, 3, 1),
    "F(2,5)": (2, 5, 1),
    "F(4,5)": (4, 5, 1),
}


def _torch(data: np.ndarray, weight: np.ndarray, stride: int, dtype: str) -> np.ndarray:
    """The convolution of NHWC data and an HWIO weight by PyTorch."""
    import torch

    kind = getattr(torch, dtype)
    x = torch.from_numpy(data.transpose(0, 3, 1, 2).copy()).to(kind)
    w = torch.from_numpy(weight.transpose(3, 2, 0, 1).copy()).to(kind)
    y = torch.nn.functional.conv2d(x, w, stride=stride, padding=weight.shape[0] // 2)
    return y.numpy().transpose(0, 2, 3, 1)


def _compiled(
    data: np.ndarray,
    weight: np.ndarray,
    sizes: tuple[int, int],
    compute: Callable[[te.Tensor, te.Tensor], te.Tensor],
) -> np.ndarray:
    x, w = (te.placeholder(a.shape, "float32", name=n) for a, n in ((data, "x"), (weight, "w")))
    y = compute(x, w)
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    out = relax_mlir.runtime.tensor(np.empty((1, *sizes, OUTPUTS), "float32"))
    arguments = [relax_mlir.runtime.tensor(a) for a in (data, weight)]
    relax_mlir.compile(module, "llvm")["main"](*arguments, out)
    return out.numpy()


def _ours(data: np.ndarray, weight: np.ndarray, output: int, stride: int) -> np.ndarray:
    taps = weight.shape[0]
    side, size = taps // 2, -(-SIZE // stride)
    sizes = (size, size)
    if not output:

        def direct(x: te.Tensor, w: te.Tensor) -> te.Tensor:
            return topi.nn.conv(x, w, [stride] * 2, [side] * 4, [1, 1], 1, "NHWC", "HWIO")

        return _compiled(data, weight, sizes, direct)
    algorithm = bilinear(output, taps, stride)

    def winograd(x: te.Tensor, w: te.Tensor) -> te.Tensor:
        return topi.nn.conv2d_winograd_nhwc(x, w, (side, side), algorithm, algorithm, sizes)

    made = topi.nn.transform_weight(weight, algorithm, algorithm)
    return _compiled(data, made, sizes, winograd)


def _error(got: np.ndarray, expected: np.ndarray) -> float:
    return float(np.sqrt(np.mean((got - expected) ** 2) / np.mean(expected**2))) * 1e7


def row(channels: int) -> dict[str, float]:
    """The errors of each form for so many channels, and PyTorch's."""
    random = np.random.default_rng(channels)
    data = np.maximum(random.standard_normal((1, SIZE, SIZE, channels)), 0).astype(np.float32)
    found: dict[str, float] = {}
    for name, (output, taps, stride) in FORMS.items():
        shape = (taps, taps, channels, OUTPUTS)
        weight = (random.standard_normal(shape) / taps / channels**0.5).astype(np.float32)
        expected = _torch(data, weight, stride, "float64")
        if not found:
            found["libraries, 3x3"] = _error(_torch(data, weight, stride, "float32"), expected)
        found[name] = _error(_ours(data, weight, output, stride), expected)
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for channels in CHANNELS:
        errors = row(channels)
        if channels == CHANNELS[0]:
            print(f"| channels | {' | '.join(errors)} |\n{'|---' * (len(errors) + 1)}|")
        print(f"| {channels} | {' | '.join(f'{error:.1f}' for error in errors.values())} |")


if __name__ == "__main__":
    main()
