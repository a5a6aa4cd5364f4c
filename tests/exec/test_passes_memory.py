"""Memory as operations: allocation, sharing, the end of tensors; what results still runs."""

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
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.add(b, x)
            d = R.exp(c)
            e = R.sum(d, axis=[1])
            s, t = R.split(x, 2, axis=1)
            u = R.add(s, t)
            v = R.call_dps_packed("test.memory.twice", (e,), out_sinfo=R.Tensor((n,), "float32"))
            R.output(e, u, v)
        return (e, u, v)

    @R.function
    def branches(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        a = R.exp(x)
        if c:
            b = R.add(a, x)
            r = R.multiply(b, b)
        else:
            r = R.negative(a)
        return r
"""
STEPS = (
    "LegalizeOps RewriteDataflowReshape ToNonDataflow RemovePurityChecking CallTIRRewrite "
    "StaticPlanBlockMemory LowerAllocTensor KillAfterLastUse LowerRuntimeBuiltin ComputePrimValue "
    "VMShapeLower"
).split()


def _twice(x: rm.runtime.Tensor, out: rm.runtime.Tensor) -> None:
    np.copyto(np.from_dlpack(out), 2 * x.numpy())


def check(module: IRModule) -> None:
    rm.register_global_func("test.memory.twice", _twice, override=True)
    vm = relax.VirtualMachine(relax.build(module, relax_pipeline=None), rm.cpu())
    rng = np.random.default_rng(1)
    for size in (0, 1, 5):
        x = rng.standard_normal((size, 4)).astype("float32")
        w = rng.standard_normal((4, 4)).astype("float32")
        e, u, v = (value.numpy() for value in vm["main"](x, w))
        sums = np.exp(np.maximum(x @ w, 0) + x).sum(1)
        np.testing.assert_allclose(e, sums, rtol=1e-5)
        np.testing.assert_allclose(u, x[:, :2] + x[:, 2:], rtol=1e-5)
        np.testing.assert_allclose(v, 2 * sums, rtol=1e-5)
    x = rng.standard_normal(4).astype("float32")
    a = np.exp(x)
    for condition, wanted in ((True, (a + x) ** 2), (False, -a)):
        got = vm["branches"](x, np.array(condition)).numpy()
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("count", range(5, len(STEPS) + 1))
def test_every_stage_runs_and_prints(count: int) -> None:
    module = from_source(PROGRAM)
    assert isinstance(module, IRModule)
    for name in STEPS[:count]:
        module = getattr(relax.transform, name)()(module).verify()
    assert from_source(module.script()).script() == module.script()
    check(module)


def test_storage_is_shared_and_given_up() -> None:
    module = from_source(PROGRAM)
    for name in STEPS:
        module = getattr(relax.transform, name)()(module)
    text = module.script().partition("def main")[2]
    # a and c, b and d lie in the same storage; e, s, t, u, v have their own.
    assert text.count("R.vm.alloc_storage") == 7
    assert text.count("R.vm.alloc_tensor(storage, ") == 2
    assert text.count("R.vm.kill_object(storage") == 7
    assert "R.memory" not in text and "R.call_tir" not in text


KERNEL_CALL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            b[i] = a[i] * T.float32(2)

    @T.prim_func(private=True)
    def copy(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            b[i] = a[i]

    @R.function(pure=False)
    def main(x: R.Tensor((64,), "float32")):
        cls = Module
        a = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((64,), "float32"))
        b = R.builtin.alloc_tensor(
            R.shape([64]), R.dtype("float32"), R.prim_value(0), R.str("global")
        )
        cls.copy(a, b)
        return b
"""


def test_what_a_kernel_reads_stays_inside() -> None:
    """Code outside could keep the argument of a call; a kernel does not."""
    module = from_source(KERNEL_CALL)
    shown = relax.transform.StaticPlanBlockMemory()(module).mlir()
    assert "relax.places = [0]" in shown and "static_bytes = 256" in shown
    x = np.arange(64, dtype="float32")
    main = relax.VirtualMachine(relax.build(module), rm.cpu())["main"]
    np.testing.assert_array_equal(main(x).numpy(), 2 * x)
