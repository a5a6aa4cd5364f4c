"""StableHLO's operations with computations of their own, beside its reference interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from relax_mlir.relax.frontend.stablehlo import (
    UnsupportedStablehloOperatorError,
    from_stablehlo,
)
from tests.models.stablehlo_harness import check, interpreted, program, run, tensor_type
from tests.models.test_stablehlo_operators import integers, random

NEGATIVE_INFINITY = "0xFF800000"


def element(array: Any) -> str:
    """The type of an array's elements as a tensor of rank zero."""
    return tensor_type(np.zeros((), np.asarray(array).dtype))


# -- reductions -------------------------------------------------------------------------------

REDUCTIONS = [
    ("add", "float32", "0.0"),
    ("add", "float32", "2.5"),
    ("maximum", "float32", NEGATIVE_INFINITY),
    ("minimum", "float32", "0.5"),
    ("multiply", "float32", "1.0"),
    ("add", "int32", "0"),
    ("maximum", "int32", "-2147483648"),
    ("multiply", "int64", "1"),
    ("and", "int32", "-1"),
    ("or", "int32", "0"),
    ("and", "bool", "true"),
    ("or", "bool", "false"),
]


@pytest.mark.parametrize(("name", "dtype", "initial"), REDUCTIONS)
def test_reductions(name: str, dtype: str, initial: str) -> None:
    x = integers(0, 2, (2, 3, 5), dtype) if dtype == "bool" else (random(2, 3, 5) * 3).astype(dtype)
    lines, kinds = [f"%0 = stablehlo.constant dense<{initial}> : {element(x)}"], []
    for i, axes in enumerate(([1], [0, 2], [0, 1, 2], [])):
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
        kinds.append(tensor_type(np.zeros(shape, dtype)))
        lines.append(
            f"%r{i} = stablehlo.reduce(%a init: %0) applies stablehlo.{name} across "
            f"dimensions = {axes} : ($a, {element(x)}) -> {kinds[-1]}"
        )
    check(program([x], "\n".join(lines), kinds), x, tolerance=1e-5)


ARGMAX = """
  %1 = stablehlo.iota dim = 1 : tensor<4x7xi32>
  %2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %3 = stablehlo.constant dense<0> : tensor<i32>
  %r0, %r1 = "stablehlo.reduce"(%a, %1, %2, %3) ({
  ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
    %4 = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare NE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.or %4, %5 : tensor<i1>
    %7 = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.and %7, %8 : tensor<i1>
    %10 = stablehlo.or %6, %9 : tensor<i1>
    %11 = stablehlo.select %6, %x, %y : tensor<i1>, tensor<f32>
    %12 = stablehlo.select %10, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %11, %12 : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 1>}
    : ($a, tensor<4x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)"""


def test_the_largest_and_its_place() -> None:
    x = random(4, 7).round()  # with elements that are equal
    x[0, 3] = np.nan
    text = program([x], ARGMAX, ["tensor<4xf32>", "tensor<4xi32>"])
    assert check(text, x)[1].tolist() == np.argmax(x, 1).tolist()


def window_program(
    x: Any, name: str, initial: str, sizes: Sequence[int], **given: Sequence[Any]
) -> str:
    """A reduction of windows; strides, base and dilation are 1 and padding is 0 unless given."""
    rank = len(sizes)
    strides, base, dilation = (
        given.get(key, [1] * rank) for key in ("strides", "base", "dilation")
    )
    padding = given.get("padding", [(0, 0)] * rank)
    shape = [
        ((n - 1) * b + 1 + sum(p) - ((k - 1) * d + 1)) // s + 1
        for n, b, p, k, d, s in zip(x.shape, base, padding, sizes, dilation, strides, strict=True)
    ]

    def listed(values: Sequence[int]) -> str:
        return f"array<i64: {', '.join(map(str, values))}>"

    kind, one = tensor_type(np.zeros(shape, x.dtype)), element(x)
    body = f"""
      %0 = stablehlo.constant dense<{initial}> : {one}
      %r0 = "stablehlo.reduce_window"(%a, %0) <{{
        window_dimensions = {listed(sizes)}, window_strides = {listed(strides)},
        base_dilations = {listed(base)}, window_dilations = {listed(dilation)},
        padding = dense<{[list(pair) for pair in padding]}> : tensor<{rank}x2xi64>}}> ({{
      ^bb0(%x: {one}, %y: {one}):
        %1 = stablehlo.{name} %x, %y : {one}
        stablehlo.return %1 : {one}
      }}) : ($a, {one}) -> {kind}"""
    return program([x], body, [kind])


