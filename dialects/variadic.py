"""Operations with any number of operands or results, each of its own type.

IRDL, behind MLIR's Python-defined operations, gives all values of one variadic operand the same
type.  An operation made with `@variadic` declares SLOTS optional operands instead, one a value, and
carries `operandSegmentSizes` with a one for each slot in use.  The attribute says no more than the
number of operands does: `create` adds it, MLIR text leaves it out (`relax_mlir/ir/text.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

from relax_mlir.mlir import ext, ir, irdl

SLOTS = 512
"""Values of different types an operation can have; runs of equal types share a slot beyond that."""

OPERANDS, RESULTS = "operandSegmentSizes", "resultSegmentSizes"

VARIADIC: dict[str, tuple[str, ...]] = {}
"""The segment attributes of every such operation, by its full name."""


Base = TypeVar("Base", bound=type)


def variadic(base: Base) -> Base:
    """Class decorator for a base of operations: variadic fields take values of any types.

    Besides single operands such an operation declares one variadic one, or a second behind it whose
    values its static method `belongs_last(value)` recognises.  (A decorator, since classes of the
    bindings have one base only.)
    """
    attributes, construct = base._generate_class_attributes, base._generate_init_method

    def generate_attributes(cls: Any, dialect_name: str, op_name: str, fields: Any) -> None:
        attributes.__func__(cls, dialect_name, op_name, fields)
        operands, _, results, _ = ext.partition_fields(fields)
        VARIADIC[f"{dialect_name}.{op_name}"] = tuple(
            name
            for name, group in ((OPERANDS, operands), (RESULTS, results))
            if any(_is_variadic(field) for field in group)
        )

    def generate_init(cls: Any, fields: Any) -> None:
        construct.__func__(cls, fields)
        plain = cls.__init__

        def init(*args: Any, **kwargs: Any) -> None:
            plain(*args, **kwargs)
            update(args[0].operation)

        cls.__init__ = init

    base._emit_operation = classmethod(_emit_operation)
    base._generate_class_attributes = classmethod(generate_attributes)
    base._generate_init_method = classmethod(generate_init)
    base._generate_operand_properties = classmethod(_generate_operand_properties)
    base._generate_result_properties = classmethod(_generate_result_properties)
    return base


def _emit_operation(cls: Any) -> None:
    lowering = ext.ConstraintLoweringContext()
    operands, attributes, results, regions = ext.partition_fields(cls._fields)
    slotted = [any(map(_is_variadic, group)) for group in (operands, results)]
    op = _slotted_operation(*slotted).clone()
    op.attributes["sym_name"] = ir.StringAttr.get(cls._op_name)
    with ir.InsertionPoint(op.regions[0].blocks[0]):
        if operands and not slotted[0]:
            irdl.operands_(*_described(operands, lowering))
        if attributes:
            constraints = [lowering.lower(a.constraint) for a in attributes]
            irdl.attributes_(constraints, [a.name for a in attributes])
        if results and not slotted[1]:
            irdl.results_(*_described(results, lowering))
        if regions:
            irdl.regions_([irdl.region([]) for _ in regions], [r.name for r in regions])


def _described(fields: Sequence[Any], lowering: Any) -> tuple[list[Any], list[str], list[Any]]:
    constraints = [lowering.lower(field.constraint) for field in fields]
    return constraints, [f.name for f in fields], [f.variadicity for f in fields]


@cache
def _slotted_operation(operands: bool, results: bool) -> ir.Operation:
    """IRDL's description of an operation with slots, to be copied: making it takes long."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        dialect = irdl.dialect("variadic")
    with ir.InsertionPoint(dialect.body):
        made = irdl.operation_("slots")
    with ir.InsertionPoint(made.body):
        if operands:
            irdl.operands_(*_slots("operand"))
        if results:
            irdl.results_(*_slots("result"))
    _KEPT.append(module)
    return made.operation


_KEPT: list[ir.Module] = []


def _slots(word: str) -> tuple[list[Any], list[str], list[Any]]:
    return (
        [irdl.any() for _ in range(SLOTS)],
        [f"{word}{i}" for i in range(SLOTS)],
        [irdl.Variadicity.variadic] * SLOTS,
    )


def _generate_operand_properties(cls: Any, operands: Any) -> None:
    for i, field in enumerate(operands):
        setattr(cls, field.name, property(_operand_getter(list(operands), i)))


def _generate_result_properties(cls: Any, results: Any) -> None:
    for i, field in enumerate(results):
        if _is_variadic(field):
            setattr(cls, field.name, property(lambda self: list(self.operation.results)))
        else:
            setattr(cls, field.name, property(lambda self, i=i: self.operation.results[i]))


def _is_variadic(field: Any) -> bool:
    return field.variadicity != irdl.Variadicity.single


def _operand_getter(fields: list[Any], index: int) -> Any:
    """Reads one declared operand: singles stand in front, or behind the variadic one."""
    first = next((i for i, field in enumerate(fields) if _is_variadic(field)), len(fields))
    variadics = sum(_is_variadic(field) for field in fields)

    def read(self: Any) -> Any:
        values = list(self.operation.operands)
        if index < first:
            return values[index]
        behind = len(fields) - first - variadics
        if index >= first + variadics:
            return values[len(values) - len(fields) + index]
        rest = values[first : len(values) - behind]
        last = [value for value in rest if variadics > 1 and self.belongs_last(value)]
        return last if index > first else rest[: len(rest) - len(last)]

    return read


@cache
def _ones(count: int) -> tuple[int, ...]:
    return (1,) * count + (0,) * (SLOTS - count)


def slot_sizes(types: Iterable[ir.Type]) -> ir.DenseI32ArrayAttr:
    """The segment attribute for values of these types.

    Raises ValueError when there are more than SLOTS runs of equal types.
    """
    kinds = list(types)
    if len(kinds) <= SLOTS:
        return ir.DenseI32ArrayAttr.get(_ones(len(kinds)))
    runs: list[int] = []
    for before, kind in zip([None, *kinds], kinds, strict=False):
        if kind == before:
            runs[-1] += 1
        else:
            runs.append(1)
    if len(runs) > SLOTS:
        raise ValueError(f"an operation takes at most {SLOTS} values of different types")
    return ir.DenseI32ArrayAttr.get([*runs, *[0] * (SLOTS - len(runs))])


def update(op: ir.Operation) -> None:
    """Set the segment attributes of an operation that was made without them."""
    for name in VARIADIC.get(op.name, ()):
        values = op.operands if name == OPERANDS else op.results
        op.attributes[name] = slot_sizes(value.type for value in values)


def create(
    name: str,
    results: Sequence[ir.Type] = (),
    operands: Sequence[ir.Value] = (),
    attributes: dict[str, ir.Attribute] | None = None,
    *,
    regions: int = 0,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """`ir.Operation.create` for any operation, with the segment attributes of variadic ones."""
    stored = dict(attributes or {})
    for segment in VARIADIC.get(name, ()):
        kinds = [v.type for v in operands] if segment == OPERANDS else list(results)
        stored[segment] = slot_sizes(kinds)
    return ir.Operation.create(
        name,
        results=list(results),
        operands=list(operands),
        attributes=stored,
        regions=regions,
        loc=loc,
        ip=ip,
    )
