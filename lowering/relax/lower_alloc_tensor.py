"""relax-lower-alloc-tensor."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions, unique_name, walk
from relax_mlir.lowering.relax.rewriting import defining, erase_dead, unnamed
from relax_mlir.mlir import ir, operations_named

ALLOCATE = "relax.builtin_alloc_tensor"


@register_pass("relax-lower-alloc-tensor")
@dataclass(frozen=True)
class LowerAllocTensor(Pass):
    """Give each `relax.builtin_alloc_tensor` a storage of its own with the tensor in it."""

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            names = StorageNames(function)
            for op in operations_named(function, [ALLOCATE]):
                if defining(op.operands[0], "relax.shape_expr"):
                    info = types.tensor_info(op.results[0].type)
                    if info is not None and info.dims is not None and info.dtype is not None:
                        size = types.size_in_bytes(info.dims, info.dtype)
                        storage = make_storage(op, size, names.next())
                        place_in(op, storage)


class StorageNames:
    """Names for the storage of a function: storage, storage1, ..."""

    def __init__(self, function: ir.Operation) -> None:
        self._taken = {name_of(result) for op in walk(function) for result in op.results}

    def next(self) -> str:
        name = unique_name([name for name in self._taken if name], "storage")
        self._taken.add(name)
        return name


def make_storage(op: ir.Operation, size: Dim, name: str) -> ir.Value:
    """Storage of `size` bytes, allocated in front of `op`."""
    loc = unnamed(op.location)
    with ir.InsertionPoint(op):
        shape = create("relax.shape_expr", [types.shape_type([size])], loc=loc).result
        row = SPECS["memory.alloc_storage"]
        return build(row, [shape], {"dtype": "uint8"}, loc=name_location(name, loc))


def place_in(op: ir.Operation, storage: ir.Value) -> None:
    """Put the tensor of a `relax.builtin_alloc_tensor`, whose shape is a `relax.shape_expr`, at the
    start of a storage."""
    result = op.results[0]
    info = types.tensor_info(result.type)
    assert info is not None
    loc = unnamed(op.location)
    name = name_of(result)
    named = loc if name is None else name_location(name, loc)
    with ir.InsertionPoint(op):
        start = create("relax.prim_value", [types.prim_type("int64", 0)], loc=loc).result
        # The shape behind the offset, in the order of the operands.
        shape = op.operands[0].owner.operation.clone().results[0]
        operands = [storage, start, shape]
        made = build(SPECS["memory.alloc_tensor"], operands, {"dtype": info.dtype}, loc=named)
    result.replace_all_uses_with(made)
    given = op.operands[0].owner.operation
    op.erase()
    erase_dead([given])
