"""Programs for random schedules whose results numpy knows: stages, scans, nested blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class MatmulRelu:
    @T.prim_func
    def main(
        A: T.Buffer((14, 12), "float32"),
        W: T.Buffer((12, 18), "float32"),
        D: T.Buffer((14, 18), "float32"),
    ):
        B = T.alloc_buffer((14, 12), "float32")
        C = T.alloc_buffer((14, 18), "float32")
        for i, j in T.grid(14, 12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j, k in T.grid(14, 18, 12):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + B[vi, vk] * W[vk, vj]
        for i, j in T.grid(14, 18):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@I.ir_module
class Transposed:
    @T.prim_func
    def main(A: T.Buffer((8, 6, 10), "int32"), D: T.Buffer((10, 8, 6), "int32")):
        B = T.alloc_buffer((6, 8, 10), "int32")
        C = T.alloc_buffer((10, 6, 8), "int32")
        for i, j, k in T.grid(6, 8, 10):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vj, vi, vk] * 3
        for i, j, k in T.grid(10, 6, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vj, vk, vi] - 2
        for i, j, k in T.grid(10, 8, 6):
            with T.block("D"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                D[vi, vj, vk] = C[vi, vk, vj] + A[vj, vk, vi]


@I.ir_module
class PaddedConv:
    @T.prim_func
    def main(
        A: T.Buffer((3, 12), "float32"),
        W: T.Buffer((4, 3, 3), "float32"),
        Y: T.Buffer((4, 12), "float32"),
    ):
        P = T.alloc_buffer((3, 14), "float32")
        C = T.alloc_buffer((4, 12), "float32")
        for c, x in T.grid(3, 14):
            with T.block("P"):
                vc, vx = T.axis.remap("SS", [c, x])
                P[vc, vx] = T.if_then_else(vx >= 1 and vx < 13, A[vc, vx - 1], T.float32(0))
        for o, x, c, r in T.grid(4, 12, 3, 3):
            with T.block("C"):
                vo, vx, vc, vr = T.axis.remap("SSRR", [o, x, c, r])
                with T.init():
                    C[vo, vx] = T.float32(0)
                C[vo, vx] = C[vo, vx] + P[vc, vx + vr] * W[vo, vc, vr]
        for o, x in T.grid(4, 12):
            with T.block("Y"):
                vo, vx = T.axis.remap("SS", [o, x])
                Y[vo, vx] = C[vo, vx] * T.float32(0.5)


@I.ir_module
class Softmax:
    @T.prim_func
    def main(A: T.Buffer((5, 16), "float32"), Y: T.Buffer((5, 16), "float32")):
        M = T.alloc_buffer((5,), "float32")
        E = T.alloc_buffer((5, 16), "float32")
        S = T.alloc_buffer((5,), "float32")
        for i, k in T.grid(5, 16):
            with T.block("M"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.float32(-3e38)
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, j in T.grid(5, 16):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                E[vi, vj] = T.exp(A[vi, vj] - M[vi])
        for i, k in T.grid(5, 16):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vk]
        for i, j in T.grid(5, 16):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = E[vi, vj] / S[vi]


@I.ir_module
class Blur:
    @T.prim_func
    def main(A: T.Buffer((18,), "int32"), Y: T.Buffer((14,), "int32")):
        B = T.alloc_buffer((16,), "int32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + A[vi + 1] * 2 + A[vi + 2]
        for i in range(14):
            with T.block("Y"):
                vi = T.axis.spatial(14, i)
                Y[vi] = B[vi] + B[vi + 1] + B[vi + 2]


@I.ir_module
class Gather:
    @T.prim_func
    def main(
        A: T.Buffer((20, 4), "float32"), X: T.Buffer((9,), "int32"), Y: T.Buffer((9, 4), "float32")
    ):
        B = T.alloc_buffer((20, 4), "float32")
        for i, j in T.grid(20, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(9, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = B[X[vi], vj] + T.float32(1)


@I.ir_module
class Dynamic:
    @T.prim_func
    def main(a: T.handle, y: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        B = T.alloc_buffer((n, 8), "float32")
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] - T.float32(1)
        for i, k in T.grid(n, 8):
            with T.block("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + B[vi, vk] * B[vi, vk]


@I.ir_module
class Accumulate:
    @T.prim_func
    def main(A: T.Buffer((7, 6), "float32"), Y: T.Buffer((7, 6), "float32")):
        B = T.alloc_buffer((7, 6), "float32")
        for i, j in T.grid(7, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(7, 6):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = Y[vi, vj] + B[vi, vj]


@I.ir_module
class Cumsum:
    @T.prim_func
    def main(A: T.Buffer((4, 9), "int32"), Y: T.Buffer((4, 9), "int32")):
        S = T.alloc_buffer((4, 10), "int32")
        for i in range(4):
            with T.block("S0"):
                vi = T.axis.spatial(4, i)
                S[vi, 0] = 0
        for i, t in T.grid(4, 9):
            with T.block("S"):
                vi, vt = T.axis.remap("SS", [i, t])
                S[vi, vt + 1] = S[vi, vt] + A[vi, vt]
        for i, t in T.grid(4, 9):
            with T.block("Y"):
                vi, vt = T.axis.remap("SS", [i, t])
                Y[vi, vt] = S[vi, vt + 1]


@I.ir_module
class Wide:
    @T.prim_func
    def main(
        A: T.Buffer((T.int64(6), T.int64(10)), "float64"),
        Y: T.Buffer((T.int64(6),), "float64"),
    ):
        B = T.alloc_buffer((T.int64(6), T.int64(10)), "float64")
        M = T.alloc_buffer((T.int64(6),), "float64")
        for i, j in T.grid(T.int64(6), T.int64(10)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.Select(A[vi, vj] > T.float64(0), A[vi, vj], T.float64(0))
        for i, k in T.grid(T.int64(6), T.int64(10)):
            with T.block("M"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.float64(0)
                M[vi] = T.max(M[vi], B[vi, vk])
        for i in range(T.int64(6)):
            with T.block("Y"):
                vi = T.axis.spatial(T.int64(6), i)
                Y[vi] = M[vi] * M[vi]


@I.ir_module
class Nested:
    @T.prim_func
    def main(A: T.Buffer((8, 12), "float32"), Y: T.Buffer((8,), "float32")):
        for i in range(2):
            with T.block("O"):
                vo = T.axis.spatial(2, i)
                B = T.alloc_buffer((4, 12), "float32")
                for r, k in T.grid(4, 12):
                    with T.block("B"):
                        vr, vk = T.axis.remap("SS", [r, k])
                        B[vr, vk] = A[vo * 4 + vr, vk] + T.float32(3)
                for r, k in T.grid(4, 12):
                    with T.block("Y"):
                        vr, vk = T.axis.remap("SR", [r, k])
                        with T.init():
                            Y[vo * 4 + vr] = T.float32(0)
                        Y[vo * 4 + vr] = Y[vo * 4 + vr] + B[vr, vk]


def _floats(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [rng.standard_normal(s).astype("float32") for s in shapes]


def _ints(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [rng.integers(-9, 9, s).astype("int32") for s in shapes]


def _conv(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    padded = np.pad(a, ((0, 0), (1, 1)))
    windows = np.stack([padded[:, r : r + 12] for r in range(3)])
    return np.einsum("ocr,rcx->ox", w, windows) * np.float32(0.5)


def _blur(a: np.ndarray) -> np.ndarray:
    b = a[:16] + a[1:17] * 2 + a[2:18]
    return b[:14] + b[1:15] + b[2:16]


def _softmax(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# name: (module, inputs, result by numpy)
REFERENCED: dict[str, tuple[IRModule, Callable[..., list[Any]], Callable[..., np.ndarray]]] = {
    "matmul_relu": (
        MatmulRelu, _floats((14, 12), (12, 18)), lambda a, w: np.maximum((a + 1) @ w, 0)
    ),
    "transposed": (
        Transposed, _ints((8, 6, 10)), lambda a: (a * 3 - 2 + a).transpose(2, 0, 1)
    ),
    "padded_conv": (PaddedConv, _floats((3, 12), (4, 3, 3)), _conv),
    "softmax": (Softmax, _floats((5, 16)), _softmax),
    "blur": (Blur, _ints((18,)), _blur),
    "gather": (
        Gather,
        lambda rng: [*_floats((20, 4))(rng), rng.integers(0, 20, 9).astype("int32")],
        lambda a, x: a[x] * 2 + 1,
    ),
    "accumulate": (Accumulate, _floats((7, 6)), lambda a: a * 2),
    "cumsum": (Cumsum, _ints((4, 9)), lambda a: np.cumsum(a, 1, dtype="int32")),
    "wide": (
        Wide,
        lambda rng: [rng.standard_normal((6, 10))],
        lambda a: np.maximum(a, 0).max(1) ** 2,
    ),
    "nested": (Nested, _floats((8, 12)), lambda a: (a + 3).sum(1)),
    "dynamic": (Dynamic, _floats((13, 8)), lambda a: ((a - 1) ** 2).sum(1)),
}  # fmt: skip
