"""Constants of an exported library: tensors over its own data section, made when it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax_to_host.host_function import CONSTANTS
from relax_mlir.lowering.to_llvm.ffi_abi import MANAGED, dtype_word
from relax_mlir.lowering.to_llvm.ffi_strings import merge, symbol_name_or_none

__all__ = ["LOADER", "add_constant_loader"]

LOADER = "__relax_load_constants"
_GEP = ": (!llvm.ptr) -> !llvm.ptr"
_BYTE = f"{_GEP}, i8"

Layout = Sequence[tuple[Sequence[int], str, int]]


def add_constant_loader(state: ModuleState, blob: str, layout: Layout) -> None:
    """Add the function LOADER, which fills the table of constants from the data at symbol `blob`.

    Whoever links the library has it called on loading: a constructor in the IR would not do, the
    JIT takes those out of the object.  `layout` holds shape, dtype and offset of each constant, in
    the table's order.
    """
    table = next(
        str(op) for op in state.module.body.operations if symbol_name_or_none(op) == CONSTANTS
    )
    count = len(layout)
    lines = [
        table,
        f"llvm.mlir.global external hidden @{blob}() : !llvm.array<0 x i8>",
        "llvm.func @TVMFFITensorFromDLPackVersioned(!llvm.ptr, i32, i32, !llvm.ptr) -> i32",
        "llvm.func internal @relax_keep_constant(%tensor: !llvm.ptr) { llvm.return }",
        _zeroed("__relax_managed", f"!llvm.array<{count} x {MANAGED.removeprefix('!llvm.')}>"),
        *(_sizes(index, shape) for index, (shape, _, _) in enumerate(layout)),
        f"llvm.func @{LOADER}() {{",
        "  %zero = llvm.mlir.constant(0 : i32) : i32",
        "  %one = llvm.mlir.constant(1 : i32) : i32",
        f"  %table = llvm.mlir.addressof @{CONSTANTS} : !llvm.ptr",
        f"  %blob = llvm.mlir.addressof @{blob} : !llvm.ptr",
        "  %all = llvm.mlir.addressof @__relax_managed : !llvm.ptr",
        "  %keep = llvm.mlir.addressof @relax_keep_constant : !llvm.ptr",
    ]
    for index, (shape, dtype, offset) in enumerate(layout):
        lines += _load_one(index, shape, dtype, offset)
    lines += ["  llvm.return", "}"]
    merge(state, "\n".join(lines))


def _zeroed(symbol: str, kind: str) -> str:
    return (
        f"llvm.mlir.global internal @{symbol}() : {kind} {{\n"
        f"  %zero = llvm.mlir.zero : {kind}\n  llvm.return %zero : {kind}\n}}"
    )


def _sizes(index: int, shape: Sequence[int]) -> str:
    """Sizes and strides of one constant, in one array."""
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    numbers = [*shape, *strides] or [0]
    kind = f"tensor<{len(numbers)}xi64>"
    return (
        f"llvm.mlir.global internal @__relax_sizes_{index}(dense<{numbers}> : {kind}) "
        f": !llvm.array<{len(numbers)} x i64>"
    )


def _load_one(index: int, shape: Sequence[int], dtype: str, offset: int) -> list[str]:
    """Fill DLManagedTensorVersioned `index` and make a tensor of it."""
    i, array = index, f"!llvm.array<{index + 1} x {MANAGED.removeprefix('!llvm.')}>"
    fields = [
        ("0, {i}, 0", "%one", "i32"),
        ("0, {i}, 3", "%keep", "!llvm.ptr"),
        ("0, {i}, 5, 0", f"%data{i}", "!llvm.ptr"),
        ("0, {i}, 5, 1, 0", "%one", "i32"),
        ("0, {i}, 5, 2", f"%ndim{i}", "i32"),
        ("0, {i}, 5, 3", f"%dtype{i}", "i32"),
        ("0, {i}, 5, 4", f"%sizes{i}", "!llvm.ptr"),
        ("0, {i}, 5, 5", f"%strides{i}", "!llvm.ptr"),
    ]
    lines = [
        f"  %data{i} = llvm.getelementptr %blob[{offset}] {_BYTE}",
        f"  %ndim{i} = llvm.mlir.constant({len(shape)} : i32) : i32",
        f"  %dtype{i} = llvm.mlir.constant({dtype_word(dtype)} : i32) : i32",
        f"  %sizes{i} = llvm.mlir.addressof @__relax_sizes_{i} : !llvm.ptr",
        f"  %strides{i} = llvm.getelementptr %sizes{i}[{8 * len(shape)}] {_BYTE}",
        f"  %managed{i} = llvm.getelementptr %all[0, {i}] {_GEP}, {array}",
        f"  %slot{i} = llvm.getelementptr %table[{8 * i}] {_BYTE}",
    ]
    for number, (path, value, kind) in enumerate(fields):
        at = f"%at{i}_{number}"
        lines += [
            f"  {at} = llvm.getelementptr %all[{path.format(i=i)}] {_GEP}, {array}",
            f"  llvm.store {value}, {at} : {kind}, !llvm.ptr",
        ]
    lines.append(
        f"  %made{i} = llvm.call @TVMFFITensorFromDLPackVersioned(%managed{i}, %zero, %zero, "
        f"%slot{i}) : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32"
    )
    return lines
