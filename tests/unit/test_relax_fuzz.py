"""Random Relax programs: both texts give them back, and printing is a fixed point."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_mlir import relax, tir
from relax_mlir.ir import IRModule
from relax_mlir.relax import op
from relax_mlir.script import from_source
from relax_mlir.script.printer.relax import metadata_of

N = tir.Var("n", "int64")
SHAPES = [(2, 6), (N, 6), (6,), (), (N * 2, 3)]
UNARY = [op.exp, op.nn.relu, op.negative, op.nn.softmax, op.tanh]
BINARY = [op.add, op.multiply, op.maximum, op.subtract]


def step(draw: st.DrawFn, bb: relax.BlockBuilder, values: list[relax.Var]) -> relax.Expr:
    """One random expression over the values there are."""
    x = draw(st.sampled_from(values))
    kind = draw(st.sampled_from("unary binary constant reduce reshape concat split cast".split()))
    if kind == "binary":
        same = [v for v in values if v.struct_info == x.struct_info]
        return draw(st.sampled_from(BINARY))(x, draw(st.sampled_from(same)))
    if kind == "constant":
        if draw(st.booleans()):
            return x + draw(st.floats(width=32, allow_nan=False))
        size = draw(st.sampled_from([1, 3, 6, 40]))
        data = np.arange(size * 6, dtype="float32").reshape(size, 6)
        return op.sum(relax.const(data), axis=0, keepdims=draw(st.booleans()))
    if kind == "reduce":
        return op.max(x, axis=None, keepdims=draw(st.booleans()))
    if kind == "reshape" and x.ndim:
        return op.reshape(x, (-1,))
    if kind == "concat" and x.ndim:
        return op.concat([x, op.exp(x)], axis=draw(st.integers(0, x.ndim - 1)))
    if kind == "split" and x.ndim and str(x.shape[x.ndim - 1]) in ("6", "T.int64(6)"):
        return op.split(x, draw(st.sampled_from([2, 3])), axis=-1)[1]
    if kind == "cast":
        return op.astype(op.astype(x, "float16"), "float32")
    return draw(st.sampled_from(UNARY))(x) if x.ndim else op.exp(x)


@st.composite
def programs(draw: st.DrawFn) -> IRModule:
    names = st.sampled_from(["", "", "x", "n", "lv", "gv", "R", "class", "cls"])
    params = [
        relax.Var(draw(st.sampled_from("abxn")), relax.TensorType(draw(st.sampled_from(SHAPES))))
        for _ in range(draw(st.integers(1, 3)))
    ]
    bb = relax.BlockBuilder()
    values: list[relax.Var] = list(params)
    with bb.function("main", params, private=draw(st.booleans())):
        for _ in range(draw(st.integers(1, 3))):
            inner = list(values)
            if draw(st.booleans()):
                with bb.dataflow():
                    for _ in range(draw(st.integers(1, 4))):
                        inner.append(bb.emit(step(draw, bb, inner), draw(names)))
                    values.append(bb.emit_output(draw(st.sampled_from(inner))))
            else:
                values.append(bb.emit(step(draw, bb, values), draw(names)))
        result = draw(st.sampled_from(values))
        bb.emit_func_output((result, (values[-1],)) if draw(st.booleans()) else result)
    return bb.get()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs())
def test_round_trips(module: IRModule) -> None:
    module.verify()
    text = module.script()
    again = from_source(text, {"metadata": metadata_of(module)})
    assert again == module
    assert again.script() == text
    assert from_source(module.script(show_meta=True)) == module
    parsed = IRModule.parse(module.mlir(), module.state.constants)
    assert parsed == module
    function = module["main"]
    rebuilt = relax.Function(function.params, function.body)
    with_name = rebuilt if function.is_private else rebuilt.with_attr("global_symbol", "main")
    assert IRModule({"main": with_name}) == module
