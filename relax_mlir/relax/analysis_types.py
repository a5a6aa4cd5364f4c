"""Questions about types (part of `relax.analysis`): how two fit, what a call gives."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.relax.expr import Call, GlobalVar
from relax_mlir.relax.struct_info import FuncType, StructInfo, TensorType, from_mlir_type

__all__ = ["BaseCheckResult", "derive_call_ret_type", "type_base_check"]


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


struct_info_base_check = type_base_check
derive_call_ret_struct_info = derive_call_ret_type
