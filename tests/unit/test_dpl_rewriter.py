"""Rules as values: from a pattern, from a module, joined, on functions and on modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

F = "float32"


@R.rewriter
class SumOfSplit:
    @R.function
    def pattern(A: R.Tensor([16], F), B: R.Tensor([16], F)):
        C = R.add(A, B)
        return C

    @R.function
    def replacement(A: R.Tensor([16], F), B: R.Tensor([16], F)):
        C = R.call_pure_packed("fast_add", A, B, ty_args=R.Tensor([16], F))
        return C


@R.rewriter
class SquareOfSum:
    @R.function
    def pattern(A: R.Tensor([16], F), B: R.Tensor([16], F)):
        C = R.add(A, B)
        D = R.multiply(C, C)
        return D

    @R.function
    def replacement(A: R.Tensor([16], F), B: R.Tensor([16], F)):
        with R.dataflow():
            C = R.subtract(A, B)
            D = R.multiply(C, C)
            R.output(D)
        return D


@R.function
def before(x: R.Tensor([32], F)):
    split = R.split(x, 2)
    lhs = split[0]
    rhs = split[1]
    out = lhs + rhs
    return out


def test_a_rule_from_functions() -> None:
    @R.function
    def expected(x: R.Tensor([32], F)):
        split = R.split(x, 2)
        lhs = split[0]
        rhs = split[1]
        out = R.call_pure_packed("fast_add", lhs, rhs, ty_args=R.Tensor([16], F))
        return out

    after = SumOfSplit(before)
    assert after.with_attr("global_symbol", "main") == expected.with_attr("global_symbol", "main")


@R.function
def squares(x: R.Tensor([16], F), y: R.Tensor([16], F), z: R.Tensor([16], F)):
    with R.dataflow():
        a = R.add(x, y)
        b = R.multiply(a, a)
        c = R.add(y, z)
        d = R.multiply(b, c)
        R.output(d)
    return d


def test_several_bindings_and_several_rules() -> None:
    one = SquareOfSum(squares).script()
    assert one.count("R.subtract(x, y)") == 1 and one.count("R.add") == 1
    both = (SquareOfSum | SumOfSplit)(squares).script()
    assert both.count('"fast_add", y, z') == 1 and "R.multiply" in both
    # The rule that comes first takes the sums, of which the other one then finds none.
    assert "R.subtract" not in (SumOfSplit | SquareOfSum)(squares).script()


def test_modules_and_other_shapes() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor([16], F), y: R.Tensor([8], F)):
            a = R.add(x, x)
            b = R.add(y, y)
            return (a, b)

        @T.prim_func
        def kernel(A: T.Buffer((4,), F)):
            for i in range(4):
                A[i] = A[i] + T.float32(1)

    after = SumOfSplit(Module)
    text = after.script()
    assert text.count("fast_add") == 1 and "R.add(y, y)" in text
    assert after["kernel"] == Module["kernel"] and "fast_add" not in Module.script()


def test_a_rule_from_a_pattern() -> None:
    lhs, rhs = wildcard(), wildcard()

    def swap(_: Any, found: Any) -> Any:
        return R.subtract(found[rhs], found[lhs])

    rule = PatternMatchingRewriter.from_pattern(is_op("relax.add")(lhs, rhs), swap)
    assert "R.subtract(rhs, lhs)" in rule(before).script()


ERRORS = {
    "a rewriter has a function 'pattern'": ("R.Tensor([32], 'float32')", "other", KeyError),
    "must have the same signature": ("R.Tensor([16], 'float32')", "pattern", ValueError),
}


@pytest.mark.parametrize("message", ERRORS)
def test_rules_that_are_none(message: str) -> None:
    kind, name, error = ERRORS[message]
    module = from_source(f"""
@I.ir_module
class Rule:
    @R.function
    def {name}(A: {kind}):
        return A
    @R.function
    def replacement(A: R.Tensor([32], "float32")):
        return A
