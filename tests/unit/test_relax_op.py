"""`relax.op`: a function for every row of the table, and the calls in all their spellings."""

from __future__ import annotations

import inspect

import pytest

from relax_mlir import relax, tir
from relax_mlir.dialects.relax.spec import REQUIRED, SPECS
from relax_mlir.errors import TypeInferenceError
from relax_mlir.ir import GlobalVar
from relax_mlir.relax import op
from relax_mlir.relax.op import index_maps, special
from relax_mlir.script import relax as R


def tensor(name: str, *shape: object, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, dtype))


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_row_is_a_function(name: str) -> None:
    function = op
    for part in name.split("."):
        function = getattr(function, part)
    if name in special.FUNCTIONS or name in index_maps.FUNCTIONS:
        return
    spec = SPECS[name]
    signature = inspect.signature(function)
    assert list(signature.parameters) == [*spec.operand_names, *spec.attributes]
    assert function.__doc__
    assert relax.op.__name__ == "relax_mlir.relax.op"
    for attribute, default in spec.attributes.items():
        stored = signature.parameters[attribute].default
        if default is not REQUIRED:
            assert list(stored) == list(default) if isinstance(default, list) else stored == default
    assert relax.expr.Op.get(f"relax.{name}").name == f"relax.{name}"


def test_namespaces_can_be_imported() -> None:
    from relax_mlir.relax.op.nn import relu

    assert relu is op.nn.relu
    assert R.nn.relu is op.nn.relu and R.add is op.add
    with pytest.raises(AttributeError, match=r"no operator 'relax\.relux'"):
        _ = op.relux
    with pytest.raises(ValueError, match=r"no operator 'relax\.relux'"):
        relax.Op.get("relax.relux")


X, W = tensor("x", 2, 3), tensor("w", 5, 3)
N = tir.Var("n", "int64")


@pytest.mark.parametrize(
    ("call", "text", "kind"),
    [
        (op.relu(X), "R.nn.relu(x)", "(2, 3)"),
        (
            op.dense(X, W),
            'R.matmul(x, R.permute_dims(w, axes=None), out_dtype="void")',
            "(2, 5)",
        ),
        (op.matmul(X, op.permute_dims(W), out_dtype=None), None, "(2, 5)"),
        (op.sum(X, 1), "R.sum(x, axis=[1], keepdims=False)", "(2,)"),
        (op.mean(X, axis=-1, keepdims=True), "R.mean(x, axis=[-1], keepdims=True)", "(2, 1)"),
        (op.max(X), "R.max(x, axis=None, keepdims=False)", "()"),
        (op.reshape(X, (3, 2)), "R.reshape(x, R.shape([3, 2]))", "(3, 2)"),
        (op.reshape(X, [6]), "R.reshape(x, R.shape([6]))", "(6,)"),
        (op.reshape(X, 6), "R.reshape(x, R.shape([6]))", "(6,)"),
        (op.reshape(X, (-1, 2)), None, "(3, 2)"),
        (op.reshape(tensor("y", N, 4), (N * 4,)), "R.reshape(y, R.shape([n * 4]))", "(n * 4,)"),
        (op.concat([X, X], 0), "R.concat((x, x), axis=0)", "(4, 3)"),
        (op.concat((X, X), axis=1), "R.concat((x, x), axis=1)", "(2, 6)"),
        (op.zeros((2, N), "float32"), 'R.zeros(R.shape([2, n]), dtype="float32")', "(2, n)"),
        (op.full((2,), 1.5, "float32"), None, "(2,)"),
        (op.clip(X, 0, 6), None, "(2, 3)"),
        (op.add(X, 1), 'R.add(x, R.const(1.0, "float32"))', "(2, 3)"),
        (op.linear(X, W, tensor("b", 5)), None, "(2, 5)"),
    ],
)
def test_arguments(call: relax.Call, text: str | None, kind: str) -> None:
    assert text is None or str(call) == text
    assert str(call.struct_info) == f'R.Tensor({kind}, dtype="float32")'


