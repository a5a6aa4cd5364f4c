"""Python operators on Relax expressions: `x + 1.0` is `R.add(x, R.const(1.0, x.dtype))`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.mlir import ir


def _call(name: str, left: Any, right: Any) -> Any:
    from relax_mlir.relax import op

    return getattr(op, name)(left, right)


class ExprOperators:
    """Arithmetic, comparison and indexing on expressions.

    `==` and `!=` compare identity, as in TVM; in TVMScript they are `R.equal` and `R.not_equal`.
    """

    mlir_type: ir.Type

    def __add__(self, other: Any) -> Any:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _call("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _call("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _call("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _call("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return _call("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _call("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return _call("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _call("power", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _call("matmul", self, other)

    def __lt__(self, other: Any) -> Any:
        return _call("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _call("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _call("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _call("greater_equal", self, other)

    def __and__(self, other: Any) -> Any:
        return _call("bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return _call("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return _call("bitwise_xor", self, other)

    def __lshift__(self, other: Any) -> Any:
        return _call("left_shift", self, other)

    def __rshift__(self, other: Any) -> Any:
        return _call("right_shift", self, other)

    def __neg__(self) -> Any:
        from relax_mlir.relax import op

        return op.negative(self)

    def __invert__(self) -> Any:
        from relax_mlir.relax import op

        return op.bitwise_not(self)

    def __abs__(self) -> Any:
        from relax_mlir.relax import op

        return op.abs(self)

    def astype(self, dtype: Any) -> Any:
        """The tensor converted to `dtype`."""
        from relax_mlir.relax import op

        return op.astype(self, dtype)

    def __getitem__(self, index: Any) -> Any:
        from relax_mlir.relax.expr import TupleGetItem

        if not isinstance(index, int):
            raise TypeError(f"a tuple is indexed by an integer, not by {index!r}")
        return TupleGetItem(self, index)

    def __bool__(self) -> bool:
        """Expressions are true, so that `if bias:` asks whether there is one; the outcome of a
        comparison is not known before the program runs.  Raises TypeError for a bool tensor."""
        from relax_mlir.dialects.relax import types

        info = types.tensor_info(self.mlir_type)
        if info is not None and info.dtype == "bool":
            raise TypeError("a tensor has no truth value while a program is written; use R.where")
        return True

    def __len__(self) -> int:
        from relax_mlir.dialects.relax import types

        fields = types.tuple_fields(self.mlir_type)
        if fields is None:
            raise TypeError("only tuples have a length")
        return len(fields)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __call__(self, *args: Any) -> Any:
        from relax_mlir.relax.expr import Call

        return Call(self, list(args))
