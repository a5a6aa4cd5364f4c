"""TensorIR functions called through the TVM FFI: results, and what is refused with which words."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import relax_mlir
from relax_mlir.driver import OperatorModule, build
from relax_mlir.ir import IRModule
from relax_mlir.runtime import tensor


def _elementwise(name: str, element: str, shape: str, body: str, attributes: str = "") -> str:
    """`func @name(A, B)` computing B = body(%p) of two buffers of one shape."""
    kind = f"memref<{shape}{element}>"
    rank = shape.count("x")
    axes = ", ".join("ijkl"[:rank])
    identity = f"affine_map<({axes}) -> ({axes})>"
    parallel = ", ".join(['"parallel"'] * rank)
    return f"""
func.func @{name}(%a: {kind} {{tir.name = "A"{attributes}}},
                  %b: {kind} {{tir.name = "B"{attributes}}})
    attributes {{tir.attrs = {{}}}} {{
  linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{parallel}]}}
      ins(%a : {kind}) outs(%b : {kind}) {{
  ^bb0(%p: {element}, %q: {element}):
{body}
    linalg.yield %r : {element}
  }}
  return
}}
"""


ADD_ONE = "    %one = arith.constant 1.0 : {0}\n    %r = arith.addf %p, %one : {0}"
STATIC = _elementwise("main", "f32", "8x", ADD_ONE.format("f32"))
SCALED = """
func.func @main(%a: memref<?x?xf32> {tir.name = "X", tir.shape = ["m", "n"]},
                %b: memref<?x?xf32> {tir.name = "Y", tir.shape = ["m", "n"]},
                %s: f32 {tir.name = "slope"}, %k: i32 {tir.name = "k"})
    attributes {tir.attrs = {}} {
  %f = arith.sitofp %k : i32 to f32
  %t = arith.mulf %s, %f : f32
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<?x?xf32>) outs(%b : memref<?x?xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %t : f32
    linalg.yield %r : f32
  }
  return
}
"""


def _build(text: str) -> OperatorModule:
    made = build(IRModule.parse(text), target="llvm")
    assert isinstance(made, OperatorModule)
    return made


@pytest.fixture(scope="module")
def static() -> OperatorModule:
    return _build(STATIC)


@pytest.fixture(scope="module")
def scaled() -> OperatorModule:
    return _build(SCALED)


def test_type_name(static: OperatorModule) -> None:
    assert str(type(static)).endswith("driver.build_module.OperatorModule'>")
    assert static.entry_name == "main"


def test_every_way_to_call(static: OperatorModule) -> None:
    a = relax_mlir.nd.array(np.arange(8).astype("float32"))
    for call in (static, static["main"], static.entry_func, static.get_function("main")):
        b = relax_mlir.nd.array(np.zeros(8, "float32"))
        call(a, b)
        np.testing.assert_array_equal(b.numpy(), np.arange(8) + 1)
    out = np.zeros(8, "float32")
    static(a.numpy(), out)
    np.testing.assert_array_equal(out, np.arange(8) + 1)


def test_missing_function(static: OperatorModule) -> None:
    with pytest.raises(AttributeError, match="no function 'other'; it has main"):
        static["other"]
    assert not static.implements_function("other")


@pytest.mark.torch
def test_torch_arguments(static: OperatorModule) -> None:
    import torch

    a, b = torch.arange(8, dtype=torch.float32), torch.zeros(8)
    static(a, b)
    assert torch.equal(b, a + 1)


def test_time_evaluator(static: OperatorModule) -> None:
    a, b = tensor(np.zeros(8, "float32")), tensor(np.zeros(8, "float32"))
    result = static.time_evaluator("main", relax_mlir.cpu(), number=5, repeat=3)(a, b)
    assert len(result.results) == 3
    assert 0 < result.min <= result.mean <= result.max < 1


F8 = r"argument 1 'B': expected float32 tensor of shape \(8,\), got "


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (np.zeros(9, "f"), ValueError, F8 + r"float32 tensor of shape \(9,\)"),
        (np.zeros((8, 1), "f"), ValueError, F8 + r"float32 tensor of shape \(8, 1\)"),
        (np.zeros((), "f"), ValueError, F8 + r"float32 tensor of shape \(\)"),
        (np.zeros(8), TypeError, F8 + r"float64 tensor of shape \(8,\)"),
        (np.zeros(8, "i"), TypeError, F8 + r"int32 tensor of shape \(8,\)"),
        (3, TypeError, F8 + "int 3"),
        (2.5, TypeError, F8 + "float 2.5"),
        (True, TypeError, F8 + "a bool"),
        (None, TypeError, F8 + "None"),
        ("x", TypeError, F8 + "a str"),
        ("a string that is longer than fourteen bytes", TypeError, F8 + "a str"),
        ([1, 2], TypeError, F8 + r"an object of type ffi\.Array"),
        (
            np.zeros(16, "f")[::2],
            ValueError,
            r"argument 1 'B': expected contiguous float32 .*, got .*\(8,\) with strides \(2,\)",
        ),
    ],
)
def test_refused_argument(
    static: OperatorModule, given: object, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match="main: " + message):
        static(np.zeros(8, "f"), given)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_refused_count(static: OperatorModule, count: int) -> None:
    with pytest.raises(TypeError, match=rf"main: expected 2 arguments \(A, B\), got {count}"):
        static(*[np.zeros(8, "f")] * count)


def test_scalars_and_symbols(scaled: OperatorModule) -> None:
    rng = np.random.default_rng(0)
    for shape in [(3, 5), (1, 1), (0, 4), (4, 0), (17, 33)]:
        x, y = rng.standard_normal(shape).astype("f"), np.zeros(shape, "f")
        scaled(x, y, 0.5, 3)
        np.testing.assert_allclose(y, x * 1.5, rtol=1e-6)
    scaled(x, y, 2, True)  # an int for a float, a bool for an int
    np.testing.assert_allclose(y, x * 2, rtol=1e-6)


def test_pointers() -> None:
    """A handle that no buffer is matched to takes a pointer, or None for null."""
    text = _elementwise("main", "f32", "8x", ADD_ONE.format("f32"))
    main = _build(text.replace("(%a", '(%ptr: !llvm.ptr {tir.name = "p"}, %a', 1))["main"]
    a, b = tensor(np.arange(8, dtype=np.float32)), tensor(np.zeros(8, np.float32))
    for pointer in (None, ctypes.c_void_p(64)):
        main(pointer, a, b)
        np.testing.assert_array_equal(b.numpy(), np.arange(8) + 1)
    message = "argument 0 'p': expected a pointer or None, got int 3"
    with pytest.raises(TypeError, match=re.escape(message)):
        main(3, a, b)


def test_strides_of_flat_sizes_do_not_matter(scaled: OperatorModule) -> None:
    column = np.arange(5, dtype="f").reshape(5, 1).T
    assert column.strides != np.zeros((1, 5), "f").strides
    out = np.zeros((1, 5), "f")
    scaled(column, out, 2.0, 1)
    np.testing.assert_array_equal(out, column * 2)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({1: np.zeros((2, 5), "f")}, ValueError, r"'Y': expected .* with m = 3, got .*\(2, 5\)"),
        ({1: np.zeros((3, 4), "f")}, ValueError, r"'Y': expected .* with n = 5, got .*\(3, 4\)"),
        ({1: np.zeros((5, 3), "f").T}, ValueError, r"contiguous .* with strides \(1, 3\)"),
        ({2: "s"}, TypeError, "argument 2 'slope': expected a scalar of float32, got a str"),
        ({3: 1.5}, TypeError, "argument 3 'k': expected a scalar of int32, got float 1.5"),
    ],
)
def test_refused_symbolic(
    scaled: OperatorModule, change: dict[int, object], kind: type[Exception], message: str
) -> None:
    args: list[object] = [np.zeros((3, 5), "f"), np.zeros((3, 5), "f"), 1.0, 1]
    for index, value in change.items():
        args[index] = value
    with pytest.raises(kind, match=message):
        scaled(*args)


@pytest.mark.parametrize(
    ("dtype", "element", "attributes"),
    [
        ("float64", "f64", ""),
        ("float16", "f16", ""),
        ("int8", "i8", ""),
        ("int32", "i32", ""),
        ("int64", "i64", ""),
        ("uint8", "i8", ', tir.dtype = "uint8"'),
        ("uint32", "i32", ', tir.dtype = "uint32"'),
        ("bool", "i8", ', tir.dtype = "bool"'),
    ],
)
def test_dtypes(dtype: str, element: str, attributes: str) -> None:
    body = (
        "    %r = arith.addf %p, %p : {0}"
        if element[0] == "f"
        else "    %r = arith.ori %p, %p : {0}"
    )
    module = _build(_elementwise("main", element, "3x4x", body.format(element), attributes))
    x = (np.random.default_rng(1).random((3, 4)) * 100).astype(dtype)
    y = np.zeros_like(x)
    module(x, y)
    np.testing.assert_allclose(y, x + x if element[0] == "f" else x)
    wrong = "int16" if dtype != "int16" else "int8"
    with pytest.raises(TypeError, match=f"expected {dtype} tensor"):
        module(x.astype(wrong), y)


def test_bfloat16() -> None:
    import ml_dtypes

    body = "    %r = arith.addf %p, %p : bf16"
    module = _build(_elementwise("main", "bf16", "5x", body))
    values = np.arange(5).astype(ml_dtypes.bfloat16)
    x, y = tensor(values), tensor(np.zeros(5, ml_dtypes.bfloat16))
    module(x, y)
    np.testing.assert_array_equal(y.numpy().astype("f"), (values + values).astype("f"))


def test_rank_zero() -> None:
    text = """