WINDOWS: list[Any] = [
    (
        (1, 8, 8, 3),
        "maximum",
        NEGATIVE_INFINITY,
        [1, 3, 3, 1],
        {"strides": [1, 2, 2, 1], "padding": [(0, 0), (0, 1), (1, 0), (0, 0)]},
    ),
    (
        (1, 3, 8, 8),
        "maximum",
        NEGATIVE_INFINITY,
        [1, 1, 2, 3],
        {"strides": [1, 1, 2, 2], "dilation": [1, 1, 2, 1]},
    ),
    (
        (7, 8),
        "maximum",
        NEGATIVE_INFINITY,
        [2, 3],
        {"strides": [1, 2], "dilation": [1, 2], "padding": [(0, 1), (2, 0)]},
    ),
    (
        (7, 8),
        "maximum",
        "0.25",
        [2, 3],
        {"strides": [1, 2], "base": [2, 1], "padding": [(0, 1), (2, -1)]},
    ),
    ((1, 8, 8, 3), "add", "0.0", [1, 2, 2, 1], {"strides": [1, 2, 2, 1]}),
    ((6,), "add", "1.5", [3], {"strides": [2], "base": [2], "padding": [(1, 2)]}),
    ((4, 6), "add", "0.0", [1, 6], {"padding": [(0, 0), (5, 0)]}),
    ((4, 6), "add", "0.0", [4, 1], {"padding": [(0, 3), (0, 0)]}),
    ((4, 6), "multiply", "1.0", [1, 6], {"padding": [(0, 0), (5, 0)]}),
    ((4, 6), "subtract", "0.0", [2, 2], {"strides": [1, 2], "padding": [(0, 1), (1, 0)]}),
]


@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_windows(case: Any) -> None:
    shape, name, initial, sizes, given = case
    x = random(*shape)
    check(window_program(x, name, initial, sizes, **given), x, tolerance=1e-5)


def test_windows_of_integers() -> None:
    x = integers(-90, 90, (4, 6), "int32")
    padded = {"padding": [(0, 0), (5, 0)]}
    check(window_program(x, "minimum", "2147483647", [2, 6], **padded), x)


def test_running_totals_are_cumulative_sums() -> None:
    text = window_program(random(4, 6), "add", "0.0", [1, 6], padding=[(0, 0), (5, 0)])
    assert "R.cumsum" in from_stablehlo(text).script()
    text = window_program(
        random(1, 8, 8, 3), "maximum", NEGATIVE_INFINITY, [1, 2, 2, 1], strides=[1, 2, 2, 1]
    )
    assert "R.nn.max_pool2d" in from_stablehlo(text).script()


@pytest.mark.parametrize(("shape", "padding"), [((2, 3), 0), ((3, 4), 1)])
@pytest.mark.parametrize("direction", ["GE", "LE"])
def test_gradients_of_pooling(shape: tuple[int, int], padding: int, direction: str) -> None:
    x, source = random(5, 6), random(*shape, seed=1)
    pads = [[padding, padding]] * 2
    body = f"""
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %r0 = "stablehlo.select_and_scatter"(%a, %b, %z) <{{
        window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>,
        padding = dense<{pads}> : tensor<2x2xi64>}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %1 = stablehlo.compare {direction}, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }}, {{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %1 = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) : ($a, $b, tensor<f32>) -> $a"""
    check(program([x, source], body, ["tensor<5x6xf32>"]), x, source)


# -- gathers and scatters ---------------------------------------------------------------------

BATCHED = """collapsed_slice_dims = [1], operand_batching_dims = [0, 2],
  start_indices_batching_dims = [0, 2], start_index_map = [1], index_vector_dim = 3"""
TURNED = """offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [2, 0],
  index_vector_dim = 1"""
TAKEN = """offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0],
  index_vector_dim = 2"""
GATHERS: list[Any] = [
    ((5, 4), (2, 3, 1), (2, 3, 4), [1, 4], TAKEN),
    ((5, 4, 6), (3, 2), (3, 2, 3), [1, 2, 3], TURNED),
    ((4, 3, 2), (4, 1, 2, 1), (4, 1, 2), [1, 1, 1], BATCHED),
]


