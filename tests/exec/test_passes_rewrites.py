"""Passes that rewrite operators and parameters: the program computes what it did before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.errors import PassError, VerificationError
from relax_mlir.relax import transform as tr
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

F = "float32"


@I.ir_module
class Projections:
    """Q, K and V with biases; K is stored transposed."""

    @R.function
    def main(
        x: R.Tensor((2, "n", 8), F),
        q: R.Tensor((8, 16), F),
        k: R.Tensor((4, 8), F),
        v: R.Tensor((8, 3), F),
        bq: R.Tensor((16,), F),
        bk: R.Tensor((4,), F),
        bv: R.Tensor((3,), F),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.nn.silu(R.add(R.matmul(x, q), bq))
            kt = R.permute_dims(k)
            b = R.nn.silu(R.add(R.matmul(x, kt), bk))
            c = R.nn.silu(R.add(R.matmul(x, v), bv))
            gv = (a, b, c)
            R.output(gv)
        return gv


@I.ir_module
class LowRank:
    @R.function
    def main(
        x: R.Tensor((3, 16), F),
        w: R.Tensor((12, 16), F),
        u: R.Tensor((12, 2), F),
        d: R.Tensor((2, 16), F),
        e: R.Tensor((16, 50), F),
        i: R.Tensor((7,), "int64"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            ud = R.matmul(u, d)
            total = R.add(w, ud)
            t = R.permute_dims(total)
            y = R.matmul(x, t)
            chosen = R.take(e, i, axis=1)
            z = R.matmul(x, chosen)
            wt = R.permute_dims(w)
            ut = R.permute_dims(u)
            both = R.concat((wt, R.matmul(e, R.ones((50, 2), F))), axis=1)
            other = R.concat((ut, R.permute_dims(u)), axis=0)
            gv = (y, z, both, other)
            R.output(gv)
        return gv


@I.ir_module
class Convolution:
    @R.function
    def main(
        x: R.Tensor((2, 3, 8, 9), F),
        w: R.Tensor((4, 3, 3, 3), F),
        g: R.Tensor((4,), F),
        b: R.Tensor((4,), F),
        m: R.Tensor((4,), F),
        v: R.Tensor((4,), F),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=[1, 1])
            bn = R.nn.batch_norm(a, g, b, m, v, axis=1, epsilon=0.01, training=False)
            y = R.nn.relu(bn[0])
            z = R.nn.layer_norm(y, R.ones((9,), F), R.zeros((9,), F), axes=[-1])
            R.output(z)
        return z


@I.ir_module
class Tuples:
    @R.function(private=True)
    def inner(
        p: R.Tuple(R.Tensor((2,), F), R.Tuple(R.Tensor((2,), F), R.Tensor((3,), F))),
        q: R.Tensor((3,), F),
    ):
        a = p[1]
        b = R.add(a[0], p[0])
        return (b, R.add(a[1], q))

    @R.function
    def main(x: R.Tensor((2,), F), y: R.Tensor((3,), F)):
        cls = Tuples
        t = (x, y)
        return cls.inner((x, t), y)


def arrays(mod: Any, sizes: dict[str, int] | None = None) -> list[np.ndarray]:
    """Random arguments for `main`; variances are positive, indices in range."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for param in mod["main"].params:
        shape = [
            (sizes or {}).get(str(dim), 5) if isinstance(dim, str) else dim
            for dim in param.struct_info.dims
        ]
        if param.dtype == "int64":
            found.append(rng.integers(0, 50, shape))
        else:
            array = rng.standard_normal(shape).astype(param.dtype)
            found.append(np.abs(array) + 0.5 if param.name_hint == "v" else array)
    return found


def run(mod: Any, inputs: list[Any]) -> list[np.ndarray]:
    result = relax.VirtualMachine(tvm.compile(mod), tvm.cpu())["main"](*inputs)
    return [item.numpy() for item in ([result] if hasattr(result, "numpy") else result)]


def same(got: list[np.ndarray], expected: list[np.ndarray], rtol: float = 1e-4) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def expanded_and_reordered(mod: Any) -> Any:
    return tr.AdjustMatmulOrder()(tr.ExpandMatmulOfSum()(mod))


