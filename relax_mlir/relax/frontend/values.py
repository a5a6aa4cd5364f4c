"""What importers share whose values may be known while importing (ONNX, StableHLO)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.known import Known


class Operators:
    """`relax.op` whose calls are bound at once; numbers take the dtype of the tensors beside them.

    Keyword arguments go to the operator as they are.
    """

    def __init__(self, importer: Any, namespace: Any):
        self._importer = importer
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._namespace, name)
        if not callable(found):
            return Operators(self._importer, found)

        def call(*args: Any, **keywords: Any) -> Any:
            return self._importer.emit(found(*map(self._argument, args), **keywords))

        return call

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Known):
            return self._importer.expr(value)
        if isinstance(value, (list, tuple)) and any(self._importer.is_tensor(v) for v in value):
            return [self._importer.expr(v) for v in value]
        return value


class ValueImporter:
    """Builds Relax functions from values that are Relax expressions or `Known` tensors."""

    def __init__(self) -> None:
        from relax_mlir import relax

        self.relax = relax
        self.op = relax.op
        self.block_builder = relax.BlockBuilder()
        self.ops = Operators(self, relax.op)
        self._constants: dict[Any, Any] = {}

    def check_dtype(self, dtype: str) -> None:
        """Refuse, by an error, a dtype that programs do not compute with."""

    def emit(self, expr: Any) -> Any:
        """Bind an expression."""
        return self.block_builder.emit(expr)

    def bound(self, value: Any) -> Any:
        """A converter's result: an expression that is no variable or constant yet is bound."""
        plain = (self.relax.Var, self.relax.Constant)
        if isinstance(value, self.relax.Expr) and not isinstance(value, plain):
            return self.emit(value)
        return value

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, (Known, self.relax.Expr))

    def constant(self, value: Any, dtype: str | None = None) -> Any:
        """A Relax constant; equal small ones are one."""
        array = np.asarray(value)
        if dtype is not None:
            from relax_mlir.dialects.relax.constants import numpy_dtype

            array = array.astype(numpy_dtype(dtype))
        if array.size > 16:
            return self.relax.const(array)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.relax.const(array)
        return self._constants[key]

    def permute(self, x: Any, axes: Sequence[int]) -> Any:
        """A bound transposition, or the tensor itself when the order stays."""
        return x if list(axes) == sorted(axes) else self.ops.permute_dims(x, axes=list(axes))

    def scalar_like(self, value: float | int | bool, like: Any) -> Any:
        """A scalar constant of another expression's dtype."""
        return self.constant(value, like.struct_info.dtype)

    def expr(self, value: Any) -> Any:
        """A value as a Relax expression."""
        if isinstance(value, (bool, int, float)):
            return self.constant(value)
        if not isinstance(value, Known):
            return value
        self.check_dtype(value.dtype)
        if value.expr is None and not value.is_symbolic:
            value.expr = self.constant(value.array)
        # What is bound for a symbolic value is visible only in the branch that is open.
        return value.expr if value.expr is not None else self._symbolic(value)

    def _symbolic(self, value: Known) -> Any:
        sizes = self.ops.shape_to_tensor(self.shape_expr(value.elements()))
        if value.ndim != 1:
            sizes = self.ops.reshape(sizes, self.shape_expr(value.shape))
        return sizes if value.dtype == "int64" else self.ops.astype(sizes, value.dtype)

    def shape_expr(self, dims: Sequence[Dim]) -> Any:
        return self.relax.ShapeExpr(list(dims))

    def dims_of(self, value: Any) -> list[Dim] | None:
        """The dimensions of a tensor, None when they are not known."""
        if isinstance(value, Known):
            return list(value.shape)
        dims = value.struct_info.dims
        return None if dims is None else list(dims)

    def conditional(
        self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]
    ) -> Any:
        """What one of two functions makes, chosen as the program runs by a bool scalar.

        The functions bind what they need; no dataflow block may be open.
        """
        open_function = self.block_builder.open_function
        open_function.begin_if(condition)
        open_function.begin_else(then())
        return open_function.end_if(otherwise())
