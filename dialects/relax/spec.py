"""Operators as table rows.

`define` makes a registered MLIR operation from a row: its operands, attributes with defaults, and
a function that infers the result type.  The same row drives the Python builder (`relax.op.*`), the
TVMScript spelling (`R.*`), the printer and the verifier, so an operator is written once.

The MLIR name of `nn.relu` is `relax.nn_relu`: MLIR's Python-defined operations take no dot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.dialect import Relax
from relax_mlir.dialects.variadic import create, variadic
from relax_mlir.mlir import ext, ir

REQUIRED: Any = object()
"""Marks an attribute without a default."""


class InferError(Exception):
    """Operand types that do not fit an operator; the text says which and why."""


Infer = Callable[[Sequence[Any], Mapping[str, Any]], ir.Type]
"""Operand types (None for an absent optional one) and attributes to the result type."""


@dataclass(frozen=True)
class OpSpec:
    """A row of the operator table.

    `operands` are names in order; a leading `*` marks the variadic one (given as a tuple of values
    in TVMScript), a trailing `?` an optional one.  `attributes` maps names to defaults, `REQUIRED`
    for none.  `infer` receives the operand types (a variadic operand contributes each of its
    values, an absent optional one None) and all attributes by name, and returns the result type or
    raises `InferError`; `infer_result` calls it with one entry an operand.

    `kinds` names the operands that are not tensors: "shape" (a front end turns a list of dimensions
    into a shape value) or "prim" (a number becomes a scalar value).
    """

    name: str
    operands: tuple[str, ...]
    infer: Infer
    attributes: Mapping[str, Any] = field(default_factory=dict)
    pure: bool = True
    doc: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)

    @property
    def mlir_name(self) -> str:
        return "relax." + self.name.replace(".", "_")

    @property
    def is_variadic(self) -> bool:
        return any(name.startswith("*") for name in self.operands)

    @property
    def operand_names(self) -> tuple[str, ...]:
        return tuple(name.strip("*?") for name in self.operands)


SPECS: dict[str, OpSpec] = {}
"""Every operator by its TVM name without the `relax.` prefix."""

_BY_MLIR_NAME: dict[str, OpSpec] = {}


class TableOperation(Relax.Operation):
    """Base of all operations made from a row."""

    def verify_invariants(self) -> bool:
        op = self.operation
        spec = _BY_MLIR_NAME[op.name]
        try:
            kinds = [_types(group) for group in operand_groups(op)]
            inferred = infer_result(spec, kinds, attributes_of(op))
        except InferError as error:
            op.location.emit_error(f"{op.name}: {error}")
            return False
        reason = types.conflict(inferred, op.results[0].type)
        if reason is not None:
            op.location.emit_error(
                f"{op.name}: result type {op.results[0].type} does not fit the inferred "
                f"{inferred}: {reason}"
            )
            return False
        return True


@variadic
class VariadicTableOperation(TableOperation):
    """Base of those with a variadic operand."""


def define(
    name: str,
    operands: Sequence[str],
    infer: Infer,
    attributes: Mapping[str, Any] | None = None,
    *,
    pure: bool = True,
    doc: str = "",
    kinds: Mapping[str, str] | None = None,
) -> OpSpec:
    """Add a row: register the operation and return its spec."""
    spec = OpSpec(
        name, tuple(operands), infer, dict(attributes or {}), pure, doc, dict(kinds or {})
    )
    annotations: dict[str, Any] = {}
    for operand in spec.operands:
        if operand.startswith("*"):
            annotations[operand.strip("*")] = Sequence[ext.Operand[Any]]
        elif operand.endswith("?"):
            annotations[operand.strip("?")] = ext.Operand[Any] | None
        else:
            annotations[operand] = ext.Operand[Any]
    annotations["result"] = ext.Result[Any]
    type(
        "".join(part.capitalize() for part in name.replace(".", "_").split("_")) + "Op",
        (VariadicTableOperation if spec.is_variadic else TableOperation,),
        {"__annotations__": annotations, "__doc__": doc or None},
        name=name.replace(".", "_"),
        traits=[ext.Pure] if pure else [],
    )
    SPECS[name] = spec
    _BY_MLIR_NAME[spec.mlir_name] = spec
    return spec


def spec_of(op: ir.Operation | ir.OpView) -> OpSpec | None:
    """The row of an operation, or None when it is not from the table."""
    return _BY_MLIR_NAME.get(op.operation.name)


def attributes_of(op: ir.Operation | ir.OpView) -> dict[str, Any]:
    """All attributes of a table operation as Python values, defaults filled in."""
    spec = _BY_MLIR_NAME[op.operation.name]
    present = op.operation.attributes
    return {
        name: from_attribute(present[name]) if name in present else default
        for name, default in spec.attributes.items()
    }


def operand_groups(op: ir.Operation | ir.OpView) -> list[ir.Value | list[ir.Value] | None]:
    """The operands of a table operation, one entry an operand of its row: a list for a variadic
    one, None for an absent optional one."""
    spec = _BY_MLIR_NAME[op.operation.name]
    values = list(op.operation.operands)
    sizes = _group_sizes(spec, op.operation, len(values))
    groups: list[ir.Value | list[ir.Value] | None] = []
    start = 0
    for name, size in zip(spec.operands, sizes, strict=True):
        group = values[start : start + size]
        groups.append(group if name.startswith("*") else group[0] if group else None)
        start += size
    return groups


def _group_sizes(spec: OpSpec, op: ir.Operation, count: int) -> list[int]:
    flexible = [name[0] == "*" or name[-1] == "?" for name in spec.operands]
    if "operandSegmentSizes" in op.attributes and not spec.is_variadic:
        return list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    # Otherwise one operand is variadic or optional, and takes what the others leave.
    return [count - len(flexible) + 1 if flex else 1 for flex in flexible]


def _types(group: Any) -> Any:
    if isinstance(group, (list, tuple)):
        return [_types(value) for value in group]
    return group.type if isinstance(group, ir.Value) else group


def infer_result(spec: OpSpec, kinds: Sequence[Any], attributes: Mapping[str, Any]) -> ir.Type:
    """The result type for operand types given one entry an operand of the row (a list of types for
    the variadic one, None for an absent optional one).  Raises InferError."""
    full = {**spec.attributes, **attributes}
    missing = [name for name, value in full.items() if value is REQUIRED]
    if missing:
        raise InferError(f"attribute '{missing[0]}' is missing")
    flat: list[Any] = []
    for name, kind in zip(spec.operands, kinds, strict=True):
        flat.extend(kind if name.startswith("*") else [kind])
    try:
        return spec.infer(flat, full)
    except ValueError as error:  # a shape that no tensor has
        raise InferError(str(error)) from None
    except TypeError as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in full.items())
        raise InferError(f"an attribute is of the wrong kind ({error}): {shown}") from None


NO_DTYPE = (None, "", "void")
"""The spellings of a dtype attribute that is left open."""


def _stored(spec: OpSpec, attributes: Mapping[str, Any]) -> dict[str, ir.Attribute]:
    """The attributes that differ from their defaults; dtypes by their TVM names."""
    stored: dict[str, ir.Attribute] = {}
    for name, value in attributes.items():
        default = spec.attributes.get(name)
        if name.endswith("dtype"):
            if value in NO_DTYPE and default in NO_DTYPE:
                continue
            value = value if value in NO_DTYPE else dtypes.canonical(value)
        if value is not default and value != default:
            stored[name] = to_attribute(value)
    return stored


def build(
    spec: OpSpec,
    operands: Sequence[ir.Value | Sequence[ir.Value] | None],
    attributes: Mapping[str, Any],
    result_type: ir.Type | None = None,
    *,
    loc: ir.Location | None = None,
) -> ir.Value:
    """Create the operation at the current insertion point and return its result.

    `operands` has one entry an operand of the row (a list for the variadic one, None for an absent
    optional one).  The result type is inferred unless given.  Raises InferError.
    """
    flat: list[ir.Value] = []
    sizes: list[int] = []
    for entry in operands:
        before = len(flat)
        if isinstance(entry, ir.Value):
            flat.append(entry)
        elif entry is not None:
            flat.extend(entry)
        sizes.append(len(flat) - before)
    if result_type is None:
        result_type = infer_result(spec, [_types(entry) for entry in operands], attributes)
    stored = _stored(spec, attributes)
    if sum(name.endswith("?") for name in spec.operands) > 1:
        stored["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes)
    return create(spec.mlir_name, [result_type], flat, stored, loc=loc).result
