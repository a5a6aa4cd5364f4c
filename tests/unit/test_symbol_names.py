"""What symbols are called that are made outside of TVMScript."""

from __future__ import annotations

from relax_mlir import relax
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


def test_a_symbol_has_the_name_it_is_assigned_to() -> None:
    rows = T.int64()
    columns = T.int64(is_size_var=True)  # a size
    assert (rows.name, columns.name) == ("rows", "columns")
    assert "(rows, columns + 1)" in str(R.Tensor((rows, columns + 1), "float32"))


def test_symbols_without_a_name_differ() -> None:
    first, second = T.int64(), T.int64()
    assert (first.name, second.name) == ("", "")
    kind = relax.TensorStructInfo((first, second, first), "float32")
    a, b, c = kind.shape.values
    assert a.name == c.name != b.name != ""
