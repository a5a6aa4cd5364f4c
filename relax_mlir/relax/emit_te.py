"""TensorIR functions from te functions applied to Relax expressions (`emit_te`)."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import types
from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc
from relax_mlir.relax import symbols
from relax_mlir.relax.expr import Expr, PrimValue, ShapeExpr, Tuple, TupleGetItem, Var
from relax_mlir.relax.location import user_span
from relax_mlir.relax.struct_info import StructInfo, TensorType


@dataclass(frozen=True)
class TECall:
    """A TensorIR function and what `call_tir` needs to call it."""

    function: BaseFunc
    arguments: list[Expr]
    outputs: list[StructInfo]
    tir_vars: ShapeExpr | None


@dataclass
class _Arguments:
    """The arguments of a te function: placeholders and what they stand for."""

    expressions: list[Expr] = field(default_factory=list)
    placeholders: list[Any] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)

    def convert(self, value: Any) -> Any:
        """A Python argument with te placeholders for its tensors."""
        if isinstance(value, Tuple):
            return [self.convert(f) for f in value.fields]
        if isinstance(value, ShapeExpr):
            return [self.convert(dim) for dim in value.values]
        if isinstance(value, PrimValue):
            return self.convert(value.value)
        if isinstance(value, Expr):
            return self._expression(value)
        if isinstance(value, symbols.tir.PrimExpr):
            self._use(value)
            return value
        if isinstance(value, (list, tuple)):
            converted = [self.convert(item) for item in value]
            return converted if isinstance(value, list) else tuple(converted)
        if isinstance(value, Mapping):
            return {key: self.convert(item) for key, item in value.items()}
        return value

    def _expression(self, value: Expr) -> Any:
        with mlir.scope():
            fields = types.tuple_fields(value.mlir_type)
            info = types.tensor_info(value.mlir_type)
        if fields is not None:
            return [self._expression(TupleGetItem(value, i)) for i in range(len(fields))]
        if info is None or info.dims is None or info.dtype is None:
            raise Error(
                f"emit_te needs tensors of known shape and dtype, got {value.struct_info}",
                span=user_span(),
            )
        return self._placeholder(value, info)

    def _placeholder(self, value: Expr, info: types.TensorInfo) -> Any:
        from relax_mlir import te

        assert info.dims is not None and info.dtype is not None
        count = len(self.placeholders)
        if isinstance(value, Var):
            name = value.name_hint
        elif count < len(string.ascii_uppercase):
            name = string.ascii_uppercase[count]
        else:
            name = f"tensor_input_{count}"
        for dim in info.dims:
            self.used.update(dict.fromkeys(dim_algebra.symbols(dim)))
            if dim_algebra.is_symbol(dim):
                self.bound.add(str(dim))
        shape = [symbols.to_expr(dim) for dim in info.dims]
        placeholder = te.placeholder(shape, dtype=info.dtype, name=name)
        self.expressions.append(value)
        self.placeholders.append(placeholder)
        return placeholder

    def _use(self, value: Any) -> None:
        self.used.update(dict.fromkeys(dim_algebra.symbols(symbols.to_dim(value))))

    def unbound(self, outputs: Sequence[Any]) -> list[str]:
        """Symbols that are no dimension of a tensor argument."""
        used = dict(self.used)
        for tensor in outputs:
            for dim in tensor.shape:
                used.update(dict.fromkeys(dim_algebra.symbols(symbols.to_dim(dim))))
        return [name for name in used if name not in self.bound]


def call_te_arguments(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> TECall:
    """Apply a te function to Relax arguments; `primfunc_attrs` among the keywords are attributes.

    Raises TypeError when the function returns no te tensors.
    """
    from relax_mlir import te

    keywords = dict(kwargs)
    attributes = keywords.pop("primfunc_attrs", None)
    taken = _Arguments()
    positional = [taken.convert(arg) for arg in args]
    named = {name: taken.convert(arg) for name, arg in keywords.items()}
    result = func(*positional, **named)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    if not outputs or not all(isinstance(out, te.Tensor) for out in outputs):
        raise TypeError(f"a te function returns te tensors, this one returned {result!r}")
    unbound = taken.unbound(outputs)
    variables = [symbols.symbol(name) for name in unbound]
    function = te.create_prim_func([*taken.placeholders, *outputs, *variables])
    function = function.without_attr("global_symbol")
    if attributes:
        function = function.with_attrs(attributes)
    declared: list[StructInfo] = [
        TensorType([symbols.to_dim(dim) for dim in out.shape], out.dtype) for out in outputs
    ]
    tir_vars = ShapeExpr(unbound) if unbound else None
    return TECall(function, taken.expressions, declared, tir_vars)
