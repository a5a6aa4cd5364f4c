"""MLIR text of modules, with the program's own names as SSA names.

Names ride on MLIR's name locations.  Printing turns them into `%lv`, and parsing puts them back,
so that a program keeps its names through text; MLIR's own parser drops them.
"""

from __future__ import annotations

import re

from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.variadic_text import insert_segments, remove_segments
from relax_mlir.mlir import ir

__all__ = ["name_location", "name_of", "parse_module", "print_operation"]

# The results at the start of a line, and the arguments of a block or function header.
_RESULTS = re.compile(r"^\s*(%[\w$.-]+)(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*\s*=\s")
_NUMBERED = re.compile(r"(arg)?\d+\Z|c-?\d+(_\w+)?\Z|cst(_\d+)?\Z|(true|false)(_\d+)?\Z")
_ARGUMENT = re.compile(r"(%[\w$.-]+)\s*:")
_HEADER = re.compile(r"^\s*(?:\^\w+\(|func\.func\b[^@]*@(?:\"[^\"]*\"|[\w$.-]+)\()")


_NAMED_BY_MLIR = ("memref.extract_strided_metadata",)
"""Operations whose several results MLIR names itself."""


def print_operation(op: ir.Operation, **options: bool) -> str:
    """The text of an operation with its names; keyword options are those of `get_asm`."""
    return remove_segments(op.get_asm(use_name_loc_as_prefix=True, **options))


def parse_module(text: str) -> ir.Module:
    """Parse module text and give its values the names they have there.

    Raises MLIRError with a located message.  Must be called inside `mlir.scope()`.
    """
    module = ir.Module.parse(insert_segments(text))
    _restore_names(module, text)
    return module


def _restore_names(module: ir.Module, text: str) -> None:
    results, headers = _names_in(text)
    operations: list[ir.Operation] = []
    blocks: list[ir.Block] = []
    _collect(module.operation, operations, blocks)
    if len(results) == len(operations):
        for op, name in zip(operations, results, strict=True):
            if name and op.name not in _NAMED_BY_MLIR:
                op.location = name_location(name, op.location)
    if len(headers) == len(blocks):
        for block, names in zip(blocks, headers, strict=True):
            for argument, name in zip(block.arguments, names, strict=False):
                if name:
                    argument.set_location(name_location(name))


def _collect(op: ir.Operation, operations: list[ir.Operation], blocks: list[ir.Block]) -> None:
    for region in op.regions:
        for block in region.blocks:
            if len(block.arguments):
                blocks.append(block)
            for child in block.operations:
                if len(child.operation.results):
                    operations.append(child.operation)
                _collect(child.operation, operations, blocks)


def _names_in(text: str) -> tuple[list[str | None], list[list[str | None]]]:
    results: list[str | None] = []
    headers: list[list[str | None]] = []
    for line in text.splitlines():
        match = _RESULTS.match(line)
        if match:
            results.append(_meaningful(match.group(1)))
        elif _HEADER.match(line):
            names = [_meaningful(name) for name in _ARGUMENT.findall(line)]
            if names:
                headers.append(names)
    return results, headers


def _meaningful(ssa_name: str) -> str | None:
    name = ssa_name[1:]
    return None if _NUMBERED.match(name) else name
