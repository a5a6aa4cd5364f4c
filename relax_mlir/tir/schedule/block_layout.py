"""What a block counts by: transform_block_layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import Error
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import bindings_of, require_complete_or_reduction
from relax_mlir.tir.schedule.digits import Digit, digit_of
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.fused_index import Fused, fused_indices
from relax_mlir.tir.schedule.index import Index, as_index, leaf
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.layout import simplify_accesses
from relax_mlir.tir.schedule.parameter_sizes import symbol_value
from relax_mlir.tir.schedule.reduction import copy_dtype
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    erase_dead_arithmetic,
    new_block,
    new_loop,
    substitute,
)


def transform_block_layout(state: ScheduleState, block: BlockOp, index_map: Any) -> None:
    """Give a block that is alone in its loops other iteration variables, and a loop for each."""
    require_complete_or_reduction(block)
    top = _own_nest(block)
    variables = nest.iter_vars(block)
    function = nest.function_of(block)
    try:
        mapping = IndexMap.of(index_map, len(variables))
        final = mapping.apply([leaf(v) for v in variables], lambda n: symbol_value(function, n))
    except Error as error:
        raise Refusal(str(error), block) from None
    kinds = [_kind(block, index) for index in final]
    inverse = _Inverse.of(block, final)
    wide = block.operation.attributes
    attributes = {"dtype": wide["iter_dtype"]} if "iter_dtype" in wide else {}
    at = ir.InsertionPoint(top)
    rows = []
    for number, (kind, extent) in enumerate(zip(kinds, inverse.extents, strict=True)):
        loop = new_loop(f"ax{number}", extent, at, attributes=attributes)
        at = ir.InsertionPoint(loop.block)
        rows.append((f"v{number}", kind, (Index(), extent), leaf(nest.loop_var(loop))))
    new = new_block(block.sym_name.value, rows, at)
    copy_dtype(block, new)
    if "annotations" in wide:
        new.operation.attributes["annotations"] = wide["annotations"]
    values = dict.fromkeys(variables, Index())
    inverse.recover(values, [leaf(v) for v in nest.iter_vars(new)])
    for op in nest.operations(block.block):
        new.block.append(op.operation)
    substitute(values)
    simplify_accesses(new)
    state.moved(block, new)
    state.erase(top)
    erase_dead_arithmetic(new)
    refresh(new)


@dataclass(frozen=True)
class _Inverse:
    """The extents of the new variables, and how the old ones come from them."""

    extents: list[Index]
    fused: list[Fused] | None
    digits: list[list[tuple[int, Digit]]]

    @classmethod
    def of(cls, block: BlockOp, final: list[Index]) -> _Inverse:
        old = [as_index(extent) for _, extent in block.domain_pairs]
        if not all(extent.is_constant for extent in old):
            fused = fused_indices(final, nest.iter_vars(block), old)
            if fused is None:
                raise Refusal(f"{label(block)} has symbolic extents: its variables can be fused "
                              "and put into another order only", block)  # fmt: skip
            return cls([row.size for row in fused], fused, [])
        digits = [_digits(block, index) for index in final]
        _require_invertible(block, [d for row in digits for _, d in row])
        return cls([Index({}, _extent(block, index)) for index in final], None, digits)

    def recover(self, values: dict[ir.Value, Index], numbers: list[Index]) -> None:
        """Set the old variables, given the new ones."""
        for number, row in zip(numbers, self.fused or [], strict=False):
            values.update(row.recover(number))
        for number, parts in zip(numbers, self.digits, strict=False):
            _recover(values, number, parts)


def _own_nest(block: BlockOp) -> ForOp:
    around = nest.loops_around(block)
    bindings = [binding.as_leaf() for binding in bindings_of(block)]
    alone = around and all(
        nest.statements(outer.block) == [inner]
        for outer, inner in zip(around, [*around[1:], block], strict=True)
    )
    if not alone or set(bindings) != {nest.loop_var(o) for o in around} or len(block.predicate):
        raise Refusal(f"{label(block)} is not alone in loops of which each drives one variable",
                      block, hint="transform before you split")  # fmt: skip
    for loop in around:
        low = as_index(loop.min)
        if low != Index():
            raise Refusal(f"{label(loop)} does not start from 0", loop)
    return around[0]


def _kind(block: BlockOp, index: Index) -> str:
    by_variable = dict(zip(nest.iter_vars(block), block.kinds, strict=True))
    kinds = {by_variable[v] for v in index.leaves() if v in by_variable}
    if len(kinds) > 1:
        raise Refusal(f"{index} mixes spatial and reduction variables of {label(block)}", block)
    return kinds.pop() if kinds else "S"


def _extent(block: BlockOp, index: Index) -> int:
    low, high = index.bounds()
    if low != 0 or high is None:
        raise Refusal(f"{index} does not start at 0 or has no known range", block)
    return high + 1


def _digits(block: BlockOp, index: Index) -> list[tuple[int, Digit]]:
    """(weight, digit) of a number in a mixed radix without gaps, smallest weight first."""
    found: list[tuple[int, Digit]] = []
    reach = 1
    for monomial, k in sorted(index.terms.items(), key=lambda term: term[1]):
        digit = digit_of(monomial)
        size = None if digit is None else digit.size()
        count = None if size is None else size.as_constant()
        if digit is None or count is None or k != reach:
            raise Refusal(f"{index} cannot be inverted over the variables of {label(block)}", block)
        found.append((k, Digit(digit.variable, digit.divisor, count)))
        reach = k * count
    return found


def _require_invertible(block: BlockOp, digits: list[Digit]) -> None:
    """The digits of each variable must make it up, once each."""
    for variable, (_, extent) in zip(nest.iter_vars(block), block.domain_pairs, strict=True):
        own = sorted((d for d in digits if d.variable == variable), key=lambda d: d.divisor)
        reach = 1
        for digit in own:
            if digit.divisor != reach or digit.modulus is None:
                reach = -1
                break
            reach *= digit.modulus
        if reach != as_index(extent).as_constant():
            raise Refusal(f"the index map does not determine {nest.value_name(variable)} of "
                          f"{label(block)}, or names an instance twice", block)  # fmt: skip


def _recover(values: dict[ir.Value, Index], number: Index, row: list[tuple[int, Digit]]) -> None:
    """Add to each old variable its digits as parts of a new variable."""
    for weight, digit in row:
        assert digit.modulus is not None, "sizes were filled in"
        part = (number // weight) % digit.modulus
        values[digit.variable] = values[digit.variable] + part * digit.divisor
