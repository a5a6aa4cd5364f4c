"""Micro-kernels of a float32 matrix product: a tile of C is kept while a strip of A and B passes.

`C[m, n] += A[m, k] * B[k, n]`, a row of B and of C as one vector; A is read in place, an element
at a time.
"""

from __future__ import annotations

from functools import partial


def _parameters(m: int, n: int, k: int) -> str:
    return f"""
    A: T.Buffer(({m}, {k}), "float32", offset_factor=1),
    B: T.Buffer(({k}, {n}), "float32", offset_factor=1),
    C: T.Buffer(({m}, {n}), "float32", offset_factor=1),
"""


def _regions(m: int, n: int, k: int) -> str:
    return f"""
        T.reads(C[0:{m}, 0:{n}], A[0:{m}, 0:{k}], B[0:{k}, 0:{n}])
        T.writes(C[0:{m}, 0:{n}])"""


def _desc(m: int, n: int, k: int) -> str:
    return f"""
@T.prim_func
def matmul_{m}x{n}x{k}_f32_desc({_parameters(m, n, k)}):
    with T.block("root"):{_regions(m, n, k)}
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def _impl(m: int, n: int, k: int) -> str:
    return f"""
@T.prim_func
def matmul_{m}x{n}x{k}_f32_rows({_parameters(m, n, k)}):
    with T.block("root"):{_regions(m, n, k)}
        for k, i in T.grid({k}, {m}):
            C[i, T.ramp(0, 1, {n})] = (
                C[i, T.ramp(0, 1, {n})]
                + T.broadcast(A[i, k], {n}) * B[k, T.ramp(0, 1, {n})])
"""


def matmul(m: int, n: int, k: int) -> tuple[str, str]:
    """The micro-kernel of a tile: description, implementation."""
    return _desc(m, n, k), _impl(m, n, k)


INTRINSICS = {
    f"matmul_{m}x{n}x{k}_f32": partial(matmul, m, n, k)
    for m, n, k in ((4, 4, 4), (4, 16, 4), (8, 16, 8), (16, 16, 16))
}
"""Name -> the maker of description and implementation."""
