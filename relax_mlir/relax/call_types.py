"""Types of calls: operators by their rows, the other calls by the table `CALLS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import REQUIRED, SPECS, InferError, OpSpec, infer_result
from relax_mlir.errors import TypeInferenceError
from relax_mlir.ir.function import GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax.call_forms import (
    FORMS,
    declared_outputs,
    infer_form,
    known_outputs,
    result_of,
)
from relax_mlir.relax.location import user_span
from relax_mlir.relax.struct_info import FuncType
from relax_mlir.relax.type_relations import forget_symbols, match_symbols

if TYPE_CHECKING:
    from relax_mlir.relax.expr import Call, Expr


def is_operator(name: str) -> bool:
    """True for `relax.add`, `relax.call_tir` and the like."""
    return name.removeprefix("relax.") in SPECS or name in CALLS


def spec_named(name: str) -> OpSpec | None:
    """The row of an operator given as `relax.nn.relu`, or None."""
    return SPECS.get(name.removeprefix("relax.")) if name.startswith("relax.") else None


def infer_call(call: Call) -> ir.Type:
    """The type of a call.  Raises TypeInferenceError at the user's line."""
    name = getattr(call.op, "name", None)
    spec = spec_named(name) if isinstance(name, str) and name not in CALLS else None
    try:
        if spec is not None:
            return infer_operator(spec, call)
        if name in CALLS:
            return CALLS[name](call)
        return _infer_function_call(call)
    except InferError as error:
        shown = "R." + name.removeprefix("relax.") if isinstance(name, str) else "call"
        raise TypeInferenceError(f"{shown}: {error}", span=user_span()) from None


# -- operators from the table ------------------------------------------------------------------


def infer_operator(spec: OpSpec, call: Call) -> ir.Type:
    """The result type by the row; a type given with the call wins when it says more."""
    call.attrs = complete_attributes(spec, call.attrs)
    inferred = infer_result(spec, operand_types(spec, call), call.attrs)
    return call.type_args[0] if len(call.type_args) == 1 else inferred


def operand_types(spec: OpSpec, call: Call) -> list[ir.Type | list[ir.Type] | None]:
    """The types of the operands, one entry an operand of the row: a list for the variadic one,
    None for an absent optional one."""
    if len(call.args) > len(spec.operands):
        raise InferError(f"takes {len(spec.operands)} operands, {len(call.args)} given")
    given = [*call.args, *[None] * (len(spec.operands) - len(call.args))]
    return [
        _operand_type(declared, arg) for declared, arg in zip(spec.operands, given, strict=True)
    ]


def _operand_type(declared: str, arg: Expr | None) -> ir.Type | list[ir.Type] | None:
    name = declared.strip("*?")
    if arg is None:
        if declared.endswith("?"):
            return None
        raise InferError(f"operand '{name}' is missing")
    kind = _type_of(arg)
    if not declared.startswith("*"):
        return kind
    fields = types.tuple_fields(kind)
    if fields is None:
        raise InferError(f"operand '{name}' must be a tuple, got {types.describe(kind)}")
    return fields


def complete_attributes(spec: OpSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes of the row, in its order.  Raises InferError."""
    unknown = [name for name in given if name not in spec.attributes]
    if unknown:
        raise InferError(f"has no attribute '{unknown[0]}'")
    full = {**spec.attributes, **given}
    missing = [name for name, value in full.items() if value is REQUIRED]
    if missing:
        raise InferError(f"attribute '{missing[0]}' is missing")
    return full


def _type_of(arg: Expr | GlobalVar) -> ir.Type:
    if isinstance(arg, GlobalVar):
        return types.callable_type()
    return arg.mlir_type


# -- the other calls -----------------------------------------------------------------------------


def _tensors(call: Call, position: int = 1) -> None:
    fields = types.tuple_fields(_type_of(call.args[position])) or []
    for i, kind in enumerate(fields):
        known = types.is_tensor(kind) or types.prim_info(kind) is not None
        if not known and kind != types.object_type():
            raise InferError(f"argument {i} must be a tensor, got {types.describe(kind)}")


def _call_tir(call: Call) -> ir.Type:
    if len(call.args) < 2 or not isinstance(call.args[0], GlobalVar):
        raise InferError("the callee must be a function of the module")
    _tensors(call)
    return known_outputs(call.type_args)


def _call_dps(call: Call) -> ir.Type:
    """A registered function takes values of any kind; compiling needs its outputs' shapes and
    dtypes, checking does not."""
    result = declared_outputs(call.type_args)
    for kind in types.tuple_fields(result) or [result]:
        if types.tensor_info(kind) is None:
            raise InferError(f"an output must be a tensor, got {types.describe(kind)}")
    return result


def _declared(call: Call) -> ir.Type:
    return result_of(call.type_args)


def _infer_function_call(call: Call) -> ir.Type:
    from relax_mlir.relax.expr import Expr, ExternFunc, signature_of

    if isinstance(call.op, ExternFunc):
        return result_of(call.type_args)
    if isinstance(call.op, GlobalVar):
        signature = signature_of(call.op)
        if signature is None:
            return result_of(call.type_args)
        return _apply(call.op.name_hint, signature, call)
    if isinstance(call.op, Expr):
        kind = call.op.mlir_type
        if isinstance(kind, ir.FunctionType):
            return _apply(str(call.op), kind, call)
        if types.conflict(kind, types.callable_type()) is None:
            return result_of(call.type_args)
        raise InferError(f"only functions can be called, this is {types.describe(kind)}")
    raise TypeError(f"{call.op!r} cannot be called")


def _apply(name: str, signature: Any, call: Call) -> ir.Type:
    """The result type of a function of known type, for these arguments."""
    kind = signature.mlir_type if isinstance(signature, FuncType) else signature
    if not isinstance(kind, ir.FunctionType):
        return result_of(call.type_args)
    params = list(kind.inputs)
    if len(params) != len(call.args):
        raise InferError(f"'{name}' takes {len(params)} arguments, {len(call.args)} given")
    values: dict[str, Any] = {}
    for i, (param, arg) in enumerate(zip(params, call.args, strict=True)):
        given = _type_of(arg)
        match_symbols(param, given, values)
        reason = types.conflict(types.substitute(param, values), given)
        if reason is not None:
            raise InferError(
                f"argument {i} of '{name}' must be {types.describe(param)}, "
                f"got {types.describe(given)}: {reason}"
            )
    result = kind.results[0]
    known = types.substitute(forget_symbols(result, set(values)), values)
    return known if not call.type_args else result_of(call.type_args)


CALLS: dict[str, Callable[[Call], ir.Type]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir,
    "relax.call_dps_packed": _call_dps,
    "relax.call_pure_packed": _declared,
    **dict.fromkeys(FORMS, infer_form),
}
