"""The fusion pattern of a TensorIR function (TVM's OpPatternKind), read off its blocks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from relax_mlir.lowering.relax.functions import entry_block, operations, walk
from relax_mlir.mlir import ir


class OpPatternKind(IntEnum):
    """How a function's output elements depend on its inputs; a larger kind fuses less."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMENTWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


_INDEX_OPERATIONS = frozenset(
    "affine.apply arith.addi arith.subi arith.muli arith.constant arith.index_cast".split()
)
_SUMS = frozenset(("arith.addf", "arith.addi"))
_PRODUCTS = frozenset(("arith.mulf", "arith.muli"))
_CASTS = frozenset(
    "arith.extf arith.truncf arith.extsi arith.extui arith.sitofp arith.uitofp".split()
)
_EFFECTS = frozenset(("func.call", "llvm.call", "tir.call_extern", "tir.call_packed", "tir.call"))


@dataclass(frozen=True)
class Access:
    """A load or store: buffer and indices."""

    op: ir.Operation
    buffer: ir.Value
    indices: list[ir.Value]


def op_pattern(function: ir.Operation) -> OpPatternKind:
    """The kind of a TensorIR function: the largest of its blocks', in program order."""
    kind = OpPatternKind.ELEMENTWISE
    body = entry_block(function)
    blocks = [op for op in walk(function) if op.name == "tir.block"]
    if not blocks or _has_code_outside_blocks(body) or _is_bound_to_threads(function):
        return OpPatternKind.OPAQUE
    for block in blocks:
        found = _block_pattern(block, body)
        if found is OpPatternKind.OPAQUE:
            return found
        reduced_then_mapped = (
            kind is OpPatternKind.COMM_REDUCE
            and found <= OpPatternKind.INJECTIVE
            and _writes_parameter(block, body)
        )
        # As in softmax: a reduction whose result is then used at every element.
        kind = OpPatternKind.OUT_ELEMENTWISE_FUSABLE if reduced_then_mapped else max(kind, found)
    return kind


def _is_bound_to_threads(function: ir.Operation) -> bool:
    """Kernels of a GPU each have a launch of their own."""
    return any(op.name == "tir.for" and "thread" in op.attributes for op in walk(function))


def is_transpose(function: ir.Operation) -> bool:
    """True for a function that only permutes the dimensions of its one input."""
    blocks = [op for op in walk(function) if op.name == "tir.block"]
    if len(blocks) != 1 or _has_code_outside_blocks(entry_block(function)):
        return False
    store = only_store(blocks[0].regions[0].blocks[0])
    value = None if store is None else _defining(store.op.operands[0])
    if store is None or value is None or value.name != "memref.load":
        return False
    load = load_access(value)
    if not all(isinstance(index, ir.BlockArgument) for index in [*store.indices, *load.indices]):
        return False
    target, source = ([_key(i) for i in access.indices] for access in (store, load))
    return target != source and len(set(target)) == len(target) and set(target) == set(source)


def multiplied_parameters(function: ir.Operation) -> set[int]:
    """The parameters whose elements a multiply-add reduction of the function multiplies."""
    parameters = list(entry_block(function).arguments)
    found: set[int] = set()
    for op in walk(function):
        if op.name != "tir.block":
            continue
        store = only_store(op.regions[0].blocks[0])
        if store is None or not _is_multiply_add(store):
            continue
        total = _defining(store.op.operands[0])
        factors = _defining(total.operands[1]) if total is not None else None
        for operand in factors.operands if factors is not None else ():
            load = _without_casts(operand)
            if load is not None:
                found |= {i for i, p in enumerate(parameters) if p == load.operands[0]}
    return found


def _has_code_outside_blocks(body: ir.Block) -> bool:
    return any(
        op.name in ("memref.store", "scf.while") or op.name in _EFFECTS
        for op in _outside_blocks(body)
    )


def _outside_blocks(body: ir.Block) -> Iterator[ir.Operation]:
    for op in operations(body):
        yield op
        if op.name == "tir.block":
            continue
        for region in op.regions:
            for block in region.blocks:
                yield from _outside_blocks(block)


def _block_pattern(op: ir.Operation, function_body: ir.Block) -> OpPatternKind:
    block = op.regions[0].blocks[0]
    store = only_store(block)
    if store is None:
        return OpPatternKind.OPAQUE
    loads = [load_access(child) for child in value_operations(block) if child.name == "memref.load"]
    kind = _map_pattern(store, loads)
    if kind is not None:
        return kind
    kinds = [ir.StringAttr(k).value for k in ir.ArrayAttr(op.attributes["iter_kinds"])]
    reduced = [v for v, k in zip(block.arguments, kinds, strict=True) if k == "R"]
    if not reduced:
        return OpPatternKind.OPAQUE
    if _is_multiply_add(store):
        return OpPatternKind.OUT_ELEMENTWISE_FUSABLE
    # Pooling-like windows reduce over an expression; they take elementwise epilogues too.
    if all(_reduces_plainly(load, reduced) for load in loads):
        return OpPatternKind.COMM_REDUCE
    return OpPatternKind.OUT_ELEMENTWISE_FUSABLE


