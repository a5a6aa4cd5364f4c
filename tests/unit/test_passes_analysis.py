"""Analyses of modules, and visitors and mutators of functions."""

from __future__ import annotations

from typing import Any

import pytest

from relax_mlir import relax
from relax_mlir.relax import analysis, op
from relax_mlir.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

F = "float32"


@I.ir_module
class Circles:
    @R.function
    def main(x: R.Tensor((2,), F)) -> R.Tensor((2,), F):
        cls = Circles
        return cls.ping(x)

    @R.function
    def ping(x: R.Tensor((2,), F)) -> R.Tensor((2,), F):
        cls = Circles
        return cls.pong(x)

    @R.function
    def pong(x: R.Tensor((2,), F)) -> R.Tensor((2,), F):
        cls = Circles
        return cls.ping(x)

    @R.function
    def own(x: R.Tensor((2,), F)) -> R.Tensor((2,), F):
        cls = Circles
        return cls.own(x)


def test_detect_recursion() -> None:
    found = [[var.name_hint for var in group] for group in analysis.detect_recursion(Circles)]
    assert found == [["own"], ["ping", "pong"]]


def test_estimate_memory_usage() -> None:
    @I.ir_module
    class Chain:
        @R.function
        def main(x: R.Tensor((256,), F)):
            a = R.exp(x)
            b = R.log(a)
            c = R.sin(b)
            d = R.cos(c)
            return d

        @R.function
        def dynamic(x: R.Tensor(("n",), F)):
            a = R.exp(x)
            return R.log(a)

        @R.function
        def nothing(x: R.Tensor((4,), F)):
            return x

    text = analysis.estimate_memory_usage(Chain)
    main, dynamic, nothing = text.split("- Function ")[1:]
    # a, b and c are 1 KiB each, two at a time.
    assert "3 tensors take 3072 bytes" in main
    assert "take 2048 bytes" in main and "66.7%" in main
    assert "n * 4 bytes" in dynamic and "no intermediate" in nothing
    assert "3072" in analysis.estimate_memory_usage(Chain["main"])


def reshape(kernel: Any) -> bool:
    return analysis.has_reshape_pattern(kernel)


