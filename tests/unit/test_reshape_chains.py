"""Fused reshapes are one reshape: no copy is made for them."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as rm
from relax_mlir import relax
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def chain(A: T.Buffer((3, 4, 6), "float32"), C: T.Buffer((2, 6, 6), "float32")):
        T.func_attr({{"tir.noalias": True}})
        B = T.alloc_buffer((3, 24), "float32")
        for i, j in T.grid(3, 24):
            with T.block("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = {first}
        for i, j, k in T.grid(2, 6, 6):
            with T.block("second"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = {second}

    @R.function
    def main(x: R.Tensor((3, 4, 6), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.chain, (x,), out_sinfo=R.Tensor((2, 6, 6), "float32"))
            b = R.add(a, a)
            R.output(b)
        return b
"""
IN_ORDER = "A[vi, vj // 6, vj % 6]"
SECOND = "B[(vi * 36 + vj * 6 + vk) // 24, (vi * 36 + vj * 6 + vk) % 24]"
CASES = {
    "in order": (IN_ORDER, SECOND, True),
    "changed on the way": (IN_ORDER + " * T.float32(2)", SECOND, False),
    "turned on the way": ("A[vi, vj % 4, vj // 4]", SECOND, False),
    "turned at the end": (IN_ORDER, SECOND.replace("vj * 6 + vk", "vk * 6 + vj"), False),
    "around what is between": (
        IN_ORDER,
        "A[(vi * 36 + vj * 6 + vk) // 24, (vi * 36 + vj * 6 + vk) % 24 // 6, vk]",
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_chains(name: str) -> None:
    first, second, view = CASES[name]
    module = from_source(PROGRAM.format(first=first, second=second))
    assert isinstance(module, IRModule)
    changed = relax.transform.RewriteDataflowReshape()(module)
    assert ("R.reshape(" in changed.script()) is view
    x = np.random.default_rng(0).standard_normal((3, 4, 6)).astype("float32")
    got, expected = (
        relax.VirtualMachine(relax.build(m, "llvm"), rm.cpu())["main"](x).numpy()
        for m in (changed, module)
    )
    np.testing.assert_array_equal(got, expected)
    if view:
        np.testing.assert_array_equal(got, 2 * x.reshape(2, 6, 6))
