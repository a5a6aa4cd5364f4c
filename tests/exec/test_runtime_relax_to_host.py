"""Relax functions as compiled host functions: calls, memory, objects, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.runtime import tensor

from .runtime_programs import (
    KERNELS,
    RELU_OF_X,
    N,
    call,
    call_packed,
    call_tir,
    function,
    machine,
)
from .runtime_programs import tensor as ty


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f")


def _register(name: str) -> Any:
    return relax_mlir.register_func(name, override=True)


OBJECT = "!relax.object"
X, H, OUT = ty("n", 784), ty("n", 256), ty("n", 10)
MLP_PARAMETERS = {"w0": ty(784, 256), "b0": ty(256), "w1": ty(256, 10), "b1": ty(10)}
MLP = KERNELS + function(
    "main",
    {"x": X, **MLP_PARAMETERS},
    OUT,
    f"""
  %out = "relax.dataflow"() ({{
    %lv = {call_tir("linear", {"%x": X, "%w0": ty(784, 256), "%b0": ty(256)}, H)}
    %lv1 = {call_tir("relu", {"%lv": H}, H)}
    %lv2 = {call_tir("linear", {"%lv1": H, "%w1": ty(256, 10), "%b1": ty(10)}, OUT)}
    "relax.output"(%lv2) : ({OUT}) -> ()
  }}) : () -> {OUT}
  return %out : {OUT}""",
)


@pytest.fixture(scope="module")
def mlp() -> Any:
    return machine(MLP)["main"]


@pytest.fixture(scope="module")
def weights() -> list[np.ndarray]:
    shapes = [(784, 256), (256,), (256, 10), (10,)]
    return [_random(*shape, seed=i) * 0.1 for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("n", [1, 3, 0, 64])
def test_mlp(mlp: Any, weights: list[np.ndarray], n: int) -> None:
    x = _random(n, 784, seed=9)
    w0, b0, w1, b1 = weights
    expected = _relu(x @ w0 + b0) @ w1 + b1
    for convert in (lambda a: a, tensor):
        result = mlp(*map(convert, (x, w0, b0, w1, b1)))
        assert result.shape == (n, 10)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.torch
def test_mlp_with_torch(mlp: Any, weights: list[np.ndarray]) -> None:
    import torch

    x = _random(2, 784)
    result = mlp(*map(torch.from_numpy, (x, *weights)))
    w0, b0, w1, b1 = weights
    expected = _relu(x @ w0 + b0) @ w1 + b1
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("index", "shape", "message"),
    [
        (
            0,
            (1, 783),
            r"argument 0 'x': expected float32 tensor of shape \(n, 784\), got .*\(1, 783\)",
        ),
        (
            1,
            (784, 255),
            r"argument 1 'w0': expected float32 tensor of shape \(784, 256\), got .*255\)",
        ),
        (4, (10, 1), r"argument 4 'b1': expected float32 tensor of shape \(10,\), got .*\(10, 1\)"),
    ],
)
def test_mlp_refuses(
    mlp: Any, weights: list[np.ndarray], index: int, shape: tuple[int, ...], message: str
) -> None:
    args = [_random(1, 784), *weights]
    args[index] = np.zeros(shape, "f")
    with pytest.raises(ValueError, match="main: " + message):
        mlp(*args)


def test_mlp_refuses_count_and_dtype(mlp: Any, weights: list[np.ndarray]) -> None:
    with pytest.raises(TypeError, match=r"expected 5 arguments \(x, w0, b0, w1, b1\), got 1"):
        mlp(weights[0])
    with pytest.raises(TypeError, match=r"argument 0 'x': expected float32 .*, got float64"):
        mlp(np.zeros((1, 784)), *weights)


def test_results_outlive_the_program() -> None:
    result = machine(KERNELS + function("main", {"x": N}, N, RELU_OF_X))["main"](_random(4, 4))
    np.testing.assert_array_equal(result.numpy(), _relu(_random(4, 4)))


def test_arrays_that_dlpack_refuses() -> None:
    main = machine(KERNELS + function("main", {"x": N}, N, RELU_OF_X))["main"]
    x = _random(6, 6)
    expected = _relu(x)
    x.flags.writeable = False
    np.testing.assert_array_equal(main(x).numpy(), expected)
    np.testing.assert_array_equal(main(x.T).numpy(), expected.T)
    np.testing.assert_array_equal(main(x.copy().T).numpy(), expected.T)
    np.testing.assert_array_equal(main(x[::2, ::2]).numpy(), expected[::2, ::2])


# -- objects ------------------------------------------------------------------------------------


def test_parameter_is_returned_itself() -> None:
    main = machine(function("main", {"x": N}, N, f"  return %x : {N}"))["main"]
    given = tensor(_random(3, 3))
    assert main(given).same_as(given)


def test_tuples() -> None:
    pair = f"tuple<{N}, {N}>"
    text = KERNELS + function(
        "make",
        {"x": N},
        pair,
        f"""
  %r = {call_tir("relu", {"%x": N}, N)}
  %t = "relax.tuple"(%r, %x) : ({N}, {N}) -> {pair}
  return %t : {pair}""",
    )
    text += function(
        "second",
        {"t": pair},
        N,
        f"""
  %f = "relax.tuple_get_item"(%t) {{index = 1}} : ({pair}) -> {N}
  %r = {call_tir("relu", {"%f": N}, N)}
  return %r : {N}""",
    )
    vm = machine(text)
    x, y = _random(4, 4), _random(4, 4, seed=1)
    made = vm["make"](x)
    assert len(made) == 2
    np.testing.assert_array_equal(made[0].numpy(), _relu(x))
    np.testing.assert_array_equal(made[1].numpy(), x)
    for given in ([x, y], (x, y), made):
        second = x if given is made else y
        np.testing.assert_array_equal(vm["second"](given).numpy(), _relu(second))
    with pytest.raises(TypeError, match="'t': expected a tuple of 2 fields, got float32 tensor"):
        vm["second"](x)
    with pytest.raises(ValueError, match="a tuple of 2 fields"):
        vm["second"]([x])
    with pytest.raises(ValueError, match=r"'t'\[1\]: expected .* with n = 4, got .*\(2, 4\)"):
        vm["second"]([x, y[:2]])
    vm.set_input("make", x)
    vm.invoke_stateful("make")
    assert isinstance(vm.get_outputs("make"), tuple)


def test_shapes_and_numbers() -> None:
    shape = '!relax.shape<["n", "n * 2 + 1"], 2>'
    text = function(
        "shape",
        {"x": N},
        shape,
        f'  %s = "relax.shape_expr"() : () -> {shape}\n  return %s : {shape}',
    )
    prim = '!relax.prim<f64, "">'
    text += function("number", {"a": prim}, prim, f"  return %a : {prim}")
    rank2 = '!relax.shape<["n", 4 : i64], 2>'
    text += function(
        "empty_like",
        {"s": rank2},
        ty("n", 4),
        f"""
  %r = {call_packed("test.host.fill", {}, ty("n", 4), "dps_packed")}
  return %r : {ty("n", 4)}""",
    )
    vm = machine(text)
    assert tuple(vm["shape"](_random(3, 3))) == (3, 7)
    assert vm["number"](2.5) == 2.5
    assert vm["number"](2) == 2.0

    @_register("test.host.fill")
    def fill(out: Any) -> None:
        out.copyfrom(np.ones(out.shape, "f"))

    assert vm["empty_like"](relax_mlir.runtime.ShapeTuple([2, 4])).numpy().tolist() == [[1] * 4] * 2
    with pytest.raises(ValueError, match=r"'s': expected a shape \(n, 4\)"):
        vm["empty_like"](relax_mlir.runtime.ShapeTuple([2, 5]))


def test_a_tensor_read_as_a_shape() -> None:
    shape = "!relax.shape<[], 2>"
    text = function(
        "main",
        {"s": "tensor<2xi64>"},
        shape,
        f'  %r = "relax.tensor_to_shape"(%s) : (tensor<2xi64>) -> {shape}\n  return %r : {shape}',
    )
    assert tuple(machine(text)["main"](np.array([3, 70], "int64"))) == (3, 70)


def test_constants() -> None:
    two = ty(2, 2)
    large = _random(2, 2, seed=5)
    text = KERNELS + function(
        "main",
        {"x": two},
        two,
        f"""
  %c = "relax.constant"() {{value = dense<[1.0, -2.0]> : tensor<2xf32>}} : () -> {ty(2)}
  %d = "relax.constant"() {{key = "large"}} : () -> {two}
  %r = {call_tir("linear", {"%x": two, "%d": two, "%c": ty(2)}, two)}
  return %r : {two}""",
    )
    text += function(
        "constant",
        {},
        two,
        f'  %d = "relax.constant"() {{key = "large"}} : () -> {two}\n  return %d : {two}',
    )
    vm = machine(text, {"large": large})
    x = _random(2, 2)
    expected = x @ large + np.array([1, -2], "f")
    np.testing.assert_allclose(vm["main"](x).numpy(), expected, rtol=1e-5)
    np.testing.assert_array_equal(vm["constant"]().numpy(), large)
    assert vm["constant"]().same_as(vm["constant"]())
    with pytest.raises(CompileError, match='no "other"'):
        machine(text.replace('"large"', '"other"'), {"large": large})


# -- calls --------------------------------------------------------------------------------------


def test_registered_functions() -> None:
    kept: list[Any] = []

    @_register("test.host.add")
    def add(x: relax_mlir.nd.NDArray, y: relax_mlir.nd.NDArray, out: relax_mlir.nd.NDArray) -> None:
        out.copyfrom(x.numpy() + y.numpy())

    @_register("test.host.keep")
    def keep(x: Any, number: int, text: str, dtype: Any) -> None:
        kept.append((x, number, text, str(dtype)))

    kinds = {"%r": N, "%i": '!relax.prim<i64, "n + 1">', "%s": OBJECT, "%d": OBJECT}
    text = KERNELS + function(
        "main",
        {"x": N},
        N,
        f"""
  %r = {call_tir("relu", {"%x": N}, N)}
  %i = "relax.prim_value"() : () -> !relax.prim<i64, "n + 1">
  %s = "relax.string"() {{value = "a \\22quoted\\22 text"}} : () -> !relax.object
  %d = "relax.data_type"() {{value = bf16}} : () -> !relax.object
  %k = {call_packed("test.host.keep", kinds, OBJECT)}
  %q = {call_packed("test.host.add", {"%r": N, "%x": N}, N, "dps_packed")}
  %z = {call_tir("relu", {"%q": N}, N)}
  return %z : {N}""",
    )
    main = machine(text)["main"]
    x = _random(5, 5)
    np.testing.assert_array_equal(main(x).numpy(), _relu(_relu(x) + x))
    np.testing.assert_array_equal(kept[0][0].numpy(), _relu(x))
    assert kept[0][1:] == (6, 'a "quoted" text', "bfloat16")


@pytest.mark.torch
def test_registered_functions_use_torch() -> None:
    import torch

    @_register("test.host.torch_linear")
    def torch_linear(x: Any, w: Any, out: Any) -> None:
        a, b, c = map(torch.from_dlpack, (x, w, out))
        torch.mm(a, b.T, out=c)

    text = function(
        "main",
        {"x": N, "w": N},
        N,
        f"""
  %r = {call_packed("test.host.torch_linear", {"%x": N, "%w": N}, N, "dps_packed")}
  return %r : {N}""",
    )
    x, w = _random(4, 4), _random(4, 4, seed=1)
    np.testing.assert_allclose(machine(text)["main"](x, w).numpy(), x @ w.T, rtol=1e-5)


def test_functions_registered_again_are_seen() -> None:
    text = function(
        "main",
        {"x": N},
        N,
        f"  %r = {call_packed('test.host.again', {'%x': N}, N)}\n  return %r : {N}",
    )
    main = machine(text)["main"]
    with pytest.raises(ValueError, match=r"no function is registered as 'test\.host\.again'"):
        main(_random(2, 2))
    for factor in (2, 3):
        relax_mlir.register_func(
            "test.host.again", lambda x, k=factor: tensor(x.numpy() * k), override=True
        )
        np.testing.assert_array_equal(main(_random(2, 2)).numpy(), _random(2, 2) * factor)
    relax_mlir.runtime.remove_global_func("test.host.again")


CALLS = KERNELS + (
    function(
        "main",
        {"x": N},
        N,
        f"  %r = {call('helper', {'%x': N}, N)}\n  %z = {call('helper', {'%r': N}, N)}\n"
        f"  return %z : {N}",
    )
    + function(
        "helper",
        {"x": N},
        N,
        f"""
  %m = {call_packed("test.host.echo", {"%x": N}, "tensor<*xf32>")}
  %c = "relax.match_cast"(%m) : (tensor<*xf32>) -> {ty("a", "b")}
  %r = {call_tir("relu", {"%c": ty("a", "b")}, N)}
  return %r : {N}""",
        private=True,
    )
)


def test_relax_calls_and_match_cast() -> None:
    vm = machine(CALLS)
    x = _random(4, 4)
    answers: dict[str, Any] = {}

    @_register("test.host.echo")
    def echo(given: Any) -> Any:
        return answers.get("value", given)

    np.testing.assert_array_equal(vm["main"](x).numpy(), _relu(x))
    with pytest.raises(AttributeError, match="no function 'helper'; it has main"):
        vm["helper"]
    answers["value"] = tensor(np.zeros((2, 3), "f"))
    with pytest.raises(
        ValueError, match=r"@relu: argument 1 'Y': dimension 0: expected 2 \(= a\), got 4"
    ):
        vm["main"](x)
    answers["value"] = tensor(np.zeros(2, "f"))
    with pytest.raises(ValueError, match=r"match_cast: expected .* \(a, b\), got .*\(2,\)"):
        vm["main"](x)
    answers["value"] = "text"
    with pytest.raises(
        TypeError, match=r"result of 'test\.host\.echo': expected float32 tensor, got a str"
    ):
        vm["main"](x)


def test_errors_of_callbacks_pass_through() -> None:
    @_register("test.host.echo")
    def fail(given: Any) -> Any:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        machine(CALLS)["main"](_random(2, 2))


@pytest.mark.parametrize("positive", [True, False])
def test_branches(positive: bool) -> None:
    @_register("test.host.positive")
    def is_positive(x: Any) -> Any:
        return tensor(np.array(x.numpy().sum() > 0))

    text = KERNELS + function(
        "main",
        {"x": N, "y": N},
        N,
        f"""
  %c = {call_packed("test.host.positive", {"%x": N}, "tensor<i1>")}
  %r = "relax.if"(%c) ({{
    %t = {call_tir("relu", {"%x": N}, N)}
    "relax.yield"(%t) : ({N}) -> ()
  }}, {{
    %e = {call_tir("relu", {"%y": N}, N)}
    %f = {call_tir("relu", {"%e": N}, N)}
    "relax.yield"(%f) : ({N}) -> ()
  }}) : (tensor<i1>) -> {N}
  %z = {call_tir("relu", {"%r": N}, N)}
  return %z : {N}""",
    )
    x = np.abs(_random(3, 3)) * (1 if positive else -1)
    y = _random(3, 3, seed=4)
    expected = _relu(x if positive else y)
    np.testing.assert_array_equal(machine(text)["main"](x, y).numpy(), expected)


@pytest.mark.parametrize("escaping", [True, False])
def test_several_outputs_of_one_call(escaping: bool) -> None:
    text = """