def test_has_reshape_pattern() -> None:
    @T.prim_func
    def flat(x: T.Buffer((4, 6), F), y: T.Buffer((24,), F)):
        for i in range(24):
            with T.block("b"):
                vi = T.axis.spatial(24, i)
                y[vi] = x[vi // 6, vi % 6]

    @T.prim_func
    def split(x: T.Buffer((24,), F), y: T.Buffer((2, 3, 4), F)):
        for i, j, k in T.grid(2, 3, 4):
            with T.block("b"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                y[vi, vj, vk] = x[vi * 12 + vj * 4 + vk]

    @T.prim_func
    def transposed(x: T.Buffer((4, 6), F), y: T.Buffer((6, 4), F)):
        for i, j in T.grid(6, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vj, vi]

    @T.prim_func
    def doubled(x: T.Buffer((4,), F), y: T.Buffer((4,), F)):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] + x[vi]

    @T.prim_func
    def part(x: T.Buffer((8,), F), y: T.Buffer((4,), F)):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi]

    @T.prim_func
    def symbolic(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        x = T.match_buffer(a, (n, m, 6), F)
        y = T.match_buffer(b, (n * m * 6,), F)
        for i in range(n * m * 6):
            with T.block("b"):
                vi = T.axis.spatial(n * m * 6, i)
                y[vi] = x[vi // (m * 6), vi // 6 % m, vi % 6]

    @T.prim_func
    def other_order(a: T.handle, b: T.handle):
        n = T.int64()
        x = T.match_buffer(a, (n, 6), F)
        y = T.match_buffer(b, (n * 6,), F)
        for i in range(n * 6):
            with T.block("b"):
                vi = T.axis.spatial(n * 6, i)
                y[vi] = x[vi % n, vi // n]

    @T.prim_func
    def half(a: T.handle, b: T.handle):
        n = T.int64()
        x = T.match_buffer(a, (n * 2,), F)
        y = T.match_buffer(b, (n,), F)
        for i in range(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                y[vi] = x[vi]

    assert reshape(flat) and reshape(split) and reshape(symbolic)
    assert not reshape(other_order) and not reshape(half)
    assert not reshape(transposed) and not reshape(doubled) and not reshape(part)


@R.function
def model(x: R.Tensor(("n", 4), F), w: R.Tensor((4, "m"), F), c: R.Tensor((), "bool")):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        t = R.permute_dims(w)
        t2 = R.multiply(t, t)
        tt = R.permute_dims(t2)
        y = R.matmul(x, tt)
        idle = R.exp(y)
        R.output(y)
    if c:
        z = R.exp(y)
    else:
        z = R.log(y)
    return (z, y)


def test_variables() -> None:
    names = [var.name_hint for var in analysis.computable_at_compile_time(model)]
    assert names == ["w", "c", "t", "t2", "tt"]
    assert analysis.computable_at_compile_time(Circles["own"]) == []
    used = {var.name_hint for var in analysis.used_vars(model)}
    assert "idle" not in used and {"x", "w", "c", "y", "z"} <= used
    assert analysis.free_symbolic_vars(model) == []
    assert [str(s) for s in analysis.defined_symbolic_vars(model)] == ["n", "m"]
    assert "idle" not in analysis.remove_all_unused(model).script()


def test_udchain_of_a_block() -> None:
    block = model.body.blocks[0]
    chain = {
        v.name_hint: [u.name_hint for u in users] for v, users in analysis.udchain(block).items()
    }
    assert chain == {
        "w": ["t"],
        "t": ["t2"],
        "t2": ["tt"],
        "tt": ["y"],
        "x": ["y"],
        "y": ["idle"],
        "idle": [],
    }


def test_visitor_sees_everything_in_order() -> None:
    seen: list[str] = []

    @visitor
    class Collect(PyExprVisitor):
        def visit_call_(self, call: relax.Call) -> None:
            super().visit_call_(call)
            seen.append(call.op.name)

        def visit_var_def(self, var: relax.Var) -> None:
            seen.append(var.name_hint)

        def visit_op_(self, op_: Any) -> None:
            assert op_.name.startswith("relax.")

    Collect().visit_expr(model)
    assert seen[:6] == ["x", "w", "c", "relax.permute_dims", "t", "relax.multiply"]
    assert seen.count("relax.exp") == 2 and seen[-1] == "z"


def test_mutator_keeps_what_it_does_not_change() -> None:
    assert PyExprMutator().visit_expr(model).script() == model.script()


def test_mutator_replaces_calls_in_branches_too() -> None:
    @mutator
    class Replace(PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if call.op.name == "relax.exp":
                return op.add(op.exp(call.args[0]), relax.const(1.0, F))
            return call

    changed = Replace().visit_expr(model)
    text = changed.script()
    assert text.count("R.exp") == text.count("R.add") == 2
    assert analysis.well_formed(changed)


def test_mutator_infers_types_again_and_looks_up_bindings() -> None:
    looked: list[str] = []

    @mutator
    class Narrow(PyExprMutator):
        def visit_var_def(self, var: relax.Var) -> relax.Var:
            return relax.Var("wide", R.Tensor((4, 8), F)) if var.name_hint == "w" else var

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            made = super().visit_call_(call)
            if made.op.name == "relax.multiply":
                looked.append(self.lookup_binding(made.args[0]).op.name)
            return made

    changed = Narrow().visit_expr(model)
    assert [param.name_hint for param in changed.params] == ["x", "wide", "c"]
    assert changed.ret_struct_info.fields[1].dims == ("n", 8)
    assert looked == ["relax.permute_dims"]


def test_mutator_of_a_module_adds_functions() -> None:
    @mutator
    class Lower(PyExprMutator):
        def __init__(self, mod: Any):
            super().__init__(mod)
            self.mod_ = mod

        def transform(self) -> Any:
            for var, function in self.mod_.functions.items():
                self.builder_.update_func(var, self.visit_expr(function))
            return self.builder_.get()

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if getattr(call.op, "name", "") == "relax.add":
                from relax_mlir import topi

                return self.builder_.call_te(topi.add, *call.args)
            return call

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), F)):
            y = R.add(x, x)
            return R.nn.relu(y)

    lowered = Lower(Module).transform().verify()
    assert "R.call_tir(cls.add" in lowered.script() and "R.add" not in lowered.script()


@pytest.mark.parametrize(
    "name",
    "NormalizeGlobalVar ComputePrimValue VMShapeLower".split(),
)
def test_passes_whose_work_is_done_elsewhere_run_and_change_nothing(name: str) -> None:
    factory = getattr(relax.transform, name)
    assert "leaves it as it is" in factory.__doc__
    made = factory()
    assert made(Circles).script() == Circles.script()


def test_decorators_refuse_other_classes() -> None:
    with pytest.raises(TypeError, match="must derive from PyExprMutator"):
        mutator(int)
    with pytest.raises(TypeError, match="must derive from PyExprVisitor"):
        visitor(int)


def test_symbols_of_types() -> None:
    from relax_mlir.relax.struct_info import FuncType, ShapeType, TensorType, TupleType

    def names(values: Any) -> list[str]:
        return [str(value) for value in values]

    sizes = TupleType([TensorType(("n", "m + 1"), F), ShapeType(["n", "m"])])
    assert names(analysis.tir_vars_in_type(sizes)) == ["n", "m"]
    assert names(analysis.definable_tir_vars_in_type(sizes)) == ["n", "m"]
    assert names(analysis.definable_tir_vars_in_type(TensorType(("n + 1",), F))) == []
    assert names(analysis.collect_non_negative_expressions(sizes)) == ["n", "m + T.int64(1)", "m"]
    function = FuncType([TensorType(("n",), F)], TensorType(("n", "k"), F))
    assert names(analysis.tir_vars_in_type(function)) == ["n", "k"]
    static = analysis.get_static_type(function)
    assert static == FuncType([TensorType(None, F, ndim=1)], TensorType(None, F, ndim=2))
    assert analysis.get_static_type(TensorType((2, 3), F)) == TensorType(None, F, ndim=2)


def test_types_without_symbols_that_are_not_known() -> None:
    from relax_mlir.relax.struct_info import ShapeType, TensorType, TupleType

    kind = TupleType([TensorType(("n", "m"), F), ShapeType(["n", 3])])
    erased = analysis.erase_to_well_defined(kind, {"n": 4})
    assert erased == TupleType([TensorType(None, F, ndim=2), ShapeType([4, 3])])
    known = analysis.erase_to_well_defined(kind, {"n": 4, "m": "n * 2"})
    assert known == TupleType([TensorType((4, "n * 2"), F), ShapeType([4, 3])])
