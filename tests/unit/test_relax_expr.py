"""Relax expressions: how they are made, and the types and errors they have at once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from relax_mlir import mlir, relax, tir
from relax_mlir.dialects.relax.constants import build_constant, numpy_dtype, read_constant
from relax_mlir.errors import TypeInferenceError
from relax_mlir.ir import GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax import op
from relax_mlir.script import relax as R


def tensor(name: str, *shape: object, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, dtype))


def test_variables_of_all_times() -> None:
    made = [
        relax.Var("x", (2, 3), relax.DynTensorType(2, "int8")),
        relax.Var("x", relax.TensorStructInfo((2, 3), "int8")),
        relax.Var("x", R.Tensor((2, 3), "int8")),
        relax.Var("x", relax.ShapeExpr([2, 3]), relax.DynTensorType(-1, "int8")),
    ]
    assert {str(v.struct_info) for v in made} == {'R.Tensor((2, 3), dtype="int8")'}
    x = made[0]
    assert (x.name_hint, x.dtype, x.ndim) == ("x", "int8", 2)
    assert x.shape == (2, 3)
    assert str(x.checked_type) == 'R.Tensor(dtype="int8", ndim=2)'
    assert x.ty == x.struct_info
    assert str(relax.Var("o").struct_info) == "R.Object"
    assert str(relax.Var("s", R.Shape).struct_info) == "R.Shape(ndim=-1)"
    with pytest.raises(TypeError, match="has not the rank"):
        relax.Var("x", (2, 3), relax.DynTensorType(3, "int8"))
    with pytest.raises(TypeError, match="only tensors have a shape"):
        _ = relax.Var("o").shape


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, None, "int32"),
        (1.5, None, "float32"),
        (True, None, "bool"),
        (1, "float16", "float16"),
        ([1, 2], None, "int32"),
        ([1.0, 2.0], None, "float32"),
        ([[1, 2]], "int64", "int64"),
        (np.float64(2.0), None, "float64"),
        (np.ones((2, 3), "float16"), None, "float16"),
        (np.ones(2), "bfloat16", "bfloat16"),
        (np.array([1, 2], ml_dtypes.float8_e4m3fn), None, "float8_e4m3fn"),
        (np.ones(3, "float32"), relax.DynTensorType(1, "float32"), "float32"),
        (tir.IntImm("int64", 3), None, "int64"),
    ],
)
def test_constants(value: object, dtype: object, expected: str) -> None:
    made = relax.const(value, dtype)
    assert made.dtype == expected
    assert made.array.shape == np.shape(getattr(value, "value", value))
    wanted = np.asarray(getattr(value, "value", value), "float64")
    np.testing.assert_array_equal(made.array.astype("float64"), wanted)


@pytest.mark.torch
def test_torch_constants() -> None:
    import torch

    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float8_e5m2):
        value = torch.tensor([[1, 0], [3, 4]]).to(dtype)
        made = relax.const(value)
        assert f"torch.{made.dtype}" == str(dtype)
        np.testing.assert_array_equal(made.array.astype("float32"), value.to(torch.float32).numpy())


def test_constants_refused() -> None:
    with pytest.raises(TypeError, match="is not a tensor value"):
        relax.const(object())
    with pytest.raises(TypeError, match="is not a tensor value"):
        relax.const("text")
    with pytest.raises(TypeInferenceError, match="ranks 2 and 1"):
        relax.const(np.ones(3, "float32"), relax.DynTensorType(2, "float32"))


@pytest.mark.parametrize(
    "dtype", "float32 float64 float16 bfloat16 float8_e4m3fn bool int8 uint8 int4 int64".split()
)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 3), (5, 7)])
def test_constants_in_the_ir(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    array = np.asarray(rng.integers(0, 2, shape)).astype(numpy_dtype(dtype))
    if array.size > 1 and "float" in dtype:
        array.flat[0] = np.nan
    table: dict[str, np.ndarray] = {}
    with mlir.scope():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            build_constant(array, table)
        module.operation.verify()
        assert bool(table) is (array.size > 16)
        parsed = ir.Module.parse(str(module))  # its operations do not keep it alive
        read = read_constant(parsed.body.operations[0], table)
    assert read is not None and read.dtype == array.dtype and read.shape == array.shape
    np.testing.assert_array_equal(read.astype("float64"), array.astype("float64"))


def test_operators_of_python() -> None:
    x, y = tensor("x", 2, 3), tensor("y", 3)
    texts = {
        "R.add(x, y)": x + y,
        "R.subtract(x, y)": x - y,
        "R.multiply(x, y)": x * y,
        "R.divide(x, y)": x / y,
        "R.floor_divide(x, y)": x // y,
        "R.mod(x, y)": x % y,
        "R.power(x, y)": x**y,
        "R.less(x, y)": x < y,
        "R.greater_equal(x, y)": x >= y,
        "R.negative(x)": -x,
        "R.abs(x)": abs(x),
        'R.add(x, R.const(1.0, "float32"))': x + 1.0,
        'R.subtract(R.const(1.0, "float32"), x)': 1 - x,
        'R.astype(x, dtype="int8")': x.astype("int8"),
    }
    for text, made in texts.items():
        assert str(made) == text
    assert str((x < y).struct_info) == 'R.Tensor((2, 3), dtype="bool")'
    product = x @ tensor("w", 3, 5)
    assert str(product.struct_info) == 'R.Tensor((2, 5), dtype="float32")'


def test_truth_and_numbers_of_another_kind() -> None:
    x, i = tensor("x", 2), tensor("i", 2, dtype="int32")
    assert x and relax.ShapeExpr([]) is not None
    with pytest.raises(TypeError, match="no truth value"):
        bool(x < x)
    assert str(i * 2) == 'R.multiply(i, R.const(2, "int32"))'
    with pytest.raises(TypeError, match=r"2\.5 is no int32"):
        i * 2.5


def test_tuples() -> None:
    x, y = tensor("x", 2), tensor("y", 3)
    pair = relax.Tuple([x, y])
    assert str(pair) == "(x, y)" and pair[1] is y and len(pair) == 2
    var = relax.Var("t", pair.struct_info)
    assert str(var[-1].struct_info) == 'R.Tensor((3,), dtype="float32")'
    assert [str(field) for field in var] == ["t[0]", "t[1]"]
    with pytest.raises(IndexError, match="field 2 of a tuple of 2"):
        var[2]
    with pytest.raises(TypeInferenceError, match="only tuples have fields"):
        x[0]


def test_values() -> None:
    n = tir.Var("n", "int64")
    shape = relax.ShapeExpr([n, 4])
    assert str(shape) == "R.shape([n, 4])" and shape[0] is n
    assert str(relax.ShapeExpr([]).struct_info) == "R.Shape([])"
    assert str(relax.PrimValue(3)) == "R.prim_value(3)"
    assert str(relax.PrimValue(n + 1)) == "R.prim_value(n + 1)"
    assert str(relax.PrimValue(1.5)) == "R.prim_value(T.float32(1.5))"
    assert str(relax.PrimValue(True)) == "R.prim_value(T.bool(True))"
    assert str(relax.PrimValue(tir.IntImm("int32", 3))) == "R.prim_value(T.int32(3))"
    assert relax.PrimValue(n).value is n
    assert str(relax.StringImm("a")) == 'R.str("a")'
    assert str(relax.DataTypeImm("float32")) == 'R.dtype("float32")'
    assert str(relax.prim_value(2)) == "R.prim_value(2)"


def test_type_errors_name_both_types_and_the_line() -> None:
    x, w = tensor("x", 2, 3), tensor("w", 4, 5)
    with pytest.raises(TypeInferenceError) as caught:
        op.matmul(x, w)
    message = str(caught.value)
    assert 'R.Tensor((2, 3), "float32") and R.Tensor((4, 5), "float32"), 3 and 4' in message
    assert caught.value.span is not None
    assert caught.value.span.file == __file__
    assert "op.matmul(x, w)" in message
    with pytest.raises(TypeInferenceError, match="dtypes differ"):
        x + tensor("i", 3, dtype="int32")
    with pytest.raises(TypeError, match="missing a required argument"):
        op.matmul(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axe'"):
        op.sum(x, axe=1)


def test_calls_of_functions_of_a_module() -> None:
    x, y = tensor("x", 2, 3), tensor("y", 2, 3)
    var = GlobalVar("f")
    assert str(var(x).struct_info) == "R.Object"
    var.struct_info = relax.FuncType(
        [R.Tensor(("n", 3), "float32"), R.Tensor(("n", "m"), "float32")],
        R.Tensor(("n * 2", "m", "k"), "float32"),
    )
    assert str(var(x, y)) == "f(x, y)"
    assert str(var(x, y).struct_info) == 'R.Tensor(dtype="float32", ndim=3)'  # k is not known
    var.struct_info = relax.FuncType([R.Tensor(("n", 3), "float32")], R.Tensor(("n * 2",), "int8"))
    assert str(var(x).struct_info) == 'R.Tensor((4,), dtype="int8")'
    with pytest.raises(TypeInferenceError, match="'f' takes 1 arguments, 2 given"):
        var(x, y)
    with pytest.raises(TypeInferenceError, match="argument 0 of 'f' must be"):
        var(tensor("z", 2, 4))


def test_packed_functions() -> None:
    x = tensor("x", 2)
    call = relax.ExternFunc("foo")(x, sinfo_args=R.Tensor((3,), "int8"))
    assert str(call.struct_info) == 'R.Tensor((3,), dtype="int8")'
    assert str(call) == 'R.call_packed("foo", x, sinfo_args=(R.Tensor((3,), dtype="int8"),))'
    assert str(relax.ExternFunc("foo")(x).struct_info) == "R.Object"
    assert str(relax.op.call_pure_packed("f", x, 1, ty_args=R.Object)) == (
        'R.call_pure_packed("f", x, R.prim_value(1), sinfo_args=(R.Object,))'
    )