func.func private @both(
    %x: memref<?xf32> {tir.name = "x", tir.shape = ["n"]},
    %y: memref<?xf32> {tir.name = "y", tir.shape = ["n"]},
    %z: memref<?xf32> {tir.name = "z", tir.shape = ["n"]}) attributes {tir.attrs = {}} {
  linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%x : memref<?xf32>)
      outs(%y, %z : memref<?xf32>, memref<?xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %s = arith.addf %p, %p : f32
    %t = arith.mulf %p, %p : f32
    linalg.yield %s, %t : f32, f32
  }
  return
}"""
    vector = ty("n")
    pair = f"tuple<{vector}, {vector}>"
    body = f"  %r = {call_tir('both', {'%x': vector}, pair)}\n"
    result = pair
    if not escaping:
        result = vector
        for i in range(2):
            get = f'"relax.tuple_get_item"(%r) {{index = {i}}}'
            body += f"  %f{i} = {get} : ({pair}) -> {vector}\n"
            body += f"  %s{i} = {call_tir('both', {f'%f{i}': vector}, pair)}\n"
        body += f'  %r = "relax.tuple_get_item"(%s1) {{index = 0}} : ({pair}) -> {vector}\n'
        body = body.replace("%r = ", "%p = ", 1).replace("(%r)", "(%p)")
    text += function("main", {"x": vector}, result, body + f"  return %r : {result}")
    x = _random(70)
    found = machine(text)["main"](x)
    if escaping:
        np.testing.assert_array_equal(found[0].numpy(), x + x)
        np.testing.assert_array_equal(found[1].numpy(), x * x)
    else:
        np.testing.assert_array_equal(found.numpy(), x * x * 2)


def test_sizes_given_to_a_kernel() -> None:
    text = """
