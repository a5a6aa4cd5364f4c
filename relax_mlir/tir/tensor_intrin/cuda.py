"""The intrinsics of NVIDIA's tensor cores under TVM's names (`tvm.tir.tensor_intrin.cuda`).

The constants (`MMA_f16f16f32_INTRIN` ...) hold the names under which the intrinsics are registered;
the `get_` functions make others: pairs of description and implementation for
`TensorIntrin.register`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from relax_mlir.errors import Error
from relax_mlir.tir.tensor_intrin import mma, wmma
from relax_mlir.tir.tensor_intrin.mma import (
    HALF_WARP,
    M_DIM,
    N_DIM,
    WARP_SIZE,
    ldmatrix_32x8_to_shared_16x16_layout,
    shared_16x16_to_ldmatrix_32x8_layout,
    shared_16x32_to_ldmatrix_32x16_layout,
    shared_32x16_to_ldmatrix_32x16_layout,
)
from relax_mlir.tir.tensor_intrin.registry import parse_pair
from relax_mlir.tir.tensor_intrin.tensor_cores import (
    INTRINSICS,
    PRODUCTS,
    SHORT,
    WMMA_SHORT,
    constant_name,
    transposed_a,
)

if TYPE_CHECKING:
    from relax_mlir.tir.function import PrimFunc

    Pair = tuple[PrimFunc, PrimFunc]

__all__ = [
    "HALF_WARP",
    "M_DIM",
    "N_DIM",
    "WARP_SIZE",
    "get_ldmatrix_intrin",
    "get_mma_fill_intrin",
    "get_mma_intrin",
    "get_mma_intrin_group",
    "get_mma_store_intrin",
    "get_wmma_fill_intrin",
    "get_wmma_intrin_group",
    "get_wmma_load_intrin",
    "get_wmma_store_intrin",
    "get_wmma_sync_intrin",
    "ldmatrix_32x8_to_shared_16x16_layout",
    "shared_16x16_to_ldmatrix_32x8_layout",
    "shared_16x32_to_ldmatrix_32x16_layout",
    "shared_32x16_to_ldmatrix_32x16_layout",
]

_WMMA_SUMS = {
    "float16": ("float16", "float32"),
    "bfloat16": ("float32",),
    "int8": ("int32",),
}
"""Dtype of WMMA's factors -> those of sums.  (TVM has no names for bfloat16.)"""

_CONSTANTS = {constant_name(name): name for name in INTRINSICS}


def __getattr__(name: str) -> str:
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> list[str]:
    return [*__all__, *_CONSTANTS]


# -- makers, with TVM's parameters ---------------------------------------------------------------


def get_ldmatrix_intrin(
    k_dim: int, dtype: str, matrix_name: str, transposed: bool, shared_scope: str = "shared"
) -> Pair:
    """Load a tile of "A" or "B" from shared memory into a fragment.  Raises Error where the
    instruction cannot."""
    _require("matrix_name", matrix_name, ("A", "B"))
    return parse_pair(mma.ldmatrix(_factors(dtype, k_dim), matrix_name, transposed, shared_scope))


def get_mma_intrin(
    k_dim: int,
    a_dtype: str = "float16",
    b_dtype: str = "float16",
    out_dtype: str = "float16",
    a_transposed: bool = False,
    b_transposed: bool = False,
) -> Pair:
    """`C += A * B` of fragments, 16 by 16 by `k_dim`.  Raises Error for dtypes without one."""
    a, b = _factors(a_dtype, k_dim), _factors(b_dtype, k_dim)
    _require("b_dtype", b_dtype, (a_dtype,))
    _require("out_dtype", out_dtype, [sums for short, sums in PRODUCTS if short == a])
    return parse_pair(mma.mma(a, b, out_dtype, a_transposed, b_transposed))


def get_mma_fill_intrin(dtype: str, local_size: int = mma.REGISTERS_OF_SUMS) -> Pair:
    """Zeros in a fragment of sums."""
    _require("local_size", local_size, (mma.REGISTERS_OF_SUMS,))
    return parse_pair(mma.fill(dtype))


def get_mma_store_intrin(
    dtype: str,
    local_size: int = mma.REGISTERS_OF_SUMS,
    scope: str = "global",
    use_mma_store_intrinic: bool = True,
) -> Pair:
    """Store a fragment of sums, by `T.mma_store` or element by element."""
    _require("local_size", local_size, (mma.REGISTERS_OF_SUMS,))
    return parse_pair(mma.store(dtype, scope, use_mma_store_intrinic))


