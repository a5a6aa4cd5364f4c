"""Expressions, buffers and regions of TensorIR."""

from __future__ import annotations

from typing import Any

import pytest

from relax_mlir import tir
from relax_mlir.errors import Error
from relax_mlir.tir.expr import structural_key, substitute
from relax_mlir.tir.linear import difference, simplify
from relax_mlir.tir.regions import bounds


def test_equality_is_an_expression_with_structural_truth() -> None:
    x, z = tir.Var("x"), tir.Var("z")
    assert isinstance(x == 1, tir.EQ)
    assert bool(x + 1 == x + 1) is True
    assert x != z and bool(x == z) is False
    assert [x + 1, z] == [x + 1, z]
    assert x in [z, x] and x not in [z]


def test_variables_count_by_identity() -> None:
    x, other = tir.Var("x"), tir.Var("x")
    assert {x: 1}.get(other) is None
    assert structural_key(x + 1) == structural_key(x + 1) != structural_key(other + 1)


def test_no_truth_value_while_a_program_is_written() -> None:
    with pytest.raises(Error, match=r"tir\.all"):
        bool(tir.Var("x") < 1)


def test_constants_are_numbers() -> None:
    assert int(tir.const(7)) == 7 and list(range(tir.const(3))) == [0, 1, 2]
    assert float(tir.const(1.5)) == 1.5
    assert tir.const(0) or True


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x, y: x / 2, "ambiguous"),
        (lambda x, y: x // 0, "division by zero"),
        (lambda x, y: tir.const(300, "uint8"), r"does not fit uint8.*\[0, 255\]"),
        (lambda x, y: y // 2, "integers expected, given float32"),
        (lambda x, y: tir.exp(x), "a float operand expected"),
        (lambda x, y: tir.all(x, x), "dtype bool expected"),
        (lambda x, y: tir.Select(x > 1, x, y), "int32 and float32"),
        (lambda x, y: tir.Var("v", "float31"), "unknown dtype"),
        (lambda x, y: x << 40 if False else tir.const(1) << tir.const(40), "out of range"),
        (lambda x, y: tir.reinterpret("int64", y), "differ in width"),
        (lambda x, y: x + "a", "handle"),
        (lambda x, y: x + object(), "cannot make an expression"),
    ],
)
def test_mistakes_are_errors(build: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        build(tir.Var("x"), tir.Var("y", "float32"))


def test_substitution_folds_again() -> None:
    x, z = tir.Var("x"), tir.Var("z")
    assert str(substitute(x * 2 + z, {x: tir.const(3)})) == "6 + z"
    assert substitute(z, {x: tir.const(3)}) is z


def test_buffers_index_and_slice() -> None:
    i = tir.Var("i")
    A = tir.decl_buffer((16, 8), "float32", "A")
    assert str(A[i, 3]) == "A[i, 3]"
    assert str(A[i, 0:4]) == "A[i, 0:4]"
    assert str(A[2:5]) == "A[2:5, 0:8]"
    assert A[i, i].dtype == "float32"
    assert A.vload((i, 0), "float32x4").dtype == "float32x4"
    assert str(A.full_region()) == "A[0:16, 0:8]"
    scalar = tir.decl_buffer((), "int32", "s")
    assert str(scalar[()]) == "s[()]"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda A: A[0], "2 dimensions, 1 indices"),
        (lambda A: A[0:4:2, 0:1], "cannot have a step"),
        (lambda A: tir.BufferRegion.of(3), "buffer access"),
        (lambda A: tir.decl_buffer((1.5,)), "must be an integer"),
        (lambda A: tir.decl_buffer((4, 4), strides=[1, 1, 1]), "3 strides"),
    ],
)
def test_buffer_mistakes(build: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        build(tir.decl_buffer((16, 8), "float32", "A"))


def test_simplification() -> None:
    x, n = tir.Var("x"), tir.Var("n")
    assert str(simplify(x + 1 + x - 1)) == "x * 2"
    assert str(simplify((x * 4 + 3) // 4)) == "x"
    assert str(simplify((x * 4 + 6) % 4)) == "2"
    assert str(simplify((x + n) * 2 - n * 2)) == "x * 2"
    assert str(simplify(tir.min(x, x + 3))) == "x"
    assert difference(n * x + 2, x * n) == 2
    assert difference(x, n) is None


def test_bounds_over_loops() -> None:
    i, j, n = tir.Var("i"), tir.Var("j"), tir.Var("n")
    domain = {i: (tir.const(0), tir.const(3))}
    assert [str(b) for b in bounds(j * 4 + i, domain)] == ["j * 4", "j * 4 + 3"]
    assert [str(b) for b in bounds(n - i * 2, domain)] == ["n - 6", "n"]
    assert [str(b) for b in bounds(i // 2 + 1, domain)] == ["1", "2"]
    assert [str(b) for b in bounds(i % 8, domain)] == ["0", "3"]
    assert [str(b) for b in bounds(i % 2, domain)] == ["0", "1"]
    assert bounds(i * i, domain) is None
