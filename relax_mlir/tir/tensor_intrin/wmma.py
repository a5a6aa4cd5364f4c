"""Tensor cores by WMMA: fragments are opaque; loading, filling, storing and `C += A * B` of them.

Descriptions, calls and layouts are TVM's (`tvm.tir.tensor_intrin.cuda`): a buffer in scope
"wmma.matrix_a", "wmma.matrix_b" or "wmma.accumulator" is a matrix of tiles, and a fragment is named
by its number in it.
"""

from __future__ import annotations

from relax_mlir.tir.tensor_intrin.script import Parameter, function


def _number(name: str, stride: str, rows: int, columns: int) -> str:
    """The number of a fragment in its buffer."""
    place, per_row = f"{name}.elem_offset", f"({stride} // {columns})"
    return f"{place} // {stride} // {rows} * {per_row} + {place} % {stride} // {columns}"


def load(
    m: int, n: int, k: int, dtype: str, scope: str, is_b: bool, is_col_major: bool
) -> tuple[str, str]:
    """Load a tile from shared memory into a fragment."""
    shape = (k, n) if is_b else (m, k)
    rows, columns = shape[::-1] if is_col_major else shape
    fragment = f"wmma.matrix_{'b' if is_b else 'a'}"
    A = Parameter("A", (rows, columns), dtype, scope, columns)
    C = Parameter("C", (rows, columns), dtype, fragment, columns)
    desc = _copy("C[vii, vjj]", "A[vii, vjj]", (rows, columns), "load")
    impl = f"""
        T.evaluate(T.tvm_load_matrix_sync(C.data, {m}, {n}, {k},
            {_number("C", "d1", rows, columns)}, A.access_ptr("r"), s1,
            "{"col_major" if is_col_major else "row_major"}"))"""
    strides = {"A": ("s1", "s0"), "C": ("d1", "d0")}
    return (function("wmma_load_desc", [A, C], desc, [A], [C]),
            function("wmma_load_impl", [A, C], impl, [A], [C], strides))  # fmt: skip


def fill(m: int, n: int, k: int, dtype: str) -> tuple[str, str]:
    """Zeros in a fragment of sums."""
    C = Parameter("C", (m, n), dtype, "wmma.accumulator", n)
    desc = f"""
        for i, j in T.grid({m}, {n}):
            with T.block("init"):
                vii, vjj = T.axis.remap("SS", [i, j])
                C[vii, vjj] = T.{dtype}(0)"""
    impl = f"""
        T.evaluate(T.tvm_fill_fragment(C.data, {m}, {n}, {k}, {_number("C", "d1", m, n)},
            T.float32(0)))"""
    return (function("wmma_fill_desc", [C], desc, [], [C]),
            function("wmma_fill_impl", [C], impl, [], [C], {"C": ("d1", "d0")}))  # fmt: skip


def store(m: int, n: int, k: int, dtype: str, scope: str) -> tuple[str, str]:
    """Store a fragment of sums into a tile."""
    A = Parameter("A", (m, n), dtype, "wmma.accumulator", n)
    C = Parameter("C", (m, n), dtype, scope, n)
    impl = f"""
        T.evaluate(T.tvm_store_matrix_sync(A.data, {m}, {n}, {k}, {_number("A", "d1", m, n)},
            C.access_ptr("w"), s1, "row_major"))"""
    strides = {"A": ("d1", "d0"), "C": ("s1", "s0")}
    desc = _copy("C[vii, vjj]", "A[vii, vjj]", (m, n), "store")
    return (function("wmma_store_desc", [A, C], desc, [A], [C]),
            function("wmma_store_impl", [A, C], impl, [A], [C], strides))  # fmt: skip


def sync(
    m: int, n: int, k: int, dtype: str, sums: str, b_transposed: bool = False
) -> tuple[str, str]:
    """`C += A * B` of fragments."""
    shape_b = (n, k) if b_transposed else (k, n)
    A = Parameter("A", (m, k), dtype, "wmma.matrix_a", k)
    B = Parameter("B", shape_b, dtype, "wmma.matrix_b", shape_b[1])
    C = Parameter("C", (m, n), sums, "wmma.accumulator", n)
    a, b = "A[vii, vkk]", "B[vjj, vkk]" if b_transposed else "B[vkk, vjj]"
    if dtype != sums:
        a, b = f'T.cast({a}, "{sums}")', f'T.cast({b}, "{sums}")'
    desc = f"""
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("sync"):
                vii, vjj, vkk = T.axis.remap("SSR", [i, j, k])
                C[vii, vjj] = C[vii, vjj] + {a} * {b}"""
    numbers = {"C": _number("C", "c1", m, n), "A": _number("A", "a1", m, k),
               "B": _number("B", "b1", *shape_b)}  # fmt: skip
    fragments = ", ".join(f"{name}.data, {numbers[name]}" for name in ("C", "A", "B", "C"))
    impl = f"T.evaluate(T.tvm_mma_sync({fragments}))"
    strides = {"A": ("a1", "a0"), "B": ("b1", "b0"), "C": ("c1", "c0")}
    return (function("wmma_sync_desc", [A, B, C], desc, [C, A, B], [C]),
            function("wmma_sync_impl", [A, B, C], impl, [C, A, B], [C], strides))  # fmt: skip


def _copy(target: str, source: str, shape: tuple[int, int], name: str) -> str:
    return f"""
        for i, j in T.grid({shape[0]}, {shape[1]}):
            with T.block("{name}"):
                vii, vjj = T.axis.remap("SS", [i, j])
                {target} = {source}"""
