"""Which TensorIR functions only copy a buffer to one of another shape, in order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.lowering.relax.functions import walk
from relax_mlir.lowering.relax.index_maps import evaluate
from relax_mlir.mlir import dynamic, ir
from relax_mlir.tir.schedule.index import Index, as_index, leaf, merge_split, read, value_domain
from relax_mlir.tir.schedule.parameter_sizes import parameter_size

_LARGEST = 1 << 22
"""Elements that are looked at one by one."""
_ONE = as_index(1)


def is_reshape(function: ir.Operation) -> bool:
    """True when a TensorIR function only copies its first buffer to its second, in order.

    With constant sizes the two places of every element are compared, and there may be buffers in
    between (reshapes that were fused); with others the expressions are compared.
    """
    parameters = list(function.regions[0].blocks[0].arguments)
    if len(parameters) != 2 or not all(isinstance(p.type, ir.MemRefType) for p in parameters):
        return False
    if all(ir.MemRefType(parameter.type).has_static_shape for parameter in parameters):
        copies = _find_copies(function)
        return copies is not None and all(map(_same_places, copies))
    with ir.InsertionPoint(function):
        clone = function.clone()  # reading sizes may write them at the top of the function
    copies = _find_copies(clone)
    result = copies is not None and len(copies) == 1 and _same_expressions(copies[0])
    clone.erase()
    return result


@dataclass
class _Copy:
    """The one store of a block, of an element of one buffer to another."""

    block: ir.Operation
    source: ir.Value
    read_at: list[ir.Value]
    target: ir.Value
    written_at: list[ir.Value]


def _find_copies(function: ir.Operation) -> list[_Copy] | None:
    """The copies that a function consists of, each of what the one before wrote: the first reads
    its first buffer, the last writes its second.  None where it does anything else."""
    blocks = [op for op in walk(function) if op.name == "tir.block"]
    inner = [op for op in blocks if not any(o.name == "tir.block" for o in walk(op))]
    stores = [op for op in walk(function) if op.name == "memref.store"]
    copies = [copy for block in inner if (copy := _copy_of(block)) is not None]
    if not copies or not len(copies) == len(inner) == len(stores):
        return None
    first, last = function.regions[0].blocks[0].arguments
    sources = [first, *(copy.target for copy in copies[:-1])]
    follows = [copy.source == source for copy, source in zip(copies, sources, strict=True)]
    written = [copy.target for copy in copies]
    once = len(set(written)) == len(written) and first not in written
    return copies if all(follows) and once and written[-1] == last else None


def _copy_of(block: ir.Operation) -> _Copy | None:
    stores = [op for op in walk(block) if op.name == "memref.store"]
    if len(stores) != 1 or len(block.opview.predicate):
        return None
    value, target, *written_at = list(stores[0].operands)
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "memref.load":
        return None
    source, *read_at = list(value.owner.operation.operands)
    return _Copy(block, source, read_at, target, written_at)


def _same_expressions(copy: _Copy) -> bool:
    """The block runs over the target in order, and reads the source in order."""
    block = copy.block.opview
    steps = [domain for var in block.iter_vars if (domain := value_domain(var)) is not None]
    if any(low.as_constant() != 0 for low, _ in steps):
        return False
    read_sizes, written_sizes = _sizes(copy.source), _sizes(copy.target)
    if read_sizes is None or written_sizes is None:
        return False
    extents = [extent for _, extent in steps]
    count = _product(extents)
    if _product(read_sizes) != count or _product(written_sizes) != count:
        return False
    single = {v: as_index(0) for v, e in zip(block.iter_vars, extents, strict=True) if e == _ONE}
    done = _row_major([leaf(var) for var in block.iter_vars], extents).substitute(single)

    def is_place(indices: list[ir.Value], sizes: list[Index]) -> bool:
        known = [read(value).substitute(single) for value in indices]
        return _row_major(known, sizes) == done or known == _digits(done, sizes)

    return is_place(copy.read_at, read_sizes) and is_place(copy.written_at, written_sizes)


def _digits(number: Index, sizes: list[Index]) -> list[Index]:
    """The indices of the element with that number, in a buffer of these sizes."""
    digits: list[Index] = []
    for axis, size in enumerate(sizes):
        quotient = number // _product(sizes[axis + 1 :])
        digits.append(quotient % size if axis else quotient)
    return digits


def _product(sizes: list[Index]) -> Index:
    return reduce(mul, sizes, _ONE)


def _sizes(buffer: ir.Value) -> list[Index] | None:
    """The sizes of a parameter as expressions; None when one is not known."""
    found: list[Index] = []
    for axis, size in enumerate(ir.MemRefType(buffer.type).shape):
        known = parameter_size(buffer, axis) if size == dynamic() else as_index(size)
        if known is None:
            return None
        found.append(known)
    return found


def _row_major(indices: list[Index], sizes: list[Index]) -> Index:
    flat = as_index(0)
    for index, size in zip(indices, sizes, strict=True):
        flat = merge_split(flat * size + index)
    return merge_split(flat)


def _same_places(copy: _Copy) -> bool:
    block, at, to = copy.block, copy.read_at, copy.written_at
    sizes = [list(ir.MemRefType(buffer.type).shape) for buffer in (copy.source, copy.target)]
    domains = from_attribute(block.attributes["domains"])
    extents = list(itertools.islice(domains, 1, None, 2))
    starts = list(itertools.islice(domains, 0, None, 2))
    count = int(np.prod(sizes[0], dtype=np.int64))
    if count != int(np.prod(sizes[1], dtype=np.int64)) or not 0 < count <= _LARGEST:
        return False
    if int(np.prod(extents, dtype=np.int64)) != count:
        return False
    grid = np.meshgrid(*map(np.arange, extents), indexing="ij") if extents else []
    arguments = list(block.regions[0].blocks[0].arguments)
    known: dict[ir.Value, Any] = {
        arg: axis + start for arg, axis, start in zip(arguments, grid, starts, strict=True)
    }
    read, written = (
        _flat(indices, size, known) for indices, size in zip((at, to), sizes, strict=True)
    )
    return read is not None and written is not None and bool(np.array_equal(read, written))


def _flat(indices: list[ir.Value], sizes: list[int], known: dict[ir.Value, Any]) -> Any:
    """The position in memory for every iteration, or None when it cannot be told."""
    flat: Any = np.int64(0)
    for index, size in zip(indices, sizes, strict=True):
        value = _evaluate(index, known)
        if value is None:
            return None
        flat = flat * size + value
    return flat


def _evaluate(value: ir.Value, known: dict[ir.Value, Any]) -> Any:
    if value in known:
        return known[value]
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name == "arith.constant":
        return int(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name != "affine.apply":
        return None
    operands = [_evaluate(operand, known) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    chosen = ir.AffineMapAttr(op.attributes["map"]).value
    count = chosen.n_dims
    return evaluate(chosen.results[0], operands[:count], operands[count:])
