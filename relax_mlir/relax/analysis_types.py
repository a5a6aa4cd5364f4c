"""Questions about types (part of `relax.analysis`): how two fit, what a call gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.mlir import ir
from relax_mlir.relax import symbols
from relax_mlir.relax.expr import Call, GlobalVar
from relax_mlir.relax.struct_info import FuncType, StructInfo, TensorType, from_mlir_type

__all__ = [
    "BaseCheckResult",
    "collect_non_negative_expressions",
    "definable_tir_vars_in_type",
    "derive_call_ret_type",
    "erase_to_well_defined",
    "get_static_type",
    "tir_vars_in_type",
    "type_base_check",
]


class BaseCheckResult(IntEnum):
    """How a type fits where a base type is asked for.

    FAIL_L0: no value has both types.  FAIL_L1: of their kinds and ranks or dtypes only one differs.
    FAIL_L2: some values have both types, which run time has to check.
    """

    FAIL_L0 = 0
    FAIL_L1 = 1
    FAIL_L2 = 2
    PASS = 3


def type_base_check(base: StructInfo, derived: StructInfo) -> BaseCheckResult:
    """Whether every value of type `derived` has type `base`, and if not how far it is."""
    if base.is_base_of(derived):
        return BaseCheckResult.PASS
    with mlir.scope():
        conflict = types.conflict(base.mlir_type, derived.mlir_type)
    if conflict is None:
        return BaseCheckResult.FAIL_L2
    if not isinstance(base, TensorType) or not isinstance(derived, TensorType):
        return BaseCheckResult.FAIL_L0
    same = base.dtype == derived.dtype and base.ndim == derived.ndim
    return BaseCheckResult.FAIL_L1 if same else BaseCheckResult.FAIL_L0


def derive_call_ret_type(func_type: FuncType, call: Call, ctx: Any = None) -> StructInfo:
    """The type that a function of a type gives for the arguments of a call.

    Raises TypeInferenceError when the arguments do not fit.  `ctx`, a BlockBuilder in TVM, is not
    needed.
    """
    del ctx
    callee = GlobalVar(getattr(call.op, "name_hint", "function"))
    callee.struct_info = func_type
    with mlir.scope():
        return from_mlir_type(Call(callee, list(call.args)).mlir_type)


# -- symbols in types -------------------------------------------------------------------------


def _parts(kind: ir.Type) -> list[ir.Type]:
    """A type taken apart: fields of tuples, parameters and results of functions."""
    if isinstance(kind, ir.FunctionType):
        return [part for inner in (*kind.inputs, *kind.results) for part in _parts(inner)]
    fields = types.tuple_fields(kind)
    return [kind] if fields is None else [part for field in fields for part in _parts(field)]


def _variables(names: Iterable[str]) -> list[Any]:
    return [symbols.symbol(name) for name in dict.fromkeys(names)]


def tir_vars_in_type(ty: StructInfo) -> list[Any]:
    """The symbols that a type mentions, in order."""
    with mlir.scope():
        return _variables(s for part in _parts(ty.mlir_type) for s in types.symbols_of(part))


def definable_tir_vars_in_type(ty: StructInfo) -> list[Any]:
    """The symbols whose value a value of the type gives: those that are a whole dimension."""
    return _variables(str(dim) for dim in _dims(ty) if dim_algebra.is_symbol(dim))


def collect_non_negative_expressions(ty: StructInfo) -> list[Any]:
    """The sizes in a type, as expressions, that are no numbers."""
    unknown = dict.fromkeys(dim for dim in _dims(ty) if not isinstance(dim, int))
    return [symbols.to_expr(dim) for dim in unknown]


def _dims(ty: StructInfo) -> list[Dim]:
    with mlir.scope():
        infos = [types.tensor_info(p) or types.shape_info(p) for p in _parts(ty.mlir_type)]
    return [dim for info in infos if info is not None for dim in info.dims or ()]


def get_static_type(ty: StructInfo) -> StructInfo:
    """The type without its sizes: ranks and dtypes only."""
    return erase_to_well_defined(ty, known_only=False)


def erase_to_well_defined(
    ty: StructInfo,
    shape_var_map: Mapping[Any, Any] | None = None,
    var_map: Mapping[Any, Any] | None = None,
    *,
    known_only: bool = True,
) -> StructInfo:
    """The type with symbols replaced by what `shape_var_map` says they are; shapes with other
    symbols become shapes of unknown sizes.  `var_map` is TVM's; types here mention no variables.

    With `known_only` off, constant shapes become unknown too.
    """
    del var_map
    values = {str(key): symbols.to_dim(value) for key, value in (shape_var_map or {}).items()}

    def erase(kind: ir.Type) -> ir.Type:
        if isinstance(kind, ir.FunctionType):
            inputs = [erase(part) for part in kind.inputs]
            return ir.FunctionType.get(inputs, [erase(part) for part in kind.results])
        fields = types.tuple_fields(kind)
        if fields is not None:
            return types.tuple_type([erase(field) for field in fields])
        tensor, shape = types.tensor_info(kind), types.shape_info(kind)
        info = tensor or shape
        if info is None or info.dims is None:
            return kind
        if known_only and all(symbol in values for symbol in types.symbols_of(kind)):
            return types.substitute(kind, values)
        if tensor is not None:
            return tensor.with_dims(None, tensor.ndim).to_type()
        return types.shape_type(None, info.ndim)

    with mlir.scope():
        return from_mlir_type(erase(ty.mlir_type))


tir_vars_in_struct_info = tir_vars_in_type
definable_tir_vars_in_struct_info = definable_tir_vars_in_type
get_static_struct_info = get_static_type
struct_info_base_check = type_base_check
derive_call_ret_struct_info = derive_call_ret_type
