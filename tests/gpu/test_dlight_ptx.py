"""The kernels of default schedules as NVIDIA's assembler takes them: they assemble, and
spill no registers, and fragments and micro tiles are in them."""

from __future__ import annotations

import re

import pytest

import relax_mlir
from relax_mlir import dlight, te
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from tests.compat.test_dlight_oracle import functions
from tests.gpu.emulated import kernels
from tests.gpu.ptxas import ARCHS, assemble
from tests.gpu.test_dlight_rules import (
    TENSOR_CORES,
    attention,
    matmul_of,
    placeholders,
    prim_func,
    product,
    scheduled,
)
from tests.gpu.test_dlight_tensor_cores import SYMBOLIC, rows_times_matrix

# One of each rule, for each architecture in turn.
CHOSEN = ["matmul", "conv2d", "gemv", "sum_inner", "sum_outer", "softmax", "layer_norm",
          "transpose", "add"]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arch"), [(name, ARCHS[n % len(ARCHS)]) for n, name in enumerate(CHOSEN)]
)
def test_no_spills(name: str, arch: str) -> None:
    _check(functions()[name], arch)


@pytest.mark.parametrize(("dtype", "sums", "rule"), TENSOR_CORES, ids=lambda value: str(value)[:12])
def test_no_spills_on_tensor_cores(dtype: str, sums: str, rule: dlight.ScheduleRule) -> None:
    target = Target({"kind": "cuda", "arch": "sm_80"})
    module = scheduled(rule, matmul_of(256, 256, 256, dtype, sums), target)
    function = module["main"]
    assert isinstance(function, PrimFunc)
    _check(function, "sm_80")


@pytest.mark.parametrize("dtype, sums", [*SYMBOLIC, ("float32", "float32")])
@pytest.mark.parametrize(("names", "arch"), [("n", "sm_75"), ("bn", "sm_90")])
def test_no_spills_of_symbolic_rows(dtype: str, sums: str, names: str, arch: str) -> None:
    """Addresses of rows that only run time knows the number of take registers too."""
    symbols = tuple(te.var(name, "int64") for name in names)
    _check(rows_times_matrix(symbols, dtype, sums), arch)


def _product_of_symbols(dtype: str, *, transposed: bool) -> PrimFunc:
    m, n = te.var("m", "int64"), te.var("n", "int64")
    a, b = placeholders((m, 128), (n, 128) if transposed else (128, n), dtype=dtype)
    return prim_func([a, b], product(a, b, transposed))


KEYS, LENGTH = te.var("k", "int64"), te.var("l", "int64")
# ptxas would give each of these fewer registers than it needs.
TIGHT: dict[str, tuple[PrimFunc, str]] = {
    "rows and columns": (_product_of_symbols("float32", transposed=True), "sm_80"),
    "float16 product": (_product_of_symbols("float16", transposed=False), "sm_90"),
    "attention": (attention(70, 64, 2, 20), "sm_90"),
    "attention to symbolic keys": (attention(64, KEYS, 4, 32), "sm_75"),
    "attention of symbolic lengths": (attention(LENGTH, KEYS, 4, 32, "bfloat16"), "sm_90"),
    "large heads": (attention(LENGTH, KEYS, 8, 128, "float16"), "sm_90"),
}


@pytest.mark.parametrize(("function", "arch"), TIGHT.values(), ids=TIGHT)
def test_registers_before_occupancy(function: PrimFunc, arch: str) -> None:
    _check(function, arch)


def test_addresses_of_shared_memory_take_one_register() -> None:
    """Those of global memory take two."""
    target = Target({"kind": "cuda", "arch": "sm_80"})
    module = scheduled(dlight.gpu.Matmul(), matmul_of(128, 128, 128, "float32", "float32"), target)
    ptx = kernels(relax_mlir.build(module, target=target), "ptx")
    accesses = re.findall(r"\b(?:ld|st)\.(shared|global)\S*\s[^\[\n]*\[%(rd?)\d+", ptx)
    assert {("shared", "r"), ("global", "rd")} == set(accesses)


def _check(function: PrimFunc, arch: str) -> None:
    module = relax_mlir.IRModule({"main": function.with_attr("global_symbol", "main")})
    built = relax_mlir.build(module, {"kind": "cuda", "arch": arch})
    ptx = built.mod.imports[0].inspect_source("ptx")
    resources = assemble(ptx, arch)
    assert resources and not any(k.spills or k.stack for k in resources.values()), resources