def gather(sizes: Sequence[int], numbers: str, kind: str) -> str:
    return (
        f'%r0 = "stablehlo.gather"(%a, %b) <{{dimension_numbers = #stablehlo.gather<{numbers}>, '
        f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}> : ($a, $b) -> {kind}"
    )


@pytest.mark.parametrize("case", GATHERS, ids=str)
def test_gathers_keep_slices_inside(case: Any) -> None:
    shape, indexed, result, sizes, numbers = case
    x, i = random(*shape), integers(-2, 7, indexed, "int32")
    kind = tensor_type(np.zeros(result, "float32"))
    check(program([x, i], gather(sizes, numbers, kind), [kind]), x, i)


def test_rows_at_plain_indices() -> None:
    """An index vector of one component may be left without a dimension of its own."""
    x, i = random(5, 4), integers(0, 5, (2, 3), "int64")
    kind = "tensor<2x3x4xf32>"
    body = gather([1, 4], TAKEN, kind)
    np.testing.assert_array_equal(run(program([x, i], body, [kind]), x, i)[0], x[i])


ROWS = """update_window_dims = [1], inserted_window_dims = [0],
  scatter_dims_to_operand_dims = [0], index_vector_dim = 1"""
BLOCKS = """update_window_dims = [1, 2], inserted_window_dims = [0],
  scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 1"""
COLUMNS = """inserted_window_dims = [1], input_batching_dims = [0, 2],
  scatter_indices_batching_dims = [0, 2], scatter_dims_to_operand_dims = [1],
  index_vector_dim = 3"""
SCATTERS: list[Any] = [
    *(
        ((5, 4), integers(-2, 7, (6, 1), "int32"), (6, 4), ROWS, name)
        for name in ("add", "multiply", "maximum", "minimum")
    ),
    ((5, 4), np.array([[1], [3], [7]], "int32"), (3, 4), ROWS, ""),
    ((5, 4, 6), np.array([[1, 0], [3, 4], [2, 9]], "int32"), (3, 2, 3), BLOCKS, "add"),
    ((4, 3, 2), integers(-1, 4, (4, 2, 2, 1), "int32"), (4, 2, 2), COLUMNS, "add"),
]


def scatter(numbers: str, computation: str, inputs: str = "%a, %b, %c") -> str:
    return f"""%r0 = "stablehlo.scatter"({inputs}) <{{unique_indices = false,
        scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        {computation}
      }}) : ($a, $b, $c) -> $a"""


@pytest.mark.parametrize("case", SCATTERS, ids=lambda case: f"{case[0]}-{case[4] or 'update'}")
def test_scatters_skip_what_is_outside(case: Any) -> None:
    shape, i, updated, numbers, name = case
    x, updates = random(*shape), random(*updated, seed=1)
    computation = "stablehlo.return %y : tensor<f32>"
    if name:
        computation = f"""%1 = stablehlo.{name} %x, %y : tensor<f32>
        stablehlo.return %1 : tensor<f32>"""
    text = program([x, i, updates], scatter(numbers, computation), [tensor_type(x)])
    check(text, x, i, updates)


def test_scatters_of_other_computations_are_refused() -> None:
    x, i, updates = random(5, 4), integers(0, 5, (6, 1), "int32"), random(6, 4)
    computation = "%1 = stablehlo.sine %x : tensor<f32>\nstablehlo.return %1 : tensor<f32>"
    text = program([x, i, updates], scatter(ROWS, computation), [tensor_type(x)])
    with pytest.raises(UnsupportedStablehloOperatorError, match="replace, add, multiply"):
        from_stablehlo(text)


@pytest.mark.parametrize("start", [(0, 0), (1, 3), (9, -4)])
def test_slices_at_computed_positions(start: tuple[int, int]) -> None:
    x, update = random(5, 6), random(2, 3, seed=1)
    i, j = (np.array(value, "int32") for value in start)
    body = """
      %r0 = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 3] : ($a, $b, $c) -> $d
      %r1 = stablehlo.dynamic_update_slice %a, %d, %b, %c : ($a, $d, $b, $c) -> $a"""
    check(program([x, i, j, update], body, ["tensor<2x3xf32>", "tensor<5x6xf32>"]), x, i, j, update)
    body = f"""
      %0 = stablehlo.constant dense<{start[0]}> : tensor<i32>
      %1 = stablehlo.constant dense<{start[1]}> : tensor<i32>
      %r0 = stablehlo.dynamic_slice %a, %0, %1, sizes = [2, 3]
        : ($a, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>"""
    text = program([x], body, ["tensor<2x3xf32>"])
    check(text, x)
    assert "R.strided_slice" in from_stablehlo(text).script()


