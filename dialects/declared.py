"""What an operation declares is there before its own verifier speaks.

MLIR asks a Python verifier before it checks what the operation's fields declare.  A verifier may
therefore meet an operation that lacks an attribute or an operand that it reads.  Such an operation
is refused here, by the name of what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from relax_mlir.dialects.variadic import OPERANDS, RESULTS
from relax_mlir.mlir import ext, ir, irdl

Base = TypeVar("Base", bound=type)


def declared(base: Base) -> Base:
    """Class decorator for the operations of a dialect: their verifiers need not ask whether the
    fields are there."""
    attach = base._attach_traits

    def attach_traits(cls: Any) -> None:
        for name in ("verify_invariants", "verify_region_invariants"):
            verify = getattr(cls, name, None)
            if verify is not None:
                setattr(cls, name, _guarded(verify))
        attach.__func__(cls)

    base._attach_traits = classmethod(attach_traits)
    return base


def _guarded(verify: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def guarded(self: Any) -> bool:
        try:
            return verify(self)
        except Exception as error:
            reason = missing_field(self)
            if reason is None and isinstance(error, (IndexError, KeyError)):
                reason = f"an operand, a result, a region or an attribute is missing ({error})"
            if reason is None:
                raise
            self.location.emit_error(f"{self.operation.name}: {reason}")
            return False

    return guarded


def missing_field(op: Any) -> str | None:
    """What an operation lacks of its declared fields, or None."""
    operands, attributes, results, regions = ext.partition_fields(op._fields)
    operation = op.operation
    return (
        _missing_attribute(operation, attributes)
        or _miscounted(operation, "operands", list(operation.operands), operands, OPERANDS)
        or _miscounted(operation, "results", list(operation.results), results, RESULTS)
        or _miscounted(operation, "regions", list(operation.regions), regions, "")
    )


def _missing_attribute(op: ir.Operation, fields: list[Any]) -> str | None:
    for field in fields:
        if field.name not in op.attributes:
            return f"needs the attribute '{field.name}'"
        kind = field.constraint
        is_class = isinstance(kind, type) and issubclass(kind, ir.Attribute)
        if is_class and not isinstance(op.attributes[field.name], kind):
            found = op.attributes[field.name]
            return f"the attribute '{field.name}' is a {kind.__name__}, not {found}"
    return None


def _miscounted(
    op: ir.Operation, what: str, values: list[Any], fields: list[Any], segments: str
) -> str | None:
    least = sum(field.variadicity == irdl.Variadicity.single for field in fields)
    count = len(values)
    if count < least or (count > least and least == len(fields)):
        return f"has {count} {what}, it declares {', '.join(f.name for f in fields) or 'none'}"
    given = segments in op.attributes
    if not given and (least == len(fields) or len(fields) == 1):
        return None
    sizes = op.attributes.get(segments, None)
    if not isinstance(sizes, ir.DenseI32ArrayAttr):
        return f"needs the attribute '{segments}', an array<i32> of one count a field"
    if len(sizes) != len(fields) or sum(sizes) != count:
        return f"'{segments}' counts {sizes}, there are {count} {what} of {len(fields)} fields"
    return None
