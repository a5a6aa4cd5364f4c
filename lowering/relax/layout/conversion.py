"""Rewriting a function in other layouts, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from relax_mlir.dialects.relax.spec import InferError, attributes_of, spec_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.functions import entry_block, operations
from relax_mlir.lowering.relax.layout.moved_values import MovedValues, Order
from relax_mlir.lowering.relax.layout.rules import RULES
from relax_mlir.lowering.relax.rewriting import dims_of, erase_dead
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import ir


def order_of(old: str, new: str) -> Order:
    """The permutation from one layout to the other.  Raises PassError for other axes."""
    if sorted(old) != sorted(new) or len(set(old)) != len(old):
        raise PassError(
            f"the layout {new} is no permutation of {old}",
            hint="axes are only permuted; relax.op.layout_transform makes blocks of channels",
        )
    return tuple(old.index(axis) for axis in new)


Choice: TypeAlias = "Callable[[ir.Operation], Sequence[str] | None]"
"""The layouts that an operation is to be computed in; None where it follows its operands."""


def convert(
    function: ir.Operation,
    state: ModuleState,
    desired: Mapping[str, Sequence[str]] | Choice,
    absorb: bool = False,
) -> None:
    """Compute the operators that `desired` names in its layouts, and others as far as they carry.

    `desired` maps an operator's name, or an operation, to the layouts of its data and kernel (and
    result).  With `absorb`,
    a transposition from channels last to channels first is no operation but a layout of its own,
    which an operator behind it may take over.
    """
    choose = desired if callable(desired) else _by_name(desired)
    conversion = _Conversion(state, choose, absorb)
    conversion.visit(entry_block(function))
    erase_dead(conversion.values.replaced)
    set_function_type(function, returned_types(function))


def _by_name(desired: Mapping[str, Sequence[str]]) -> Choice:
    def choose(op: ir.Operation) -> Sequence[str] | None:
        spec = spec_of(op)
        return None if spec is None else desired.get(spec.name)

    return choose


class _Conversion:
    def __init__(self, state: ModuleState, choose: Choice, absorb: bool):
        self.values = MovedValues(state, free_units=absorb)
        self.choose = choose
        self.absorb = absorb

    def visit(self, block: ir.Block) -> None:
        """Convert a block and those inside."""
        values = self.values
        values.enter()
        for op in operations(block):
            for region in op.regions:
                for inner in region.blocks:
                    self.visit(inner)
            if values.is_done(op) or self._convert(op):
                continue
            for i, value in enumerate(op.operands):
                if value in values.moved:
                    op.operands[i] = values.restore(value)
        values.leave()

    def _convert(self, op: ir.Operation) -> bool:
        """Write an operation in another layout; False when it has to stay as it is."""
        values = self.values
        if op.name == "relax.bind" and op.operands[0] in values.moved:
            values.note(op, *values.moved[op.operands[0]])
            return True
        spec = spec_of(op)
        if spec is None:
            return False
        name = spec.name
        try:
            layouts = self.choose(op)
            if layouts is not None:
                return self._convolution(op, name, layouts)
            if self.absorb and name == "permute_dims" and self._absorb(op):
                return True
            order = values.order_among(op)
            rule = RULES.get(name)
            return order is not None and rule is not None and rule(values, op, name, order)
        except InferError:
            return False  # an operator that knows one layout only

    def _convolution(self, op: ir.Operation, name: str, layouts: Sequence[str]) -> bool:
        attributes = attributes_of(op)
        if "data_layout" not in attributes or "kernel_layout" not in attributes:
            raise PassError(f"{op.name} has no layouts to convert")
        data, *rest = layouts
        old = attributes["data_layout"]
        kernel = rest[0] if rest else attributes["kernel_layout"]
        out = rest[1] if len(rest) > 1 else data
        old_out = attributes["out_layout"] or old
        orders = (
            order_of(old, data),
            order_of(attributes["kernel_layout"], kernel),
            order_of(old_out, out),
        )
        values = self.values
        write = values.writer(op)
        operands = [values.into(write, v, o) for v, o in zip(op.operands, orders, strict=False)]
        attributes |= {"data_layout": data, "kernel_layout": kernel, "out_layout": out}
        values.note(op, write.op(name, *operands, **attributes), orders[2])
        return True

    def _absorb(self, op: ir.Operation) -> bool:
        """Take a transposition to channels first for a layout."""
        value = op.operands[0]
        rank = len(dims_of(value) or ())
        if value in self.values.moved or rank < 4:
            return False
        if list(attributes_of(op)["axes"] or ()) != [0, rank - 1, *range(1, rank - 1)]:
            return False
        self.values.take_over(op, value, (0, *range(2, rank), 1))
        return True


__all__ = ["convert", "order_of"]
