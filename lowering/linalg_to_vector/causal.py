"""Recognising a causal mask before a softmax."""

from __future__ import annotations

from relax_mlir.lowering.linalg_to_vector.builder import defining_op
from relax_mlir.lowering.linalg_to_vector.row_chain import Link, RowChain
from relax_mlir.mlir import ir

__all__ = ["is_causal"]

_SLE, _SGE = 3, 5
# Whatever is masked must vanish in the exponential of its difference to the row's maximum.
_NEGLIGIBLE = -1e30


def is_causal(chain: RowChain) -> bool:
    """Whether everything right of the diagonal is masked: an elementwise link computes
    `select(column <= row, score, very small)`, and only exponentials of differences to the row's
    maximum are used of it.

    The first column of a row is never masked, so the maximum is that of a real score.
    """
    masked = [number for number, link in enumerate(chain.links) if _masks(link)]
    if not masked:
        return False
    rest = chain.links[masked[-1] + 1 :]
    if len(rest) < 4:
        return False
    largest, exponential, total = rest[:3]
    return (
        _combines_with(largest, "arith.maximumf")
        and _is_exponential_of_difference(exponential)
        and _combines_with(total, "arith.addf")
    )


def _masks(link: Link) -> bool:
    yielded = list(link.nest.body.block.operations)[-1].operation.operands[0]
    choice = defining_op(yielded)
    if any(link.nest.reduction) or choice is None or choice.name != "arith.select":
        return False
    condition, other = defining_op(choice.operands[0]), defining_op(choice.operands[2])
    if condition is None or other is None or condition.name != "arith.cmpi":
        return False
    if other.name != "arith.constant":
        return False
    value = other.attributes["value"]
    if not isinstance(value, ir.FloatAttr) or not value.value <= _NEGLIGIBLE:
        return False
    left, right = (_index_dim(operand) for operand in condition.operands)
    row, column = link.row, link.column
    predicate = ir.IntegerAttr(condition.attributes["predicate"]).value
    return (predicate, left, right) in ((_SLE, column, row), (_SGE, row, column))


def _index_dim(value: ir.Value) -> int | None:
    op = defining_op(value)
    if op is None or op.name != "linalg.index":
        return None
    return ir.IntegerAttr(op.attributes["dim"]).value


def _combines_with(link: Link, name: str) -> bool:
    operations = [op.operation.name for op in link.nest.body.block.operations]
    return link.nest.reduction[link.column] and operations == [name, "linalg.yield"]


def _is_exponential_of_difference(link: Link) -> bool:
    operations = [op.operation.name for op in link.nest.body.block.operations]
    return operations == ["arith.subf", "math.exp", "linalg.yield"]