# -- sorts ------------------------------------------------------------------------------------


def compared(result: str, direction: str, a: str, b: str, kind: str = "f32") -> str:
    types = f"(tensor<{kind}>, tensor<{kind}>) -> tensor<i1>"
    return f"%{result} = stablehlo.compare {direction}, %{a}, %{b} : {types}"


TWO_KEYS = "\n".join(
    [
        compared("1", "LT", "x0", "y0"),
        compared("2", "EQ", "x0", "y0"),
        compared("3", "GT", "x1", "y1", "i32"),
    ]
)
COMPARATORS = {
    "ascending": compared("o", "LT", "x0", "y0"),
    "descending": compared("o", "GT", "x0", "y0"),
    "second, mirrored": compared("o", "LT", "y1", "x1", "i32"),
    "by size": f"""%u = stablehlo.abs %x0 : tensor<f32>
      %v = stablehlo.abs %y0 : tensor<f32>
      {compared("o", "LT", "u", "v")}""",
    "two keys": f"""{TWO_KEYS}
      %4 = stablehlo.and %2, %3 : tensor<i1>
      %o = stablehlo.or %1, %4 : tensor<i1>""",
    "two keys, chosen": f"""{TWO_KEYS}
      %o = stablehlo.select %2, %3, %1 : tensor<i1>, tensor<i1>""",
}


def sort(comparator: str, dimension: int) -> str:
    return f"""%r0, %r1 = "stablehlo.sort"(%a, %b) <{{
        dimension = {dimension} : i64, is_stable = true}}> ({{
      ^bb0(%x0: tensor<f32>, %y0: tensor<f32>, %x1: tensor<i32>, %y1: tensor<i32>):
        {comparator}
        stablehlo.return %o : tensor<i1>
      }}) : ($a, $b) -> ($a, $b)"""


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("name", COMPARATORS)
def test_sorts(name: str, dimension: int) -> None:
    x, y = random(4, 6).round(), integers(0, 9, (4, 6), "int32")
    kinds = [tensor_type(x), tensor_type(y)]
    check(program([x, y], sort(COMPARATORS[name], dimension), kinds), x, y)


def test_other_comparators_are_refused() -> None:
    x, y = random(4, 6), integers(0, 9, (4, 6), "int32")
    text = program(
        [x, y], sort("%o = stablehlo.constant dense<true> : tensor<i1>", 0), ["$a", "$b"]
    )
    with pytest.raises(UnsupportedStablehloOperatorError, match="comparator"):
        from_stablehlo(text.replace("$a", tensor_type(x)).replace("$b", tensor_type(y)))


def test_the_largest_few() -> None:
    x = random(3, 9)
    body = "%r0, %r1 = chlo.top_k(%a, k = 4) : $a -> (tensor<3x4xf32>, tensor<3x4xi32>)"
    values, places = run(program([x], body, ["tensor<3x4xf32>", "tensor<3x4xi32>"]), x)
    np.testing.assert_array_equal(places, np.argsort(-x, 1)[:, :4])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))


def test_maps() -> None:
    x, y = random(2, 3), random(2, 3, seed=1)
    body = """%r0 = "stablehlo.map"(%a, %b) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %0 = stablehlo.multiply %x, %y : tensor<f32>
        stablehlo.return %0 : tensor<f32>
      }) {dimensions = array<i64: 0, 1>} : ($a, $b) -> $a"""
    np.testing.assert_array_equal(run(program([x, y], body, [tensor_type(x)]), x, y)[0], x * y)


# -- control flow -----------------------------------------------------------------------------


