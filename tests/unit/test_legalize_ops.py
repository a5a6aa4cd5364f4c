"""The pass relax-legalize-ops: sharing, constants and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir import mlir, relax
from relax_mlir.errors import CompileError
from relax_mlir.ir import IRModule
from relax_mlir.lowering.relax_to_tir.legalize_ops import LegalizeOps
from relax_mlir.lowering.relax_to_tir.rows import ROWS

HEADER = 'func.func @main(%x: tensor<4xf64> {relax.name = "x"}) -> tensor<4xf64> attributes'


def _module(*lines: str) -> IRModule:
    body = "\n".join(lines)
    return IRModule.parse(f"{HEADER} {{relax.attrs = {{}}}} {{\n{body}\n}}")


def _legalized(module: IRModule, **options: tuple[str, ...]) -> IRModule:
    result = module.clone()
    with mlir.scope():
        LegalizeOps(**options).run(result.state)
    return result.verify()


def _add_constant(name: str, source: str, value: str) -> str:
    scalar, vector = "tensor<f64>", "tensor<4xf64>"
    return (
        f'%c{name} = "relax.constant"() {{value = dense<{value}> : {scalar}}} : () -> {scalar}\n'
        f'%{name} = "relax.add"(%{source}, %c{name}) : ({vector}, {scalar}) -> {vector}'
    )


def test_constants_that_differ_in_the_last_digit_stay_apart() -> None:
    small, large = 1.0, float(np.nextafter(1.0, 2.0))
    module = _module(
        _add_constant("a", "x", repr(small)),
        _add_constant("b", "a", repr(large)),
        _add_constant("c", "b", repr(small)),
        "return %c : tensor<4xf64>",
    )
    legalized = _legalized(module)
    assert [v.name_hint for v in legalized.get_global_vars()] == ["add", "add1", "main"]
    compiled = relax_mlir.compile(legalized, "llvm", relax_pipeline=None)
    machine = relax.VirtualMachine(compiled, relax_mlir.cpu())
    x = np.arange(4.0)
    np.testing.assert_array_equal(machine["main"](x).numpy(), ((x + small) + large) + small)


def test_a_name_that_is_taken_is_counted_up() -> None:
    taken = """func.func @tir_exp(%A: memref<4xf64> {tir.name = "A"}) attributes {tir.attrs = {}} {
      return
    }
    """
    body = '%y = "relax.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>\nreturn %y : tensor<4xf64>'
    module = IRModule.parse(f"{taken}{HEADER} {{relax.attrs = {{}}}} {{\n{body}\n}}")
    assert "tir_exp1" in _legalized(module)


def test_running_twice_changes_nothing() -> None:
    module = _module(
        '%y = "relax.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>', "return %y : tensor<4xf64>"
    )
    once = _legalized(module)
    assert _legalized(once) == once
    assert module == _module(
        '%y = "relax.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>', "return %y : tensor<4xf64>"
    )


def test_a_second_run_shares_the_functions_of_the_first() -> None:
    module = _module(
        '%y = "relax.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>',
        '%z = "relax.tanh"(%y) : (tensor<4xf64>) -> tensor<4xf64>',
        '%w = "relax.exp"(%z) : (tensor<4xf64>) -> tensor<4xf64>',
        "return %w : tensor<4xf64>",
    )
    assert _legalized(_legalized(module, skip_ops=("exp",))) == _legalized(module)


def test_an_error_in_a_row_names_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from relax_mlir.errors import Error

    def broken(x: object) -> None:
        raise Error("cannot be computed")

    module = _module(
        '%y = "relax.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>', "return %y : tensor<4xf64>"
    )
    _legalized(module)
    monkeypatch.setitem(ROWS, "exp", replace(ROWS["exp"], function=broken))
    with pytest.raises(CompileError, match=r"relax\.exp: cannot be computed"):
        _legalized(module)
