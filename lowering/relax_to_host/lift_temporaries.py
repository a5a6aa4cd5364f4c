"""`memref-lift-temporaries`: who calls a kernel gives it the memory of its temporaries.

Memory that a kernel allocates itself lies wherever the allocator finds room for its size, and has
left the caches since it was last used: a Winograd convolution that writes 2 MB of transformed data
took a quarter longer in a network than alone.  A Relax function has memory at hand that earlier
calls are done with, so it lends the kernel a part of its workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import argument_attributes, entry_block, walk
from relax_mlir.lowering.to_llvm.ffi_signature import is_prim_func, is_private, symbol_name
from relax_mlir.lowering.to_llvm.free_temporaries import (
    parallel_body,
    static_bytes,
    stays_in_block,
)
from relax_mlir.mlir import ir, operations_named

__all__ = ["LENDING_CALLS", "LiftTemporaries", "lent_temporaries"]

LENDING_CALLS = ("relax.call_tir", "relax.call_tir_with_grad", "relax.call_tir_inplace")
"""The calls that lend a kernel the memory of its temporaries."""

_LENT = "host.lent_temporaries"
# Operations of a kernel that may name another one.
_NAMING = ("func.call", "func.constant", "tir.call")


def lent_temporaries(kernel: ir.Operation) -> list[ir.MemRefType]:
    """The types of the temporaries that a kernel is lent, its last arguments."""
    if _LENT not in kernel.attributes:
        return []
    count = ir.IntegerAttr(kernel.attributes[_LENT]).value
    kinds = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs
    return [ir.MemRefType(kind) for kind in kinds[len(kinds) - count :]]


@register_pass("memref-lift-temporaries")
@dataclass(frozen=True)
class LiftTemporaries(Pass):
    """Make temporaries of fixed size arguments of kernels that only Relax functions call.

    Temporaries of a parallel loop stay, for every iteration has its own.  stack_bytes: smaller ones
    stay too, on the stack; most_bytes: so do larger ones, which are asked for before they are used.
    """

    stack_bytes: int = 16384
    most_bytes: int = 1 << 26

    def run(self, state: ModuleState) -> None:
        functions = list(state.functions())
        lifted = _called_by_lenders_alone(functions)
        with state.module.context:
            for function in functions:
                if symbol_name(function) in lifted:
                    self._lift(function)

    def _lift(self, kernel: ir.Operation) -> None:
        found = [op for op in operations_named(kernel, ("memref.alloc",)) if self._suits(op)]
        if not found:
            return
        kinds = [ir.MemRefType(op.result.type) for op in found]
        attributes = [ir.DictAttr.get(entry) for entry in argument_attributes(kernel)]
        attributes += [ir.DictAttr.get({})] * len(found)
        type_ = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
        changed = ir.FunctionType.get([*type_.inputs, *kinds], type_.results)
        kernel.attributes["function_type"] = ir.TypeAttr.get(changed)
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
        i64 = ir.IntegerType.get_signless(64)
        kernel.attributes[_LENT] = ir.IntegerAttr.get(i64, len(found))
        for op, kind in zip(found, kinds, strict=True):
            argument = entry_block(kernel).add_argument(kind, op.location)
            op.result.replace_all_uses_with(argument)
            op.erase()

    def _suits(self, op: ir.Operation) -> bool:
        type_ = ir.MemRefType(op.result.type)
        size = static_bytes(type_)
        if size is None or not self.stack_bytes < size <= self.most_bytes:
            return False
        compact = type_.affine_map == ir.AffineMap.get_identity(type_.rank)
        return compact and parallel_body(op) is None and stays_in_block(op.result, op.block)


def _called_by_lenders_alone(functions: list[ir.Operation]) -> set[str]:
    """The private TensorIR functions that are mentioned as callees of `LENDING_CALLS` only."""
    lent: set[str] = set()
    mentioned: set[str] = set()
    for function in functions:
        kernel = is_prim_func(function)
        for op in operations_named(function, _NAMING) if kernel else walk(function):
            into = lent if op.name in LENDING_CALLS else mentioned
            into |= set(_symbols(op))
    kernels = (op for op in functions if is_prim_func(op) and is_private(op))
    return {symbol_name(op) for op in kernels} & lent - mentioned


def _symbols(op: ir.Operation) -> Iterator[str]:
    for name in op.attributes:
        attribute = op.attributes[name]
        if isinstance(attribute, ir.FlatSymbolRefAttr):
            yield attribute.value
