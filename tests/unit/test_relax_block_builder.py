"""BlockBuilder and `relax.Function`."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir import relax, te, tir
from relax_mlir.errors import Error, TypeInferenceError
from relax_mlir.ir import IRModule
from relax_mlir.relax import op
from relax_mlir.relax.blocks import DataflowBlock, MatchCast, SeqExpr, VarBinding
from relax_mlir.script import relax as R


def tensor(name: str, *shape: object, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, dtype))


def body(module: IRModule, name: str = "main") -> str:
    """The lines of a function's body."""
    lines = module[name].script().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(line[4:] for line in lines[start + 1 :])


def checked(builder: relax.BlockBuilder) -> IRModule:
    """The built module; it verifies, and both texts give it back."""
    module = builder.get().verify()
    assert IRModule.parse(module.mlir(), module.state.constants) == module
    return module


def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute(
        (A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul"
    )


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda i, j: te.max_value("float32") + A[i, j], name="relu")


def test_dataflow_and_names() -> None:
    x, w = tensor("x", 2, 3), tensor("w", 3, 4)
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            y = bb.emit(op.matmul(x, w))
            z = bb.emit(op.add(op.nn.relu(y), op.exp(y)))
            out = bb.emit_output(z)
        bb.emit_func_output(out)
    assert isinstance(y, relax.DataflowVar) and not isinstance(out, relax.DataflowVar)
    assert [v.name_hint for v in (y, z, out)] == ["lv", "lv3", "gv"]
    assert body(checked(bb)) == (
        'R.func_attr({"num_input": 1})\n'
        "with R.dataflow():\n"
        '    lv: R.Tensor((2, 4), dtype="float32") = R.matmul(x, w, out_dtype="void")\n'
        '    lv1: R.Tensor((2, 4), dtype="float32") = R.nn.relu(lv)\n'
        '    lv2: R.Tensor((2, 4), dtype="float32") = R.exp(lv)\n'
        '    lv3: R.Tensor((2, 4), dtype="float32") = R.add(lv1, lv2)\n'
        '    gv: R.Tensor((2, 4), dtype="float32") = lv3\n'
        "    R.output(gv)\n"
        "return gv"
    )


def test_without_dataflow() -> None:
    x = tensor("x", 2)
    bb = relax.BlockBuilder()
    with bb.function("main", x, pure=False, private=True):
        y = bb.emit(relax.ExternFunc("print")(x))
        bb.emit_func_output((x, y))
    assert body(checked(bb)) == 'gv: R.Object = R.call_packed("print", x)\nreturn x, gv'
    function = bb.get()["main"]
    assert function.is_private and not function.is_pure


def test_parameters_at_the_end_and_in_any_order() -> None:
    a, b = tensor("a", 2), tensor("b", 2)
    unused = tensor("unused", 5)
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            y = bb.emit(op.subtract(b, a))
            out = bb.emit_output(y)
        bb.emit_func_output(out, params=[a, unused, b])
    module = checked(bb)
    assert [p.name_hint for p in module["main"].params] == ["a", "unused", "b"]
    assert "R.subtract(b, a)" in module["main"].script()


def test_a_dataflow_variable_may_be_returned() -> None:
    """As `from_fx` of the notes does: the variable, not what emit_output gave."""
    x = tensor("x", 2)
    for emit_output in (True, False):
        bb = relax.BlockBuilder()
        with bb.function("main"):
            with bb.dataflow():
                y = bb.emit(op.exp(x))
                if emit_output:
                    bb.emit_output(y)
                else:
                    bb.emit_output(op.log(y))
            bb.emit_func_output(y, [x])
        text = body(checked(bb))
        assert text.endswith("return gv" if emit_output else "return lv")
        assert ("R.output(gv, lv)" in text) or emit_output


def test_later_blocks_use_hidden_variables() -> None:
    x = tensor("x", 2)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.exp(x))
            first = bb.emit_output(op.log(y))
        with bb.dataflow():
            second = bb.emit_output(op.add(first, y))
        bb.emit_func_output(second)
    assert "R.output(gv, lv)" in body(checked(bb))