""")
    with pytest.raises(error, match=message):
        PatternMatchingRewriter.from_module(module)


def test_a_kernel_is_no_pattern() -> None:
    with pytest.raises(TypeError, match="'pattern' must be a Relax function"):

        @R.rewriter
        class Rule:
            @T.prim_func
            def pattern():
                T.evaluate(0)

            @R.function
            def replacement():
                return R.tuple()


@R.rewriter
class DoubledBySubroutine:
    @R.function
    def pattern(A: R.Tensor([16], F)):
        return R.add(A, A)

    @R.function
    def replacement(A: R.Tensor([16], F)):
        return DoubledBySubroutine.helper(A)

    @R.function(private=True)
    def helper(A: R.Tensor([16], F)) -> R.Tensor([16], F):
        return DoubledBySubroutine.inner(A)

    @R.function(private=True)
    def inner(A: R.Tensor([16], F)) -> R.Tensor([16], F):
        return R.multiply(A, R.const(2.0, F))


@R.rewriter
class SquaredByKernel:
    @R.function
    def pattern(A: R.Tensor([16], F)):
        return R.multiply(A, A)

    @R.function
    def replacement(A: R.Tensor([16], F)):
        return R.call_tir(SquaredByKernel.helper, [A], out_ty=R.Tensor([16], F))

    @T.prim_func(private=True)
    def helper(A: T.Buffer(16, "float32"), B: T.Buffer(16, "float32")):
        for i in range(16):
            B[i] = A[i] * A[i]


def test_functions_of_rules_come_along_under_free_names() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([16], F)):
            y = R.add(x, x)
            z = R.multiply(y, y)
            return z

        @R.function(private=True)
        def inner(x: R.Tensor([16], F)):
            return R.negative(x)

    after = (DoubledBySubroutine | SquaredByKernel)(Before).verify()
    names = sorted(var.name_hint for var in after.get_global_vars())
    assert names == ["helper", "helper_1", "inner", "inner_1", "main"]
    assert all(after[name].is_private for name in names if name != "main")
    x = np.arange(16, dtype=F)
    machine = relax.VirtualMachine(relax_mlir.compile(after, "llvm"), relax_mlir.cpu())
    np.testing.assert_array_equal(machine["main"](x).numpy(), (2 * x) ** 2)
    only = DoubledBySubroutine(Before)
    assert sorted(v.name_hint for v in only.get_global_vars()) == [
        "helper", "inner", "inner_1", "main"
    ]  # fmt: skip
    assert SquaredByKernel(Before["inner"]) == Before["inner"]
    with pytest.raises(Error, match="calls helper, which a function alone has not"):
        DoubledBySubroutine(Before["main"])


def test_what_a_rule_makes_may_match_another() -> None:
    made = (DoubledByConstant | ByLibrary)(from_source(TWICE))
    assert '"fast_multiply"' in made.script() and "R.add" not in made.script()
    assert "R.multiply" in DoubledByConstant(from_source(TWICE)).script()


TWICE = """
@R.function(private=True)
def before(A: R.Tensor([16], "float32")):
    B = R.add(A, A)
    return B
"""


@R.rewriter
class DoubledByConstant:
    @R.function
    def pattern(A: R.Tensor([16], F)):
        return R.add(A, A)

    @R.function
    def replacement(A: R.Tensor([16], F)):
        return R.multiply(A, R.const(2.0, F))


@R.rewriter
class ByLibrary:
    @R.function
    def pattern(A: R.Tensor([16], F), B: R.Tensor([], F)):
        return R.multiply(A, B)

    @R.function
    def replacement(A: R.Tensor([16], F), B: R.Tensor([], F)):
        return R.call_pure_packed("fast_multiply", A, B, ty_args=R.Tensor([16], F))


def test_functions_of_rules_are_private() -> None:
    text = TWICE.replace("(private=True)", "").replace("    ", "        ").replace("@R", "    @R")
    text = text.replace("\ndef", "\n    def")
    pattern = text.replace("before", "pattern")
    source = f"@I.ir_module\nclass Rule:{pattern}{text.replace('before', 'replacement')}{text}"
    with pytest.raises(ValueError, match="'before' of a rewriter is publicly exposed"):
        PatternMatchingRewriter.from_module(from_source(source))
