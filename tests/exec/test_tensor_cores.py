"""Matrix products through the tensor core intrinsics: the schedules that use them apply, and what
their instructions do to numbers is what the descriptions say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.errors import Error, ScheduleError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T
from relax_mlir.tir import TensorIntrin
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.schedule.matching import Matcher
from relax_mlir.tir.tensor_intrin import cuda

Layout = Callable[[Any, Any], tuple[Any, Any]]


def product(dtype: str, sums: str, trans_a: bool, trans_b: bool) -> IRModule:
    """A matrix product of 64 by 64 by 64."""
    a = "A[vk, vi]" if trans_a else "A[vi, vk]"
    b = "B[vj, vk]" if trans_b else "B[vk, vj]"
    if dtype != sums:
        a, b = f'T.cast({a}, "{sums}")', f'T.cast({b}, "{sums}")'
    parsed = from_source(
        f"""
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64, 64), "{dtype}"), B: T.Buffer((64, 64), "{dtype}"),
             C: T.Buffer((64, 64), "{sums}")):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.{sums}(0)
                C[vi, vj] = C[vi, vj] + {a} * {b}
""",
        {"T": T, "I": I},
    )
    assert isinstance(parsed, IRModule), "the text is that of a module"
    return parsed


def tf32_of_b(k: Any, j: Any) -> tuple[Any, Any]:
    return 4 * (j % 8) + k % 4, 2 * (j // 8) + k // 4


def layouts(k_dim: int, trans_b: bool) -> tuple[Layout, Layout]:
    """Where in a fragment a tile's elements lie, of A and of B."""
    if k_dim == 16:
        both = cuda.shared_16x16_to_ldmatrix_32x8_layout
        return both, both
    if k_dim == 32:
        a = cuda.shared_16x32_to_ldmatrix_32x16_layout
        return a, a if trans_b else cuda.shared_32x16_to_ldmatrix_32x16_layout
    b: Layout = (lambda j, k: tf32_of_b(k, j)) if trans_b else tf32_of_b
    return lambda i, k: (4 * (i % 8) + k % 4, 2 * (k // 4) + i // 8), b


def in_tiles(rows: int, columns: int, layout: Layout) -> Callable[[Any, Any], list[Any]]:
    return lambda i, j: [i // rows, j // columns, *layout(i % rows, j % columns)]


def scheduled(
    module: IRModule, k_dim: int, group: dict[str, str], trans_a: bool, trans_b: bool
) -> Schedule:
    """A warp computes a tile of 16 by 16, through shared memory and fragments."""
    sch = Schedule(module, debug_mask="all")
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (i0, i1), (j0, j1) = sch.split(i, [None, 16]), sch.split(j, [None, 16])
    k0, k1 = sch.split(k, [None, k_dim])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    sch.bind(i0, "blockIdx.x")
    sch.bind(j0, "blockIdx.y")
    sums = sch.cache_write(block, 0, "warp")
    sch.reverse_compute_at(sums, j0)
    for number in (0, 1):
        sch.compute_at(sch.cache_read(block, number, "shared"), k0)
    a, b = sch.cache_read(block, 0, "warp"), sch.cache_read(block, 1, "warp")
    of_a, of_b = layouts(k_dim, trans_b)
    tile_a = in_tiles(k_dim, 16, of_a) if trans_a else in_tiles(16, k_dim, of_a)
    tile_b = in_tiles(16, k_dim, of_b) if trans_b else in_tiles(k_dim, 16, of_b)
    sch.transform_layout(a, ("write", 0), tile_a)
    sch.transform_layout(b, ("write", 0), tile_b)
    of_sums = in_tiles(16, 16, cuda.shared_16x16_to_ldmatrix_32x8_layout)
    sch.transform_layout(sums, ("read", 0), of_sums)
    init = sch.decompose_reduction(block, k0)
    sch.tensorize(sch.get_loops(init)[-2], group["init"])
    sch.tensorize(sch.get_loops(a)[-2], group["load_a"])
    sch.tensorize(sch.get_loops(b)[-2], group["load_b"])
    sch.tensorize(sch.get_loops(block)[-3], group["compute"])
    sch.tensorize(sch.get_loops(sums)[-2], group["store"])
    return sch


CASES = [
    ("float16", "float32", 16, False, False), ("float16", "float16", 16, False, True),
    ("float16", "float32", 16, True, False), ("float16", "float32", 16, True, True),
    ("bfloat16", "float32", 16, False, False), ("bfloat16", "float32", 16, False, True),
    ("float32", "float32", 8, False, False), ("float32", "float32", 8, False, True),
    ("int8", "int32", 32, False, False), ("int8", "int32", 32, False, True),
    ("float8_e4m3fn", "float32", 32, False, True), ("float8_e5m2", "float32", 32, False, False),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "sums", "k_dim", "trans_a", "trans_b"), CASES)
def test_mma_group(dtype: str, sums: str, k_dim: int, trans_a: bool, trans_b: bool) -> None:
    simple = trans_b
    group = cuda.get_mma_intrin_group("shared", "global", dtype, sums, trans_a, trans_b, simple)
    module = product(dtype, sums, trans_a, trans_b)
    sch = scheduled(module, k_dim, group, trans_a, trans_b)
    text = sch.mod.script()
    assert text.count("T.ptx_mma(") == 2
    assert text.count("T.mma_store(") == (not simple)
    assert IRModule.parse(sch.mod.mlir()) == sch.mod
    again = from_source(text, {"I": I, "T": T}).script()
    assert from_source(again, {"I": I, "T": T}).script() == again
    if dtype == "int8":
        replayed = Schedule(module)
        sch.trace.apply_to_schedule(replayed)
        assert replayed.mod == sch.mod


def test_wmma_group() -> None:
    group = cuda.get_wmma_intrin_group("shared", "global", "float16", "float32", True)
    sch = Schedule(product("float16", "float32", False, True), debug_mask="all")
    block = sch.get_block("C")
    loops = [sch.split(loop, [None, 16]) for loop in sch.get_loops(block)]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    k0 = loops[2][0]
    sums = sch.cache_write(block, 0, "wmma.accumulator")
    sch.reverse_compute_at(sums, loops[1][0])
    fragments = []
    for number, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b")):
        sch.compute_at(sch.cache_read(block, number, "shared"), k0)
        fragments.append(sch.cache_read(block, number, scope))
    init = sch.decompose_reduction(block, k0)
    for place, depth, kind in ((init, 2, "init"), (fragments[0], 2, "load_a"),
                               (fragments[1], 2, "load_b"), (block, 3, "compute"),
                               (sums, 2, "store")):  # fmt: skip
        sch.tensorize(sch.get_loops(place)[-depth], group[kind])
    text = sch.mod.script()
    for call in ("tvm_fill_fragment", "tvm_load_matrix_sync", "tvm_mma_sync",
                 "tvm_store_matrix_sync"):  # fmt: skip
        assert call in text
    assert from_source(text, {"I": I, "T": T}).script() == text


def test_a_buffer_whose_address_was_given_away_is_not_replaced() -> None:
    group = cuda.get_mma_intrin_group("shared", "global", "float16", "float32", False, False)
    sch = scheduled(product("float16", "float32", False, False), 16, group, False, False)
    before = sch.mod
    with pytest.raises(ScheduleError, match=r"uses A_shared in (memref.subview|tir.address_of)"):
        sch.cache_read("A_shared_warp_o", 0, "shared")
    with pytest.raises(ScheduleError, match="is used by"):
        sch.transform_layout("A_shared", ("write", 0), lambda i, j: [j, i])
    assert sch.mod == before


# -- what the instructions do ---------------------------------------------------------------------


def load_matrices(memory: np.ndarray, rows: list[int], transposing: bool) -> np.ndarray:
    """PTX's ldmatrix.x4.b16: lane l holds two numbers of row l // 4 of each of four matrices."""
    fragment = np.zeros((32, 8), memory.dtype)
    for number in range(4):
        matrix = np.array([memory[start : start + 8] for start in rows[8 * number :][:8]])
        matrix = matrix.T if transposing else matrix
        fragment[:, 2 * number : 2 * number + 2] = matrix.reshape(32, 2)
    return fragment


def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """PTX's mma.m16n8k16: c[32, 4] += a[32, 8] * b[32, 4]."""
    lane = np.arange(32)
    group, member = lane // 4, lane % 4
    wide_a, wide_b, sums = np.zeros((16, 16)), np.zeros((16, 8)), np.zeros((16, 8))
    for n in range(8):
        wide_a[group + 8 * (n // 2 % 2), 2 * member + n % 2 + 8 * (n // 4)] = a[:, n]
    for n in range(4):
        wide_b[2 * member + n % 2 + 8 * (n // 2), group] = b[:, n]
    sums = wide_a @ wide_b
    for n in range(4):
        c[:, n] += sums[group + 8 * (n // 2), 2 * member + n % 2]


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_instructions_compute_the_product(trans_a: bool, trans_b: bool) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-4, 5, (16, 16)).astype("f8"), rng.integers(-4, 5, (16, 16)).astype("f8")
    s0, fragments = 24, []
    for matrix, transposed, tile in (("a", trans_a, a), ("b", trans_b, b)):
        name = f"mma_ldmatrix_f16_{matrix}{'_trans' * transposed}"
        intrin = TensorIntrin.get(name)
        assert intrin is not None
        call = intrin.impl.script().split("T.ptx_ldmatrix(")[1].split("))\n")[0].rstrip(")")
        _, transposing, *_, offset = [part.strip() for part in _arguments(call)]
        memory = np.full((16, s0), np.nan)
        memory[:, :16] = tile.T if transposed else tile
        rows = [eval(offset, {"tx": tx, "s0": s0}) for tx in range(32)]
        flag = transposing == "T.bool(True)"
        fragments.append(load_matrices(memory.reshape(-1), rows, flag))
    sums = np.zeros((32, 8))
    for half in (0, 4):
        multiply(fragments[0], fragments[1][:, half : half + 4], sums[:, half : half + 4])
    i, j = np.meshgrid(np.arange(16), np.arange(16), indexing="ij")
    np.testing.assert_array_equal(sums[cuda.shared_16x16_to_ldmatrix_32x8_layout(i, j)], a @ b)


def _arguments(text: str) -> list[str]:
    """The arguments of a call, split at the commas outside of brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


# -- the registry ---------------------------------------------------------------------------------


def test_every_intrinsic_parses_and_has_a_name() -> None:
    for name in TensorIntrin.names():
        assert TensorIntrin.get(name) is not None
    assert cuda.MMA_f16f16f32_TRANS_A_INTRIN == "mma_f16f16f32_trans_a"
    name = cuda.WMMA_LOAD_16x16x16_F16_B_TRANS_DYN_INTRIN
    assert name == "wmma_load_16x16x16_f16_b_trans_shared_dyn"
    with pytest.raises(Error, match="no tensor intrinsic"):
        TensorIntrin.get("mma_f17f17f32")
    with pytest.raises(Error, match=r"in_dtype is float64; instructions take float16"):
        cuda.get_mma_intrin_group("shared", "global", "float64", "float64", False, False)
    with pytest.raises(Error, match=r"store_to_smem_dtype is int8; instructions take float16"):
        cuda.get_mma_intrin_group("shared", "shared", "int8", "int32", False, True, True, "int8")
    with pytest.raises(Error, match="trans_a of float32 is True; instructions take False"):
        cuda.get_mma_intrin_group("shared", "global", "float32", "float32", True, False)
    with pytest.raises(Error, match="A of int8 is not transposed"):
        cuda.get_ldmatrix_intrin(32, "int8", "A", True)


_TVM = """
import json
from tvm.s_tir import TensorIntrin
from tvm.s_tir.tensor_intrin import cuda, dot_product_common, x86
names = {}
for module in (cuda, dot_product_common, x86):
    for constant in dir(module):
        if "INTRIN" in constant and isinstance(getattr(module, constant), str):
            names[constant] = getattr(module, constant)
print(json.dumps({c: [n, TensorIntrin.get(n).desc.script()] for c, n in names.items()}))
"""


@pytest.mark.tvm
def test_names_and_descriptions_are_tvms() -> None:
    run = subprocess.run([sys.executable, "-c", _TVM], capture_output=True, text=True, check=True)
    for constant, (name, text) in json.loads(run.stdout.splitlines()[-1]).items():
        ours = TensorIntrin.get(name)
        assert ours is not None
        if name.startswith(("mma", "wmma")):
            assert getattr(cuda, constant) == name
        theirs = from_source(text, {"T": T})
        assert not isinstance(theirs, IRModule)
        with mlir.scope():
            body = theirs.operation.regions[0].blocks[0]
            loop = next(op for op in body.operations if op.operation.name == "tir.for")
            Matcher(name, ours.desc.operation, loop.opview).run()
