"""The operations below a schedule's outputs, and operations on other tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.errors import ScheduleError
from relax_mlir.te.scan import ScanOp
from relax_mlir.te.tensor import ComputeOp, ExternOp, Operation, Tensor
from relax_mlir.tir.expr import PrimExpr, ProducerLoad, transform

__all__ = ["inputs_of", "on_tensors", "reading", "sorted_operations"]


def inputs_of(op: Operation) -> list[Tensor]:
    """The tensors an operation is computed from; of a scan also the states that it computes."""
    if isinstance(op, ScanOp):
        return list(dict.fromkeys([*op.init, *op.state_placeholder, *op.update, *op.inputs]))
    return op.input_tensors


def sorted_operations(outputs: Sequence[Operation]) -> list[Operation]:
    """All operations that the outputs need, inputs first."""
    order: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op in order:
            return
        for tensor in inputs_of(op):
            visit(tensor.op)
        order[op] = None

    for op in outputs:
        visit(op)
    return list(order)


def reading(expr: PrimExpr, load: Callable[[ProducerLoad], PrimExpr | None]) -> PrimExpr:
    """An expression whose reads of tensors are what `load` makes of them; None keeps a read of
    the same tensor."""

    def visit(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, ProducerLoad):
            return None
        inside = [transform(index, visit) for index in node.indices]
        same = all(new is old for new, old in zip(inside, node.indices, strict=True))
        read = node if same else ProducerLoad(node.producer, inside)
        made = load(read)
        return read if made is None else made

    return transform(expr, visit)


def on_tensors(op: Operation, replaced: Callable[[Tensor], Tensor]) -> Operation:
    """The operation with other tensors as its inputs; itself if none is another."""
    if all(replaced(tensor) == tensor for tensor in inputs_of(op)):
        return op
    if isinstance(op, ComputeOp):

        def load(read: ProducerLoad) -> PrimExpr:
            return ProducerLoad(replaced(read.producer), read.indices)

        return ComputeOp(op.name, op.axis, [reading(e, load) for e in op.body], op.tag, op.attrs)
    if isinstance(op, ExternOp):
        inputs = [replaced(tensor) for tensor in op.inputs]
        return ExternOp(op.name, inputs, op.outputs, op.emit, op.tag, op.attrs)
    if isinstance(op, ScanOp):
        lists = (op.init, op.update, op.state_placeholder, op.inputs)
        init, update, states, inputs = ([replaced(t) for t in tensors] for tensors in lists)
        return ScanOp(op.name, init, update, states, inputs, op.tag, op.attrs)
    raise ScheduleError(f"{op.name} cannot read other tensors")
