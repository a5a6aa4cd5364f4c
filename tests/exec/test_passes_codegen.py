"""Fusion by patterns, and parts of programs that users' back ends compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.errors import PassError
from relax_mlir.relax import transform as tr
from relax_mlir.relax.dpl import is_const, is_op, make_fused_bias_activation_pattern, wildcard
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

F = "float32"
SCALE = np.float32(3.0)

MATMUL = ("np.matmul", is_op("relax.matmul")(wildcard(), wildcard()))
DENSE = ("np.dense", make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu"))
SCALED = ("np.scaled", is_op("relax.multiply")(wildcard(), is_const()))


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 8), F), w: R.Tensor((8, 8), F), b: R.Tensor((8,), F), v: R.Tensor((8, 4), F)
    ):
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.nn.relu(R.add(a, b))
            s = R.multiply(c, R.const(3.0, F))
            d = R.exp(s)
            e = R.matmul(d, v)
            f = R.nn.relu(R.add(R.matmul(s, w), b))
            R.output(e, f)
        return (e, f)


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s).astype(F) * 0.1 for s in ((2, 8), (8, 8), (8,), (8, 4))]


def expected() -> list[np.ndarray]:
    x, w, b, v = inputs()
    s = np.maximum(x @ w + b, 0) * SCALE
    return [np.exp(s) @ v, np.maximum(s @ w + b, 0)]


def check(mod: Any) -> None:
    got = relax.VirtualMachine(tvm.compile(mod), tvm.cpu())["main"](*inputs())
    for a, b in zip(got, expected(), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-6)


def composites(mod: Any) -> list[str]:
    functions = mod.functions.values()
    return sorted(f.attrs["Composite"] for f in functions if "Composite" in f.attrs)


def test_the_first_pattern_wins_and_the_result_runs() -> None:
    fused = tr.FuseOpsByPattern([DENSE, MATMUL])(Module)
    # Both layers are one function; the product without a bias is the other pattern's.
    assert composites(fused) == ["np.dense", "np.matmul"]
    assert "fused_relax_matmul_relax_add_relax_nn_relu" in [v.name_hint for v in fused.functions]
    assert fused["main"].script().count("R.matmul") == 0
    check(fused)
    assert composites(tr.FuseOpsByPattern([MATMUL, DENSE])(Module)) == ["np.matmul"] * 2
    check(tr.FuseOpsByPattern([MATMUL, DENSE])(Module))


def test_the_larger_alternative_wins() -> None:
    product = is_op("relax.matmul")(wildcard(), wildcard())
    optional = product.optional(lambda x: is_op("relax.add")(x, wildcard()))
    fused = tr.FuseOpsByPattern([("np.optional", optional)])(Module)
    names = sorted(v.name_hint for v in fused.functions)
    assert names == ["fused_relax_matmul", "fused_relax_matmul_relax_add", "main"]
    check(fused)


def test_constants_are_bound_or_passed() -> None:
    bound = tr.FuseOpsByPattern([SCALED])(Module)
    passed = tr.FuseOpsByPattern([SCALED], bind_constants=False)(Module)
    assert len(bound["fused_relax_multiply"].params) == 1
    assert len(passed["fused_relax_multiply"].params) == 2
    check(bound)
    check(passed)


def test_values_needed_elsewhere_are_not_hidden() -> None:
    pattern = is_op("relax.exp")(is_op("relax.multiply")(wildcard(), wildcard()))
    assert composites(tr.FuseOpsByPattern([("np.both", pattern)])(Module)) == []


def test_check_and_attributes() -> None:
    left, right = wildcard(), wildcard()
    product = is_op("relax.matmul")(left, right)
    seen: list[tuple[int, ...]] = []

    def accept(context: tr.PatternCheckContext) -> bool:
        assert context.matched_expr is context.annotated_expr["root"]
        assert list(context.matched_bindings.values()) == [context.matched_expr]
        seen.append(tuple(context.annotated_expr["right"].struct_info.dims))
        return seen[-1] == (8, 4)

    parts = {"root": product, "right": right}
    pattern = tr.FusionPattern(
        "np.narrow", product, parts, accept, lambda found: {"columns": found["right"].shape[1]}
    )
    fused = tr.FuseOpsByPattern([pattern])(Module)
    assert composites(fused) == ["np.narrow"] and sorted(seen) == [(8, 4), (8, 8), (8, 8)]
    check(fused)


@pytest.mark.parametrize("given", [("np.matmul",), "np.matmul", 3])
def test_what_is_no_pattern_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="FusionPattern"):
        tr.FuseOpsByPattern([given])


def test_merging_stays_convex() -> None:
    """The last product waits for exp, which is not the back end's: it needs a second function."""
    fused = tr.FuseOpsByPattern([DENSE, SCALED, MATMUL])(Module)
    merged = tr.MergeCompositeFunctions()(fused).verify()
    groups = [f for f in merged.functions.values() if f.attrs.get("Codegen") == "np"]
    assert len(groups) == 2
    assert "R.exp" in merged["main"].script() and "R.matmul" not in merged["main"].script()
    check(merged)


