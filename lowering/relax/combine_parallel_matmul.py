"""relax-combine-parallel-matmul."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import dataflow_blocks, operations, relax_functions
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    dims_of,
    dtype_of,
    has_one_use,
    replace,
    slice_between,
)
from relax_mlir.mlir import ir

Check = Callable[[ir.Value, list[ir.Value]], bool]

ACTIVATIONS = ("relax.nn_relu", "relax.nn_gelu", "relax.nn_gelu_tanh", "relax.nn_silu")


@register_pass("relax-combine-parallel-matmul")
@dataclass(frozen=True)
class CombineParallelMatmul(Pass):
    """Multiply a tensor by several matrices at once (Q, K and V of attention).

    The right operands are concatenated along their columns, the product is split.  Biases and an
    activation that all the products have are combined as well.  Only in dataflow blocks, and only
    where sizes are known, since a split needs them.
    """

    check: Check = field(default=lambda left, rights: True, compare=False)
    """Asked about each group: the left operand, the right ones."""

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for block in dataflow_blocks(function):
                for group in _groups(block):
                    self._combine(group)

    def _combine(self, group: list[ir.Operation]) -> None:
        # Combining other groups may have moved operations.
        inside = set(group)
        group = [op for op in operations(group[0].block) if op in inside]
        members = group[:1]
        for op in group[1:]:
            moved = slice_between([op.operands[1]], group[0])
            if moved is None or any(needed in members for needed in moved):
                continue
            for needed in moved:
                needed.move_before(group[0])
            members.append(op)
        rights = [op.operands[1] for op in members]
        if len(members) > 1 and self.check(members[0].operands[0], rights):
            _rewrite(members)


def _groups(block: ir.Block) -> list[list[ir.Operation]]:
    """Matmuls of one left operand whose right operands differ in the number of columns only."""
    found: dict[Hashable, list[ir.Operation]] = {}
    for op in operations(block):
        if op.name != "relax.matmul":
            continue
        left, right = dims_of(op.operands[0]), dims_of(op.operands[1])
        if left is None or right is None or len(right) < 2 or not isinstance(right[-1], int):
            continue
        key = (op.operands[0], right[:-1], dtype_of(op.operands[1]), _dtype(op))
        found.setdefault(key, []).append(op)
    return [ops for ops in found.values() if len(ops) > 1]


def _dtype(op: ir.Operation) -> str:
    return str(attributes_of(op)["out_dtype"])


def _rewrite(members: list[ir.Operation]) -> None:
    first = members[0]
    write = OperatorWriter(first)
    rights = [op.operands[1] for op in members]
    widths = [_width(value) for value in rights]
    joined = write.op("concat", rights, axis=len(dims_of(rights[0]) or ()) - 1)
    product = write.op("matmul", first.operands[0], joined, **attributes_of(first))
    product, last = _with_epilogue(write, product, members)
    parts = _sections(widths)
    rank = len(dims_of(product) or ())
    split = write.op("split", product, indices_or_sections=parts, axis=rank - 1)
    idle = [op for op in members if op not in last]
    # All fields before the first replacement: that may erase what they are written in front of.
    fields = [write.field(split, i) for i in range(len(last))]
    for op, field_ in zip(last, fields, strict=True):
        replace(op, field_)
    for op in idle:
        _erase_chain(op)


def _width(value: ir.Value) -> int:
    width = (dims_of(value) or (0,))[-1]
    assert isinstance(width, int)  # _groups takes no other
    return width


def _sections(widths: list[int]) -> list[int]:
    ends: list[int] = []
    total = 0
    for width in widths[:-1]:
        total += width
        ends.append(total)
    return ends


def _with_epilogue(
    write: OperatorWriter, product: ir.Value, members: list[ir.Operation]
) -> tuple[ir.Value, list[ir.Operation]]:
    """Take over the biases, then the activation, that every member is followed by."""
    anchor = members[0]
    users = [_only_user(op) for op in members]
    biases = [_bias(user, op) for user, op in zip(users, members, strict=True)]
    if all(bias is not None for bias in biases):
        given = [bias for bias in biases if bias is not None]
        moved = slice_between(given, anchor)
        if moved is not None and not any(needed in members for needed in moved):
            for needed in moved:
                needed.move_before(anchor)
            product = write.op("add", product, write.op("concat", given, axis=0))
            members = _advance(members, users)
    users = [_only_user(op) for op in members]
    names = {user.name if user is not None else "" for user in users}
    if len(names) == 1 and names <= set(ACTIVATIONS):
        product = write.op(f"nn.{names.pop().removeprefix('relax.nn_')}", product)
        members = _advance(members, users)
    return product, members


def _erase_chain(op: ir.Operation) -> None:
    """Erase an operation nobody needs any more, with the users that became idle with it."""
    for use in list(op.results[0].uses):
        _erase_chain(use.owner.operation)
    op.erase()


def _advance(members: list[ir.Operation], users: list[ir.Operation | None]) -> list[ir.Operation]:
    """The users, which now stand for what they used."""
    return [user if user is not None else op for op, user in zip(members, users, strict=True)]


def _only_user(op: ir.Operation) -> ir.Operation | None:
    """The one user of a result, in the same block."""
    if not has_one_use(op.results[0]):
        return None
    user = next(iter(op.results[0].uses)).owner.operation
    return user if user.block == op.block else None


def _bias(user: ir.Operation | None, op: ir.Operation) -> ir.Value | None:
    """The vector that `user` adds to each row of the product."""
    if user is None or user.name != "relax.add" or user.operands[0] != op.results[0]:
        return None
    bias = user.operands[1]
    dims, product = dims_of(bias), types.tensor_info(op.results[0].type)
    if dims is None or product is None or product.dims is None:
        return None
    fits = len(dims) == 1 and dims[0] == product.dims[-1] and dtype_of(bias) == product.dtype
    return bias if fits else None


__all__ = ["CombineParallelMatmul"]
