"""Tensor cores by `mma.sync`: a tile of 16 by 16 sums, the fragments in the registers of a warp.

A fragment is a buffer of shape (32, registers) in scope "warp": one row for each thread.  The
descriptions are TVM's (`tvm.tir.tensor_intrin.cuda`), so that the layouts of its schedules fit:
they describe what loading, multiplying and storing do together.  Where an element of B lies between
`ldmatrix` and `mma` is the instructions' own affair; it is described as where A's would lie.

The implementations say all that a code generator needs: `T.ptx_ldmatrix`, `T.ptx_mma`,
`T.mma_fill`, `T.mma_store`, with the buffer's address and the offset of a thread's first register
in elements.  `buffer.data` is the address of the whole storage, `access_ptr` that of the part.
`ldmatrix` moves pairs of bytes, which transposes neither bytes nor TF32 factors (float32 in memory,
in the layout of PTX's m16n8k8): those tiles are loaded element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir.expr import Var
from relax_mlir.tir.tensor_intrin.script import Parameter, function

M_DIM = N_DIM = 16
WARP_SIZE = 32
HALF_WARP = WARP_SIZE // 2

SUMS = {"float16": "fp16", "float32": "fp32", "int32": "int32"}
"""Dtype of sums -> its name in `ptx_mma`."""


@dataclass(frozen=True)
class Factors:
    """A dtype of factors: its short name here and in PTX, and how many products an `mma` adds."""

    dtype: str
    short: str
    ptx: str
    k_dim: int

    @property
    def registers(self) -> int:
        """Elements of a fragment that each thread holds."""
        return M_DIM * self.k_dim // WARP_SIZE


FACTORS = {
    f.short: f
    for f in (
        Factors("float16", "f16", "fp16", 16),
        Factors("bfloat16", "bf16", "bf16", 16),
        Factors("float32", "tf32", "tf32", 8),
        Factors("int8", "i8", "int8", 32),
        Factors("float8_e4m3fn", "e4m3", "e4m3", 32),
        Factors("float8_e5m2", "e5m2", "e5m2", 32),
    )
}
"""Short name -> factors."""

REGISTERS_OF_SUMS = M_DIM * N_DIM // WARP_SIZE


Layout = Callable[[Any, Any], tuple[Any, Any]]
"""(thread, register) of an element of a tile, of numbers or of expressions."""


def shared_16x16_to_ldmatrix_32x8_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """(thread, register) of an element of a 16 by 16 tile of 16 bit numbers, or of sums."""
    return 4 * (i % 8) + (j % 8) // 2, 4 * (j // 8) + (i // 8) * 2 + (j % 2)


def shared_16x32_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """(thread, register) of an element of a 16 by 32 tile of bytes."""
    return 4 * (i % 8) + (j % 16) // 4, 8 * (j // 16) + (i // 8) * 4 + j % 4


def shared_32x16_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """(thread, register) of an element of a 32 by 16 tile of bytes."""
    return (i % 16) // 4 + 4 * (j % 8), 8 * (j // 8) + (i // 16) * 4 + i % 4


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> tuple[Any, Any]:
    """(row, column) of a register of a fragment, the inverse of the first."""
    row = 8 * (local_id % 4 // 2) + (thread_id // 4)
    return row, 8 * (local_id // 4) + (thread_id % 4) * 2 + (local_id % 2)


def tf32_rows_layout(i: Any, k: Any) -> tuple[Any, Any]:
    """(thread, register) of an element of TF32's A."""
    return 4 * (i % 8) + k % 4, 2 * (k // 4) + i // 8


def tf32_columns_layout(j: Any, k: Any) -> tuple[Any, Any]:
    """(thread, register) of an element of TF32's B transposed: the registers of one `mma` of eight
    columns follow each other."""
    return 4 * (j % 8) + k % 4, 2 * (j // 8) + k // 4


def text_of_layout(layout: Layout, i: str, j: str) -> tuple[str, str]:
    """A layout's place of an element, as text over the names of its indices."""
    first, second = layout(Var(i, "int32"), Var(j, "int32"))
    return str(first), str(second)


def _layout(factors: Factors, matrix: str, transposed: bool) -> tuple[tuple[int, int], Layout]:
    """Shape of a tile in memory, and its layout."""
    rows, columns = (M_DIM, factors.k_dim) if matrix == "A" else (factors.k_dim, N_DIM)
    shape = (columns, rows) if transposed else (rows, columns)
    if factors.k_dim == 16:
        return shape, shared_16x16_to_ldmatrix_32x8_layout
    if matrix == "A" and transposed:
        raise Error(f"A of {factors.dtype} is not transposed: ldmatrix moves pairs of bytes",
                    hint="transform_layout the operand first")  # fmt: skip
    if factors.short == "tf32":
        by_rows = tf32_rows_layout if matrix == "A" else tf32_columns_layout
        as_it_multiplies = matrix == "B" and not transposed
        return shape, (lambda k, j: by_rows(j, k)) if as_it_multiplies else by_rows
    if matrix == "B" and not transposed:
        return shape, shared_32x16_to_ldmatrix_32x16_layout
    return shape, shared_16x32_to_ldmatrix_32x16_layout


def _copy(target: str, source: str, shape: tuple[int, int], name: str) -> str:
    """A description: each element of a tile is copied; the texts are at (v0, v1)."""
    return f"""
        for ax0, ax1 in T.grid({shape[0]}, {shape[1]}):
            with T.block("{name}"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads({source})
                T.writes({target})
                {target} = {source}"""


def ldmatrix(
    short: str, matrix: str, transposed: bool = False, scope: str = "shared"
) -> tuple[str, str]:
    """Load a tile of A or B from shared memory into a fragment: description, implementation.

    Raises Error where the instruction cannot.
    """
    factors = FACTORS[short]
    tile, layout = _layout(factors, matrix, transposed)
    thread, register = text_of_layout(layout, "v0", "v1")
    shared = Parameter("shared", tile, factors.dtype, scope, tile[1])
    warp = Parameter("warp", (WARP_SIZE, factors.registers), factors.dtype, "warp", tile[1])
    copy = _copy(f"warp[{thread}, {register}]", "shared[v0, v1]", tile, "shared_warp")
    name = f"mma_ldmatrix_{short}_{matrix.lower()}"
    desc = function(f"{name}_desc", [warp, shared], copy, [shared], [warp])
    if short == "tf32" or (factors.k_dim == 32 and matrix == "B" and not transposed):
        body = _by_element(factors, matrix, transposed)
        return desc, function(f"{name}_impl", [warp, shared], body, [shared], [warp])
    transposing = transposed if matrix == "A" else not transposed
    body = f"""
        for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
            T.evaluate(T.ptx_ldmatrix("{factors.dtype}", {transposing}, 4, ".b16", warp.data,
                warp.elem_offset + {factors.registers} * tx, shared.access_ptr("r"),
                {_row_of_thread(factors, matrix, transposed)}))"""
    return desc, function(f"{name}_impl", [warp, shared], body, [shared], [warp],
                          {"shared": ("s0", "s1")})  # fmt: skip


def _row_of_thread(factors: Factors, matrix: str, transposed: bool) -> str:
    """The offset of the row of 16 bytes whose address a thread gives."""
    if factors.k_dim == 16:
        if transposed:
            return f"s0 * 8 * (tx // {HALF_WARP}) + s0 * (tx % 8) + 8 * ((tx % {HALF_WARP}) // 8)"
        return f"s0 * (tx % {HALF_WARP}) + 8 * (tx // {HALF_WARP})"
    if matrix == "A":
        return "s0 * (tx % 16) + 16 * (tx // 16)"
    return f"s0 * 8 * (tx // {HALF_WARP}) + (tx % 8) * s0 + 16 * ((tx % {HALF_WARP}) // 8)"


def _by_element(factors: Factors, matrix: str, transposed: bool) -> str:
    """Each thread loads its registers of a fragment."""
    if factors.k_dim == 32:
        place = "tx % 4 * 4 + l % 4 + 16 * (l // 4 % 2), tx // 4 + 8 * (l // 8)"
    elif matrix == "A":
        place = "tx // 4 + 8 * (l % 2), tx % 4 + 4 * (l // 2)"
    else:
        k, j = "tx % 4 + 4 * (l % 2)", "tx // 4 + 8 * (l // 2)"
        place = f"{j}, {k}" if transposed else f"{k}, {j}"
    return f"""
        for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
            for l in T.serial({factors.registers}):
                warp[tx, l] = shared[{place}]"""


def mma(
    a: str, b: str, sums: str, a_transposed: bool = False, b_transposed: bool = False
) -> tuple[str, str]:
    """`C += A * B` of fragments, by two instructions of eight columns: description, implementation.

    `a`, `b` are short names of factors, `sums` the dtype of C.
    """
    first, second = FACTORS[a], FACTORS[b]
    k_dim, registers = first.k_dim, first.registers
    warp = "warp"
    A = Parameter("A", (WARP_SIZE, registers), first.dtype, warp, M_DIM if a_transposed else k_dim)
    B = Parameter("B", (WARP_SIZE, registers), second.dtype, warp, k_dim if b_transposed else N_DIM)
    C = Parameter("C", (WARP_SIZE, REGISTERS_OF_SUMS), sums, warp, N_DIM)
    body = _products(first, second, sums, a_transposed, b_transposed)
    name = f"mma_{a}_{b}"
    desc = function(f"{name}_desc", [A, B, C], body, [C, A, B], [C])
    calls = [
        f'T.evaluate(T.ptx_mma("{sums}", "m16n8k{k_dim}", "row", "col", "{first.ptx}", '
        f'"{second.ptx}", "{SUMS[sums]}", A.data, A.elem_offset + tx * {registers}, '
        f"B.data, B.elem_offset + tx * {registers} + {registers // 2 * half}, "
        f"C.data, C.elem_offset + tx * {REGISTERS_OF_SUMS} + {REGISTERS_OF_SUMS // 2 * half}, "
        "False))"
        for half in (0, 1)
    ]
    loop = f'for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):\n    '
    impl = function(f"{name}_impl", [A, B, C], loop + "\n    ".join(calls), [C, A, B], [C])
    return desc, impl


def _products(a: Factors, b: Factors, sums: str, a_transposed: bool, b_transposed: bool) -> str:
    """The description's loops."""
    at_a = ("vk", "vi") if a_transposed else ("vi", "vk")
    at_b = ("vj", "vk") if b_transposed else ("vk", "vj")
    _, layout_a = _layout(a, "A", a_transposed)
    _, layout_b = _layout(b, "B", b_transposed)
    elements = [
        f"{name}[{', '.join(text_of_layout(layout, *at))}]"
        for name, layout, at in (("A", layout_a, at_a), ("B", layout_b, at_b))
    ]
    sum_ = f"C[{', '.join(text_of_layout(shared_16x16_to_ldmatrix_32x8_layout, 'vi', 'vj'))}]"
    factors = [
        e if f.dtype == sums else f'T.cast({e}, "{sums}")'
        for e, f in zip(elements, (a, b), strict=True)
    ]
    return f"""
        for i, j, k in T.grid({M_DIM}, {N_DIM}, {a.k_dim}):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads({sum_}, {elements[0]}, {elements[1]})
                T.writes({sum_})
                {sum_} = {sum_} + {factors[0]} * {factors[1]}"""


def fill(sums: str, columns: int = N_DIM) -> tuple[str, str]:
    """Zeros in a fragment of sums: description, implementation."""
    registers = M_DIM * columns // WARP_SIZE
    warp = Parameter("C_warp", (WARP_SIZE, registers), sums, "warp")
    thread, register = text_of_layout(shared_16x16_to_ldmatrix_32x8_layout, "v0", "v1")
    desc = f"""
        for i0, i1 in T.grid({M_DIM}, {columns}):
            with T.block("C_warp"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads()
                T.writes(C_warp[{thread}, {register}])
                C_warp[{thread}, {register}] = T.{sums}(0)"""
    impl = f"""
        for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
            T.evaluate(T.mma_fill("{sums}", {registers}, C_warp.data,
                C_warp.elem_offset))"""
    return (function("mma_fill_desc", [warp], desc, [], [warp]),
            function("mma_fill_impl", [warp], impl, [], [warp]))  # fmt: skip


def store(
    sums: str, scope: str = "global", by_intrinsic: bool = True, columns: int = N_DIM
) -> tuple[str, str]:
    """Store a fragment of sums into a tile, by `T.mma_store` or element by element."""
    registers = M_DIM * columns // WARP_SIZE
    warp = Parameter("C_warp", (WARP_SIZE, registers), sums, "warp")
    tile = Parameter("C", (M_DIM, columns), sums, scope)
    thread, register = text_of_layout(shared_16x16_to_ldmatrix_32x8_layout, "v0", "v1")
    copy = _copy("C[v0, v1]", f"C_warp[{thread}, {register}]", (M_DIM, columns), "C_warp")
    desc = function("mma_store_desc", [warp, tile], copy, [warp], [tile])
    loop = f'for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):\n    '
    strides = {"C": ("s0", "s1")} if by_intrinsic else None
    if by_intrinsic:
        body = (
            f'{loop}T.evaluate(T.mma_store("{sums}", {M_DIM}, {columns}, C.access_ptr("w"), '
            "C_warp.data, C_warp.elem_offset, s0))"
        )
    else:
        row, column = text_of_layout(ldmatrix_32x8_to_shared_16x16_layout, "tx", "l")
        body = f"{loop}for l in T.serial({registers}):\n        C[{row}, {column}] = C_warp[tx, l]"
    return desc, function("mma_store_impl", [warp, tile], body, [warp], [tile], strides)
