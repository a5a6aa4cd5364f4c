"""The Relax passes on TVMScript: what goes in and what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir import relax, tir
from relax_mlir.errors import PassError
from relax_mlir.ir import IRModule
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


def check(transform, before: IRModule, expected: IRModule) -> None:
    """`transform(before)` has the structure and, through text, the names of `expected`."""
    result = transform(before).verify()
    assert result.script() == expected.script()


def mlp() -> IRModule:
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((1, 784), dtype="float32"),
            p_fc1_weight: R.Tensor((256, 784), dtype="float32"),
            p_fc1_bias: R.Tensor((256,), dtype="float32"),
            p_fc2_weight: R.Tensor((10, 256), dtype="float32"),
            p_fc2_bias: R.Tensor((10,), dtype="float32"),
        ) -> R.Tensor((1, 10), dtype="float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                lv = R.permute_dims(p_fc1_weight, axes=None)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.add(lv1, p_fc1_bias)
                lv3 = R.nn.relu(lv2)
                lv4 = R.permute_dims(p_fc2_weight, axes=None)
                lv5 = R.matmul(lv3, lv4, out_dtype="float32")
                lv6 = R.add(lv5, p_fc2_bias)
                gv = lv6
                R.output(gv)
            return gv

    return Module


def seed_after_zero() -> IRModule:
    """The module that the IRModule tutorial (seeds/002) shows after its zero pipeline."""

    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def fused_matmul1_add1(
            lv3: T.Buffer((T.int64(1), T.int64(256)), "float32"),
            lv4: T.Buffer((T.int64(256), T.int64(10)), "float32"),
            p_fc2_bias: T.Buffer((T.int64(10),), "float32"),
            T_add_intermediate: T.Buffer((T.int64(1), T.int64(10)), "float32"),
        ):
            T.func_attr({"tir.noalias": T.bool(True)})
            # with T.block("root"):
            matmul_intermediate = T.alloc_buffer((T.int64(1), T.int64(10)))
            for i0, i1, k in T.grid(T.int64(1), T.int64(10), T.int64(256)):
                with T.block("matmul"):
                    v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                    T.reads(lv3[v_i0, v_k], lv4[v_k, v_i1])
                    T.writes(matmul_intermediate[v_i0, v_i1])
                    with T.init():
                        matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
                    matmul_intermediate[v_i0, v_i1] = (
                        matmul_intermediate[v_i0, v_i1] + lv3[v_i0, v_k] * lv4[v_k, v_i1]
                    )
            for ax0, ax1 in T.grid(T.int64(1), T.int64(10)):
                with T.block("T_add"):
                    v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(matmul_intermediate[v_ax0, v_ax1], p_fc2_bias[v_ax1])
                    T.writes(T_add_intermediate[v_ax0, v_ax1])
                    T_add_intermediate[v_ax0, v_ax1] = (
                        matmul_intermediate[v_ax0, v_ax1] + p_fc2_bias[v_ax1]
                    )

        @T.prim_func(private=True)
        def fused_matmul_add_relu(
            x: T.Buffer((T.int64(1), T.int64(784)), "float32"),
            lv: T.Buffer((T.int64(784), T.int64(256)), "float32"),
            p_fc1_bias: T.Buffer((T.int64(256),), "float32"),
            compute_intermediate: T.Buffer((T.int64(1), T.int64(256)), "float32"),
        ):
            T.func_attr({"tir.noalias": T.bool(True)})
            # with T.block("root"):
            matmul_intermediate = T.alloc_buffer((T.int64(1), T.int64(256)))
            T_add_intermediate = T.alloc_buffer((T.int64(1), T.int64(256)))
            for i0, i1, k in T.grid(T.int64(1), T.int64(256), T.int64(784)):
                with T.block("matmul"):
                    v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                    T.reads(x[v_i0, v_k], lv[v_k, v_i1])
                    T.writes(matmul_intermediate[v_i0, v_i1])
                    with T.init():
                        matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
                    matmul_intermediate[v_i0, v_i1] = (
                        matmul_intermediate[v_i0, v_i1] + x[v_i0, v_k] * lv[v_k, v_i1]
                    )
            for ax0, ax1 in T.grid(T.int64(1), T.int64(256)):
                with T.block("T_add"):
                    v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(matmul_intermediate[v_ax0, v_ax1], p_fc1_bias[v_ax1])
                    T.writes(T_add_intermediate[v_ax0, v_ax1])
                    T_add_intermediate[v_ax0, v_ax1] = (
                        matmul_intermediate[v_ax0, v_ax1] + p_fc1_bias[v_ax1]
                    )
            for i0, i1 in T.grid(T.int64(1), T.int64(256)):
                with T.block("compute"):
                    v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                    T.reads(T_add_intermediate[v_i0, v_i1])
                    T.writes(compute_intermediate[v_i0, v_i1])
                    compute_intermediate[v_i0, v_i1] = T.max(
                        T_add_intermediate[v_i0, v_i1], T.float32(0.0)
                    )

        @T.prim_func(private=True)
        def transpose(
            p_fc1_weight: T.Buffer((T.int64(256), T.int64(784)), "float32"),
            T_transpose: T.Buffer((T.int64(784), T.int64(256)), "float32"),
        ):
            T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})
            # with T.block("root"):
            for ax0, ax1 in T.grid(T.int64(784), T.int64(256)):
                with T.block("T_transpose"):
                    v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(p_fc1_weight[v_ax1, v_ax0])
                    T.writes(T_transpose[v_ax0, v_ax1])
                    T_transpose[v_ax0, v_ax1] = p_fc1_weight[v_ax1, v_ax0]

        @T.prim_func(private=True)
        def transpose1(
            p_fc2_weight: T.Buffer((T.int64(10), T.int64(256)), "float32"),
            T_transpose: T.Buffer((T.int64(256), T.int64(10)), "float32"),
        ):
            T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})
            # with T.block("root"):
            for ax0, ax1 in T.grid(T.int64(256), T.int64(10)):
                with T.block("T_transpose"):
                    v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(p_fc2_weight[v_ax1, v_ax0])
                    T.writes(T_transpose[v_ax0, v_ax1])
                    T_transpose[v_ax0, v_ax1] = p_fc2_weight[v_ax1, v_ax0]

        @R.function
        def main(
            x: R.Tensor((1, 784), dtype="float32"),
            p_fc1_weight: R.Tensor((256, 784), dtype="float32"),
            p_fc1_bias: R.Tensor((256,), dtype="float32"),
            p_fc2_weight: R.Tensor((10, 256), dtype="float32"),
            p_fc2_bias: R.Tensor((10,), dtype="float32"),
        ) -> R.Tensor((1, 10), dtype="float32"):
            R.func_attr({"num_input": 1})
            cls = Module
            with R.dataflow():
                lv = R.call_tir(
                    cls.transpose, (p_fc1_weight,), out_sinfo=R.Tensor((784, 256), dtype="float32")
                )
                lv_1 = R.call_tir(
                    cls.fused_matmul_add_relu,
                    (x, lv, p_fc1_bias),
                    out_sinfo=R.Tensor((1, 256), dtype="float32"),
                )
                lv4 = R.call_tir(
                    cls.transpose1, (p_fc2_weight,), out_sinfo=R.Tensor((256, 10), dtype="float32")
                )
                gv = R.call_tir(
                    cls.fused_matmul1_add1,
                    (lv_1, lv4, p_fc2_bias),
                    out_sinfo=R.Tensor((1, 10), dtype="float32"),
                )
                R.output(gv)
            return gv

    return Module


# -- the zero pipeline ------------------------------------------------------------------------


def test_zero_pipeline_gives_the_tutorials_module():
    mod = relax.transform.LegalizeOps()(mlp())
    check(relax.get_pipeline("zero"), mod, seed_after_zero())


def test_zero_pipeline_can_run_twice():
    once = relax.get_pipeline("zero")(mlp())
    twice = relax.get_pipeline("zero")(once)
    assert set(twice.functions) == set(once.functions)
    assert twice["main"] == once["main"]


def test_names_of_the_functions_after_each_step():
    legal = relax.transform.LegalizeOps()(mlp())
    names = [var.name_hint for var in legal.get_global_vars()]
    assert names == ["add", "add1", "main", "matmul", "matmul1", "relu", "transpose", "transpose1"]
    patterns = relax.transform.AnnotateTIROpPattern()(legal)
    assert {n: patterns[n].attrs["op_pattern"] for n in names if n != "main"} == {
        "add": 0,
        "add1": 0,
        "matmul": 4,
        "matmul1": 4,
        "relu": 0,
        "transpose": 2,
        "transpose1": 2,
    }
    fused = relax.transform.FuseOps()(patterns)
    assert fused["fused_matmul_add_relu"].attrs == {"Primitive": True}
    assert fused["fused_matmul_add_relu"].is_private


def test_fuse_opt_level_zero_fuses_nothing():
    mod = relax.transform.AnnotateTIROpPattern()(relax.transform.LegalizeOps()(mlp()))
    assert relax.transform.FuseOps(fuse_opt_level=0)(mod) == mod


# -- fusion -----------------------------------------------------------------------------------


def zero(mod: IRModule) -> list[str]:
    """The functions that fusion makes of a module, sorted."""
    names = [var.name_hint for var in relax.get_pipeline("zero")(mod).get_global_vars()]
    return sorted(name for name in names if name.startswith("fused"))


def test_injective_chain_into_a_tuple_field():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.concat((x, x), axis=0)
                b = R.nn.relu(a)
                c = R.permute_dims(b)
                d = R.split(c, 2, axis=0)
                e = d[0]
                f = R.negative(e)
                R.output(f)
            return f

    assert zero(Module) == ["fused_concatenate_relu_transpose_split_tir_negative"]


def test_reduction_then_elementwise_is_two_kernels():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.sum(a, axis=1)
                c = R.nn.relu(b)
                R.output(c)
            return c

    assert zero(Module) == ["fused_relu_sum"]


def test_two_matmuls_stay_apart():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                b = R.matmul(x, a)
                c = R.add(a, b)
                R.output(c)
            return c

    # `a` reaches the sum through a second matmul: only that one takes it as its epilogue.
    assert zero(Module) == ["fused_matmul_add"]


def test_code_outside_dataflow_is_left_alone():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            a = R.nn.relu(x)
            b = R.nn.relu(a)
            return b

    assert zero(Module) == []


def test_maximal_depth_bounds_a_group():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.nn.relu(a)
                c = R.nn.relu(b)
                d = R.nn.relu(c)
                R.output(d)
            return d

    from relax_mlir.transform import PassPipeline

    pipeline = (
        "relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops{{max-fuse-depth={}}}"
    )
    made = {
        depth: sorted(
            var.name_hint
            for var in PassPipeline(pipeline.format(depth))(Module).get_global_vars()
            if var.name_hint.startswith("fused")
        )
        for depth in (1, 2, 256)
    }
    assert made == {
        1: [],
        2: ["fused_relu_relu"],
        256: ["fused_relu_relu_relu_relu"],
    }


def test_long_names_are_cut():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = x
            for _ in range(40):
                y = builder.emit(relax.op.nn.relu(y))
            out = builder.emit_output(y)
        builder.emit_func_output(out)
    (name,) = zero(builder.get())
    assert name.startswith("fused_relu_relu_")
    assert len(name) < 100


# -- parameters and symbols -------------------------------------------------------------------


def test_bind_params():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, "k"), "float32"), w: R.Tensor(("k", 3), "float32")):
            k = T.int64()
            with R.dataflow():
                gv = R.matmul(x, w)
                R.output(gv)
            return gv

    w = np.arange(12, dtype="float32").reshape(4, 3)
    result = relax.transform.BindParams("main", {"w": w})(Before)
    assert [p.name_hint for p in result["main"].params] == ["x"]
    assert str(result["main"].params[0].struct_info) == 'R.Tensor((2, 4), dtype="float32")'
    by_var = relax.transform.BindParams("main", {Before["main"].params[1]: w})(Before)
    assert by_var == result
    with pytest.raises(PassError, match="has no parameter 'v'"):
        relax.transform.BindParams("main", {"v": w})(Before)
    with pytest.raises(PassError, match="the array is"):
        relax.transform.BindParams("main", {"w": w.astype("int32")})(Before)
    with pytest.raises(PassError, match="no Relax function 'other'"):
        relax.transform.BindParams("other", {"w": w})(Before)


def test_bind_symbolic_vars():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m",), "float32"):
            n = T.int64()
            m = T.int64()
            gv = R.flatten(x)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((3, "m"), "float32")) -> R.Tensor(("m * 3",), "float32"):
            m = T.int64()
            gv = R.flatten(x)
            return gv

    check(relax.transform.BindSymbolicVars({"n": 3}), Before, Expected)
    check(relax.transform.BindSymbolicVars({tir.Var("n", "int64"): 3}, "main"), Before, Expected)
    with pytest.raises(PassError, match="no symbol 'q'"):
        relax.transform.BindSymbolicVars({"q": 3}, "main")(Before)
    with pytest.raises(PassError, match="not negative"):
        relax.transform.BindSymbolicVars({"n": -3})(Before)


# -- structure --------------------------------------------------------------------------------


def test_canonicalize_bindings():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = a
                t = (x, b)
                c = t[1]
                gv = R.add(c, x)
                gv1 = b
                R.output(gv, gv1)
            y = gv
            return (y, gv1)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv1 = R.exp(x)
                t = (x, gv1)
                gv = R.add(gv1, x)
                R.output(gv, gv1)
            return (gv, gv1)

    check(relax.transform.CanonicalizeBindings(), Before, Expected)


def test_dead_code_elimination():
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def unused(A: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("A"):
                    vi = T.axis.spatial(4, i)
                    A[vi] = T.float32(0)

        @R.function(private=True)
        def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                dead = R.sin(a)
                gv1 = R.cos(dead)
                gv = R.negative(a)
                R.output(gv, gv1)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                gv = R.negative(a)
                R.output(gv)
            return gv

    check(relax.transform.DeadCodeElimination(), Before, Expected)
    kept = relax.transform.DeadCodeElimination(["helper"])(Before)
    assert [var.name_hint for var in kept.get_global_vars()] == ["helper", "main"]
    with pytest.raises(PassError, match="no function 'nothing' to keep"):
        relax.transform.DeadCodeElimination(["nothing"])(Before)


def test_eliminate_common_subexpr():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                b = R.add(x, x)
                c = R.multiply(a, b)
                d = R.multiply(b, b)
                gv = R.subtract(c, d)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, x)
                c = R.multiply(a, a)
                gv = R.subtract(c, c)
                R.output(gv)
            return gv

    check(relax.transform.EliminateCommonSubexpr(), Before, Expected)


def test_dataflow_round_trip():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                R.output(b)
            return b

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.sin(a)
            return b

    check(relax.transform.ToNonDataflow(), Before, Expected)
    check(relax.transform.ConvertToDataflow(), Expected, Before)


def test_custom_legalization():
    from relax_mlir import topi

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                gv = R.nn.relu(a)
                R.output(gv)
            return gv

    def negated(bb, call):
        return bb.call_te(lambda a, b: topi.negative(topi.add(a, b)), *call.args)

    legal = relax.transform.LegalizeOps({"relax.add": negated}, skip_ops=["relax.nn.relu"])(Before)
    text = legal.script()
    assert "R.nn.relu" in text
    assert "R.add" not in text
    assert len(legal) == 2


def test_fold_constant_in_a_module():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            with R.dataflow():
                a = R.multiply(R.const([1.0, 2.0], "float32"), R.const([3.0, 4.0], "float32"))
                gv = R.add(x, a)
                R.output(gv)
            return gv

    folded = relax.transform.FoldConstant()(Before)
    assert "R.multiply" not in folded.script()
    executable = relax.build(folded)
    x = np.array([1, 1], "float32")
    out = relax.VirtualMachine(executable)["main"](x)
    np.testing.assert_array_equal(out.numpy(), [4, 9])
