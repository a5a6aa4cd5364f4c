"""`make demo`: compiles a network written in TVMScript and lets it read handwritten digits.

The network is a module of two loop nests, `linear` and `relu`, and a function that calls them for
any number of images. It is compiled once for this machine's CPU and called with weights that
train_digits.py learned; the digits it reads were not among those it learned from.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

import relax_mlir
from relax_mlir import relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tirx as T
from relax_mlir.testing import digits

SHADES = " .:-=+*#%"
SHOWN = 4
CALLS = 1000


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        M, N, K = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (M, K), "float32")
        W = T.match_buffer(w, (K, N), "float32")
        B = T.match_buffer(b, (N,), "float32")
        Z = T.match_buffer(z, (M, N), "float32")
        Y = T.alloc_buffer((M, N), "float32")
        for i, j, k in T.grid(M, N, K):
            with T.sblock("Y"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[v_i, v_j] = T.float32(0.0)
                Y[v_i, v_j] = Y[v_i, v_j] + X[v_i, v_k] * W[v_k, v_j]
        for i, j in T.grid(M, N):
            with T.sblock("Z"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Z[v_i, v_j] = Y[v_i, v_j] + B[v_j]

    @T.prim_func(private=True)
    def relu(x: T.handle, y: T.handle):
        M, N = T.int64(), T.int64()
        X = T.match_buffer(x, (M, N), "float32")
        Y = T.match_buffer(y, (M, N), "float32")
        for i, j in T.grid(M, N):
            with T.sblock("Y"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Y[v_i, v_j] = T.max(X[v_i, v_j], T.float32(0.0))

    @R.function
    def main(
        x: R.Tensor(("n", 64), dtype="float32"),
        w0: R.Tensor((64, 128), dtype="float32"),
        b0: R.Tensor((128,), dtype="float32"),
        w1: R.Tensor((128, 10), dtype="float32"),
        b1: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        cls = Module
        n = T.int64()
        with R.dataflow():
            lv = R.call_tir(cls.linear, (x, w0, b0), out_ty=R.Tensor((n, 128), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((n, 128), dtype="float32"))
            lv2 = R.call_tir(cls.linear, (lv1, w1, b1), out_ty=R.Tensor((n, 10), dtype="float32"))
            R.output(lv2)
        return lv2


def predictions(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """The class of the highest score in each row."""
    return scores.argmax(axis=1)


def drawing(images: npt.NDArray[np.float32], captions: list[str]) -> str:
    """8x8 images side by side, two characters a pixel, each with its caption below."""
    shades = np.round(images.reshape(-1, 8, 8) * (len(SHADES) - 1)).astype(int)
    rows = [
        "   ".join("".join(SHADES[shade] * 2 for shade in image[row]) for image in shades)
        for row in range(8)
    ]
    rows.append("   ".join(f"{caption:^16}" for caption in captions))
    return "\n".join(f"  {row}".rstrip() for row in rows)


def seconds_per_call(function: Any, *arguments: Any) -> float:
    """The shortest of five averages, so that other work on the machine disturbs it little."""
    averages: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(CALLS):
            function(*arguments)
        averages.append((time.perf_counter() - start) / CALLS)
    return min(averages)


def main() -> None:
    _, test = digits.split(digits.load())
    mlp = digits.load_mlp()

    start = time.perf_counter()
    executable = relax_mlir.compile(Module, target="llvm")
    vm = relax.VirtualMachine(executable, relax_mlir.cpu())
    compile_seconds = time.perf_counter() - start

    scores = vm["main"](test.images, *mlp).numpy()
    guesses = predictions(scores)
    right = guesses == test.labels
    print(f"{len(right)} digits that were kept out of training, {int(right.sum())} read correctly:")
    print(f"accuracy {right.mean():.2%}\n")

    # One that it got wrong is the most interesting to look at, so it comes last.
    shown = np.concatenate([np.flatnonzero(right)[: SHOWN - 1], np.flatnonzero(~right)[:1]])
    captions = [
        f"reads {guesses[index]}" + ("" if right[index] else f", is {test.labels[index]}")
        for index in shown
    ]
    print(drawing(test.images[shown], captions))

    single = test.images[:1]
    ours = seconds_per_call(vm["main"], single, *mlp)
    numpys = seconds_per_call(mlp.reference, single)
    print(f"\ncompiled in {compile_seconds:.2f} s, for any number of images")
    print(f"one image takes {ours * 1e6:.1f} us called from Python (numpy: {numpys * 1e6:.1f} us)")
    print(
        "\nWhere to look next:\n"
        "  demo/demo.py       this program: change the network, run `make demo` again\n"
        "  README.md          the other ways in: operators, tensor expressions, relax-opt\n"
        "  docs/              tutorials, all of them runnable\n"
        "  ARCHITECTURE.md    how a program becomes machine code, folder by folder"
    )


if __name__ == "__main__":
    main()
