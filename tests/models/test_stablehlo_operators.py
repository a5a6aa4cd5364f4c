"""StableHLO's operations on elements, shapes and matrices, beside its reference interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.models.stablehlo_harness import check, interpreted, program, run, tensor_type

INTEGERS = ("int32", "int64", "int8", "uint8")
SPECIAL = np.array(
    "0 -0 1 -1 0.5 -0.5 1.5 2.5 -2.5 1e-8 -100 0.49999997 3e5 inf -inf nan".split(),
    "float32",
)


def random(*shape: int, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape) * 2, "float32")


def integers(low: int, high: int, shape: Any, dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


# -- elements ---------------------------------------------------------------------------------

FLOAT_FUNCTIONS = (
    "abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic "
    "negate round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"
).split()


@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_functions_of_floats(name: str) -> None:
    bounded = name in ("tan", "sine", "cosine")  # far from zero their arguments are reduced
    special = SPECIAL[np.abs(SPECIAL) < 1000] if bounded else SPECIAL
    x = np.concatenate([special, random(9), np.abs(random(4, seed=1))])
    check(program([x], f"%r0 = stablehlo.{name} %a : $a", [tensor_type(x)]), x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions_of_integers(dtype: str) -> None:
    x = integers(-100, 100, 13, dtype)
    x[0] = 0
    names = ["not", "popcnt", "count_leading_zeros"]
    names += [] if dtype.startswith("u") else ["abs", "negate", "sign"]
    body = "\n".join(f"%r{i} = stablehlo.{name} %a : $a" for i, name in enumerate(names))
    check(program([x], body, [tensor_type(x)] * len(names)), x)


@pytest.mark.parametrize("name", "add subtract multiply divide maximum minimum atan2".split())
def test_floats_in_pairs(name: str) -> None:
    x, y = random(4, 5), random(4, 5, seed=1)
    x[0, 0] = y[1, 1] = np.nan
    check(program([x, y], f"%r0 = stablehlo.{name} %a, %b : $a", [tensor_type(x)]), x, y)


def test_remainder_and_power_of_floats() -> None:
    x, y = random(4, 5), random(4, 5, seed=1)
    check(program([x, y], "%r0 = stablehlo.remainder %a, %b : $a", [tensor_type(x)]), x, y)
    x = np.abs(x)
    check(program([x, y], "%r0 = stablehlo.power %a, %b : $a", [tensor_type(x)]), x, y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_in_pairs(dtype: str) -> None:
    x, y = integers(-50, 50, 20, dtype), integers(1, 9, 20, dtype, seed=1)
    if not dtype.startswith("u"):
        y[:10] = -y[:10]
    names = "add subtract multiply divide remainder maximum minimum and or xor".split()
    body = "\n".join(f"%r{i} = stablehlo.{name} %a, %b : $a" for i, name in enumerate(names))
    check(program([x, y], body, [tensor_type(x)] * len(names)), x, y)
    x, y = (x % 5).astype(dtype), (np.abs(y) % 4).astype(dtype)
    check(program([x, y], "%r0 = stablehlo.power %a, %b : $a", [tensor_type(x)]), x, y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_more_bits_than_there_are(dtype: str) -> None:
    x, y = integers(-100, 100, 20, dtype), integers(0, 70, 20, dtype, seed=1)
    names = "left right_arithmetic right_logical".split()
    body = "\n".join(f"%r{i} = stablehlo.shift_{name} %a, %b : $a" for i, name in enumerate(names))
    check(program([x, y], body, [tensor_type(x)] * 3), x, y)


def test_truth_values() -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    names = "and or xor add multiply maximum minimum".split()
    body = "\n".join(f"%r{i} = stablehlo.{name} %a, %b : $a" for i, name in enumerate(names))
    body += f"\n%r{len(names)} = stablehlo.not %a : $a"
    check(program([x, y], body, ["tensor<4xi1>"] * (len(names) + 1)), x, y)


def test_comparisons() -> None:
    x, y = random(19).round(), random(19, seed=1).round()
    x[0] = np.nan
    names = "EQ NE LT LE GT GE".split()
    body = "\n".join(
        f"%r{i} = stablehlo.compare {name}, %a, %b : ($a, $b) -> tensor<19xi1>"
        for i, name in enumerate(names)
    )
    check(program([x, y], body, ["tensor<19xi1>"] * 6), x, y)


def test_total_order_of_floats() -> None:
    x = np.array([-0.0, 0.0, np.nan, 1.0, -np.inf, np.inf], "float32")
    y = np.array([0.0, -0.0, np.inf, np.nan, -1.0, np.nan], "float32")
    body = "%r0 = stablehlo.compare LT, %a, %b, TOTALORDER : ($a, $b) -> tensor<6xi1>"
    (result,) = run(program([x, y], body, ["tensor<6xi1>"]), x, y)
    assert result.tolist() == [True, False, False, True, True, True]


def test_selections_and_bounds() -> None:
    mask, x, y = np.array([True, False, True]), random(3), random(3, seed=1)
    body = "%r0 = stablehlo.select %a, %b, %c : $a, $b"
    check(program([mask, x, y], body, ["tensor<3xf32>"]), mask, x, y)
    truth = np.array(True)
    check(program([truth, x, y], body, ["tensor<3xf32>"]), truth, x, y)
    low, high = np.array(-0.5, "float32"), np.array(0.7, "float32")
    body = "%r0 = stablehlo.clamp %a, %b, %c : ($a, $b, $c) -> $b"
    check(program([low, x, high], body, ["tensor<3xf32>"]), low, x, high)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("float32", "int32"),
        ("int32", "float32"),
        ("float32", "bool"),
        ("bool", "float32"),
        ("float32", "float16"),
        ("int64", "int8"),
        ("uint8", "float32"),
        ("int32", "uint32"),
    ],
)
def test_conversions(source: str, target: str) -> None:
    x = (random(9) * 10).astype(source)
    kind = tensor_type(np.zeros(9, target))
    check(program([x], f"%r0 = stablehlo.convert %a : ($a) -> {kind}", [kind]), x)


def test_bits_and_precision() -> None:
    x = random(5)
    body = "%r0 = stablehlo.bitcast_convert %a : ($a) -> tensor<5xi32>"
    check(program([x], body, ["tensor<5xi32>"]), x)
    body = "%r0 = stablehlo.reduce_precision %a, format = e8m7 : $a"
    check(program([x], body, ["tensor<5xf32>"]), x)


CHLO = (
    "sinh:sinh cosh:cosh asin:arcsin acos:arccos atan:arctan asinh:arcsinh acosh:arccosh "
    "atanh:arctanh square:square tan:tan is_inf:isinf is_pos_inf:isposinf is_neg_inf:isneginf"
).split()


@pytest.mark.parametrize("pair", CHLO)
def test_client_operations(pair: str) -> None:
    """CHLO, in the syntax that JAX prints."""
    theirs, ours = pair.split(":")
    x = np.array([-0.9, -0.5, 0.0, 0.3, 0.99, 1.0, 2.5, np.inf, -np.inf], "float32")
    kind = "tensor<9xi1>" if theirs.startswith("is_") else "tensor<9xf32>"
    with np.errstate(all="ignore"):
        expected = getattr(np, ours)(x)
    (result,) = run(program([x], f"%r0 = chlo.{theirs} %a : $a -> {kind}", [kind]), x)
    np.testing.assert_allclose(result, expected, rtol=2e-6, atol=1e-6)


def test_error_functions() -> None:
    from math import erf, erfc

    x = np.linspace(-3, 3, 25).astype("float32")
    body = "%r0 = chlo.erf %a : $a -> $a\n%r1 = chlo.erfc %a : $a -> $a"
    body += "\n%r2 = chlo.erf_inv %r0 : $a -> $a"
    results = run(program([x], body, ["tensor<25xf32>"] * 3), x)
    np.testing.assert_allclose(results[0], [erf(v) for v in x], atol=1e-6)
    np.testing.assert_allclose(results[1], [erfc(v) for v in x], atol=1e-6)
    # Near the ends a unit in the last place of erf is a large step of its inverse.
    np.testing.assert_allclose(results[2], x, atol=2e-3)
    np.testing.assert_allclose(results[2][6:19], x[6:19], atol=3e-6)


# -- shapes -----------------------------------------------------------------------------------

SHAPES: list[tuple[str, tuple[int, ...], str]] = [
    ("broadcast_in_dim %a, dims = [1]", (3,), "2x3x4"),
    ("broadcast_in_dim %a, dims = [2, 0]", (3, 1), "5x2x3"),
    ("broadcast_in_dim %a, dims = []", (), "2x3"),
    ("reshape %a", (2, 6), "3x4"),
    ("transpose %a, dims = [2, 0, 1]", (2, 3, 4), "4x2x3"),
    ("slice %a [1:6:2, 3:8:3]", (7, 8), "3x2"),
]


@pytest.mark.parametrize(("operation", "shape", "result"), SHAPES)
def test_arrangements(operation: str, shape: tuple[int, ...], result: str) -> None:
    x, kind = random(*shape), f"tensor<{result}xf32>"
    check(program([x], f"%r0 = stablehlo.{operation} : ($a) -> {kind}", [kind]), x)


def test_what_is_repeated_is_computed_once() -> None:
    """Operations on a broadcast bias are done before it is broadcast."""
    from relax_mlir.relax.frontend.stablehlo import from_stablehlo

    bias, x = random(3), random(2, 3, 4)
    body = """
      %0 = stablehlo.broadcast_in_dim %a, dims = [1] : ($a) -> $b
      %1 = stablehlo.multiply %0, %0 : $b
      %2 = stablehlo.constant dense<1.5> : $b
      %3 = stablehlo.add %1, %2 : $b
      %r0 = stablehlo.add %3, %b : $b
      %r1 = stablehlo.transpose %3, dims = [2, 0, 1] : ($b) -> tensor<4x2x3xf32>"""
    text = program([bias, x], body, ["tensor<2x3x4xf32>", "tensor<4x2x3xf32>"])
    check(text, bias, x)
    script = from_stablehlo(text).script()
    assert 'R.Tensor((3, 1), dtype="float32") = R.multiply' in script
    assert script.count("R.broadcast_to") == 1  # for the transposition only


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    ("low", "high", "interior", "shape"),
    [
        ([1, 2], [0, 1], [0, 0], (4, 7)),
        ([-1, 2], [0, -1], [0, 0], (2, 5)),
        ([1, 0], [2, 1], [2, 1], (10, 8)),
        ([-2, 0], [0, -1], [1, 0], (3, 3)),
    ],
)
def test_padding(low: Any, high: Any, interior: Any, shape: Any, dtype: str) -> None:
    x, value = (random(3, 4) * 9).astype(dtype), np.array(5, dtype)
    kind = tensor_type(np.zeros(shape, dtype))
    widths = f"low = {low}, high = {high}, interior = {interior}"
    body = f"%r0 = stablehlo.pad %a, %b, {widths} : ($a, $b) -> {kind}"
    check(program([x, value], body, [kind]), x, value)


def test_reversal_concatenation_and_positions() -> None:
    x, y = random(2, 3), random(1, 3, seed=1)
    body = """
      %r0 = stablehlo.concatenate %a, %b, dim = 0 : ($a, $b) -> tensor<3x3xf32>
      %r1 = stablehlo.reverse %a, dims = [0, 1] : $a
      %r2 = stablehlo.iota dim = 1 : tensor<2x5x3xi32>
      %r3 = stablehlo.iota dim = 0 : tensor<200x2xf32>
      %r4 = stablehlo.iota dim = 0 : tensor<3xui8>"""
    kinds = ["3x3xf32", "2x3xf32", "2x5x3xi32", "200x2xf32", "3xui8"]
    check(program([x, y], body, [f"tensor<{kind}>" for kind in kinds]), x, y)


# -- products and convolutions ----------------------------------------------------------------

PRODUCTS: list[Any] = [
    ((3, 4), (4, 5), [], [], [1], [0]),
    ((3, 4), (5, 4), [], [], [1], [1]),
    ((4, 3), (4, 5), [], [], [0], [0]),
    ((2, 3, 4), (2, 4, 5), [0], [0], [2], [1]),
    ((2, 3, 4, 5), (2, 6, 4, 5), [0, 2], [0, 2], [3], [3]),
    ((4,), (4,), [], [], [0], [0]),
    ((2, 3, 4), (4, 5, 6), [], [], [2], [0]),
    ((2, 3, 4), (3, 4, 6), [], [], [1, 2], [0, 1]),
    ((3,), (4,), [], [], [], []),
    ((2, 3), (2, 3), [0], [0], [1], [1]),
]


@pytest.mark.parametrize("case", PRODUCTS, ids=str)
def test_products(case: Any) -> None:
    left, right, lhs_batch, rhs_batch, lhs_inner, rhs_inner = case
    x, y = random(*left), random(*right, seed=1)
    shape = [left[i] for i in lhs_batch]
    shape += [n for i, n in enumerate(left) if i not in lhs_batch + lhs_inner]
    shape += [n for i, n in enumerate(right) if i not in rhs_batch + rhs_inner]
    kind = tensor_type(np.zeros(shape, "float32"))
    batch = f"batching_dims = {lhs_batch} x {rhs_batch}, " if lhs_batch else ""
    body = (
        f"%r0 = stablehlo.dot_general %a, %b, {batch}contracting_dims = {lhs_inner} x {rhs_inner} "
        f": ($a, $b) -> {kind}"
    )
    check(program([x, y], body, [kind]), x, y, tolerance=2e-5)


def test_products_of_bytes_are_summed_in_words() -> None:
    x, y = integers(-128, 128, (3, 40), "int8"), integers(-128, 128, (40, 5), "int8", seed=1)
    body = "%r0 = stablehlo.dot %a, %b : ($a, $b) -> tensor<3x5xi32>"
    (result,) = run(program([x, y], body, ["tensor<3x5xi32>"]), x, y)
    np.testing.assert_array_equal(result, x.astype("int32") @ y.astype("int32"))


LAST = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"


@dataclass(frozen=True)
class Convolution:
    """The shapes of the data, the kernel and the result, by NHWC and HWIO unless `numbers` says."""

    data: tuple[int, ...]
    kernel: tuple[int, ...]
    result: tuple[int, ...]
    window: str = ""
    numbers: str = LAST
    groups: int = 1
    batches: int = 1


CONVOLUTIONS = [
    Convolution((2, 7, 8, 3), (3, 2, 3, 4), (2, 5, 7, 4)),
    Convolution(
        (2, 7, 8, 3), (3, 2, 3, 4), (2, 4, 5, 4), "stride = [2, 2], pad = [[1, 1], [1, 1]]"
    ),
    Convolution(
        (2, 7, 8, 4),
        (3, 2, 2, 6),
        (2, 7, 7, 6),
        "pad = [[2, 2], [0, 1]], rhs_dilate = [2, 2]",
        groups=2,
    ),
    Convolution(
        (2, 3, 7, 8), (4, 3, 3, 2), (2, 4, 5, 7), numbers="[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
    ),
    *(
        Convolution((2, 5, 4, 3), (3, 3, 3, 4), shape, f"pad = {padding}, lhs_dilate = [2, 2]")
        for shape, padding in [
            ((2, 9, 7, 4), [[1, 1], [1, 1]]),
            ((2, 11, 8, 4), [[2, 2], [2, 1]]),
            ((2, 12, 6, 4), [[3, 2], [0, 1]]),
        ]
    ),
    Convolution((2, 7, 8, 3), (3, 2, 3, 4), (2, 4, 6, 4), "pad = [[-1, 0], [0, -1]]"),
    Convolution((4, 7, 8, 3), (3, 2, 3, 4), (2, 5, 7, 4), batches=2),
    Convolution((2, 7, 8, 3), (3, 2, 3, 4), (2, 5, 7, 4), "reverse = [true, false]"),
    Convolution((2, 9, 3), (3, 3, 4), (2, 7, 4), numbers="[b, 0, f]x[0, i, o]->[b, 0, f]"),
    Convolution(
        (1, 4, 5, 6, 2),
        (2, 3, 2, 2, 3),
        (1, 3, 3, 3, 5),
        numbers="[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, f, 0, 1, 2]",
    ),
]


def convolution(numbers: str, window: str, kind: str, groups: int = 1, batches: int = 1) -> str:
    return (
        f"%r0 = stablehlo.convolution(%a, %b) dim_numbers = {numbers}, window = {{{window}}} "
        f"{{batch_group_count = {batches} : i64, feature_group_count = {groups} : i64}} "
        f": ($a, $b) -> {kind}"
    )


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions(case: Convolution) -> None:
    x, w = random(*case.data), random(*case.kernel, seed=1)
    kind = tensor_type(np.zeros(case.result, "float32"))
    body = convolution(case.numbers, case.window, kind, case.groups, case.batches)
    check(program([x, w], body, [kind]), x, w, tolerance=5e-5)


def test_convolutions_with_dimensions_in_any_order() -> None:
    x, w = random(7, 2, 3, 8), random(3, 4, 2, 3, seed=1)
    kind = "tensor<4x5x2x7xf32>"
    body = convolution("[0, b, f, 1]x[i, o, 1, 0]->[f, 0, b, 1]", "", kind)
    (result,) = run(program([x, w], body, [kind]), x, w)
    x, w = x.transpose(1, 0, 3, 2).copy(), w.transpose(3, 2, 0, 1).copy()
    kind = "tensor<2x5x7x4xf32>"
    (expected,) = interpreted(program([x, w], convolution(LAST, "", kind), [kind]), x, w)
    np.testing.assert_allclose(result, expected.transpose(3, 1, 0, 2), rtol=5e-5, atol=5e-5)


def test_batch_normalisation() -> None:
    x, scale, offset, mean, variance = random(2, 3, 4), *(random(3, seed=s) for s in range(1, 5))
    variance = np.abs(variance)
    body = (
        '%r0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) '
        "<{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : ($a, $b, $c, $d, $e) -> $a"
    )
    arguments = [x, scale, offset, mean, variance]
    (result,) = run(program(arguments, body, [tensor_type(x)]), *arguments)
    columns = [v[None, :, None] for v in arguments[1:]]
    expected = (x - columns[2]) / np.sqrt(columns[3] + 1e-5) * columns[0] + columns[1]
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)
    body = (
        '%r0, %r1, %r2 = "stablehlo.batch_norm_training"(%a, %b, %c) '
        "<{epsilon = 1.0e-5 : f32, feature_index = 1 : i64}> : ($a, $b, $c) -> ($a, $b, $b)"
    )
    kinds = [tensor_type(x), *["tensor<3xf32>"] * 2]
    results = run(program(arguments[:3], body, kinds), *arguments[:3])
    np.testing.assert_allclose(results[1], x.mean((0, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(results[2], x.var((0, 2)), rtol=1e-5, atol=1e-6)
    normal = (x - results[1][None, :, None]) / np.sqrt(results[2][None, :, None] + 1e-5)
    np.testing.assert_allclose(results[0], normal * columns[0] + columns[1], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 4), 1), ((5, 2), 1), ((3, 4), 0)])
def test_gradients_of_batch_norm(shape: tuple[int, ...], axis: int) -> None:
    """Against PyTorch's, by its own formula."""
    torch = pytest.importorskip("torch")
    features, axes = shape[axis], tuple(i for i in range(len(shape)) if i != axis)
    rng = np.random.default_rng(0)
    x, grad = (rng.standard_normal(shape) for _ in range(2))
    scale, offset = (rng.standard_normal(features) for _ in range(2))
    arguments = [v.astype("float32") for v in (x, scale, x.mean(axes), x.var(axes), grad)]
    body = (
        '%r0, %r1, %r2 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) '
        f"<{{epsilon = 1.0e-3 : f32, feature_index = {axis} : i64}}> "
        ": ($a, $b, $b, $b, $a) -> ($a, $b, $b)"
    )
    kinds = [tensor_type(arguments[0]), *[tensor_type(arguments[1])] * 2]
    found = run(program(arguments, body, kinds), *arguments)
    given = [torch.tensor(v, requires_grad=True) for v in (x, scale, offset)]
    moved = given[0].movedim(axis, 1)
    made = torch.nn.functional.batch_norm(moved, None, None, *given[1:], True, eps=1e-3)
    made.movedim(1, axis).backward(torch.tensor(grad))
    for got, wanted in zip(found, given, strict=True):
        np.testing.assert_allclose(got, wanted.grad.numpy(), rtol=1e-3, atol=1e-4)
