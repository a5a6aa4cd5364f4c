"""Elementwise calls that write over their operands give what they gave before."""

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
    @R.function
    def main(
        x: R.Tensor((2, 4), "float32"), w: R.Tensor((4,), "float32"),
        c: R.Tensor((2, 4), "float32"),
    ):
        with R.dataflow():
            a = R.add(x, w)
            b = R.exp(a)
            d = R.multiply(b, c)
            e = R.subtract(d, d)
            f = R.add(a, d)
            g = R.nn.relu(f)
            h = R.add(g, x)
            k = R.add(h, g)
            s = R.sum(k)
            v = R.reshape(h, (4, 2))
            z = R.negative(h)
            R.output(e, k, s, v, z)
        return (e, k, s, v, z)
"""
PIPELINES = ("default", "zero", "builtin.module(relax-legalize-ops)")


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_values_stay(pipeline: str) -> None:
    module = from_source(PROGRAM)
    assert isinstance(module, IRModule)
    module = relax.transform.DataflowUseInplaceCalls()(module).verify()
    assert from_source(module.script()) == module
    assert module.script().count("R.call_tir_inplace") >= 2
    vm = relax.VirtualMachine(relax.build(module, relax_pipeline=pipeline), rm.cpu())
    rng = np.random.default_rng(3)
    x, c = rng.standard_normal((2, 2, 4)).astype("float32")
    w = rng.standard_normal(4).astype("float32")
    kept = [value.copy() for value in (x, w, c)]
    a = x + w
    d = np.exp(a) * c
    g = np.maximum(a + d, 0)
    h = g + x
    wanted = (d - d, h + g, (h + g).sum(), h.reshape(4, 2), -h)
    for got, value in zip(vm["main"](x, w, c), wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), value, rtol=1e-5, atol=1e-5)
    for value, before in zip((x, w, c), kept, strict=True):
        np.testing.assert_array_equal(value, before)