@pytest.mark.parametrize(
    "mod, transform, gone",
    [
        (Projections, tr.CombineParallelMatmul(), None),
        (Projections, tr.TopologicalSort("breadth-first", "from-outputs"), None),
        (LowRank, tr.ExpandMatmulOfSum(), "R.add(w"),
        (LowRank, expanded_and_reordered, "R.matmul(u, d"),
        (LowRank, tr.ReorderTakeAfterMatmul(), "R.take(e"),
        (LowRank, tr.ReorderPermuteDimsAfterConcat(), None),
        (Convolution, tr.DecomposeOpsForInference(), "batch_norm"),
        (Tuples, tr.ExpandTupleArguments(), None),
        (Tuples, tr.AttachGlobalSymbol(), "private"),
        (Tuples, tr.RemovePurityChecking(), None),
    ],
)
def test_results_stay(mod: Any, transform: Callable[[Any], Any], gone: str | None) -> None:
    changed = transform(mod)
    assert changed.verify().script() != mod.script()
    if gone is not None:
        assert gone not in changed.script()
    inputs = arrays(mod)
    same(run(changed, inputs), run(mod, inputs))


def test_combined_matmuls_are_one_and_dynamic() -> None:
    changed = tr.CombineParallelMatmul()(Projections)
    assert changed.script().count("R.matmul") == 1
    assert changed.script().count("R.nn.silu") == 1
    for size in (1, 7):
        inputs = arrays(Projections, {"n": size})
        same(run(changed, inputs), run(Projections, inputs))


def test_products_without_a_common_epilogue_are_combined() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 8), F), q: R.Tensor((8, 5), F), k: R.Tensor((8, 4), F)):
            with R.dataflow():
                a = R.matmul(x, q)
                b = R.exp(a)
                c = R.matmul(x, k)
                gv = (a, b, c)
                R.output(gv)
            return gv

    changed = tr.CombineParallelMatmul()(Module).verify()
    assert changed.script().count("R.matmul") == 1
    inputs = arrays(Module)
    same(run(changed, inputs), run(Module, inputs))


def test_products_that_need_each_other_are_not_combined() -> None:
    """The third right operand is made of the second product, not of the first."""

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((8, 8), F), q: R.Tensor((8, 8), F), k: R.Tensor((8, 8), F)):
            with R.dataflow():
                a = R.matmul(x, q)
                b = R.matmul(x, k)
                c = R.matmul(x, R.tanh(b))
                gv = (a, b, c)
                R.output(gv)
            return gv

    changed = tr.CombineParallelMatmul()(Module).verify()
    assert changed.script().count("R.matmul") == 2
    inputs = arrays(Module)
    same(run(changed, inputs), run(Module, inputs))


def test_combining_can_be_refused() -> None:
    asked: list[tuple[str, int]] = []

    def check(left: Any, rights: list[Any], *_: Any) -> bool:
        asked.append((left.name_hint, len(rights)))
        return False

    assert tr.CombineParallelMatmul(check)(Projections).script().count("R.matmul") == 3
    assert asked == [("x", 3)]


def test_lifted_parameters() -> None:
    lifted = tr.LiftTransformParams()(Projections)
    main = lifted["main"]
    assert [p.name_hint for p in main.params] == ["x", "q", "v", "bq", "bk", "bv", "kt"]
    assert "permute_dims" not in main.script()
    inputs = arrays(Projections)
    vm = relax.VirtualMachine(tvm.compile(lifted), tvm.cpu())
    transformed = vm["main_transform_params"](tuple(tvm.runtime.tensor(a) for a in inputs[1:]))
    got = [t.numpy() for t in vm["main"](inputs[0], *transformed)]
    same(got, run(Projections, inputs))


@I.ir_module
class Cnn:
    @R.function
    def main(
        x: R.Tensor((2, 3, 8, 9), F),
        w: R.Tensor((4, 3, 3, 3), F),
        b: R.Tensor((1, 4, 1, 1), F),
        c: R.Tensor((4, 1, 1), F),
        u: R.Tensor((4, 4, 1, 1), F),
        g: R.Tensor((4,), F),
        v: R.Tensor((4,), F),
    ):
        with R.dataflow():
            a = R.nn.relu(R.add(R.nn.conv2d(x, w, padding=[1, 1]), b))
            d = R.multiply(R.nn.conv2d(a, u), c)
            bn = R.nn.batch_norm(d, g, g, g, v, axis=1, training=False)
            e = R.add(bn[0], a)
            p = R.nn.max_pool2d(e, [2, 2], [2, 2])
            q = R.concat((p, R.nn.softmax(p, axis=1)), axis=1)
            m = R.mean(q, axis=[2, 3], keepdims=True)
            s = R.reshape(m, R.shape([2, 8]))
            gv = (s, q, bn[1])
            R.output(gv)
        return gv