func.func private @iota(%y: memref<?xf32> {tir.name = "y", tir.shape = ["m"]},
                        %k: i64 {tir.name = "k"}, %n: i32 {tir.name = "n"})
    attributes {tir.attrs = {}} {
  %a = arith.sitofp %k : i64 to f32
  %b = arith.sitofp %n : i32 to f32
  %s = arith.mulf %a, %b : f32
  linalg.fill ins(%s : f32) outs(%y : memref<?xf32>)
  return
}"""
    shape = '!relax.shape<["n + 1", "n"], 2>'
    text += function(
        "main",
        {"x": ty("n")},
        ty("n * 2"),
        f"""
  %s = "relax.shape_expr"() : () -> {shape}
  %r = {call_tir("iota", {"%s": shape}, ty("n * 2"))}
  return %r : {ty("n * 2")}""",
    )
    assert machine(text)["main"](np.zeros(3, "f")).numpy().tolist() == [12.0] * 6


def test_in_place() -> None:
    text = KERNELS + function(
        "main",
        {"x": N},
        N,
        f"""
  %a = {call_tir("relu", {"%x": N}, N)}
  %b = "relax.call_tir_inplace"(%a) {{callee = @halve, inplace_indices = array<i64: 0>}}
       : ({N}) -> {N}
  %c = {call_tir("relu", {"%b": N}, N)}
  return %c : {N}""",
    )
    text += """
