"""`relax.analysis`."""

from __future__ import annotations

from relax_mlir import relax
from relax_mlir.relax import analysis, op
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        cls = Module
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = cls.helper(a)
            R.output(b)
        if c:
            z = R.add(b, b)
        else:
            z = R.sin(b)
        _ = R.call_packed("print", z)
        return z

    @R.function(private=True)
    def helper(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        return R.log(x)


def names(variables: list[relax.Var]) -> list[str]:
    return [var.name_hint for var in variables]


def test_variables() -> None:
    main = Module["main"]
    assert names(analysis.all_vars(main))[:2] == ["x", "c"]
    assert set(names(analysis.bound_vars(main))) == {"x", "c", "a", "b", "z", "z_1", "z1", "_"}
    assert analysis.free_vars(main) == []
    x, y = main.params[0], relax.Var("y", R.Tensor((4,), "float32"))
    assert analysis.free_vars(op.add(x, op.add(y, x))) == [x, y]
    assert [v.name_hint for v in analysis.all_global_vars(main)] == ["helper"]
    assert [str(s) for s in analysis.defined_symbolic_vars(main)] == ["n"]


def test_bindings() -> None:
    main = Module["main"]
    bindings = analysis.name_to_binding(main)
    assert str(bindings["a"][0].value) == "R.exp(x)"
    values = analysis.get_var2val(main)
    assert values[bindings["a"][0].var] is bindings["a"][0].value
    users = analysis.udchain(main)
    assert names(users[main.params[0]]) == ["a"]
    assert names(users[bindings["b"][0].var]) == ["z_1", "z1", "z"]


def test_judgements() -> None:
    assert analysis.well_formed(Module) and analysis.well_formed(Module["main"])
    assert analysis.contains_impure_call(Module["main"])
    assert not analysis.contains_impure_call(Module["helper"])
    broken = Module["helper"]
    from relax_mlir import mlir

    with mlir.scope():
        operation = broken.operation.regions[0].blocks[0].operations[0].operation
        operation.results[0].set_type(R.Tensor((3,), "float32").mlir_type)
    assert not analysis.well_formed(broken)
    lca = analysis.type_lca(R.Tensor((2,), "int8"), R.Tensor((3,), "int8"))
    assert str(lca) == 'R.Tensor(dtype="int8", ndim=1)'
