"""Types of Relax values: how they are made, printed, ordered and joined."""

from __future__ import annotations

import pytest

from relax_mlir import mlir, relax, tir
from relax_mlir.relax.symbols import symbol, to_dim, to_expr
from relax_mlir.relax.type_relations import join
from relax_mlir.script import relax as R

n = tir.Var("n", "int64")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (relax.TensorType((1, 784), "float32"), 'R.Tensor((1, 784), dtype="float32")'),
        (relax.TensorStructInfo((4,), "int8"), 'R.Tensor((4,), dtype="int8")'),
        (relax.TensorType((), "bool"), 'R.Tensor((), dtype="bool")'),
        (relax.TensorType((n, 4)), 'R.Tensor((n, 4), dtype="float32")'),
        (relax.TensorType((n * 2 + 1, "m"), None), "R.Tensor((n * 2 + 1, m))"),
        (relax.TensorType(None, "float16", 3), 'R.Tensor(dtype="float16", ndim=3)'),
        (relax.DynTensorType(2, "float32"), 'R.Tensor(dtype="float32", ndim=2)'),
        (relax.TensorType(None, None), "R.Tensor()"),
        (relax.TensorType(None, "", 2), "R.Tensor(ndim=2)"),
        (relax.ShapeType([n, 4]), "R.Shape([n, 4])"),
        (relax.ShapeStructInfo(ndim=2), "R.Shape(ndim=2)"),
        (relax.PrimType("int32"), 'R.Prim("int32")'),
        (relax.PrimStructInfo(value=n + 1), "R.Prim(value=n + 1)"),
        (relax.ObjectType(), "R.Object"),
        (relax.AnyType(), "R.Object"),
        (relax.FuncType(), "R.Callable"),
        (
            relax.FuncStructInfo([relax.TensorType((2,), "int8")], relax.ObjectType()),
            'R.Callable((R.Tensor((2,), dtype="int8"),), R.Object)',
        ),
        (relax.TupleType([]), "R.Tuple"),
        (
            relax.TupleStructInfo([R.Tensor((2,), "int8"), R.Object]),
            'R.Tuple(R.Tensor((2,), dtype="int8"), R.Object)',
        ),
        (R.Tensor("float32", ndim=2), 'R.Tensor(dtype="float32", ndim=2)'),
        (R.Tensor(None, "float32", ndim=2), 'R.Tensor(dtype="float32", ndim=2)'),
        (R.Tensor(("n // 2", "T.min(n, T.int64(4))")), "R.Tensor((n // 2, T.min(4, n)))"),
        (R.Tensor(("(n + 1) // 2 * m",)), "R.Tensor(((n + 1) // 2 * m,))"),
        (R.Tuple([R.Shape(["n"])]), "R.Tuple(R.Shape([n]))"),
    ],
)
def test_text(kind: relax.StructInfo, text: str) -> None:
    assert str(kind) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relax.TensorType((2, 3), "float33"), "unknown dtype 'float33'"),
        (lambda: relax.TensorType("n"), "sequence of dimensions"),
        (lambda: relax.TensorType((2, 3), ndim=3), "ndim=3 does not fit"),
        (lambda: relax.TensorType((2.5,)), "a dimension is an integer"),
        (lambda: relax.TensorType(("n +",)), "not a dimension: 'n \\+'"),
        (lambda: relax.TensorType((True,)), "a dimension is an integer"),
        (lambda: relax.TupleType([3]), "expected a type"),
        (lambda: relax.PrimType(), "needs a dtype or a value"),
        (lambda: relax.TensorType(None, ndim=-1, vdevice="cuda"), "a dtype and a rank"),
    ],
)
def test_refused(make, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


BASES = [
    ("R.Object", "R.Tensor((2, 3), 'int8')", True),
    ("R.Tensor(ndim=2)", "R.Tensor((2, 3), 'int8')", True),
    ("R.Tensor(ndim=3)", "R.Tensor((2, 3), 'int8')", False),
    ("R.Tensor((2, 3), 'int8')", "R.Tensor(ndim=2, dtype='int8')", False),
    ("R.Tensor(('n', 3))", "R.Tensor((2, 3))", False),
    ("R.Tensor(('n + n', 3))", "R.Tensor(('n * 2', 3))", True),
    ("R.Tuple(R.Object)", "R.Tuple(R.Shape([1]))", True),
    ("R.Tuple(R.Object)", "R.Tuple(R.Object, R.Object)", False),
    ("R.Shape(ndim=1)", "R.Shape(['n'])", True),
    ("R.Prim('int64')", "R.Prim(value='n')", True),
    ("R.Prim('int32')", "R.Prim('int64')", False),
    ("R.Callable()", "R.Callable((R.Object,), R.Object)", True),
    ("R.Shape(ndim=1)", "R.Tensor(ndim=1)", False),
]


@pytest.mark.parametrize(("base", "derived", "expected"), BASES)
def test_is_base_of(base: str, derived: str, expected: bool) -> None:
    kinds = [eval(text, {"R": R}) for text in (base, derived)]
    faces = [k.as_struct_info() if hasattr(k, "as_struct_info") else k for k in kinds]
    assert faces[0].is_base_of(faces[1]) is expected
    assert faces[0].is_base_of(faces[0])


def test_join_keeps_what_both_know() -> None:
    pairs = [
        (R.Tensor((2, 3), "int8"), R.Tensor((2, 4), "int8"), R.Tensor("int8", ndim=2)),
        (R.Tensor((2, 3), "int8"), R.Tensor((2, 3), "int16"), R.Tensor((2, 3))),
        (R.Tensor((2,), "int8"), R.Tensor((2, 3), "int8"), R.Tensor("int8")),
        (R.Shape(["n"]), R.Shape(["m"]), R.Shape(ndim=1)),
        (R.Prim(value="n"), R.Prim(value=3), R.Prim("int64")),
        (R.Tensor((2,), "int8"), R.Shape([2]), R.Object()),
        (R.Tuple(R.Shape([1])), R.Tuple(R.Shape([2])), R.Tuple(R.Shape(ndim=1))),
    ]
    with mlir.scope():
        for a, b, expected in pairs:
            assert join(a.mlir_type, b.mlir_type) == expected.mlir_type
            assert join(b.mlir_type, a.mlir_type) == expected.mlir_type


def test_views() -> None:
    info = relax.TensorType((n, 4), "float32")
    assert (info.ndim, info.dtype) == (2, "float32")
    assert [str(d) for d in info.shape.values] == ["n", "T.int64(4)"] or int(info.shape[1]) == 4
    assert info.shape[0] is n  # the user's own variable comes back
    assert relax.TensorType(None, "int8", 2).shape is None
    pair = relax.TupleType([info, relax.ObjectType()])
    assert pair.fields[0] == info and len(pair) == 2 and hash(pair.fields[0]) == hash(info)
    function = relax.FuncType([info], info)
    assert function.params == [info] and function.ret == info
    assert relax.PrimType(value=n).value is n


def test_dimensions_and_expressions() -> None:
    assert to_dim(n * 2 + n) == "n * 3"
    assert to_dim((n + 3) // 4) == "floordiv(n + 3, 4)"
    assert to_dim(tir.Var("k", "int64") % 2) == "floormod(k, 2)"
    assert str(to_expr("n * 2 + 1")) == str(symbol("n") * 2 + 1)
    assert to_dim(to_expr("floordiv(n, 2) + max(n, 4)")) == "floordiv(n, 2) + max(4, n)"
    with pytest.raises(TypeError, match="FloatImm cannot stand"):
        to_dim(tir.FloatImm("float32", 1.0))