func.func private @halve(%x: memref<?x?xf32> {tir.name = "x", tir.shape = ["m", "n"]})
    attributes {tir.attrs = {}} {
  %half = arith.constant 0.5 : f32
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%x : memref<?x?xf32>) {
  ^bb0(%q: f32):
    %r = arith.mulf %q, %half : f32
    linalg.yield %r : f32
  }
  return
}"""
    x = _random(4, 4)
    np.testing.assert_array_equal(machine(text)["main"](x).numpy(), _relu(x) / 2)


# -- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [("n", "n"), (200, 200), (8, 8)])
def test_temporaries_do_not_overwrite_each_other(size: tuple[Any, Any]) -> None:
    """A diamond of twelve temporaries, of which several are alive at once."""
    kind = ty(*size)
    lines, names = [], ["%x"]
    for i in range(12):
        lines.append(f"  %t{i} = {call_tir('relu', {names[-1]: kind}, kind)}")
        names.append(f"%t{i}")
    for i in (3, 7, 11):
        operands = {"%x": kind, f"%t{i}": kind, "%b": ty(size[1])}
        lines.append(f"  %s{i} = {call_tir('linear', operands, kind)}")
    last = {"%s3": kind, "%s7": kind, "%b": ty(size[1])}
    lines.append(f"  %u = {call_tir('linear', last, kind)}")
    lines.append(f"  return %u : {kind}")
    text = KERNELS + function("main", {"x": kind, "b": ty(size[1])}, kind, "\n".join(lines))
    n = size[0] if isinstance(size[0], int) else 90
    x, b = _random(n, n) * 0.1, _random(n, seed=2)
    s = x @ _relu(x) + b
    np.testing.assert_allclose(machine(text)["main"](x, b).numpy(), s @ s + b, rtol=2e-3, atol=1e-3)


def _private_kilobytes() -> int:
    text = Path("/proc/self/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_D"))


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's /proc")
def test_nothing_leaks() -> None:
    @_register("test.host.echo")
    def echo(given: Any) -> Any:
        if given.numpy()[0, 0] < 0:
            raise KeyError("negative")
        return given

    main = machine(CALLS)["main"]
    good, bad = tensor(np.ones((200, 200), "f")), tensor(-np.ones((200, 200), "f"))

    def work(rounds: int) -> None:
        for _ in range(rounds):
            main(good)
            with pytest.raises(KeyError):
                main(bad)

    work(20)
    before = _private_kilobytes()
    work(200)
    # A leak of one tensor a round would be 32 MB.
    assert _private_kilobytes() - before < 8 * 1024


def test_impossible_size_is_an_error() -> None:
    kind = ty("n - 10", 4)
    text = function(
        "main",
        {"x": ty("n")},
        kind,
        f"  %r = {call_packed('test.host.fill', {}, kind, 'dps_packed')}\n  return %r : {kind}",
    )
    with pytest.raises(ValueError, match="a size is negative"):
        machine(text)["main"](np.zeros(3, "f"))


WIDER, DOUBLE = ty("n", "n + 1"), N.replace("f32", "f64")


# -- what is refused when compiling ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            f'  %r = "relax.add"(%x, %x) : ({N}, {N}) -> {N}\n  return %r : {N}',
            "relax.add has no host code",
        ),
        (
            f"  %r = {call_tir('missing', {'%x': N}, N)}\n  return %r : {N}",
            "no TensorIR function @missing",
        ),
        (
            f"  %r = {call_tir('linear', {'%x': N}, N)}\n  return %r : {N}",
            "@linear takes 4 arguments, the call gives 2 tensors and 0 scalars",
        ),
        (
            f"  %r = {call_tir('relu', {'%x': N}, ty(3, 4, 5))}\n  return %r : {ty(3, 4, 5)}",
            "argument 1 'Y' has rank 2, the call gives 3",
        ),
        (
            f"  %r = {call_tir('relu', {'%x': N}, WIDER)}\n  return %r : {WIDER}",
            r"argument 1 'Y': dimension 1 must be n, the call gives n \+ 1",
        ),
        (
            f"  %r = {call_tir('relu', {'%x': N}, DOUBLE)}\n  return %r : {DOUBLE}",
            "argument 1 'Y' is float32, the call gives float64",
        ),
        (f"  %r = {call('other', {'%x': N}, N)}\n  return %r : {N}", "no Relax function @other"),
    ],
)
def test_refused_programs(body: str, message: str) -> None:
    result = body.rsplit(" : ", 1)[1]
    with pytest.raises(CompileError, match=message):
        machine(KERNELS + function("main", {"x": N}, result, body))
