"""Whole StableHLO programs, how programs are given, and what is refused.

The programs in `stablehlo/` are what JAX 0.10 makes of the functions beside which they are tested;
weights are parameters.
"""

from __future__ import annotations

from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.relax.frontend.stablehlo import (
    StablehloError,
    UnsupportedStablehloOperatorError,
    from_stablehlo,
)
from relax_mlir.relax.frontend.stablehlo.program import parse
from tests.models.stablehlo_harness import run
from tests.models.test_stablehlo_operators import integers, random

PROGRAMS = Path(__file__).with_name("stablehlo")
ADD = """func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  return %0 : tensor<2xf32> }"""
QUANTIZED = """func.func @f(
  %a: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  return %a : tensor<2x!quant.uniform<i8:f32, 0.5>> }"""
UNRANKED = "func.func @f(%a: tensor<*xf32>) -> tensor<*xf32> { return %a : tensor<*xf32> }"
RESHAPE = """func.func @f(%a: tensor<2xf32>, %s: tensor<1xi32>) -> tensor<?xf32> {
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<2xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }"""


def text_of(name: str) -> str:
    return (PROGRAMS / f"{name}.mlir").read_text()


def weights(*shapes: tuple[int, ...]) -> list[Any]:
    return [random(*shape, seed=seed) * 0.2 for seed, shape in enumerate(shapes, 10)]


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# -- programs ---------------------------------------------------------------------------------


def test_perceptron() -> None:
    x, w1, b1, w2, b2 = given = [random(4, 16), *weights((16, 32), (32,), (32, 10), (10,))]
    (result,) = run(text_of("mlp"), *given)
    expected = softmax(np.maximum(x @ w1 + b1, 0) @ w2 + b2)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def convolved(x: Any, kernel: Any, stride: int, before: int) -> Any:
    """A 3 x 3 convolution that keeps the size (divided by the stride), channels last."""
    padded = np.pad(x, [(0, 0), (before, 2 - before), (before, 2 - before), (0, 0)])
    size = x.shape[1]
    return sum(
        padded[:, i : i + size : stride, j : j + size : stride] @ kernel[i, j]
        for i in range(3)
        for j in range(3)
    )


def test_convolutional_network() -> None:
    shapes = (3, 3, 3, 8), (8,), (3, 3, 8, 12), (12,), (48, 5)
    x, k1, b1, k2, b2, w = given = [random(2, 16, 16, 3), *weights(*shapes)]
    (result,) = run(text_of("cnn"), *given)
    y = np.maximum(convolved(x, k1, 1, 1) + b1, 0)
    y = y.reshape(2, 8, 2, 8, 2, 8).max((2, 4))
    y = np.maximum(convolved(y, k2, 2, 0) + b2, 0)
    y = y.reshape(2, 2, 2, 2, 2, 12).mean((2, 4))
    np.testing.assert_allclose(result, y.reshape(2, -1) @ w, rtol=1e-4, atol=1e-5)


