"""The kernels of default schedules as NVIDIA's assembler takes them: they assemble, and
spill no registers, and fragments and micro tiles are in them."""

from __future__ import annotations

import pytest

import relax_mlir
from relax_mlir import dlight, te
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from tests.compat.test_dlight_oracle import functions
from tests.gpu.ptxas import ARCHS, assemble
from tests.gpu.test_dlight_rules import TENSOR_CORES, matmul_of, scheduled
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


def _check(function: PrimFunc, arch: str) -> None:
    module = relax_mlir.IRModule({"main": function.with_attr("global_symbol", "main")})
    built = relax_mlir.build(module, {"kind": "cuda", "arch": arch})
    ptx = built.mod.imports[0].inspect_source("ptx")
    resources = assemble(ptx, arch)
    assert resources and not any(k.spills or k.stack for k in resources.values()), resources
