"""The programs of TVM's page "Understand Relax Abstraction" (seed document 000)."""

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir
from relax_mlir.script import tirx as T
from relax_mlir.testing import assert_allclose


def close(actual, desired) -> None:
    """float32 sums of up to 784 products: errors up to a few parts in 10^5."""
    assert_allclose(actual, desired, rtol=1e-5, atol=2e-5)


def numpy_mlp(data, w0, b0, w1, b1):
    lv0 = data @ w0 + b0
    lv1 = np.maximum(lv0, 0)
    return lv1 @ w1 + b1


@R.function
def relax_mlp(
    data: R.Tensor(("n", 784), dtype="float32"),
    w0: R.Tensor((784, 128), dtype="float32"),
    b0: R.Tensor((128,), dtype="float32"),
    w1: R.Tensor((128, 10), dtype="float32"),
    b1: R.Tensor((10,), dtype="float32"),
) -> R.Tensor(("n", 10), dtype="float32"):
    with R.dataflow():
        lv0 = R.matmul(data, w0) + b0
        lv1 = R.nn.relu(lv0)
        lv2 = R.matmul(lv1, w1) + b1
        R.output(lv2)
    return lv2


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        M, N, K = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (M, K), "float32")
        W = T.match_buffer(w, (K, N), "float32")
        B = T.match_buffer(b, (N,), "float32")
        Z = T.match_buffer(z, (M, N), "float32")
        Y = T.alloc_buffer((M, N), "float32")
        for i, j, k in T.grid(M, N, K):
            with T.sblock("Y"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[v_i, v_j] = T.float32(0.0)
                Y[v_i, v_j] = Y[v_i, v_j] + X[v_i, v_k] * W[v_k, v_j]
        for i, j in T.grid(M, N):
            with T.sblock("Z"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Z[v_i, v_j] = Y[v_i, v_j] + B[v_j]

    @T.prim_func(private=True)
    def relu(x: T.handle, y: T.handle):
        M, N = T.int64(), T.int64()
        X = T.match_buffer(x, (M, N), "float32")
        Y = T.match_buffer(y, (M, N), "float32")
        for i, j in T.grid(M, N):
            with T.sblock("Y"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Y[v_i, v_j] = T.max(X[v_i, v_j], T.float32(0.0))

    @R.function
    def main(
        x: R.Tensor(("n", 784), dtype="float32"),
        w0: R.Tensor((784, 256), dtype="float32"),
        b0: R.Tensor((256,), dtype="float32"),
        w1: R.Tensor((256, 10), dtype="float32"),
        b1: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        cls = Module
        n = T.int64()
        with R.dataflow():
            lv = R.call_tir(cls.linear, (x, w0, b0), out_ty=R.Tensor((n, 256), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((n, 256), dtype="float32"))
            lv2 = R.call_tir(cls.linear, (lv1, w1, b1), out_ty=R.Tensor((n, 10), dtype="float32"))
            R.output(lv2)
        return lv2


@tvm.script.ir_module
class OldSpelling:
    @tir.prim_func
    def relu(x: tir.handle, y: tir.handle):
        M, N = tir.int64(), tir.int64()
        X = tir.match_buffer(x, (M, N), "float32")
        Y = tir.match_buffer(y, (M, N), "float32")
        for i, j in tir.grid(M, N):
            with tir.block("Y"):
                v_i, v_j = tir.axis.remap("SS", [i, j])
                Y[v_i, v_j] = tir.max(X[v_i, v_j], tir.float32(0.0))

    @R.function
    def main(x: R.Tensor(("n", 784), "float32")) -> R.Tensor(("n", 784), "float32"):
        n = tir.int64()
        with R.dataflow():
            lv = R.call_tir(OldSpelling.relu, (x,), out_sinfo=R.Tensor((n, 784), "float32"))
            R.output(lv)
        return lv


def arguments(n: int, hidden: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = [(n, 784), (784, hidden), (hidden,), (hidden, 10), (10,)]
    return [rng.standard_normal(shape, dtype=np.float32) * np.float32(0.05) for shape in shapes]


def test_relax_function_runs_for_every_n() -> None:
    module = tvm.IRModule.from_expr(relax_mlp.with_attr("global_symbol", "main"))
    vm = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    for n in (1, 3, 64):
        data = arguments(n, 128, n)
        close(vm["main"](*data).numpy(), numpy_mlp(*data))


def test_cross_level_module_runs_for_every_n() -> None:
    vm = relax.VirtualMachine(tvm.compile(Module, target="llvm"), tvm.cpu())
    for n in (1, 2, 33):
        data = arguments(n, 256, n)
        x, w0, b0, w1, b1 = data
        tensors = [tvm.runtime.tensor(a, tvm.cpu()) for a in data]
        expected = np.maximum(x @ w0 + b0, 0) @ w1 + b1
        close(vm["main"](*tensors).numpy(), expected)


def test_old_spelling_runs() -> None:
    vm = relax.VirtualMachine(tvm.compile(OldSpelling, target="llvm"), tvm.cpu())
    x = np.random.default_rng(5).standard_normal((7, 784), dtype=np.float32)
    close(vm["main"](x).numpy(), np.maximum(x, 0))


@pytest.mark.parametrize("module", [Module, OldSpelling], ids=["new", "old"])
def test_both_texts_round_trip(module: tvm.IRModule) -> None:
    assert tvm.IRModule.parse(module.mlir()) == module
    again = tvm.script.from_source(module.script())
    assert again == module
    assert again.script() == module.script()


def test_a_wrong_shape_names_argument_expected_and_given() -> None:
    vm = relax.VirtualMachine(tvm.compile(Module, target="llvm"), tvm.cpu())
    x, w0, b0, w1, b1 = arguments(2, 256, 0)
    with pytest.raises((ValueError, TypeError), match=r"w0.*784.*256"):
        vm["main"](x, w0[:-1].copy(), b0, w1, b1)
    with pytest.raises((ValueError, TypeError), match=r"x.*float32"):
        vm["main"](x.astype("float64"), w0, b0, w1, b1)
    with pytest.raises((ValueError, TypeError), match=r"5"):
        vm["main"](x, w0, b0, w1)


def test_type_errors_name_both_types() -> None:
    with pytest.raises(tvm.Error, match=r"(?s)R\.Tensor.*784.*R\.Tensor.*128"):

        @R.function
        def wrong(x: R.Tensor((1, 784), "float32"), w: R.Tensor((128, 10), "float32")) -> R.Tensor(
            (1, 10), "float32"
        ):
            return R.matmul(x, w)