func.func @main(%a: memref<f32> {tir.name = "A"}, %b: memref<f32> {tir.name = "B"})
    attributes {tir.attrs = {}} {
  %x = memref.load %a[] : memref<f32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %b[] : memref<f32>
  return
}"""
    out = np.zeros((), "f")
    _build(text)(np.array(2.5, "f"), out)
    assert out == 5


def test_strided_parameter() -> None:
    text = """
func.func @main(%a: memref<3x4xf32, strided<[?, ?]>> {tir.name = "A"},
                %b: memref<3x4xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  memref.copy %a, %b : memref<3x4xf32, strided<[?, ?]>> to memref<3x4xf32>
  return
}"""
    text = text.replace(
        "memref.copy %a, %b : memref<3x4xf32, strided<[?, ?]>> to memref<3x4xf32>",
        """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %a[%i, %j] : memref<3x4xf32, strided<[?, ?]>>
      memref.store %v, %b[%i, %j] : memref<3x4xf32>
    }
  }""",
    )
    module = _build(text)
    base = np.arange(12, dtype="f").reshape(4, 3)
    for x in (base.T, base.T.copy(), np.arange(48, dtype="f").reshape(6, 8)[::2, ::2]):
        out = np.zeros((3, 4), "f")
        module(x, out)
        np.testing.assert_array_equal(out, x)


def test_a_kernel_may_be_called_like_a_c_function() -> None:
    body = "    %r = math.exp %p : f64"
    for name in ("exp", "free", "memcpy"):
        module = _build(_elementwise(name, "f64", "4x", body))
        x, y = np.arange(4, dtype="float64"), np.zeros(4)
        module[name](x, y)
        np.testing.assert_allclose(y, np.exp(x), rtol=1e-12)


def test_several_functions() -> None:
    texts = [_elementwise(f"f{i}", "f32", "2x", ADD_ONE.format("f32")) for i in range(3)]
    module = _build("\n".join(texts))
    x, y = np.zeros(2, "f"), np.zeros(2, "f")
    module["f2"](x, y)
    assert y.tolist() == [1, 1]
    with pytest.raises(relax_mlir.Error, match="it has f0, f1, f2"):
        module(x, y)


def test_functions_outlive_their_module() -> None:
    function = _build(STATIC)["main"]
    out = np.zeros(8, "f")
    function(np.zeros(8, "f"), out)
    assert out.tolist() == [1] * 8


def test_calls_from_threads(scaled: OperatorModule) -> None:
    from concurrent.futures import ThreadPoolExecutor

    function = scaled["main"]

    def work(seed: int) -> bool:
        x = np.full((8, 8), seed, "f")
        for _ in range(200):
            y = np.zeros((8, 8), "f")
            function(x, y, 2.0, 1)
            if not (y == 2 * seed).all():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_code_for_a_gpu_refuses_tensors_of_the_cpu() -> None:
    built = build(IRModule.parse(STATIC), target="cuda")
    host = np.zeros(8, "f")
    with pytest.raises(ValueError, match=r"expected float32 tensor of shape \(8,\) on the GPU"):
        built.mod.get_function("main")(host, host)


def test_call_overhead(static: OperatorModule) -> None:
    """Well under a microsecond here; the bound only catches a call path gone wrong."""
    a, b = tensor(np.zeros(8, "f")), tensor(np.zeros(8, "f"))
    best = static.time_evaluator("main", number=2000, repeat=5)(a, b).min
    assert best < 5e-6