def test_layouts_are_converted() -> None:
    changed = tr.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})(Cnn)
    text = changed.verify().script()
    assert text.count('data_layout="NHWC"') == 2 and "NCHW" not in text
    # The input, two weights, the bias vectors, and back once: the reshape keeps its elements.
    assert text.count("R.permute_dims") == 6
    inputs = arrays(Cnn)
    same(run(changed, inputs), run(Cnn, inputs))
    with pytest.raises(PassError, match="no permutation"):
        tr.ConvertLayout({"relax.nn.conv2d": ["NHWX", "OHWI"]})(Cnn)
    with pytest.raises(PassError, match="no layouts"):
        tr.ConvertLayout({"relax.nn.relu": ["NHWC"]})(Cnn)


def test_a_function_chooses_layouts() -> None:
    asked = []

    def choose(call):
        asked.append(call.op.name)
        wide = call.args[1].struct_info.dims[2] > 1
        return {"relax.nn.conv2d": ["NHWC", "OHWI"]} if wide else {}

    changed = tr.ConvertLayout({}, layout_cb=choose)(Cnn)
    text = changed.verify().script()
    assert asked == ["relax.nn.conv2d"] * 2
    # The second convolution stays as it was: its operand is turned back before it.
    assert text.count('data_layout="NHWC"') == 1
    assert text.count('kernel_layout="OHWI"') == 1
    inputs = arrays(Cnn)
    same(run(changed, inputs), run(Cnn, inputs))
    with pytest.raises(PassError, match=r"layout_cb gives a list for relax\.nn\.conv2d"):
        tr.ConvertLayout({}, layout_cb=lambda call: ["NHWC"])(Cnn)


def test_lifting_is_shared() -> None:
    two = Projections.clone()
    two.update_func("decode", two["main"])
    lifted = tr.LiftTransformParams(shared_transform=True)(two)
    assert sorted(v.name_hint for v in lifted.functions) == ["decode", "main", "transform_params"]
    assert lifted.script().count("permute_dims") == 2  # a name and a call
    two.update_func("other", LowRank["main"])
    with pytest.raises(PassError, match="model parameters differ"):
        tr.LiftTransformParams(shared_transform=True)(two)


def test_stop_lift_params_stays() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), F), w: R.Tensor((4, 3), F)):
            R.func_attr({"num_input": 1})
            stop = R.builtin.stop_lift_params(w)
            t = R.permute_dims(stop)
            return R.matmul(x, t)

    assert "permute_dims" in tr.LiftTransformParams()(Module)["main"].script()


def test_lazy_parameters() -> None:
    inputs = arrays(LowRank)
    given: list[int] = []
    taken: dict[int, np.ndarray] = {}

    def get_item(index: int) -> Any:
        given.append(index)
        return tvm.runtime.tensor(inputs[1 + index])

    def set_item(index: int, value: Any) -> None:
        taken[index] = value.numpy()

    tvm.register_global_func("test_passes.get_item", get_item, override=True)
    tvm.register_global_func("test_passes.set_item", set_item, override=True)
    lifted = tr.LiftTransformParams()(LowRank)
    names = ("test_passes.get_item", "test_passes.set_item")
    vm = relax.VirtualMachine(tvm.compile(tr.LazyTransformParams(*names)(lifted)), tvm.cpu())
    vm["main_transform_params"]()
    assert sorted(given) == [0, 1, 2, 3, 4]
    got = vm["main"](inputs[0], *[taken[i] for i in range(len(taken))])
    same([t.numpy() for t in got], run(LowRank, inputs))


def test_bundled_parameters() -> None:
    bundled = tr.BundleModelParams("weights")(Projections)
    assert [p.name_hint for p in bundled["main"].params] == ["x", "weights"]
    inputs = arrays(Projections)
    weights = tuple(tvm.runtime.tensor(a) for a in inputs[1:])
    same(run(bundled, [inputs[0], weights]), run(Projections, inputs))


def test_batch_norm_is_folded() -> None:
    inputs = arrays(Convolution)
    names = [p.name_hint for p in Convolution["main"].params[1:]]
    bound = tr.BindParams("main", dict(zip(names, inputs[1:], strict=True)))(Convolution)
    folded = tr.FoldBatchnormToConv2D()(bound)
    assert "batch_norm" in bound.script() and "batch_norm" not in folded.script()
    same(run(folded, inputs[:1]), run(bound, inputs[:1]))


