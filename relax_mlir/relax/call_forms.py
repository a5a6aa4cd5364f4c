"""Calls that are all alike but for what they call: one row says how each is written.

A row serves the types of expressions, their way to MLIR and back, and the printer.  A call's
arguments are `[callee, Tuple(arguments)]`, or `[callee, *arguments]` without `packed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import reuse_conflict
from relax_mlir.dialects.relax.spec import InferError
from relax_mlir.ir.function import GlobalVar
from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from relax_mlir.relax.expr import Call

__all__ = [
    "FORMS",
    "CallForm",
    "declared_outputs",
    "infer_form",
    "known_outputs",
    "stored_attributes",
]


@dataclass(frozen=True)
class CallForm:
    """`callee` is "symbol" (a function of the module), "string" (a registered one) or "value"
    (one computed).  `outputs` says that the types given are those of output tensors, whose shapes
    must be known; `nothing` that there is no result; without `declared` the text of the call says
    no type.  With `sized` a shape may come after the arguments: symbols of the callee, `tir_vars`.
    """

    callee: str
    packed: bool = True
    attributes: tuple[str, ...] = ()
    outputs: bool = False
    nothing: bool = False
    declared: bool = True
    sized: bool = False


FORMS: dict[str, CallForm] = {
    "relax.make_closure": CallForm("symbol", declared=False),
    "relax.invoke_closure": CallForm("value"),
    "relax.invoke_pure_closure": CallForm("value"),
    "relax.call_inplace_packed": CallForm("string", packed=False, attributes=("inplace_indices",)),
    "relax.call_tir_with_grad": CallForm(
        "symbol", attributes=("te_grad_name", "te_grad_kwargs"), outputs=True
    ),
    "relax.call_builtin_with_ctx": CallForm("string"),
    "relax.call_py_func": CallForm("string", outputs=True),
    "relax.dist.call_tir_local_view": CallForm("symbol", outputs=True, sized=True),
    "relax.vm.call_tir_dyn": CallForm("symbol", nothing=True, declared=False),
}

MLIR_NAMES = {name: "relax." + name.removeprefix("relax.").replace(".", "_") for name in FORMS}


def infer_form(call: Call) -> ir.Type:
    """The type of a call of a row.  Raises InferError."""
    form = FORMS[call.op.name]
    if form.nothing:
        return types.tuple_type([])
    if form.callee == "symbol" and not isinstance(call.args[0], GlobalVar):
        raise InferError("the callee must be a function of the module")
    if form.outputs:
        return known_outputs(call.type_args)
    result = result_of(call.type_args)
    if "inplace_indices" in form.attributes:
        given = [arg.mlir_type for arg in call.args[1:]]
        outputs = list(call.type_args) or [result]
        reason = reuse_conflict(call.attrs["inplace_indices"], given, outputs)
        if reason is not None:
            raise InferError(reason)
    return result


def result_of(type_args: Sequence[ir.Type]) -> ir.Type:
    """The result type of a call with these declared output types."""
    if not type_args:
        return types.object_type()
    return type_args[0] if len(type_args) == 1 else types.tuple_type(type_args)


def declared_outputs(type_args: Sequence[ir.Type]) -> ir.Type:
    """The result type of a call whose output types must be given.  Raises InferError."""
    if not type_args:
        raise InferError("needs the types of its outputs: out_sinfo=R.Tensor((2, 3), 'float32')")
    return result_of(type_args)


def known_outputs(type_args: Sequence[ir.Type]) -> ir.Type:
    """As `declared_outputs`; the outputs are tensors of known shape and dtype."""
    result = declared_outputs(type_args)
    for kind in types.tuple_fields(result) or [result]:
        info = types.tensor_info(kind)
        if info is None or info.dims is None or info.dtype is None:
            raise InferError(
                f"an output must be a tensor of known shape and dtype, got {types.describe(kind)}"
            )
    return result


def stored_attributes(form: CallForm, call: Call) -> dict[str, ir.Attribute]:
    """The MLIR attributes of a call, its callee among them unless it is a value."""
    stored: dict[str, ir.Attribute] = {}
    callee: Any = call.args[0]
    if form.callee == "symbol":
        stored["callee"] = ir.FlatSymbolRefAttr.get(callee.name_hint)
    elif form.callee == "string":
        stored["callee"] = ir.StringAttr.get(callee.global_symbol)
    for name in form.attributes:
        stored[name] = to_attribute(call.attrs[name])
    return stored


def read_attributes(form: CallForm, op: ir.Operation) -> dict[str, Any]:
    """The attributes of a call as Python values."""
    return {name: from_attribute(op.attributes[name]) for name in form.attributes}
