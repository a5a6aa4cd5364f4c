"""Does a block compute what an intrinsic describes, and on which parts of which buffers?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import init_of
from relax_mlir.tir.schedule.caching import buffer_attributes
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf

_COMMUTATIVE = {"arith.addf", "arith.addi", "arith.mulf", "arith.muli", "arith.andi", "arith.ori",
                "arith.xori"}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """Where a parameter's elements are: `buffer[offsets + index]`; its dimensions are the last."""

    buffer: ir.Value
    offsets: list[Index]

    def at(self, indices: Sequence[Index]) -> list[Index]:
        """The indices of an element of the parameter, in the buffer."""
        leading = len(self.offsets) - len(indices)
        inner = [o + i for o, i in zip(self.offsets[leading:], indices, strict=True)]
        return [*self.offsets[:leading], *inner]


class Matcher:
    """Walks a description and a block side by side; `parts` are the parameters met so far."""

    def __init__(self, name: str, description: ir.Operation, block: BlockOp | ForOp):
        self.name = name
        self.block = block
        self.body = description.regions[0].blocks[0]
        self.parts: dict[ir.Value, Part] = {}
        self.values: dict[ir.Value, Index] = {}

    def run(self) -> list[Part]:
        """The part of each parameter, in order.  Refusal when the block computes something else."""
        found = [self.block] if isinstance(self.block, ForOp) else _statements(self.block.block)
        self._statements(_statements(self.body), found)
        missing = [a for a in self.body.arguments if a not in self.parts]
        if missing:
            raise self._refusal(f"it does not use {nest.value_name(missing[0])}")
        return [self.parts[a] for a in self.body.arguments]

    def _refusal(self, why: str) -> Refusal:
        return Refusal(f'{label(self.block)} is not what "{self.name}" describes: {why}',
                       self.block)  # fmt: skip

    def _statements(self, described: Sequence[ir.OpView], found: Sequence[ir.OpView]) -> None:
        if len(described) != len(found):
            raise self._refusal(f"{len(found)} statements where there are {len(described)}")
        for one, other in zip(described, found, strict=True):
            self._statement(one, other)

    def _statement(self, one: ir.OpView, other: ir.OpView) -> None:
        if isinstance(one, ForOp) and isinstance(other, ForOp):
            self._loop(one, other)
        elif isinstance(one, BlockOp) and isinstance(other, BlockOp):
            self._block(one, other)
        elif one.operation.name == "memref.store" == other.operation.name:
            self._access(one.operation, other.operation, 1)
            self._value(one.operation.operands[0], other.operation.operands[0])
        else:
            raise self._refusal(f"{_what(other)} where there is {_what(one)}")

    def _loop(self, one: ForOp, other: ForOp) -> None:
        ranges = [(as_index(loop.min), as_index(loop.extent)) for loop in (one, other)]
        if ranges[0] != ranges[1] or nest.thread_axis(other) is not None:
            raise self._refusal(f"{label(other)} does not run over {ranges[0][1]} as {label(one)}")
        self.values[nest.loop_var(one)] = leaf(nest.loop_var(other))
        self._statements(_statements(one.block), _statements(other.block))

    def _block(self, one: BlockOp, other: BlockOp) -> None:
        # Of a nest that is no block yet, blockize will take the init out.
        has_init = init_of(other) is not None and isinstance(self.block, BlockOp)
        if has_init or len(other.predicate) or init_of(one) is not None:
            raise self._refusal(f"{label(other)} has an init or a predicate")
        for block in (one, other):
            bindings = zip(nest.iter_vars(block), block.bindings, strict=True)
            for variable, binding in bindings:
                self.values[variable] = self._index(binding)
        self._statements(_statements(one.block), _statements(other.block))

    def _index(self, value: ir.Value) -> Index:
        return as_index(value).substitute(self.values)

    def _access(self, one: ir.Operation, other: ir.Operation, number: int) -> None:
        parameter, buffer = one.operands[number], other.operands[number]
        mine = [self._index(v) for v in list(one.operands)[number + 1 :]]
        theirs = [self._index(v) for v in list(other.operands)[number + 1 :]]
        if len(mine) > len(theirs):
            raise self._refusal(f"{nest.value_name(buffer)} has fewer dimensions than "
                                f"{nest.value_name(parameter)}")  # fmt: skip
        self._same_kind(parameter, buffer)
        leading = len(theirs) - len(mine)
        offsets = theirs[:leading]
        offsets += [t - m for t, m in zip(theirs[leading:], mine, strict=True)]
        for offset in offsets:
            moving = [v for v in offset.leaves() if self._moves(v)]
            if moving:
                raise self._refusal(f"it accesses {nest.value_name(buffer)} at other places as "
                                    f"{nest.value_name(moving[0])} moves")  # fmt: skip
        part = Part(buffer, offsets)
        if self.parts.setdefault(parameter, part) != part:
            raise self._refusal(f"{nest.value_name(parameter)} would be different parts of buffers")

    def _moves(self, value: ir.Value) -> bool:
        own = isinstance(self.block, BlockOp) and value in nest.iter_vars(self.block)
        return not own and nest.encloses(self.block, value)

    def _same_kind(self, parameter: ir.Value, buffer: ir.Value) -> None:
        kinds = [ir.MemRefType(b.type).element_type for b in (parameter, buffer)]
        dtypes = [buffer_attributes(b).get("dtype") for b in (parameter, buffer)]
        if kinds[0] != kinds[1] or dtypes[0] != dtypes[1]:
            raise self._refusal(f"{nest.value_name(buffer)} is of another dtype than "
                                f"{nest.value_name(parameter)}")  # fmt: skip
        scopes = [_scope(b) for b in (parameter, buffer)]
        if scopes[0] != scopes[1]:
            raise self._refusal(f"{nest.value_name(buffer)} is in scope {scopes[1]}, not "
                                f"{scopes[0]}")  # fmt: skip

    def _value(self, one: ir.Value, other: ir.Value) -> None:
        if isinstance(one.type, ir.IndexType) or isinstance(other.type, ir.IndexType):
            if one.type != other.type or self._index(one) != self._index(other):
                raise self._refusal("an index is another")
            return
        if isinstance(one.owner, ir.Block) or isinstance(other.owner, ir.Block):
            raise self._refusal("it uses a scalar parameter")
        left, right = one.owner.operation, other.owner.operation
        if left.name != right.name or one.type != other.type or left.regions or right.regions:
            raise self._refusal(f"{right.name} where there is {left.name}")
        if left.name == "memref.load":
            self._access(left, right, 0)
            return
        if _attributes(left) != _attributes(right):
            raise self._refusal(f"{right.name} of another kind")
        self._operands(left, right)

    def _operands(self, left: ir.Operation, right: ir.Operation) -> None:
        mine, theirs = list(left.operands), list(right.operands)
        before = dict(self.parts)
        try:
            for a, b in zip(mine, theirs, strict=True):
                self._value(a, b)
        except Refusal as refusal:
            if left.name not in _COMMUTATIVE:
                raise
            self.parts = before
            try:
                for a, b in zip(mine, theirs[::-1], strict=True):
                    self._value(a, b)
            except Refusal:
                raise refusal from None


def _statements(body: ir.Block) -> list[ir.OpView]:
    """What a body does: without declarations, allocations, loads and arithmetic."""
    skipped = ("memref.load", "tir.alloc_buffer")
    return [
        op
        for op in nest.statements(body)
        if not isinstance(op, (ReadOp, WriteOp, InitOp)) and op.operation.name not in skipped
    ]


def _what(op: ir.OpView) -> str:
    return label(op) if isinstance(op, (ForOp, BlockOp)) else op.operation.name


def _attributes(op: ir.Operation) -> dict[str, str]:
    return {name: str(op.attributes[name]) for name in op.attributes}


def _scope(buffer: ir.Value) -> str:
    owner = buffer.owner
    if not isinstance(owner, ir.Block):
        attributes = owner.operation.attributes
        return ir.StringAttr(attributes["scope"]).value if "scope" in attributes else "global"
    function = owner.owner.operation
    if "arg_attrs" not in function.attributes:
        return "global"
    number = ir.BlockArgument(buffer).arg_number
    described = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[number])
    return ir.StringAttr(described["tir.scope"]).value if "tir.scope" in described else "global"
