"""Addresses of the functions of a compiled module (an engine finds packed wrappers only)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from relax_mlir.mlir import ir, llvm
from relax_mlir.runtime.engine import Engine

__all__ = ["ADDRESSES", "add_address_function", "read_addresses"]

ADDRESSES = "emu_addresses"


def add_address_function(module: ir.Module, names: Sequence[str]) -> None:
    """Add a function to a module in the llvm dialect that stores addresses into a table."""
    ptr, i64 = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(module.body):
        made = llvm.LLVMFuncOp(ADDRESSES, ir.TypeAttr.parse("!llvm.func<void (ptr)>"))
    entry = made.operation.regions[0].blocks.append(ptr, arg_locs=[ir.Location.unknown()])
    with ir.InsertionPoint(entry):
        for number, name in enumerate(names):
            symbol = {"global_name": ir.FlatSymbolRefAttr.get(name)}
            address = ir.Operation.create("llvm.mlir.addressof", [ptr], [], symbol).results[0]
            offset = llvm.mlir_constant(ir.IntegerAttr.get(i64, 8 * number))
            byte = ir.IntegerType.get_signless(8)
            slot = llvm.getelementptr(ptr, entry.arguments[0], [offset], [-(2**31)], byte, 0)
            llvm.store(address, slot)
        llvm.return_()


def read_addresses(engine: Engine, names: Sequence[str]) -> dict[str, int]:
    """What that function stores, by name."""
    table = (ctypes.c_void_p * max(1, len(names)))()
    pointer = ctypes.c_void_p(ctypes.addressof(table))
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    call: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.address(ADDRESSES))
    call(packed)
    return {name: table[number] or 0 for number, name in enumerate(names)}
