"""Small programs for random schedules: contractions, convolutions, reductions, scans, gathers...

`PROGRAMS` maps a name to a module with a function `main` and a maker of its inputs; outputs are the
parameters that the inputs leave out, given by `outputs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@dataclass(frozen=True)
class Buffer:
    """A parameter: numpy shape and dtype, and how its values are drawn."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: int = -9
    high: int = 9
    distinct: bool = False

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        if np.dtype(self.dtype).kind == "f":
            return rng.standard_normal(self.shape).astype(self.dtype)
        low = 0 if np.dtype(self.dtype).kind == "u" else self.low
        if self.distinct:
            return (low + rng.permutation(self.size).reshape(self.shape)).astype(self.dtype)
        return rng.integers(low, self.high, self.shape).astype(self.dtype)


@dataclass(frozen=True)
class Program:
    """TVMScript of the body of `main`, and its parameters in order."""

    parameters: dict[str, Buffer]
    body: str
    handles: dict[str, str] | None = None

    @cached_property
    def module(self) -> IRModule:
        lines = ["@I.ir_module", "class Module:", "    @T.prim_func"]
        if self.handles is None:
            declared = ", ".join(
                f'{n}: T.Buffer({p.shape!r}, "{p.dtype}")' for n, p in self.parameters.items()
            )
            lines.append(f"    def main({declared}):")
        else:
            declared = ", ".join(f"{n.lower()}_: T.handle" for n in self.parameters)
            lines += [f"    def main({declared}):", "        n = T.int32()"]
            lines += [
                f'        {n} = T.match_buffer({n.lower()}_, {self.handles[n]}, "{p.dtype}")'
                for n, p in self.parameters.items()
            ]
        lines += ["        " + line for line in self.body.strip("\n").splitlines()]
        return from_source("\n".join(lines) + "\n", {"I": I, "T": T})


def block(name: str, loops: str, kinds: str, statement: str, init: str | None = None) -> str:
    """A nest `i:4 j:8` around one block with a variable for each loop."""
    pairs = [loop.split(":") for loop in loops.split()]
    names = [n for n, _ in pairs]
    heads = ", ".join(names), ", ".join(size for _, size in pairs)
    lines = [f"for {heads[0]} in T.grid({heads[1]}):", f'    with T.block("{name}"):']
    variables = ", ".join("v" + n for n in names)
    lines.append(f'        {variables} = T.axis.remap("{kinds}", [{heads[0]}])')
    if init is not None:
        lines += ["        with T.init():"]
        lines += ["            " + line for line in init.split("; ")]
    lines += ["        " + line for line in statement.split("; ")]
    return "\n".join(lines) + "\n"