def get_wmma_load_intrin(
    m_dim: int,
    n_dim: int,
    k_dim: int,
    dtype: str,
    shared_scope: str,
    is_b: bool,
    is_col_major: bool,
) -> Pair:
    """Load a tile from shared memory into a WMMA fragment."""
    return parse_pair(wmma.load(m_dim, n_dim, k_dim, dtype, shared_scope, is_b, is_col_major))


def get_wmma_fill_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str) -> Pair:
    """Zeros in a WMMA fragment of sums."""
    return parse_pair(wmma.fill(m_dim, n_dim, k_dim, dtype))


def get_wmma_store_intrin(m_dim: int, n_dim: int, k_dim: int, dtype: str, scope: str) -> Pair:
    """Store a WMMA fragment of sums."""
    return parse_pair(wmma.store(m_dim, n_dim, k_dim, dtype, scope))


def get_wmma_sync_intrin(
    m_dim: int, n_dim: int, k_dim: int, in_dtype: str, out_dtype: str, b_transposed: bool
) -> Pair:
    """`C += A * B` of WMMA fragments."""
    return parse_pair(wmma.sync(m_dim, n_dim, k_dim, in_dtype, out_dtype, b_transposed))


def _factors(dtype: str, k_dim: int) -> str:
    found = [f for f in mma.FACTORS.values() if f.dtype == dtype]
    _require("dtype", dtype, [f.dtype for f in mma.FACTORS.values()])
    _require(f"k_dim of {dtype}", k_dim, [f.k_dim for f in found])
    return found[0].short


def get_mma_intrin_group(
    load_scope: str,
    store_scope: str,
    in_dtype: str,
    out_dtype: str,
    trans_a: bool,
    trans_b: bool,
    not_use_mma_store_intrinic: bool = True,
    store_to_smem_dtype: str | None = None,
) -> dict[str, str]:
    """The names of the intrinsics "init", "load_a", "load_b", "compute" and "store" that go
    together.

    `in_dtype` "float32" is TF32.  Raises Error for scopes and dtypes without instructions.
    """
    _require("load_scope", load_scope, ("shared", "shared.dyn"))
    _require("store_scope", store_scope, ("global", "shared", "shared.dyn"))
    by_dtype = {f.dtype: f.short for f in mma.FACTORS.values()}
    _require("in_dtype", in_dtype, by_dtype)
    factors = by_dtype[in_dtype]
    _require("out_dtype", out_dtype, [sums for short, sums in PRODUCTS if short == factors])
    _require(f"trans_a of {in_dtype}", trans_a, transposed_a(factors))
    a, b = ("_trans" if trans_a else ""), ("_trans" if trans_b else "")
    dyn = "_dyn" if load_scope == "shared.dyn" else ""
    stored_dtype = store_to_smem_dtype or out_dtype
    _require("store_to_smem_dtype", stored_dtype, mma.SUMS)
    flags = ("_trans_a" if trans_a else "") + ("_trans_b" if trans_b else "")
    simple = "simple_" if not_use_mma_store_intrinic else ""
    return {
        "init": f"mma_fill_16x16_{SHORT[out_dtype]}",
        "load_a": f"mma_ldmatrix_{factors}_a{a}{dyn}",
        "load_b": f"mma_ldmatrix_{factors}_b{b}{dyn}",
        "compute": f"mma_{factors}{factors}{SHORT[out_dtype]}{flags}",
        "store": f"mma_store_16x16_{SHORT[stored_dtype]}_{store_scope.replace('.', '_')}_{simple}",
    }


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """The names of the WMMA intrinsics "init", "load_a", "load_b", "compute" and "store" that go
    together.  Raises Error for scopes and dtypes without instructions."""
    _require("load_scope", load_scope, ("shared", "shared.dyn"))
    _require("store_scope", store_scope, ("global", "shared", "shared.dyn"))
    _require("in_dtype", in_dtype, _WMMA_SUMS)
    _require("out_dtype", out_dtype, _WMMA_SUMS[in_dtype])
    factors, out = WMMA_SHORT[in_dtype], WMMA_SHORT[out_dtype]
    load, trans = load_scope.replace(".", "_"), "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{out}",
        "load_a": f"wmma_load_16x16x16_{factors}_a_{load}",
        "load_b": f"wmma_load_16x16x16_{factors}_b{trans}_{load}",
        "compute": f"wmma_sync_16x16x16_{factors}{factors}{out}{trans}",
        "store": f"wmma_store_16x16x16_{out}_{store_scope.replace('.', '_')}",
    }


def _require(name: str, given: object, known: Iterable[object]) -> None:
    options = list(known)
    if given not in options:
        names = ", ".join(str(option) for option in options) or "none"
        raise Error(f"{name} is {given}; instructions take {names}")