def test_two_back_ends_are_kept_apart() -> None:
    fused = tr.FuseOpsByPattern([DENSE, ("other.scaled", SCALED[1]), MATMUL])(Module)
    merged = tr.MergeCompositeFunctions()(fused)
    found = sorted(f.attrs["Codegen"] for f in merged.functions.values() if "Codegen" in f.attrs)
    # The two layers without and with the scaling in front are calls of one function.
    assert found == ["np", "np", "other"]
    check(merged)


def numpy_backend(calls: list[str]) -> Any:
    """A back end that computes functions of matmul, add, relu and multiply with numpy."""
    table = {
        "relax.matmul": np.matmul,
        "relax.add": np.add,
        "relax.multiply": np.multiply,
        "relax.nn.relu": lambda a: np.maximum(a, 0),
    }

    def evaluate(function: relax.Function, arrays: list[np.ndarray]) -> list[np.ndarray]:
        known: dict[Any, Any] = dict(zip(function.params, arrays, strict=True))

        def value(expr: Any) -> Any:
            if isinstance(expr, relax.Constant):
                return expr.numpy()
            if isinstance(expr, relax.Tuple):
                return [value(field) for field in expr.fields]
            return known[expr]

        for binding in function.body.bindings:
            expr = binding.value
            if isinstance(expr, relax.Call):
                known[binding.var] = table[expr.op.name](*map(value, expr.args))
            else:
                known[binding.var] = value(expr)
        result = value(function.body.body)
        return result if isinstance(result, list) else [result]

    def codegen(functions: list[relax.Function], options: dict[str, Any]) -> dict[str, Any]:
        def kernel(function: relax.Function) -> Any:
            def run(*tensors: Any) -> None:
                calls.append(function.name)
                count = len(function.params)
                arrays = [np.array(t.numpy()) for t in tensors[:count]]
                for out, result in zip(tensors[count:], evaluate(function, arrays), strict=True):
                    out.copyfrom(np.float32(result * options.get("factor", 1)))

            return run

        return {function.name: kernel(function) for function in functions}

    return codegen


def test_run_codegen() -> None:
    calls: list[str] = []
    relax.register_codegen("np", override=True)(numpy_backend(calls))
    fused = tr.FuseOpsByPattern([DENSE, SCALED, MATMUL])(Module)
    compiled = tr.RunCodegen()(tr.MergeCompositeFunctions()(fused))
    assert [v.name_hint for v in compiled.functions] == ["main"]
    assert compiled.script().count("R.call_dps_packed") == 2
    check(compiled)
    assert len(calls) == 2


def test_annotated_functions_go_to_the_back_end_one_by_one() -> None:
    calls: list[str] = []
    relax.register_codegen("np", override=True)(numpy_backend(calls))
    fused = tr.FuseOpsByPattern([DENSE, MATMUL], annotate_codegen=True)(Module)
    check(tr.RunCodegen({"np": {"factor": 1}})(fused))
    assert len(calls) == 3


def test_back_ends_that_are_missing_or_incomplete() -> None:
    pattern = ("nobody.matmul", MATMUL[1])
    fused = tr.FuseOpsByPattern([pattern], annotate_codegen=True)(Module)
    with pytest.raises(PassError, match="no back end 'nobody'"):
        tr.RunCodegen()(fused)
    relax.register_codegen("lazy", override=True)(lambda functions, options: {})
    with pytest.raises(ValueError, match="already"):
        relax.register_codegen("lazy")(lambda functions, options: {})
    fused = tr.FuseOpsByPattern([("lazy.matmul", MATMUL[1])], annotate_codegen=True)(Module)
    with pytest.raises(PassError, match="gave nothing for"):
        tr.RunCodegen()(fused)
