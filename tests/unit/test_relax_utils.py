"""`relax.utils`: values as expressions, inputs of call_tir, texts with metadata."""

from __future__ import annotations

import pytest

from relax_mlir import relax, topi
from relax_mlir.relax import utils
from relax_mlir.relax.struct_info import TensorType


def test_values_become_expressions() -> None:
    assert isinstance(utils.convert_to_expr(3), relax.PrimValue)
    assert isinstance(utils.convert_to_expr("a"), relax.StringImm)
    x = relax.Var("x", TensorType((2,), "float32"))
    nested = utils.convert_to_expr([x, (1.5, x)])
    assert isinstance(nested, relax.Tuple) and isinstance(nested.fields[1], relax.Tuple)
    assert utils.convert_to_expr(x) is x
    with pytest.raises(TypeError):
        utils.convert_to_expr(object())


def test_what_call_tir_takes() -> None:
    x = relax.Var("x", TensorType(("n", 4), "float32"))
    function, arguments, outputs, sizes = utils.gen_call_tir_inputs(topi.add, x, x)
    assert outputs == [TensorType(("n", 4), "float32")] and sizes is None
    assert isinstance(arguments, relax.Tuple) and "T_add" in function.script()


def test_metadata_is_taken_apart() -> None:
    assert utils.metadata_partitioner('{"a": {}}program') == ["program", '{"a": {}}']
    with pytest.raises(ValueError, match="no metadata"):
        utils.metadata_partitioner("program")