@pytest.mark.parametrize("truth", [True, False])
def test_branches(truth: bool) -> None:
    condition, x = np.array(truth), random(3)
    body = """%r0, %r1 = "stablehlo.if"(%a) ({
        %0 = stablehlo.add %b, %b : $b
        stablehlo.return %0, %b : $b, $b
      }, {
        %0 = stablehlo.negate %b : $b
        stablehlo.return %b, %0 : $b, $b
      }) : ($a) -> ($b, $b)"""
    check(program([condition, x], body, ["tensor<3xf32>"] * 2), condition, x)


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 5])
def test_cases(number: int) -> None:
    index, x = np.array(number, "int32"), random(3)
    body = """%r0 = "stablehlo.case"(%a) ({
        %0 = stablehlo.add %b, %b : $b
        stablehlo.return %0 : $b
      }, {
        %0 = stablehlo.negate %b : $b
        stablehlo.return %0 : $b
      }, {
        stablehlo.return %b : $b
      }) : ($a) -> $b"""
    check(program([index, x], body, ["tensor<3xf32>"]), index, x)


LOOP = """
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<COUNT> : tensor<i32>
  %square = stablehlo.multiply %b, %b : tensor<f32>
  %r0, %r1 = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, $a
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.broadcast_in_dim %square, dims = [] : (tensor<f32>) -> $a
    %o = stablehlo.compare GT, %x, %s : ($a, $a) -> tensor<3xi1>
    %h = stablehlo.constant dense<0.5> : $a
    %p = stablehlo.multiply %x, %h : $a
    %q = stablehlo.add %x, %s : $a
    %y = stablehlo.select %o, %p, %q : tensor<3xi1>, $a
    stablehlo.return %j, %y : tensor<i32>, $a
  }"""


@pytest.mark.parametrize("count", [0, 1, 7])
def test_loops_use_values_from_outside(count: int) -> None:
    x, y = random(3), np.array(2.0, "float32")
    text = program([x, y], LOOP.replace("COUNT", str(count)), ["tensor<i32>", "tensor<3xf32>"])
    check(text, x, y)


def test_long_loops_take_no_stack() -> None:
    x, y = random(3), np.array(2.0, "float32")
    text = program([x, y], LOOP.replace("COUNT", "300000"), ["tensor<i32>", "tensor<3xf32>"])
    assert run(text, x, y)[0] == 300000


def test_loops_in_loops_and_branches() -> None:
    x = np.array(3.0, "float32")
    body = """
      %z = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %five = stablehlo.constant dense<5> : tensor<i32>
      %r1, %r0 = stablehlo.while(%i = %z, %s = %a) : tensor<i32>, $a
      cond {
        %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %inner:2 = stablehlo.while(%j = %z, %t = %s) : tensor<i32>, $a
        cond {
          %c = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %big = stablehlo.compare GT, %t, %a : ($a, $a) -> tensor<i1>
          %next = "stablehlo.if"(%big) ({
            %h = stablehlo.subtract %t, %a : $a
            stablehlo.return %h : $a
          }, {
            %h = stablehlo.add %t, %s : $a
            stablehlo.return %h : $a
          }) : (tensor<i1>) -> $a
          %k = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %k, %next : tensor<i32>, $a
        }
        %k = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %k, %inner#1 : tensor<i32>, $a
      }"""
    text = program([x], body, ["tensor<f32>", "tensor<i32>"])
    results = run(text, x)
    for result, wanted in zip(results, interpreted(text, x), strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_tuples_and_barriers() -> None:
    x, y = random(2), random(3)
    body = """
      %0, %1 = stablehlo.optimization_barrier %a, %b : $a, $b
      %t = stablehlo.tuple %0, %1 : tuple<$a, $b>
      %r0 = stablehlo.get_tuple_element %t[1] : (tuple<$a, $b>) -> $b"""
    np.testing.assert_array_equal(run(program([x, y], body, ["tensor<3xf32>"]), x, y)[0], y)


def test_loops_that_carry_unsigned_numbers() -> None:
    """What is fused behind the loop takes its results as a tuple, unread fields among them."""
    x, y = random(3), np.arange(3, dtype="uint32")
    body = """
      %z = stablehlo.constant dense<0> : tensor<i32>
      %n = stablehlo.constant dense<3> : tensor<i32>
      %0:3 = stablehlo.while(%i = %z, %x = %a, %y = %b) : tensor<i32>, $a, $b
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %p = stablehlo.add %x, %x : $a
        %q = stablehlo.add %y, %y : $b
        stablehlo.return %j, %p, %q : tensor<i32>, $a, $b
      }
      %1 = stablehlo.negate %0#1 : $a
      %r0 = stablehlo.multiply %1, %0#1 : $a"""
    check(program([x, y], body, ["tensor<3xf32>"]), x, y)
