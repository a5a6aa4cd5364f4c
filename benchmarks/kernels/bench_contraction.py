"""Matrix products with bias and relu against numpy, one thread.

    python benchmarks/kernels/bench_contraction.py [--dynamic] [--shape 512x512x512 ...]

Columns: microseconds and GF/s of the compiled kernel, its speed relative to numpy's expression
`np.maximum(a @ b + bias, 0)` with preallocated outputs and to numpy's bare product, and the
milliseconds that emission, lowering and LLVM took.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

# `timing` sets the environment that numpy reads when it is imported.
from timing import interleaved  # isort: skip  # noqa: E402
import numpy as np  # noqa: E402

from relax_mlir.testing.kernels import (  # noqa: E402
    Kernel,
    KernelText,
    compile_kernel,
    memref,
)

SHAPES = (
    "128x128x128",
    "512x512x512",
    "1024x1024x1024",
    "1x256x784",
    "1x10x256",
    "64x256x784",
    "128x3072x768",
    "1000x999x1001",
    "33x65x77",
    "7x10x128",
    "2x4096x1024",
    "8x1024x1024",
    "16x16x16",
)


def product_text(
    m: int | None, n: int | None, k: int | None, transpose_b: bool, fused: bool
) -> KernelText:
    """`c = a @ b`, or `relu(a @ b + bias)`."""
    b = memref([n, k] if transpose_b else [k, n])
    c = memref([m, n])
    kernel = KernelText({"a": memref([m, k]), "b": b, "bias": memref([n]), "c": c})
    target = "c"
    if fused:
        kernel.alloc("t", c, [("c", i) for i, size in enumerate((m, n)) if size is None])
        target = "t"
    kernel.fill(target, "0.0")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d1, d2" if transpose_b else "d2, d1"), (target, "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %x2, %p : f32"],
        "%s : f32",
    )
    if fused:
        zero = kernel.constant("0.0", "f32")
        kernel.generic(
            [("t", "d0, d1"), ("bias", "d1"), ("c", "d0, d1")],
            1,
            "pp",
            ["%s = arith.addf %x0, %x1 : f32", f"%r = arith.maximumf %s, {zero} : f32"],
            "%r : f32",
        )
    return kernel


def aligned(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random numbers at the start of a cache line."""
    raw = np.empty(int(np.prod(shape)) + 16, np.float32)
    offset = (-raw.ctypes.data % 64) // 4
    array = raw[offset : offset + int(np.prod(shape))].reshape(shape)
    array[...] = rng.standard_normal(shape)
    return array


def numpy_calls(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray, out: np.ndarray
) -> dict[str, Callable[[], object]]:
    def fused() -> None:
        np.matmul(a, b, out=out)
        np.add(out, bias, out=out)
        np.maximum(out, 0, out=out)

    return {"numpy": fused, "numpy product": lambda: np.matmul(a, b, out=out)}


def measure(shape: str, dynamic: bool, transpose_b: bool, kernel: Kernel | None) -> None:
    m, n, k = (int(size) for size in shape.split("x"))
    sizes = (None, None, None) if dynamic else (m, n, k)
    if kernel is None:
        kernel = compile_kernel(product_text(*sizes, transpose_b, fused=True))
    rng = np.random.default_rng(0)
    a, bias, c = aligned(rng, m, k), aligned(rng, n), aligned(rng, m, n)
    b = aligned(rng, n, k) if transpose_b else aligned(rng, k, n)
    ours = kernel.bind(a, b, bias, c)
    calls = numpy_calls(a, b.T if transpose_b else b, bias, np.empty_like(c))
    ours()
    calls["numpy"]()
    times = interleaved({"ours": ours, **calls})
    error = np.abs(c - np.maximum(a @ (b.T if transpose_b else b) + bias, 0)).max()
    assert error < 1e-2, f"{shape}: wrong by {error}"
    own = times["ours"]
    milliseconds = " ".join(f"{1e3 * s:6.1f}" for s in kernel.seconds)
    print(
        f"{shape:16s} {'A @ W.T' if transpose_b else 'A @ B':8s} {1e6 * own:10.1f} "
        f"{2e-9 * m * n * k / own:8.1f} {times['numpy'] / own:9.2f} "
        f"{times['numpy product'] / own:9.2f}   {milliseconds}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dynamic", action="store_true", help="hide all sizes from the compiler")
    parser.add_argument("--shape", nargs="*", default=SHAPES, help="MxNxK")
    options = parser.parse_args()
    print("M x N x K                       us     GF/s  vs numpy  vs product   emit  lower   LLVM")
    for transpose_b in (False, True):
        kernel = None
        if options.dynamic:
            kernel = compile_kernel(product_text(None, None, None, transpose_b, fused=True))
        for shape in options.shape:
            measure(shape, options.dynamic, transpose_b, kernel)


if __name__ == "__main__":
    main()