def normalized(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def test_transformer_layer() -> None:
    size = 8
    square, vector = (size, size), (size,)
    ids, mask = integers(0, 20, (2, 6), "int32"), np.arange(6)[None] < np.array([[6], [4]])
    shapes = [(20, size), square, square, square, square, vector, vector]
    shapes += [(size, 16), (16, size), vector, vector]
    given = [ids, mask, *weights(*shapes)]
    table, wq, wk, wv, wo, g1, b1, f1, f2, g2, b2 = given[2:]
    (result,) = run(text_of("bert_layer"), *given)
    x = table[ids]
    q, k, v = ((x @ w).reshape(2, 6, 2, 4).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
    scores = np.where(mask[:, None, None], q @ k.transpose(0, 1, 3, 2) / 2, -1e9)
    attended = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
    x = normalized(x + attended @ wo, g1, b1)
    hidden = x @ f1
    hidden = hidden * (1 + np.vectorize(erf)(hidden / np.sqrt(2))) / 2
    np.testing.assert_allclose(result, normalized(x + hidden @ f2, g2, b2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["lstm", "lstm_any_batch"])
def test_recurrence(name: str) -> None:
    """`lax.scan`: a loop over slices at computed positions, for two rows or any number of them."""
    x, wi, wh = given = [random(5, 2, 4), *weights((4, 24), (6, 24))]
    rows, last = run(text_of(name), *given)
    h, c, expected = np.zeros((2, 6)), np.zeros((2, 6)), []
    for step in x:
        i, f, g, o = np.split(step @ wi + h @ wh, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        expected.append(h)
    np.testing.assert_allclose(rows, np.stack(expected), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last, h, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("info", [None, [(("batch", 4), "float32"), ((4, 5), "float32")]])
def test_programs_for_any_size(info: Any) -> None:
    """`jax.export` with a symbolic batch: the shapes that the program computes are symbols."""
    module = from_stablehlo(text_of("any_batch"), info)
    assert f'R.Tensor(("{"n_0" if info is None else "batch"}", 4)' in module.script()
    for batch in (1, 3):
        x, w = random(batch, 4), random(4, 5, seed=1)
        (result,) = run(text_of("any_batch"), x, w, input_info=info)
        expected = softmax(np.concatenate([x @ w] * 2)) + np.arange(2 * batch)[:, None]
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_running_totals_of_any_length() -> None:
    """`jnp.cumsum` along an open size, as `jax.export` writes it."""
    text = """func.func @main(%a: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %ones = stablehlo.constant dense<1> : tensor<2xi32>
      %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
      %0 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %1 = stablehlo.reshape %one : (tensor<i32>) -> tensor<1xi32>
      %sizes = stablehlo.concatenate %0, %1, dim = 0
        : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %2 = stablehlo.subtract %n, %one : tensor<i32>
      %before = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1x1xi32>
      %none = stablehlo.constant dense<0> : tensor<1x1xi32>
      %row = stablehlo.concatenate %before, %none, dim = 1
        : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
      %other = stablehlo.constant dense<0> : tensor<1x2xi32>
      %padding = stablehlo.concatenate %row, %other, dim = 0
        : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
      %3 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(
          %a, %zero, %sizes, %ones, %ones, %ones, %padding) {called_computations = [@sum]}
        : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>,
           tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x3xf32>
      return %3 : tensor<?x3xf32> }
    func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %a, %b : tensor<f32>
      return %0 : tensor<f32> }"""
    x = random(5, 3)
    np.testing.assert_allclose(run(text, x)[0], np.cumsum(x, 0), rtol=1e-5, atol=1e-6)


def test_sizes_that_are_fixed_while_importing() -> None:
    info = [((3, 4), "float32"), ((4, 5), "float32")]
    script = from_stablehlo(text_of("any_batch"), info).script()
    assert "R.Tensor((3, 4)" in script and "n_0" not in script


def test_a_size_that_the_program_excludes() -> None:
    info = [((0, 4), "float32"), ((4, 5), "float32")]
    with pytest.raises(StablehloError, match="Expected value >= 1"):
        from_stablehlo(text_of("any_batch"), info)


# -- how programs are given -------------------------------------------------------------------


def test_modules_and_portable_artifacts() -> None:
    x = random(2)
    module = parse(ADD)
    library = mlir.stablehlo()
    artifact = library.serialize_portable_artifact_str(ADD, library.get_current_version())
    for given in (ADD, module, artifact):
        np.testing.assert_array_equal(run(given, x)[0], x + x)


def test_dynamic_sizes_as_tvm_has_them() -> None:
    """TVM's own test: sizes are unknown one by one, and so is that of the sum."""
    kind = "tensor<?x?xf32>"
    module = from_stablehlo(
        f"""func.func @test(%arg0: {kind}, %arg1: {kind}) -> {kind} {{
          %1 = stablehlo.add %arg0, %arg1 : ({kind}, {kind}) -> {kind}
          func.return %1 : {kind}
        }}"""
    )
    from relax_mlir.script import from_source

    expected = from_source(
        """
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def main(
        arg0: R.Tensor(("n_0", "n_1"), dtype="float32"),
        arg1: R.Tensor(("n_2", "n_3"), dtype="float32"),
    ) -> R.Tensor(dtype="float32", ndim=2):
        n_0 = T.int64()
        n_1 = T.int64()
        n_2 = T.int64()
        n_3 = T.int64()
        with R.dataflow():
            lv: R.Tensor(dtype="float32", ndim=2) = R.add(arg0, arg1)
            gv: R.Tensor(dtype="float32", ndim=2) = lv
            R.output(gv)
        return gv
"""
    )
    assert module.script() == expected.script()


def test_sizes_that_only_the_types_imply() -> None:
    """A sum of two tensors of unknown size has one size, which is checked as the program runs."""
    text = """func.func @main(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %a, %b : tensor<?x3xf32>
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1]
        : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
      return %2 : tensor<?xf32> }"""
    x, y = random(4, 3), random(4, 3, seed=1)
    np.testing.assert_allclose(run(text, x, y)[0], (x + y).sum(1), rtol=1e-5)
    with pytest.raises(ValueError, match=r"[45]"):
        run(text, x, random(5, 3))


def test_constants_at_the_end_of_the_text() -> None:
    text = """func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.constant dense_resource<values> : tensor<2xf32>
      %1 = stablehlo.add %a, %0 : tensor<2xf32>
      return %1 : tensor<2xf32> }
    {-# dialect_resources: { builtin: { values: "0x040000000000803f00000040" } } #-}"""
    assert run(text, np.zeros(2, "float32"))[0].tolist() == [1.0, 2.0]


def test_narrow_floats() -> None:
    text = """func.func @main(%a: tensor<3xbf16>) -> tensor<3xbf16> {
      %0 = stablehlo.constant dense<[0.5, 2.0, -1.0]> : tensor<3xbf16>
      %1 = stablehlo.multiply %a, %0 : tensor<3xbf16>
      return %1 : tensor<3xbf16> }"""
    import ml_dtypes

    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    assert run(text, x)[0].astype("float32").tolist() == [0.5, 4.0, -3.0]


# -- what is refused --------------------------------------------------------------------------


def test_all_unknown_operations_are_named_at_once() -> None:
    text = """func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
      %0 = call @inner(%a) : (tensor<3xf32>) -> tensor<3xf32>
      %1 = "chlo.polygamma"(%0, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      return %1 : tensor<3xf32> }
    func.func private @inner(%a: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.custom_call @somewhere(%a) : (tensor<3xf32>) -> tensor<3xf32>
      %1 = stablehlo.custom_call @somewhere(%0) : (tensor<3xf32>) -> tensor<3xf32>
      return %1 : tensor<3xf32> }"""
    with pytest.raises(UnsupportedStablehloOperatorError) as caught:
        from_stablehlo(text)
    message = str(caught.value)
    assert "chlo.polygamma: 1x" in message and "somewhere: 2x" in message
    assert "custom_convert_map" in message and ":6:" in message  # the line of the first


def test_converters_of_ones_own() -> None:
    text = """func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.custom_call @double(%a) : (tensor<3xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32> }"""

    def double(operation: Any) -> Any:
        return operation.ops.add(operation.tensor(0), operation.tensor(0))

    script = from_stablehlo(text, custom_convert_map={"double": double}).script()
    assert "R.add(arg0, arg0)" in script


def test_composites_without_a_converter_are_their_decomposition() -> None:
    text = """func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.composite "mine.double" %a {decomposition = @double}
        : (tensor<3xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32> }
    func.func private @double(%a: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.add %a, %a : tensor<3xf32>
      return %0 : tensor<3xf32> }"""
    x = random(3)
    np.testing.assert_array_equal(run(text, x)[0], x + x)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("this is no program", StablehloError, "cannot be read"),
        (b"nor is this", StablehloError, "cannot be read"),
        ("module {}", StablehloError, "no function"),
        (QUANTIZED, UnsupportedStablehloOperatorError, "quant.uniform"),
        (UNRANKED, UnsupportedStablehloOperatorError, "known rank"),
        (RESHAPE, UnsupportedStablehloOperatorError, "must be known while importing"),
    ],
)
def test_refusals(text: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        from_stablehlo(text)


def test_inputs_that_do_not_fit() -> None:
    with pytest.raises(StablehloError, match="2 entries for 1"):
        from_stablehlo(ADD, [((2,), "float32")] * 2)
    with pytest.raises(StablehloError, match=r"gives parameter 0 float32\[3\]"):
        from_stablehlo(ADD, [((3,), "float32")])
    with pytest.raises(StablehloError, match="gives parameter 0 int32"):
        from_stablehlo(ADD, [((2,), "int32")])