def only_store(block: ir.Block) -> Access | None:
    """The block's one store, directly in it; None when it does anything else."""
    store: Access | None = None
    for op in operations(block):
        if op.name == "tir.init":
            continue
        nested = list(walk(op))
        if any(n.name in ("memref.store", "tir.block", "tir.for", "scf.while") for n in nested):
            return None
        if op.name in ("tir.for", "tir.alloc_buffer", "scf.while") or op.name in _EFFECTS:
            return None
        if op.name == "memref.store":
            if store is not None:
                return None
            store = Access(op, op.operands[1], list(op.operands)[2:])
    return store


def value_operations(block: ir.Block) -> Iterator[ir.Operation]:
    """What the block computes, its init aside."""
    for op in operations(block):
        if op.name != "tir.init":
            yield op
            yield from walk(op)


def load_access(op: ir.Operation) -> Access:
    return Access(op, op.operands[0], list(op.operands)[1:])


def _map_pattern(store: Access, loads: Sequence[Access]) -> OpPatternKind | None:
    """The kind of a block whose elements are each computed once, or None."""
    kind, has_elementwise = OpPatternKind.ELEMENTWISE, False
    for load in loads:
        if _is_elementwise(store, load):
            has_elementwise = True
        elif _is_broadcast(store, load):
            kind = max(kind, OpPatternKind.BROADCAST)
        elif _is_injective(store, load):
            kind = OpPatternKind.INJECTIVE
        else:
            return None
    # A[i, j] + b[j] keeps A's elements where they are.
    if kind is OpPatternKind.BROADCAST and has_elementwise:
        return OpPatternKind.ELEMENTWISE
    return kind


def _is_elementwise(store: Access, load: Access) -> bool:
    return [_key(i) for i in store.indices] == [_key(i) for i in load.indices]


def _is_broadcast(store: Access, load: Access) -> bool:
    shape = ir.MemRefType(load.buffer.type).shape
    remaining = iter([_key(index) for index in store.indices])
    for size, index in zip(shape, load.indices, strict=True):
        if size == 1 and _key(index) == ("constant", 0):
            continue
        # `in` moves the iterator on: the load's indices come in the store's order.
        if not isinstance(index, ir.BlockArgument) or _key(index) not in remaining:
            return False
    return True


def _is_injective(store: Access, load: Access) -> bool:
    known = _plain_variables(store)
    return known is not None and all(variables_of(i) <= known for i in load.indices)


def _is_multiply_add(store: Access) -> bool:
    """C[..] = C[..] + x * y where neither factor is read through all of C's variables."""
    value = store.op.operands[0]
    total = _defining(value)
    if total is None or total.name not in _SUMS:
        return False
    own, factors = (_defining(operand) for operand in total.operands)
    if own is None or factors is None or own.name != "memref.load":
        return False
    accumulator = load_access(own)
    if accumulator.buffer != store.buffer or not _is_elementwise(store, accumulator):
        return False
    if factors.name not in _PRODUCTS:
        return False
    loads = [_without_casts(operand) for operand in factors.operands]
    return all(
        op is not None and op.name == "memref.load" and _is_reused(store, load_access(op))
        for op in loads
    )


def _is_reused(store: Access, load: Access) -> bool:
    known = _plain_variables(store)
    if known is None:
        return False
    used: frozenset[Hashable] = frozenset()
    return bool(known - used.union(*(variables_of(index) for index in load.indices)))


def _reduces_plainly(load: Access, reduced: Sequence[ir.Value]) -> bool:
    variables = {_key(v) for v in reduced}
    return all(
        isinstance(index, ir.BlockArgument) or not (variables_of(index) & variables)
        for index in load.indices
    )


def _writes_parameter(block: ir.Operation, function_body: ir.Block) -> bool:
    return any(
        op.name == "tir.write" and any(op.operands[0] == a for a in function_body.arguments)
        for op in operations(block.regions[0].blocks[0])
    )


def _defining(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def _without_casts(value: ir.Value) -> ir.Operation | None:
    op = _defining(value)
    while op is not None and op.name in _CASTS:
        op = _defining(op.operands[0])
    return op


def _plain_variables(store: Access) -> frozenset[Hashable] | None:
    """The variables of the store's indices when each index is a variable."""
    if not all(isinstance(index, ir.BlockArgument) for index in store.indices):
        return None
    return frozenset(_key(index) for index in store.indices)


def variables_of(value: ir.Value) -> frozenset[Hashable]:
    """The block arguments an index is computed from, through loads as well; the parameters of the
    function (buffers, sizes) do not count."""
    if isinstance(value, ir.BlockArgument):
        owner = value.owner.owner.operation
        return frozenset() if owner.name == "func.func" else frozenset((_key(value),))
    found: frozenset[Hashable] = frozenset()
    return found.union(*(variables_of(v) for v in value.owner.operation.operands))


def _key(value: ir.Value) -> Hashable:
    """Equal for index values that are equal: variables, constants, same expressions."""
    if isinstance(value, ir.BlockArgument):
        return ("variable", hash(value.owner), value.arg_number)
    op = value.owner.operation
    if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
        return ("constant", ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in _INDEX_OPERATIONS:
        attributes = tuple((name, str(op.attributes[name])) for name in op.attributes)
        return (op.name, attributes, tuple(_key(v) for v in op.operands))
    return ("value", hash(value))
