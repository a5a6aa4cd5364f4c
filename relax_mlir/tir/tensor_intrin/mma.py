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

from dataclasses import dataclass

from relax_mlir.errors import Error
from relax_mlir.tir.tensor_intrin.script import Parameter, function

M_DIM = N_DIM = 16
WARP_SIZE = 32
HALF_WARP = WARP_SIZE // 2

_SUMS = {"float16": "fp16", "float32": "fp32", "int32": "int32"}


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


def layout_of_sums(i: str, j: str) -> tuple[str, str]:
    """(thread, register) of an element of a 16 by 16 tile; also of 16 bit factors."""
    thread = f"4 * ({i} % 8) + ({j} % 8) // 2"
    return thread, f"4 * ({j} // 8) + ({i} // 8) * 2 + ({j} % 2)"


def _layout_16x32(i: str, j: str) -> tuple[str, str]:
    return f"4 * ({i} % 8) + ({j} % 16) // 4", f"8 * ({j} // 16) + ({i} // 8) * 4 + {j} % 4"


def _layout_32x16(i: str, j: str) -> tuple[str, str]:
    return f"({i} % 16) // 4 + 4 * ({j} % 8)", f"8 * ({j} // 8) + ({i} // 16) * 4 + {i} % 4"


def _layout_16x8(i: str, j: str) -> tuple[str, str]:
    """TF32: rows are those of A, or the columns of B."""
    return f"4 * ({i} % 8) + {j} % 4", f"2 * ({j} // 4) + {i} // 8"


def _layout_8x16(k: str, j: str) -> tuple[str, str]:
    """TF32, B as it multiplies."""
    return f"4 * ({j} % 8) + {k} % 4", f"2 * ({j} // 8) + {k} // 4"


def _layout_of_columns(j: str, k: str) -> tuple[str, str]:
    """TF32, B transposed: the registers of one `mma` of eight columns follow each other."""
    return _layout_8x16(k, j)


def _layout(factors: Factors, matrix: str, transposed: bool) -> tuple[tuple[str, str], ...]:
    """Shape of a tile in memory as text, and its layout at (v0, v1)."""
    rows, columns = (M_DIM, factors.k_dim) if matrix == "A" else (factors.k_dim, N_DIM)
    shape = (columns, rows) if transposed else (rows, columns)
    if factors.k_dim == 16:
        place = layout_of_sums("v0", "v1")
    elif factors.short == "tf32":
        by_matrix = {("A", False): _layout_16x8, ("B", False): _layout_8x16,
                     ("B", True): _layout_of_columns}  # fmt: skip
        if (matrix, transposed) not in by_matrix:
            raise Error("A of tf32 is not transposed", hint="transpose_layout the operand first")
        place = by_matrix[matrix, transposed]("v0", "v1")
    else:
        if matrix == "A" and transposed:
            raise Error(f"A of {factors.dtype} is not transposed: ldmatrix moves pairs of bytes")
        place = (_layout_32x16 if matrix == "B" and not transposed else _layout_16x32)("v0", "v1")
    return (str(shape[0]), str(shape[1])), place


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
    (rows, columns), (thread, register) = _layout(factors, matrix, transposed)
    tile = (int(rows), int(columns))
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
    call = (
        f'T.evaluate(T.ptx_mma("{sums}", "m16n8k{k_dim}", "row", "col", "{first.ptx}", '
        f'"{second.ptx}", "{_SUMS[sums]}", A.data, A.elem_offset + tx * {registers}, '
        "B.data, B.elem_offset + tx * {registers}{b}, C.data, C.elem_offset + tx * {sums}{c}, "
        "False))"
    )
    calls = [
        call.format(registers=registers, sums=REGISTERS_OF_SUMS, b=b_half, c=c_half)
        for b_half, c_half in (("", ""), (f" + {registers // 2}", f" + {REGISTERS_OF_SUMS // 2}"))
    ]
    loop = f'for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):\n    '
    impl = function(f"{name}_impl", [A, B, C], loop + "\n    ".join(calls), [C, A, B], [C])
    return desc, impl


def _products(a: Factors, b: Factors, sums: str, a_transposed: bool, b_transposed: bool) -> str:
    """The description's loops."""
    _, place_a = _layout(a, "A", a_transposed)
    _, place_b = _layout(b, "B", b_transposed)
    at_a = ("vk", "vi") if a_transposed else ("vi", "vk")
    at_b = ("vj", "vk") if b_transposed else ("vk", "vj")
    elements = [
        f"{name}[{place[0]}, {place[1]}]".replace("v0", at[0]).replace("v1", at[1])
        for name, place, at in (("A", place_a, at_a), ("B", place_b, at_b))
    ]
    thread, register = layout_of_sums("vi", "vj")
    sum_ = f"C[{thread}, {register}]"
    factors = [
        f'T.cast({e}, "{sums}")' if sums in ("float32", "int32") and f.dtype != sums else e
        for e, f in zip(elements, (a, b), strict=True)
    ]
    return f"""
        for i, j, k in T.grid({M_DIM}, {N_DIM}, {a.k_dim}):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads({sum_}, {elements[0]}, {elements[1]})
                T.writes({sum_})
                {sum_} = {sum_} + {factors[0]} * {factors[1]}"""


def fill(sums: str) -> tuple[str, str]:
    """Zeros in a fragment of sums: description, implementation."""
    warp = Parameter("C_warp", (WARP_SIZE, REGISTERS_OF_SUMS), sums, "warp")
    thread, register = layout_of_sums("v0", "v1")
    desc = f"""
        for i0, i1 in T.grid({M_DIM}, {N_DIM}):
            with T.block("C_warp"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads()
                T.writes(C_warp[{thread}, {register}])
                C_warp[{thread}, {register}] = T.{sums}(0)"""
    impl = f"""
        for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
            T.evaluate(T.mma_fill("{sums}", {REGISTERS_OF_SUMS}, C_warp.data,
                C_warp.elem_offset))"""
    return (function("mma_fill_desc", [warp], desc, [], [warp]),
            function("mma_fill_impl", [warp], impl, [], [warp]))  # fmt: skip


def store(sums: str, scope: str = "global", by_intrinsic: bool = True) -> tuple[str, str]:
    """Store a fragment of sums into a tile, by `T.mma_store` or element by element."""
    warp = Parameter("C_warp", (WARP_SIZE, REGISTERS_OF_SUMS), sums, "warp")
    tile = Parameter("C", (M_DIM, N_DIM), sums, scope)
    thread, register = layout_of_sums("v0", "v1")
    copy = _copy("C[v0, v1]", f"C_warp[{thread}, {register}]", (M_DIM, N_DIM), "C_warp")
    desc = function("mma_store_desc", [warp, tile], copy, [warp], [tile])
    loop = f'for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):\n    '
    strides = {"C": ("s0", "s1")} if by_intrinsic else None
    if by_intrinsic:
        body = (
            f'{loop}T.evaluate(T.mma_store("{sums}", {M_DIM}, {N_DIM}, C.access_ptr("w"), '
            "C_warp.data, C_warp.elem_offset, s0))"
        )
    else:
        row, column = "8 * (l % 4 // 2) + tx // 4", "8 * (l // 4) + tx % 4 * 2 + l % 2"
        body = (
            f"{loop}for l in T.serial({REGISTERS_OF_SUMS}):\n"
            f"        C[{row}, {column}] = C_warp[tx, l]"
        )
    return desc, function("mma_store_impl", [warp, tile], body, [warp], [tile], strides)
