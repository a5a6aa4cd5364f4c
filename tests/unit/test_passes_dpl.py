"""Pattern matching on Relax functions: `relax.dpl`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.relax import op
from relax_mlir.relax.dpl import (
    PatternContext,
    TuplePattern,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

F = "float32"


@I.ir_module
class Module:
    @T.prim_func
    def kernel(x: T.Buffer((2, 8), F), y: T.Buffer((2, 8), F)):
        for i, j in T.grid(2, 8):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((2, 8), F), w: R.Tensor((8, 8), F), b: R.Tensor((8,), F)):
        cls = Module
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.add(a, b)
            d = R.nn.relu(c)
            e = R.call_tir(cls.kernel, (d,), out_sinfo=R.Tensor((2, 8), F))
            f = R.split(e, 2, axis=1)
            g = f[0]
            h = R.multiply(g, R.const(2.0, F))
            s = R.reshape(h, R.shape([8]))
            t = (s, h)
            k = R.call_dps_packed("outside", (d,), out_sinfo=R.Tensor((2, 8), F))
            R.output(t, k)
        p = R.call_packed("effect", k)
        return t


MAIN = Module["main"]
VALUES = relax.analysis.get_var2val(MAIN)
VARS = {var.name_hint: var for var in relax.analysis.all_vars(MAIN)}


def value(name: str) -> Any:
    return VALUES[VARS[name]]


X, W, B = (VARS[n] for n in "xwb")


@pytest.mark.parametrize(
    "pattern, name, matches",
    [
        (is_op("relax.matmul")(wildcard(), wildcard()), "a", True),
        (is_op("relax.matmul")(wildcard()), "a", False),
        (is_op("relax.matmul")(is_var("x"), is_var()), "a", True),
        (is_op("relax.matmul")(is_var("w"), is_var()), "a", False),
        (
            is_op("relax.add")(is_op("relax.matmul")(is_var("x"), is_var("w")), is_var("b")),
            "c",
            True,
        ),
        (is_op("relax.nn.relu")(is_dfv("c")), "d", True),
        (is_op("relax.nn.relu")(is_dfv("a")), "d", False),
        (is_op("relax.add")(wildcard(), is_dfv()), "c", False),
        (wildcard() + wildcard(), "c", True),
        (wildcard() - wildcard(), "c", False),
        (wildcard() * is_const(), "h", True),
        (wildcard() * is_expr(relax.const(2.0, F)), "h", True),
        (wildcard() * is_expr(relax.const(3.0, F)), "h", False),
        (is_const() * wildcard(), "h", False),
        (is_op("relax.split")(wildcard()).has_attr({"axis": 1}), "f", True),
        (is_op("relax.split")(wildcard()).has_attr({"axis": 0}), "f", False),
        (is_op("relax.split")(wildcard()).has_attr({"none": 0}), "f", False),
        (is_tuple_get_item(is_op("relax.split")(wildcard()), 0), "g", True),
        (is_tuple_get_item(is_op("relax.split")(wildcard())), "g", True),
        (is_tuple_get_item(is_op("relax.split")(wildcard()), 1), "g", False),
        (is_tuple([is_op("relax.reshape")(wildcard(), is_shape([8])), wildcard()]), "t", True),
        (is_tuple([wildcard(), is_op("relax.reshape")(wildcard(), wildcard())]), "t", False),
        (is_tuple([wildcard(), is_op("relax.reshape")(wildcard(), wildcard())], True), "t", True),
        (is_tuple([wildcard()]), "t", False),
        (is_op("relax.reshape")(wildcard(), is_shape([2, 4])), "s", False),
        (is_call_tir("kernel"), "e", True),
        (is_call_tir("other"), "e", False),
        (is_call_tir("kernel", [is_op("relax.nn.relu")(wildcard())]), "e", True),
        (is_call_tir("kernel", TuplePattern([is_op("relax.exp")(wildcard())])), "e", False),
        (is_op("relax.call_tir")(is_gv("kernel"), wildcard()), "e", True),
        (is_call_dps_packed("outside", [wildcard()]), "k", True),
        (is_call_dps_packed("inside"), "k", False),
        (is_call_packed("effect"), "p", True),
        (is_call_packed("effect", [wildcard(), wildcard()]), "p", False),
        (is_op("relax.exp")(wildcard()) | is_op("relax.nn.relu")(wildcard()), "d", True),
        (~is_op("relax.exp")(wildcard()), "d", True),
        (~is_op("relax.nn.relu")(wildcard()), "d", False),
        (has_dtype(F) & wildcard().has_shape([2, 8]), "d", True),
        (has_dtype("float16"), "d", False),
        (wildcard().has_shape([8, 2]), "d", False),
        (wildcard().has_struct_info(R.Tensor(ndim=2)), "d", True),
        (wildcard().has_struct_info(R.Tensor(ndim=3)), "d", False),
        (make_fused_bias_activation_pattern("relax.matmul", True, "relax.nn.relu"), "d", True),
        (make_fused_bias_activation_pattern("relax.matmul", False, "relax.nn.relu"), "d", False),
    ],
)
def test_matching(pattern: Any, name: str, matches: bool) -> None:
    assert pattern.match(value(name), VALUES) is matches
    assert pattern.match(VARS[name], VALUES) is matches


def test_a_pattern_used_twice_matches_one_expression() -> None:
    x = wildcard()
    same = is_op("relax.add")(x, x)
    other = relax.Var("y", R.Tensor((2, 8), F))
    assert same.match(op.add(X, X)) and not same.match(op.add(X, other))
    different = is_op("relax.add")(x, x.dup())
    assert different.match(op.add(X, other))


def test_alternatives_are_tried_until_all_parts_fit() -> None:
    """The left alternative of the inner pattern fits, but then the outer one does not."""
    x = wildcard()
    inner = is_op("relax.add")(x, wildcard()) | is_op("relax.add")(wildcard(), x)
    outer = is_op("relax.multiply")(inner, x)
    other = relax.Var("y", R.Tensor((2, 8), F))
    assert outer.match(op.multiply(op.add(other, X), X))
    assert not outer.match(op.multiply(op.add(other, other), X))


def test_without_values_variables_stay_opaque() -> None:
    pattern = is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())
    assert not pattern.match(value("c"))
    matched = pattern.extract_matched_expr(value("c"), VALUES)
    assert matched is not None and matched[pattern] is value("c")
    assert matched[pattern.args[0]] is value("a")
    assert matched[pattern.args[0].args[0]] is X


def test_rewrite_call() -> None:
    x, y = wildcard(), wildcard()
    relu = is_op("relax.nn.relu")(x + y)

    def rewriter(expr: Any, matched: Any) -> Any:
        assert expr is matched[relu]
        return op.nn.gelu(op.add(matched[y], matched[x]))

    changed = rewrite_call(relu, rewriter, MAIN)
    text = changed.script()
    assert "R.nn.gelu" in text and "R.nn.relu" not in text
    assert text.count("R.add") == 1 and "R.add(b, a)" in text
    assert rewrite_call(relu, lambda expr, _: expr, MAIN).script() == MAIN.script()


def test_rewrite_call_sees_what_it_rewrote() -> None:
    @R.function
    def f(x: R.Tensor((4,), F)):
        with R.dataflow():
            a = R.negative(x)
            b = R.negative(a)
            c = R.negative(b)
            d = R.negative(c)
            R.output(d)
        return d

    x = wildcard()
    twice = is_op("relax.negative")(is_op("relax.negative")(x))
    changed = rewrite_call(twice, lambda _, matched: matched[x], f)
    assert "negative" not in changed.script()


def test_rewrite_bindings_combines_three_matmuls() -> None:
    @R.function
    def f(
        x: R.Tensor((2, 8), F),
        q: R.Tensor((8, 4), F),
        k: R.Tensor((4, 8), F),
        v: R.Tensor((8, 4), F),
    ):
        with R.dataflow():
            a = R.matmul(x, q)
            ea = R.exp(a)
            kt = R.permute_dims(k)
            b = R.matmul(x, kt)
            c = R.matmul(x, v)
            s = R.add(R.add(ea, b), c)
            R.output(s)
        return s

    with PatternContext() as ctx:
        x = wildcard()
        weights = [wildcard() for _ in range(3)]
        products = [is_op("relax.matmul")(x, w) for w in weights]

    def rewriter(matched: Any, bindings: Any) -> Any:
        joined = op.concat([matched[w] for w in weights], axis=1)
        parts = op.split(op.matmul(matched[x], joined), 3, axis=1)
        return {matched[p]: relax.TupleGetItem(parts, i) for i, p in enumerate(products)}

    changed = rewrite_bindings(ctx, rewriter, f)
    text = changed.script()
    assert text.count("R.matmul") == text.count("R.split") == text.count("R.concat") == 1
    assert relax.analysis.well_formed(changed)


def test_uses_and_only_uses() -> None:
    @R.function
    def f(x: R.Tensor((4,), F)):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            c = R.cos(a)
            d = R.add(b, c)
            R.output(d)
        return d

    block = f.body.blocks[0]

    def matched(build: Any) -> dict[str, str] | None:
        with PatternContext() as ctx:
            build()
        found = ctx.match_dfb(block)
        return None if found is None else {type(p).__name__: v.name_hint for p, v in found.items()}

    unary = {n: (lambda n=n: is_op(f"relax.{n}")(wildcard())) for n in ("exp", "sin", "cos")}
    assert matched(lambda: unary["exp"]() ^ unary["sin"]()) is not None
    assert matched(lambda: unary["exp"]() >> unary["sin"]()) is None  # cos uses it as well
    assert matched(lambda: unary["sin"]() >> is_op("relax.add")(wildcard(), wildcard())) is not None
    add = lambda: is_op("relax.add")(wildcard(), wildcard())  # noqa: E731
    assert matched(lambda: unary["sin"]().used_by(add(), 0)) is not None
    assert matched(lambda: unary["sin"]().used_by(add(), 1)) is None
    assert matched(lambda: unary["sin"]() ^ unary["cos"]()) is None

    def diamond() -> None:
        first, last = unary["exp"](), add()
        middle = [unary["sin"](), unary["cos"]()]
        first.fork_to(*middle)
        for part in middle:
            part >> last

    assert matched(diamond) is not None
    with pytest.raises(ValueError, match="PatternContext"):
        wildcard() ^ wildcard()


def test_bindings_that_need_each_other_are_refused() -> None:
    @R.function
    def f(x: R.Tensor((4,), F)):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(x)
            c = R.add(a, b)
            R.output(c)
        return c

    with PatternContext() as ctx:
        exp, sin = is_op("relax.exp")(wildcard()), is_op("relax.sin")(wildcard())

    def rewriter(matched: Any, _: Any) -> Any:
        return {matched[exp]: op.cos(matched[sin]), matched[sin]: op.cos(matched[exp])}

    with pytest.raises(Error, match="need each other"):
        rewrite_bindings(ctx, rewriter, f)


def test_constants_compare_by_value() -> None:
    array = np.arange(4, dtype=F)
    assert is_expr(relax.const(array)).match(relax.const(array.copy()))
    assert not is_expr(relax.const(array)).match(relax.const(array + 1))
    assert not is_expr(relax.const(array)).match(relax.const(array.astype("float64")))