def alloc(name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
    return f'{name} = T.alloc_buffer({shape!r}, "{dtype}")\n'


F = Buffer
_CONTRACTIONS = {
    "matmul_transposed": Program(
        {"A": F((9, 11)), "W": F((7, 11)), "C": F((9, 7))},
        block("C", "i:9 j:7 k:11", "SSR", "C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vj, vk]",
              "C[vi, vj] = T.float32(0)"),
    ),
    "matmul_int8": Program(
        {"A": F((8, 12), "uint8"), "W": F((12, 16), "int8"), "C": F((8, 16), "int32")},
        block("C", "i:8 j:16 k:12", "SSR",
              'C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(W[vk, vj], "int32")',
              "C[vi, vj] = 0"),
    ),
    "matmul_bias": Program(
        {"A": F((6, 10)), "W": F((10, 8)), "b": F((8,)), "D": F((6, 8))},
        alloc("C", (6, 8))
        + block("C", "i:6 j:8 k:10", "SSR", "C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]",
                "C[vi, vj] = T.float32(0)")
        + block("D", "i:6 j:8", "SS", "D[vi, vj] = C[vi, vj] + b[vj]"),
    ),
    "batch_matmul": Program(
        {"A": F((3, 5, 6)), "W": F((3, 6, 4)), "C": F((3, 5, 4))},
        block("C", "b:3 i:5 j:4 k:6", "SSSR",
              "C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * W[vb, vk, vj]",
              "C[vb, vi, vj] = T.float32(0)"),
    ),
    "two_matmuls": Program(
        {"A": F((6, 7)), "W": F((7, 8)), "V": F((8, 5)), "D": F((6, 5))},
        alloc("C", (6, 8))
        + block("C", "i:6 j:8 k:7", "SSR", "C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]",
                "C[vi, vj] = T.float32(0)")
        + block("D", "i:6 j:5 k:8", "SSR", "D[vi, vj] = D[vi, vj] + C[vi, vk] * V[vk, vj]",
                "D[vi, vj] = T.float32(0)"),
    ),
    "matvec": Program(
        {"A": F((12, 10), "float64"), "x": F((10,), "float64"), "y": F((12,), "float64")},
        block("y", "i:12 k:10", "SR", "y[vi] = y[vi] + A[vi, vk] * x[vk]", "y[vi] = T.float64(0)"),
    ),
    "outer": Program(
        {"x": F((9,), "int64"), "y": F((14,), "int64"), "C": F((9, 14), "int64")},
        block("C", "i:9 j:14", "SS", "C[vi, vj] = x[vi] * y[vj]"),
    ),
    "decomposed_matmul": Program(
        {"A": F((8, 8), "int32"), "W": F((8, 8), "int32"), "C": F((8, 8), "int32")},
        block("C_init", "i:8 j:8", "SS", "C[vi, vj] = 0")
        + block("C_update", "i:8 j:8 k:8", "SSR",
                "C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]"),
    ),
}  # fmt: skip

_CONVOLUTIONS = {
    "conv2d": Program(
        {"A": F((3, 8, 8)), "W": F((4, 3, 3, 3)), "Y": F((4, 6, 6))},
        block("Y", "o:4 y:6 x:6 c:3 r:3 s:3", "SSSRRR",
              "Y[vo, vy, vx] = Y[vo, vy, vx] + A[vc, vy + vr, vx + vs] * W[vo, vc, vr, vs]",
              "Y[vo, vy, vx] = T.float32(0)"),
    ),
    "conv2d_padded": Program(
        {"A": F((2, 6, 6)), "W": F((3, 2, 3, 3)), "Y": F((3, 6, 6))},
        alloc("P", (2, 8, 8))
        + block("P", "c:2 y:8 x:8", "SSS",
                "P[vc, vy, vx] = T.if_then_else(1 <= vy and vy < 7 and 1 <= vx and vx < 7, "
                "A[vc, vy - 1, vx - 1], T.float32(0))")
        + block("Y", "o:3 y:6 x:6 c:2 r:3 s:3", "SSSRRR",
                "Y[vo, vy, vx] = Y[vo, vy, vx] + P[vc, vy + vr, vx + vs] * W[vo, vc, vr, vs]",
                "Y[vo, vy, vx] = T.float32(0)"),
    ),
    "conv_strided": Program(
        {"A": F((13,)), "W": F((3,)), "Y": F((6,))},
        alloc("B", (13,))
        + block("B", "x:13", "S", "B[vx] = T.exp(A[vx] * T.float32(0.1))")
        + block("Y", "x:6 r:3", "SR", "Y[vx] = Y[vx] + B[vx * 2 + vr] * W[vr]",
                "Y[vx] = T.float32(0)"),
    ),
    "depthwise": Program(
        {"A": F((4, 9)), "W": F((4, 3)), "Y": F((4, 7))},
        block("Y", "c:4 x:7 r:3", "SSR", "Y[vc, vx] = Y[vc, vx] + A[vc, vx + vr] * W[vc, vr]",
              "Y[vc, vx] = T.float32(0)"),
    ),
    "conv_nhwc": Program(
        {"A": F((6, 6, 4), "int32"), "W": F((3, 3, 4, 5), "int32"), "Y": F((4, 4, 5), "int32")},
        block("Y", "y:4 x:4 o:5 r:3 s:3 c:4", "SSSRRR",
              "Y[vy, vx, vo] = Y[vy, vx, vo] + A[vy + vr, vx + vs, vc] * W[vr, vs, vc, vo]",
              "Y[vy, vx, vo] = 0"),
    ),
    "pool_chain": Program(
        {"A": F((10, 8)), "Y": F((6, 8))},
        alloc("B", (8, 8))
        + block("B", "y:8 x:8 r:3", "SSR", "B[vy, vx] = T.max(B[vy, vx], A[vy + vr, vx])",
                "B[vy, vx] = T.float32(-3e38)")
        + block("Y", "y:6 x:8 r:3", "SSR", "Y[vy, vx] = T.max(Y[vy, vx], B[vy + vr, vx])",
                "Y[vy, vx] = T.float32(-3e38)"),
    ),
    "stencil_2d": Program(
        {"A": F((9, 9), "int32"), "Y": F((7, 7), "int32")},
        alloc("B", (9, 7), "int32")
        + block("B", "y:9 x:7", "SS", "B[vy, vx] = A[vy, vx] + A[vy, vx + 1] + A[vy, vx + 2]")
        + block("Y", "y:7 x:7", "SS", "Y[vy, vx] = B[vy, vx] - B[vy + 2, vx]"),
    ),
}  # fmt: skip

_REDUCTIONS = {
    "sum_all": Program(
        {"A": F((6, 8), "int64"), "Y": F((1,), "int64")},
        block("Y", "i:6 j:8", "RR", "Y[0] = Y[0] + A[vi, vj]", "Y[0] = T.int64(0)"),
    ),
    "column_max": Program(
        {"A": F((10, 7)), "Y": F((7,))},
        block("Y", "j:7 i:10", "SR", "Y[vj] = T.max(Y[vj], A[vi, vj])", "Y[vj] = T.float32(-3e38)"),
    ),
    "row_min_product": Program(
        {"A": F((6, 5), "float64"), "Y": F((6,), "float64")},
        alloc("M", (6,), "float64")
        + block("M", "i:6 k:5", "SR", "M[vi] = T.min(M[vi], A[vi, vk])", "M[vi] = T.float64(3e38)")
        + block("Y", "i:6 k:5", "SR", "Y[vi] = Y[vi] * (A[vi, vk] - M[vi] + T.float64(1))",
                "Y[vi] = T.float64(1)"),
    ),
    "argmax": Program(
        # Which of equal elements argmax takes depends on the order, which a schedule may change.
        {"A": F((5, 12), "int32", distinct=True), "J": F((5,), "int32"), "M": F((5,), "int32")},
        block("M", "i:5 k:12", "SR",
              "v0: T.int32 = T.Select(M[vi] >= A[vi, vk], J[vi], vk); "
              "v1: T.int32 = T.Select(M[vi] >= A[vi, vk], M[vi], A[vi, vk]); "
              "J[vi] = v0; M[vi] = v1",
              "J[vi] = -1; M[vi] = -1000"),
    ),
    "argmin_by_index": Program(
        {"A": F((4, 12), "int32", 0, 4), "J": F((4,), "int32"), "M": F((4,), "int32")},
        block("M", "i:4 k:12", "SR",
              "v0: T.int32 = T.Select(M[vi] < A[vi, vk] or (M[vi] == A[vi, vk] and J[vi] < vk), "
              "J[vi], vk); "
              "v1: T.int32 = T.Select(M[vi] < A[vi, vk] or (M[vi] == A[vi, vk] and J[vi] < vk), "
              "M[vi], A[vi, vk]); "
              "J[vi] = v0; M[vi] = v1",
              "J[vi] = 1000; M[vi] = 1000"),
    ),
    "layer_norm": Program(
        {"A": F((4, 8)), "Y": F((4, 8))},
        alloc("S", (4,)) + alloc("Q", (4,))
        + block("S", "i:4 k:8", "SR", "S[vi] = S[vi] + A[vi, vk]", "S[vi] = T.float32(0)")
        + block("Q", "i:4 k:8", "SR", "Q[vi] = Q[vi] + A[vi, vk] * A[vi, vk]",
                "Q[vi] = T.float32(0)")
        + block("Y", "i:4 j:8", "SS",
                "Y[vi, vj] = (A[vi, vj] - S[vi] / T.float32(8)) / T.sqrt(Q[vi] + T.float32(1))"),
    ),
    "log_softmax": Program(
        {"A": F((3, 9)), "Y": F((3, 9))},
        alloc("S", (3,))
        + block("S", "i:3 k:9", "SR", "S[vi] = S[vi] + T.exp(A[vi, vk])", "S[vi] = T.float32(0)")
        + block("Y", "i:3 j:9", "SS", "Y[vi, vj] = A[vi, vj] - T.log(S[vi])"),
    ),
    "logical_any": Program(
        {"A": F((7, 9), "int8"), "Y": F((7,), "int8")},
        block("Y", "i:7 k:9", "SR", "Y[vi] = T.bitwise_or(Y[vi], A[vi, vk])",
              "Y[vi] = T.int8(0)"),
    ),
}  # fmt: skip

_MOVES = {
    "reshape": Program(
        {"A": F((4, 6), "int32"), "Y": F((3, 8), "int32")},
        alloc("B", (24,), "int32")
        + block("B", "i:24", "S", "B[vi] = A[vi // 6, vi % 6] + 1")
        + block("Y", "i:3 j:8", "SS", "Y[vi, vj] = B[vi * 8 + vj]"),
    ),
    "concat": Program(
        {"A": F((5, 4)), "B": F((5, 6)), "Y": F((5, 10))},
        block("Y", "i:5 j:10", "SS",
              "Y[vi, vj] = T.if_then_else(vj < 4, A[vi, vj], B[vi, vj - 4])"),
    ),
    "pad_2d": Program(
        {"A": F((6, 7)), "Y": F((10, 11))},
        block("Y", "i:10 j:11", "SS",
              "Y[vi, vj] = T.if_then_else(2 <= vi and vi < 8 and 2 <= vj and vj < 9, "
              "A[vi - 2, vj - 2], T.float32(7))"),
    ),
    "resize": Program(
        {"A": F((5, 5), "int32"), "Y": F((10, 10), "int32")},
        block("Y", "i:10 j:10", "SS",
              "Y[vi, vj] = A[vi // 2, vj // 2] + A[(vi + vj) // 4, vj // 2]"),
    ),
    "reverse": Program(
        {"A": F((12,), "int32"), "Y": F((12,), "int32")},
        alloc("B", (12,), "int32")
        + block("B", "i:12", "S", "B[vi] = A[11 - vi]")
        + block("Y", "i:12", "S", "Y[vi] = B[11 - vi] * 2"),
    ),
    "gather_scaled": Program(
        {"A": F((8, 5)), "X": F((6,), "int32", 0, 8), "s": F((8,)), "Y": F((6, 5))},
        alloc("B", (6, 5))
        + block("B", "i:6 j:5", "SS", "B[vi, vj] = A[X[vi], vj]")
        + block("Y", "i:6 j:5", "SS", "Y[vi, vj] = B[vi, vj] * s[X[vi]]"),
    ),
    "in_place": Program(
        {"A": F((6, 9)), "Y": F((6, 9))},
        block("S", "i:6 j:9", "SS", "A[vi, vj] = A[vi, vj] * T.float32(2)")
        + block("Y", "i:6 j:9", "SS", "Y[vi, vj] = A[vi, vj] + T.float32(1)"),
    ),
    "running_sum": Program(
        {"A": F((10,), "int32"), "Y": F((10,), "int32")},
        block("Y", "t:10", "S",
              "Y[vt] = T.if_then_else(vt > 0, Y[T.max(vt - 1, 0)], 0) + A[vt]"),
    ),
    "scan_rows": Program(
        {"A": F((6, 7)), "Y": F((6, 7))},
        alloc("B", (6, 7))
        + block("B", "i:6 j:7", "SS", "B[vi, vj] = A[vi, vj] + T.float32(1)")
        + block("Y0", "j:7", "S", "Y[0, vj] = B[0, vj]")
        + block("Y", "t:5 j:7", "SS", "Y[vt + 1, vj] = Y[vt, vj] * T.float32(0.5) + B[vt + 1, vj]"),
    ),
    "scatter": Program(
        {"A": F((8,), "int32"), "X": F((8,), "int32", 0, 5), "Y": F((5,), "int32")},
        block("Z", "i:5", "S", "Y[vi] = 0")
        + block("Y", "i:8", "S", "Y[X[vi]] = A[vi]"),
    ),
    "two_outputs": Program(
        {"A": F((7, 6)), "Y": F((7, 6)), "Z": F((7, 6))},
        block("YZ", "i:7 j:6", "SS", "Y[vi, vj] = A[vi, vj] * T.float32(2); "
              "Z[vi, vj] = A[vi, vj] - T.float32(3)"),
    ),
    "diamond": Program(
        {"A": F((6, 8), "int32"), "Y": F((6, 8), "int32")},
        alloc("B", (6, 8), "int32") + alloc("C", (6, 8), "int32") + alloc("D", (6, 8), "int32")
        + block("B", "i:6 j:8", "SS", "B[vi, vj] = A[vi, vj] + 1")
        + block("C", "i:6 j:8", "SS", "C[vi, vj] = B[vi, vj] * 2")
        + block("D", "i:6 j:8", "SS", "D[vi, vj] = B[vi, vj] - 5")
        + block("Y", "i:6 j:8", "SS", "Y[vi, vj] = C[vi, vj] * D[vi, vj]"),
    ),
    "triangular": Program(
        {"A": F((7, 7), "int32"), "Y": F((7, 7), "int32")},
        block("Y", "i:7 j:7", "SS", "Y[vi, vj] = T.if_then_else(vj <= vi, A[vi, vj], 0)"),
    ),
    "small_ints": Program(
        {"A": F((6, 6), "int16"), "Y": F((6, 6), "uint8")},
        alloc("B", (6, 6), "int16")
        + block("B", "i:6 j:6", "SS", "B[vi, vj] = T.max(A[vj, vi], T.int16(0))")
        + block("Y", "i:6 j:6", "SS", 'Y[vi, vj] = T.cast(B[vi, vj], "uint8") + T.uint8(1)'),
    ),
    "half": Program(
        {"A": F((6, 8), "float16"), "Y": F((6, 8), "float16")},
        alloc("B", (6, 8), "float16")
        + block("B", "i:6 j:8", "SS", "B[vi, vj] = A[vi, vj] * T.float16(2)")
        + block("Y", "i:6 j:8", "SS", "Y[vi, vj] = B[vi, vj] + A[vi, vj]"),
    ),
}  # fmt: skip

_DYNAMIC = {
    "dynamic_matmul": Program(
        {"A": F((13, 8)), "W": F((8, 6)), "C": F((13, 6))},
        block("C", "i:n j:6 k:8", "SSR", "C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]",
              "C[vi, vj] = T.float32(0)"),
        {"A": "(n, 8)", "W": "(8, 6)", "C": "(n, 6)"},
    ),
    "dynamic_chain": Program(
        {"A": F((11, 5), "int32"), "Y": F((11, 5), "int32")},
        "B = T.alloc_buffer((n, 5), \"int32\")\n"
        + block("B", "i:n j:5", "SS", "B[vi, vj] = A[vi, vj] * 3")
        + block("Y", "i:n j:5", "SS", "Y[vi, vj] = B[vi, vj] + 1"),
        {"A": "(n, 5)", "Y": "(n, 5)"},
    ),
    "dynamic_reduction": Program(
        {"A": F((4, 17)), "Y": F((4,))},
        block("Y", "i:4 k:n", "SR", "Y[vi] = Y[vi] + A[vi, vk]", "Y[vi] = T.float32(0)"),
        {"A": "(4, n)", "Y": "(4,)"},
    ),
}  # fmt: skip

PROGRAMS: dict[str, Program] = {
    **_CONTRACTIONS, **_CONVOLUTIONS, **_REDUCTIONS, **_MOVES, **_DYNAMIC,
}  # fmt: skip