@pytest.mark.parametrize(
    "arguments",
    [
        ([1], [0], [2]),
        ((1,), (0,), (2,)),
        (relax.ShapeExpr([1]), relax.ShapeExpr([0]), relax.ShapeExpr([2])),
        tuple(relax.Tuple([relax.PrimValue(i)]) for i in (1, 0, 2)),
        (1, 0, 2),
    ],
)
def test_strided_slice_in_all_spellings(arguments: tuple[object, ...]) -> None:
    call = op.strided_slice(X, *arguments)
    assert str(call) == (
        "R.strided_slice(x, R.shape([1]), R.shape([0]), R.shape([2]), assume_inbound=False)"
    )
    assert str(call.struct_info) == 'R.Tensor((2, 2), dtype="float32")'


def test_scalars_and_lists() -> None:
    assert str(op.arange(0, N, 2, dtype="int64").struct_info).startswith("R.Tensor(")
    assert "R.prim_value(n)" in str(op.arange(N, dtype="int64"))
    taken = op.take(X, relax.const([1, 0], "int64"), axis=1)
    assert str(taken.struct_info) == 'R.Tensor((2, 2), dtype="float32")'


def test_concat_of_a_tuple_variable() -> None:
    pair = relax.Var("t", relax.TupleType([X.struct_info, X.struct_info]))
    assert str(op.concat(pair, axis=0).struct_info) == 'R.Tensor((4, 3), dtype="float32")'
    with pytest.raises(TypeInferenceError, match="must be a tuple"):
        op.concat(relax.ShapeExpr([1]), axis=0)


F = GlobalVar("f")
OUT = R.Tensor((2, 5), "float32")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (op.call_tir(F, (X, W), out_sinfo=OUT), "R.call_tir(f, (x, w), out_sinfo={out})"),
        (op.call_tir(F, [X, W], out_ty=OUT), "R.call_tir(f, (x, w), out_sinfo={out})"),
        (op.call_tir(F, (X, W), (2, 5), dtype="float32"), "R.call_tir(f, (x, w), out_sinfo={out})"),
        (op.call_tir(F, X, OUT), "R.call_tir(f, (x,), out_sinfo={out})"),
        (
            op.call_tir(F, X, [OUT, OUT], tir_vars=[N]),
            "R.call_tir(f, (x,), out_sinfo=[{out}, {out}], tir_vars=R.shape([n]))",
        ),
        (
            op.call_tir(F, X, [(2, 5), (2, 5)], dtype=["float32", "float32"]),
            "R.call_tir(f, (x,), out_sinfo=[{out}, {out}])",
        ),
        (
            op.call_tir("env.linear", (X, W), (2, 5), dtype="float32"),
            'R.call_dps_packed("env.linear", (x, w), out_sinfo={out})',
        ),
        (
            op.call_dps_packed("env.linear", (X, W), out_ty=OUT),
            'R.call_dps_packed("env.linear", (x, w), out_sinfo={out})',
        ),
        (
            op.call_tir_inplace(F, (X, W), [0], OUT),
            "R.call_tir_inplace(f, (x, w), out_sinfo={out}, inplace_indices=[0])",
        ),
    ],
)
def test_call_tir(call: relax.Call, text: str) -> None:
    assert str(call) == text.format(out='R.Tensor((2, 5), dtype="float32")')


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: op.call_tir(F, X), TypeError, "outputs' types are missing"),
        (lambda: op.call_tir(F, X, (2, 3)), TypeError, "needs a dtype"),
        (lambda: op.call_tir(F, X, R.Tensor(ndim=2)), TypeInferenceError, "known shape and dtype"),
        (lambda: op.call_tir(F, R.shape([1]), OUT), TypeInferenceError, "must be a tensor"),
        (lambda: op.call_tir(X, X, OUT), TypeError, "must be a function of the module"),
        (lambda: op.call_tir_inplace(F, X, [0, 1], OUT), ValueError, "1 outputs, but 2"),
        (lambda: op.sum(X, axis=X), TypeError, "is an attribute"),
    ],
)
def test_call_tir_refused(make, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
