"""Thread-bound TensorIR programs that the tests of the GPU road share."""

from __future__ import annotations

from typing import Any

from relax_mlir.ir import IRModule
from relax_mlir.script import tir as T
from relax_mlir.tir import Schedule


def scheduled(function: Any) -> Schedule:
    """A schedule of one function, called main."""
    return Schedule(IRModule({"main": function}))


def vector_add(threads: int = 128) -> IRModule:
    """C = A + B of any length, one element a thread."""

    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            with T.block("C"):
                vi = T.axis.spatial(n, i)
                C[vi] = A[vi] + B[vi]

    sch = scheduled(main)
    (loop,) = sch.get_loops(sch.get_block("C"))
    outer, inner = sch.split(loop, [None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return sch.mod


def plain_matmul(m: int, n: int, k: int, dtype: str = "float32", out: str = "float32") -> Any:
    """C = A @ B as a function without a schedule."""

    @T.prim_func
    def main(A: T.Buffer((m, k), dtype), B: T.Buffer((k, n), dtype), C: T.Buffer((m, n), out)):
        for i, j, r in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.cast(0, out)
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], out) * T.cast(B[vk, vj], out)

    return main


def symbolic_rows_matmul() -> Any:
    """C = A @ B of float32 with any number of rows, 20 by 40, without a schedule."""

    @T.prim_func
    def main(a: T.handle, B: T.Buffer((20, 40), "float32"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 20), "float32")
        C = T.match_buffer(c, (n, 40), "float32")
        for i, j, k in T.grid(n, 40, 20):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    return main


def shared_matmul(n: int = 64, tile: int = 16, dtype: str = "float32") -> IRModule:
    """A matmul with one output a thread, whose factors pass through shared memory."""
    sch = scheduled(plain_matmul(n, n, n, dtype, "float32"))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (bx, tx), (by, ty), (k0, k1) = (sch.split(loop, [None, tile]) for loop in (i, j, k))
    sch.reorder(bx, by, tx, ty, k0, k1)
    for loop, axis in ((bx, "blockIdx.y"), (by, "blockIdx.x"), (tx, "threadIdx.y"),
                       (ty, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), ty)
    for operand in (0, 1):
        copy = sch.cache_read(block, operand, "shared")
        sch.compute_at(copy, k0)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x = sch.split(fused, [None, tile, tile])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction(block, k0)
    return sch.mod