def test_emit_te() -> None:
    A = relax.Var("A", (8, 4), relax.DynTensorType(2, "float32"))
    B = relax.Var("B", (4, 8), relax.DynTensorType(2, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            C = bb.emit_te(te_matmul, A, B)
            D = bb.emit_te(te_relu, C)
            E = bb.emit_te(te_matmul, D, op.matmul(A, B))
            F = bb.emit_te(te_matmul, A, B)
            out = bb.emit_output(op.add(E, F))
        bb.emit_func_output(out, params=[A, B])
    module = checked(bb)
    names = [var.name_hint for var in module.get_global_vars()]
    assert names == ["main", "te_matmul", "te_matmul1", "te_relu"]  # A @ B is shared
    assert module["te_relu"].is_private
    text = body(module)
    assert 'lv = R.call_tir(te_matmul, (A, B), out_sinfo=R.Tensor((8, 8), dtype="float32"))' in text


def test_emit_te_with_symbols() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))

    def repeat(a: te.Tensor) -> te.Tensor:
        return te.compute((a.shape[0] * 2, a.shape[1]), lambda i, j: a[i // 2, j], name="repeat")

    def prefix(a: te.Tensor, shape: list[object]) -> te.Tensor:
        return te.compute(shape, lambda i, j: a[i, j], name="prefix")

    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit_te(repeat, x)
        z = bb.emit_te(prefix, y, relax.ShapeExpr([n + 1, 2]), primfunc_name_hint="head")
        bb.emit_func_output(z)
    module = checked(bb)
    assert str(y.struct_info) == 'R.Tensor((n * 2, 4), dtype="float32")'
    text = body(module)
    assert "R.call_tir(head, (gv,), out_sinfo=" in text and "tir_vars=R.shape([n])" in text


def test_emit_te_refused() -> None:
    bb = relax.BlockBuilder()
    with bb.function("main", [tensor("x", 2)]):
        unknown = relax.Var("u", relax.TensorType(None, "float32", 2))
        with pytest.raises(Error, match="known shape and dtype"):
            bb.call_te(te_relu, unknown)
        with pytest.raises(TypeError, match="returns te tensors"):
            bb.call_te(lambda a: 3, tensor("x", 2))
        bb.emit_func_output(bb.emit(op.exp(relax.const(1.0))))


def test_match_cast() -> None:
    x = relax.Var("x", relax.TensorType(None, "float32", 2))
    m = tir.Var("m", "int64")
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.match_cast(x, R.Tensor((m, 4), "float32"))
        z = bb.emit(op.reshape(y, (m * 4,)))
        with pytest.raises(TypeInferenceError, match="is never"):
            bb.match_cast(x, R.Tensor((m,), "float32"))
        bb.emit_func_output(z)
    module = checked(bb)
    assert body(module).startswith("m = T.int64()\ngv: R.Tensor((m, 4)")
    (block,) = module["main"].body.blocks
    assert isinstance(block.bindings[0], MatchCast)


def test_tuples_and_constants() -> None:
    x = tensor("x", 4, 6)
    weight = np.arange(24, dtype="float32").reshape(4, 6)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        parts = bb.emit(op.split(x, 2, axis=1))
        pair = bb.emit(relax.Tuple([parts[1], parts[0]]))
        y = bb.emit(op.concat(pair, axis=1))
        z = bb.emit(y * relax.const(weight) + relax.const(2, "float32"))
        bb.emit_func_output(relax.Tuple([z, relax.Tuple([y])]))
    module = checked(bb)
    (key,) = module.state.constants
    np.testing.assert_array_equal(module.state.constants[key], weight)
    text = body(module)
    assert 'metadata["relax.expr.Constant"][0]' in text and 'R.const(2.0, "float32")' in text
    assert "return gv9, (gv8,)" in text or "return " in text


def test_functions_of_one_module_call_each_other() -> None:
    x = tensor("x", 2)
    bb = relax.BlockBuilder()
    with bb.function("helper", [x], private=True):
        bb.emit_func_output(bb.emit(op.exp(x)))
    helper = bb.get().get_global_var("helper")
    y = tensor("y", 2)
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(helper(y)))
    module = checked(bb)
    assert str(module["main"].ret_struct_info) == 'R.Tensor((2,), dtype="float32")'


def test_scopes_are_checked() -> None:
    x, stranger = tensor("x", 2), tensor("stranger", 2)
    bb = relax.BlockBuilder()
    with pytest.raises(Error, match="in the scope of a function"):
        bb.emit(op.exp(x))
    with pytest.raises(Error, match="emit_func_output must be called"), bb.function("f", [x]):
        bb.emit(op.exp(x))
    with pytest.raises(Error, match="'stranger' is not visible here"), bb.function("f", [x]):
        bb.emit(op.exp(stranger))
    with pytest.raises(Error, match="'stranger' is used in 'f', but is no"), bb.function("f"):
        bb.emit_func_output(bb.emit(op.add(x, stranger)), params=[x])
    with pytest.raises(Error, match="do not nest"), bb.function("f", [x]), bb.function("g", [x]):
        pass
    with pytest.raises(Error, match="in a dataflow block"), bb.function("f", [x]):
        bb.emit_output(x)
    with pytest.raises(Error, match="given twice"), bb.function("f", [x, x]):
        pass
    assert relax.BlockBuilder.current() is None
    assert len(bb.get()) == 0


def test_symbols_need_a_value() -> None:
    k = tir.Var("k", "int64")
    x = tensor("x", 2)
    for late in (False, True):
        bb = relax.BlockBuilder()
        scope = bb.function("main", None if late else [x])
        with pytest.raises(TypeInferenceError, match="the symbol 'k' has no value"), scope:
            y = bb.emit(op.broadcast_to(op.reshape(x, (2, 1)), (2, k)))
            bb.emit_func_output(y, [x] if late else None)


def test_lookup_and_unique_names() -> None:
    x = tensor("x", 2)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        assert relax.BlockBuilder.current() is bb
        call = op.exp(x)
        y = bb.emit(call, name_hint="exponent")
        assert y.name_hint == "exponent"
        assert bb.lookup_binding(y) is call and bb.lookup_binding(x) is None
        assert bb.emit(op.exp(y), "exponent").name_hint == "exponent1"
        assert isinstance(bb.normalize(op.exp(op.log(x))).args[0], relax.Var)
        bb.emit_func_output(y)
    assert [bb.get_unique_name("f") for _ in range(3)] == ["f", "f1", "f2"]


def test_function_views() -> None:
    x = tensor("x", 2)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(op.exp(x))
            gv = bb.emit_output(op.add(lv, relax.const(1.0)))
        bb.emit_func_output(gv)
    function = bb.get()["main"]
    assert str(function.struct_info) == (
        'R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((2,), dtype="float32"))'
    )
    assert isinstance(function.body, SeqExpr) and function.params[0].name_hint == "x"
    (block,) = function.body.blocks
    assert isinstance(block, DataflowBlock)
    first, second = block.bindings
    assert isinstance(first, VarBinding) and isinstance(first.value, relax.Call)
    assert first.value.op is relax.Op.get("relax.exp")
    assert first.value.args[0] is function.params[0]
    assert second.value.args[0] is first.var and second.var is function.body.body
    assert isinstance(second.value.args[1], relax.Constant)
    assert str(first) == 'lv: R.Tensor((2,), dtype="float32") = R.exp(x)'
    rebuilt = relax.Function(function.params, function.body, function.ret_struct_info)
    assert IRModule({"main": rebuilt.with_attr("global_symbol", "main")}) == bb.get()


def test_bind_params() -> None:
    n = tir.Var("n", "int64")
    x, w = tensor("x", 2, n), tensor("w", n, 3)
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        bb.emit_func_output(bb.emit(op.matmul(x, w)))
    function = bb.get()["main"]
    weight = np.ones((5, 3), "float32")
    for key in ("w", function.params[1]):
        bound = function.bind_params({key: weight})
        assert [str(p.struct_info) for p in bound.params] == ['R.Tensor((2, 5), dtype="float32")']
        IRModule({"main": bound}).verify()
    assert len(function.params) == 2
    with pytest.raises(Error, match="no parameter 'v'; it has x, w"):
        function.bind_params({"v": weight})
    with pytest.raises(TypeInferenceError, match="parameter 'w' is"):
        function.bind_params({"w": np.ones((5, 4), "float32")})
    fixed = function.bind_symbolic_vars({n: 7})
    assert str(fixed.params[0].struct_info) == 'R.Tensor((2, 7), dtype="float32")'
    with pytest.raises(Error, match="no symbol 'k'; it has n"):
        function.bind_symbolic_vars({"k": 7})


def test_functions_from_parts() -> None:
    """A function is its parameters and body: made from what is read, it is the same."""
    from relax_mlir.script import tir as T

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), o: R.Object):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, R.const(1.0))
            R.output(b, a)
        if c:
            d = R.add(a, b)
            z = R.exp(d)
        else:
            with R.dataflow():
                z = R.sin(b)
                R.output(z)
        y = R.match_cast(o, R.Tensor((m, 4), "float32"))
        t = z, y
        return t[1], R.shape([n, m])

    rebuilt = relax.Function(main.params, main.body, attrs={"global_symbol": "main"})
    assert rebuilt == main
    assert rebuilt.script() == main.script()


def test_expressions_nested_deeper_than_the_stack() -> None:
    x = tensor("x", 2)
    y: relax.Expr = x
    for _ in range(5000):
        y = op.add(y, x)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(y))
    assert len(bb.get()["main"].body.bindings) == 5000


def test_shared_parts_are_computed_once() -> None:
    x = tensor("x", 2)
    shared = op.exp(x)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        first = bb.emit(op.add(shared, shared))
        second = bb.emit(op.multiply(shared, first))  # another binding computes it again
        bb.emit_func_output(second)
    assert bb.get().script().count("R.exp(x)") == 2
