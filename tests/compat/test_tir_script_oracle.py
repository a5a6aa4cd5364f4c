"""TVM 0.27 reads what we print in its spelling and prints the very same text."""

# ruff: noqa: RUF021  (parentheses around `and` are what one of the programs is without)

from __future__ import annotations

import subprocess
import sys

import pytest

from relax_mlir.script import from_source
from relax_mlir.script import tir as T

# Reads programs separated by a line of dashes, prints them as TVM does.
READ = """
import sys
from tvm.script import from_source, tirx as T
for text in sys.stdin.read().split("\\n-----\\n"):
    print(from_source(text, extra_vars={"T": T}).script())
    print("-----")
"""


@T.prim_func
def matmul_relu(
    A: T.Buffer((128, 64), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((128, 32))
):
    T.func_attr({"tir.noalias": True, "op_pattern": 4})
    Y = T.alloc_buffer((128, 32), "float32")
    for i, j, k in T.grid(128, 32, 64):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(128, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@T.prim_func
def scheduled(A: T.Buffer((T.int64(64),), "float16"), B: T.Buffer((T.int64(64),), "float16")):
    S = T.alloc_buffer((T.int64(64),), "float16", scope="shared")
    for bx in T.thread_binding(T.int64(4), thread="blockIdx.x"):
        for tx in T.thread_binding(T.int64(8), thread="threadIdx.x"):
            for v in T.vectorized(T.int64(2)):
                with T.block("S"):
                    vi = T.axis.spatial(T.int64(64), bx * T.int64(16) + tx * T.int64(2) + v)
                    T.block_attr({"hint": 1, "kind": "copy"})
                    S[vi] = A[vi]
    for io in T.parallel(T.int64(5), annotations={"pragma_auto_unroll_max_step": 16}):
        for ii in T.unroll(T.int64(13)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(64), io * T.int64(13) + ii)
                T.where(io * T.int64(13) + ii < T.int64(64))
                B[vi] = S[vi] * T.float16(0.5) + T.exp(S[vi])


@T.prim_func
def scalars(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "bool")):
    for i in range(16):
        B[i] = (B[i] + 3) // 4 % 5 - B[i] * (B[i] - 1)
        B[i] = (B[i] ^ 7) & 12 | B[i] << 2 >> 1
        C[i] = B[i] > 2 and A[i] <= T.float32(1.5) or not C[i]
        A[i] = T.Select(B[i] == 3, A[i], T.Cast("float32", B[i]) - A[i] / T.float32(3))
        A[i] = T.if_then_else(B[i] != 0, T.sqrt(A[i]) + T.pow(A[i], T.float32(2)), T.tanh(A[i]))
        A[i] = T.max(T.min(A[i], T.float32(6)), T.float32(-1)) + T.float32(1e-05)
        if B[i] < 4:
            B[i] = T.truncmod(B[i], 3) + T.Div(B[i], 2)
        else:
            B[i] = 0
    while B[0] < 10:
        B[0] = B[0] + 1
    for i in range(4):
        for j in range(i, 8):
            A[i * 2 + j // 3] = A[j % 4] + A[B[i]]


@T.prim_func
def nested(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        T.block_attr({"meta_schedule.unroll_explicit": 16})
        for io in range(4):
            with T.block("outer"):
                vio = T.axis.spatial(4, io)
                T.reads(A[vio * 4 : vio * 4 + 4, 0:16])
                T.writes(B[vio * 4 : vio * 4 + 4])
                for ii, j in T.grid(4, 16):
                    with T.block("inner"):
                        vii, vj = T.axis.remap("SR", [ii, j])
                        with T.init():
                            B[vio * 4 + vii] = T.float32(0)
                        B[vio * 4 + vii] = B[vio * 4 + vii] + A[vio * 4 + vii, vj]


PROGRAMS = [matmul_relu, scheduled, scalars, nested]


def body(text: str) -> list[str]:
    """The program without the imports in front."""
    return text[text.index("@T.prim_func") :].strip().splitlines()


@pytest.mark.tvm
@pytest.mark.slow
def test_tvm_prints_the_same_text():
    texts = [program.script(syntax="tirx") for program in PROGRAMS]
    result = subprocess.run(
        [sys.executable, "-c", READ],
        input="\n-----\n".join(texts),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    theirs = result.stdout.split("-----\n")
    for ours, other, program in zip(texts, theirs, PROGRAMS, strict=False):
        assert body(other) == body(ours), program.name
        assert from_source(other) == program
