"""What the regions of reductions, scatters and sorts compute."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.stablehlo.attributes import attribute_value
from relax_mlir.relax.frontend.stablehlo.importer import RETURNS

_REDUCERS = {
    f"stablehlo.{name}": name for name in ("add", "multiply", "maximum", "minimum", "and", "or")
}


def reducer_of(block: ir.Block) -> str | None:
    """The operation that a region does on its two arguments ("add"), "second" when it returns the
    second of them; None for anything else."""
    first, second = block.arguments if len(block.arguments) == 2 else (None, None)
    operations = [view.operation for view in block.operations]
    if first is None or operations[-1].name not in RETURNS:
        return None
    (returned,) = operations[-1].operands
    if returned == second:
        return "second"
    if len(operations) != 2 or set(operations[0].operands) != {first, second}:
        return None
    return _REDUCERS.get(operations[0].name) if returned == operations[0].result else None


@dataclass(frozen=True)
class SortKey:
    """One key of a sort: the operand it is computed from, the value that is compared (for the
    first of two rows), and the order."""

    operand: int
    value: ir.Value
    descending: bool


def sort_keys(block: ir.Block) -> list[SortKey] | None:
    """The keys of a comparator, the most significant first; None when it is something else."""
    operations = [view.operation for view in block.operations]
    (returned,) = operations[-1].operands
    return _keys(returned)


def _keys(value: ir.Value) -> list[SortKey] | None:
    if isinstance(value.owner, ir.Block):
        return None
    operation = value.owner.operation
    operands = list(operation.operands)
    if operation.name == "stablehlo.compare":
        key = _key(operation)
        return None if key is None else [key]
    if operation.name == "stablehlo.select" and _direction(operands[0]) == "EQ":
        return _joined(operands[2], operands[1])
    if operation.name != "stablehlo.or":
        return None
    for first, rest in (operands, operands[::-1]):
        both = _defining(rest)
        if both is None or both.name != "stablehlo.and":
            continue
        parts = list(both.operands)
        for tie, later in (parts, parts[::-1]):
            if _direction(tie) == "EQ":
                return _joined(first, later)
    return None


def _joined(first: ir.Value, rest: ir.Value) -> list[SortKey] | None:
    leading, following = _keys(first), _keys(rest)
    return None if leading is None or following is None else [*leading, *following]


def _key(compare: ir.Operation) -> SortKey | None:
    """The key of a comparison between the same thing of two rows."""
    left, right = (_arguments(value) for value in compare.operands)
    direction = attribute_value(compare.attributes["comparison_direction"])
    if len(left) != 1 or len(right) != 1 or direction not in ("LT", "GT", "LE", "GE"):
        return None
    (a,), (b,) = left, right
    if a // 2 != b // 2 or a == b:
        return None
    mirrored = a > b
    value = compare.operands[1 if mirrored else 0]
    return SortKey(a // 2, value, (direction[0] == "G") != mirrored)


def _arguments(value: ir.Value) -> set[int]:
    """The numbers of the block's arguments that a value depends on."""
    if isinstance(value.owner, ir.Block):
        return {ir.BlockArgument(value).arg_number}
    return {number for operand in value.owner.operation.operands for number in _arguments(operand)}


def _defining(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _direction(value: ir.Value) -> str | None:
    operation = _defining(value)
    if operation is None or operation.name != "stablehlo.compare":
        return None
    return attribute_value(operation.attributes["comparison_direction"])


def is_plain(value: ir.Value) -> bool:
    """Whether a key is its argument, but for which of equal numbers (zeros, NaNs) it is."""
    operation = _defining(value)
    if operation is None:
        return True
    names = ("stablehlo.select", "stablehlo.compare", "stablehlo.constant")
    return operation.name in names and all(map(is_plain, operation.operands))