def test_batch_norm_in_training() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((4, 3, 5), F),
            g: R.Tensor((3,), F),
            b: R.Tensor((3,), F),
            m: R.Tensor((3,), F),
            v: R.Tensor((3,), F),
        ):
            bn = R.nn.batch_norm(x, g, b, m, v, axis=1, momentum=0.2)
            return bn

    inputs = arrays(Module)
    x, gamma, beta, mean, var = inputs
    batch, spread = x.mean((0, 2)), x.var((0, 2))
    normal = (x - batch[:, None]) / np.sqrt(spread + 1e-5)[:, None]
    expected = [
        normal * gamma[:, None] + beta[:, None],
        0.8 * mean + 0.2 * batch,
        0.8 * var + 0.2 * spread,
    ]
    same(run(tr.DecomposeOpsForTraining()(Module), inputs), expected)
    assert "layer_norm" not in tr.DecomposeOpsForTraining()(Convolution).script()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mod", [Projections, LowRank, Convolution])
def test_mixed_precision(mod: Any, dtype: str) -> None:
    inputs = arrays(mod)
    expected = run(mod, inputs)
    for out_dtype in ("float32", dtype):
        changed = tr.ToMixedPrecision(out_dtype, dtype=dtype)(mod)
        assert changed["main"].ret_struct_info == mod["main"].ret_struct_info
        assert f'dtype="{dtype}"' in changed.script()
        for got, wanted in zip(run(changed, inputs), expected, strict=True):
            tolerance = 0.03 if dtype == "float16" else 0.2
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_mixed_precision_of_parameters_and_tuples() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 8), F), w: R.Tensor((8, 6), F), c: R.Tensor((), "bool")):
            y = R.matmul(x, w)
            parts = R.split(y, 2, axis=1)
            if c:
                z = R.nn.relu(parts[0])
            else:
                z = R.nn.softmax(parts[1])
            return (z, parts)

    inputs = arrays_of((2, 8), (8, 6))
    changed = tr.ToMixedPrecision("float16", ["x", "w"])(Module).verify()
    assert [p.dtype for p in changed["main"].params] == ["float16", "float16", "bool"]
    y = inputs[0] @ inputs[1]
    half = [a.astype("float16") for a in inputs]
    vm = relax.VirtualMachine(tvm.compile(changed), tvm.cpu())
    z, parts = vm["main"](*half, np.array(True))
    assert z.numpy().dtype == np.float32
    np.testing.assert_allclose(z.numpy(), np.maximum(y[:, :3], 0), rtol=0.02, atol=0.02)
    np.testing.assert_allclose(parts[1].numpy(), y[:, 3:], rtol=0.02, atol=0.02)


def arrays_of(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(F) for shape in shapes]


def test_mixed_precision_refuses_other_dtypes() -> None:
    with pytest.raises(PassError, match="cannot compute in int8"):
        tr.ToMixedPrecision(dtype="int8")(LowRank)


def test_matmul_order_needs_certainty() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 64), F), a: R.Tensor((64, "m"), F), b: R.Tensor(("m", 64), F)):
            return R.matmul(x, R.matmul(a, b))

    assert tr.AdjustMatmulOrder()(Module).script() == Module.script()


def test_topological_sort_refuses_unknown_orders() -> None:
    with pytest.raises(PassError, match="no order 'sideways'"):
        tr.TopologicalSort("sideways")(LowRank)


def test_update_param_type() -> None:
    def choose(var: Any) -> Any:
        return R.Tensor((9, 16), F) if var.name_hint == "x" else None

    changed = tr.UpdateParamType(choose)(LowRank)
    assert changed["main"].ret_struct_info.fields[0].dims == (9, 12)
    with pytest.raises(VerificationError):
        tr.UpdateParamType(lambda var: R.Tensor((9, 15), F) if var.name_hint == "x" else None)(
            LowRank
        )


def test_layout_free_buffers() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def k(x: T.Buffer((2,), F), w: T.Buffer((2,), F), y: T.Buffer((2,), F)):
            for i in range(2):
                with T.block("b"):
                    vi = T.axis.spatial(2, i)
                    y[vi] = x[vi] - w[vi]

        @R.function
        def main(x: R.Tensor((2,), F), w: R.Tensor((2,), F)):
            R.func_attr({"num_input": 1})
            cls = Module
            y = R.call_tir(cls.k, (x, w), out_sinfo=R.Tensor((2,), F))
            return R.call_tir(cls.k, (w, y), out_sinfo=R.Tensor((2,), F))

    changed = tr.AttachAttrLayoutFreeBuffers()(Module)
    noted = {v.name_hint: f.attrs.get("layout_free_buffers") for v, f in changed.functions.items()}
    assert noted == {"k": [1], "k1": [0], "main": None}
    inputs = arrays_of((2,), (2,))
    same(run(changed, inputs), [inputs[1] - (inputs[0] - inputs[1])])
