"""Operations without what the bindings' generated classes spend on each call.

A generated constructor binds its arguments to an `inspect.Signature`, and a generated accessor of
an operand group adds up the segment sizes.  Scheduling does both thousands of times.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from relax_mlir.mlir import ext, ir

_Class = TypeVar("_Class", bound=type[Any])


@lru_cache(maxsize=1024)
def _ends(segments: ir.Attribute) -> list[int]:
    """Where each group of operands ends, after a zero; attributes are unique in the context."""
    ends = [0]
    for size in ir.DenseI32ArrayAttr(segments):
        ends.append(ends[-1] + size)
    return ends


def _group(number: int, single: bool) -> Callable[[Any], Any]:
    def of(self: Any) -> Any:
        operation = self.operation
        ends = _ends(operation.attributes["operandSegmentSizes"])
        operands = operation.operands
        return operands[ends[number]] if single else operands[ends[number] : ends[number + 1]]

    return of


def plain(cls: _Class) -> _Class:
    """Give an operation of the dialect the accessors and the constructor that do only their work.

    Every operand group is one value or a variadic list, and every field must be given, as the
    operations of this dialect are declared.
    """
    operands, attributes, results, regions = ext.partition_fields(cls._fields)
    if cls._ODS_OPERAND_SEGMENTS:
        for number, size in enumerate(cls._ODS_OPERAND_SEGMENTS):
            name = operands[number].name
            setattr(cls, name, property(_group(number, size == 1)))
    given = [f.name for f in cls._fields if f not in regions]
    generated = cls.__init__

    def construct(self: Any, *args: Any, loc: Any = None, ip: Any = None, **named: Any) -> None:
        if named or len(args) != len(given):
            generated(self, *args, loc=loc, ip=ip, **named)
            return
        values = dict(zip(given, args, strict=True))
        ir.OpView.__init__(
            self,
            cls.OPERATION_NAME,
            cls._ODS_REGIONS,
            cls._ODS_OPERAND_SEGMENTS,
            cls._ODS_RESULT_SEGMENTS,
            attributes={a.name: a.process_attr(values[a.name]) for a in attributes},
            results=[r.process_type(values[r.name]) for r in results],
            operands=[values[o.name] for o in operands],
            successors=None,
            regions=len(regions) or None,
            loc=loc,
            ip=ip,
        )

    cls.__init__ = construct
    return cls
