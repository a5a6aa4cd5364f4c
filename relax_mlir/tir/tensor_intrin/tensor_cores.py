"""The intrinsics of NVIDIA's tensor cores by name: TVM's, `mma` of bfloat16 and TF32, `wgmma`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from relax_mlir.tir.tensor_intrin import mma, wgmma, wmma

Maker = Callable[[], tuple[str, str]]

SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "i8", "int32": "i32",
          "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}  # fmt: skip
WMMA_SHORT = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "int8": "s8",
    "int32": "s32",
    "int4": "s4",
}
PRODUCTS = [("f16", "float16"), ("f16", "float32"), ("bf16", "float32"), ("tf32", "float32"),
             ("i8", "int32"), ("e4m3", "float32"), ("e5m2", "float32")]  # fmt: skip


def transposed_a(short: str) -> tuple[bool, ...]:
    """Whether A of some factors may be transposed, lie as it multiplies, or both."""
    return (False, True) if mma.FACTORS[short].k_dim == 16 else (False,)


def _mma_intrinsics() -> Iterator[tuple[str, Maker]]:
    for short in mma.FACTORS:
        for matrix in "AB":
            for transposed in transposed_a(short) if matrix == "A" else (False, True):
                for scope, suffix in (("shared", ""), ("shared.dyn", "_dyn")):
                    trans = "_trans" if transposed else ""
                    name = f"mma_ldmatrix_{short}_{matrix.lower()}{trans}{suffix}"
                    yield name, partial(mma.ldmatrix, short, matrix, transposed, scope)
    for short, sums in PRODUCTS:
        for a in transposed_a(short):
            for b in (False, True):
                flags = ("_trans_a" if a else "") + ("_trans_b" if b else "")
                name = f"mma_{short}{short}{SHORT[sums]}{flags}"
                yield name, partial(mma.mma, short, short, sums, a, b)
    for sums in mma.SUMS:
        yield f"mma_fill_16x16_{SHORT[sums]}", partial(mma.fill, sums)
        for scope in ("global", "shared", "shared.dyn"):
            name = f"mma_store_16x16_{SHORT[sums]}_{scope.replace('.', '_')}_"
            yield name, partial(mma.store, sums, scope, True)
            yield f"{name}simple_", partial(mma.store, sums, scope, False)


def _wmma_intrinsics() -> Iterator[tuple[str, Maker]]:
    products = [((16, 16, 16), "float16", "float16"), ((16, 16, 16), "float16", "float32"),
                ((16, 16, 16), "bfloat16", "float32"), ((16, 16, 16), "int8", "int32"),
                ((8, 8, 32), "int4", "int32")]  # fmt: skip
    for (m, n, k), dtype, sums in products:
        shape, short = f"{m}x{n}x{k}", WMMA_SHORT[dtype]
        # Rows of half bytes are read as they are only along the products.
        for transposed in (False, True) if m != 8 else (True,):
            trans = "_trans" if transposed else ""
            name = f"wmma_sync_{shape}_{short}{short}{WMMA_SHORT[sums]}{trans}"
            yield name, partial(wmma.sync, m, n, k, dtype, sums, transposed)
        yield f"wmma_fill_{shape}_{WMMA_SHORT[sums]}", partial(wmma.fill, m, n, k, sums)
        for scope in ("shared", "shared.dyn"):
            at = scope.replace(".", "_")
            for is_b in (False, True):
                for transposed in (False, True) if m != 8 else (is_b,):
                    trans = "_trans" if transposed else ""
                    yield (f"wmma_load_{shape}_{short}_{'b' if is_b else 'a'}{trans}_{at}",
                           partial(wmma.load, m, n, k, dtype, scope, is_b, transposed))  # fmt: skip
        for scope in ("global", "shared", "shared.dyn"):
            yield (f"wmma_store_{shape}_{WMMA_SHORT[sums]}_{scope.replace('.', '_')}",
                   partial(wmma.store, m, n, k, sums, scope))  # fmt: skip


def _wgmma_intrinsics() -> Iterator[tuple[str, Maker]]:
    for columns in wgmma.COLUMNS:
        for short, sums in wgmma.PRODUCTS:
            for transposed in (False, True):
                trans = "_trans_b" if transposed else ""
                name = f"wgmma_m64n{columns}k64_{short}{short}{SHORT[sums]}{trans}"
                yield name, partial(wgmma.multiply, short, sums, columns, transposed)
        for sums in ("float16", "float32"):
            shape = f"16x{columns}_{SHORT[sums]}"
            yield f"wgmma_fill_{shape}", partial(mma.fill, sums, columns)
            yield (f"wgmma_store_{shape}_shared_dyn",
                   partial(mma.store, sums, "shared.dyn", True, columns))  # fmt: skip


INTRINSICS: dict[str, Maker] = {
    **dict(_mma_intrinsics()),
    **dict(_wmma_intrinsics()),
    **dict(_wgmma_intrinsics()),
}
"""Name -> the maker of description and implementation."""


def constant_name(name: str) -> str:
    """The constant that holds an intrinsic's name in `tvm.tir.tensor_intrin.cuda`: of
    "mma_f16f16f32_trans_a" it is MMA_f16f16f32_TRANS_A_INTRIN."""
    stem = name.removesuffix("_").removesuffix("_simple")
    family, kind, *rest = stem.split("_")
    if family == "wmma":
        kept = rest if kind != "load" else [part for part in rest if part != "shared"]
        upper = [part if kind == "sync" and n == 1 else part.upper() for n, part in enumerate(kept)]
        words = ["WMMA", kind.upper(), rest[0], *upper[1:]]
    elif kind == "ldmatrix":
        words = ["LDMATRIX", rest[0], *(part.upper() for part in rest[1:])]
    elif kind in ("fill", "store"):
        words = [family.upper(), kind, *rest]
    else:
        words = ["MMA", kind, *(part.upper() for part in rest)]
    return "_".join([*words, "INTRIN"]) + ("_SIMPLE" if name.endswith("_simple_") else "")
