"""Values on their way to other layouts: which are moved, and how others see them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import TypeAlias

from relax_mlir.dialects.aligned_arrays import aligned_copy
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of
from relax_mlir.mlir import ir

Order: TypeAlias = tuple[int, ...]
"""How the axes of a value are permuted: axis i of the new one is axis order[i] of the old."""


class MovedValues:
    """One function on its way.  `moved` holds, for a value of the old program, the one that takes
    its place and how its axes are permuted; rules add to it.

    free_units: a transposition that moves only axes of one element is written as a reshape.
    """

    def __init__(self, state: ModuleState, free_units: bool):
        self.constants = state.constants
        self.values = ConstantValues(state)
        self.moved: dict[ir.Value, tuple[ir.Value, Order]] = {}
        self.replaced: list[ir.Operation] = []
        self._free_units = free_units
        self._done: set[ir.Value] = set()
        self._made: ChainMap[tuple[ir.Value, Order], ir.Value] = ChainMap()

    def enter(self) -> None:
        """A block begins; what is made in a block is visible in it only."""
        self._made = self._made.new_child()

    def leave(self) -> None:
        self._made = self._made.parents

    def is_done(self, op: ir.Operation) -> bool:
        """True for an operation that has been replaced together with another."""
        return len(op.results) == 1 and op.results[0] in self._done

    def order_among(self, op: ir.Operation) -> Order | None:
        """The layout that an operation would take over: that of its moved operand of most axes."""
        orders = [self.moved[value][1] for value in op.operands if value in self.moved]
        return max(orders, key=len, default=None)

    def writer(self, op: ir.Operation) -> OperatorWriter:
        return OperatorWriter(op, self.constants)

    def note(self, op: ir.Operation, new: ir.Value, order: Order) -> None:
        """The result of `op` is `new` from now on, which has its name."""
        if op.name != "relax.bind" and not isinstance(new, ir.BlockArgument):
            new.owner.operation.location = op.location
        self.take_over(op, new, order)

    def take_over(self, op: ir.Operation, new: ir.Value, order: Order) -> None:
        """The result of `op` is a value that was there already."""
        self.done(op)
        result = op.results[0]
        if list(order) == sorted(order) and new.type == result.type:
            result.replace_all_uses_with(new)
        else:
            self.moved[result] = (new, order)

    def done(self, op: ir.Operation) -> None:
        """`op` has been replaced, whatever it was."""
        self._done.update(op.results)
        self.replaced.append(op)

    def into(self, write: OperatorWriter, value: ir.Value, order: Order) -> ir.Value:
        """A value in a layout."""
        new, known = self.moved.get(value, (value, tuple(range(len(order)))))
        if known == order:
            return new
        if (value, order) not in self._made:
            array = None if value in self.moved else self.values.of(value)
            if array is not None:
                made = write.constant(
                    aligned_copy(array.transpose(order)), dtype_of(value) or "float32"
                )
            else:
                made = self.permuted(write, new, [known.index(axis) for axis in order])
            self._made[value, order] = made
        return self._made[value, order]

    def restore(self, value: ir.Value) -> ir.Value:
        """A value in the layout it had, made where it was."""
        new, order = self.moved[value]
        plain = tuple(range(len(order)))
        if order == plain:
            return new
        # The old operation is still there, and in the block of the value.
        made = self._made.get((value, plain))
        if made is None:
            write = self.writer(value.owner.operation)
            made = self.permuted(write, new, [order.index(i) for i in plain])
            self._made.maps[-1][value, plain] = made
        return made

    def permuted(self, write: OperatorWriter, value: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Transpose; a reshape where that moves nothing but axes of one element."""
        dims = dims_of(value) or ()
        kept = [axis for axis in axes if dims[axis] != 1]
        free = self._free_units and kept == sorted(kept)
        if free and all(isinstance(dim, int) for dim in dims):
            return write.op("reshape", value, write.shape([dims[axis] for axis in axes]))
        return write.op("permute_dims", value, axes=list(axes))


def shape_dims(value: ir.Value) -> tuple[Dim, ...] | None:
    """The dimensions of a shape value."""
    info = types.shape_info(value.type)
    return None if info is None else info.dims


__all__ = ["MovedValues", "Order", "shape_dims"]
