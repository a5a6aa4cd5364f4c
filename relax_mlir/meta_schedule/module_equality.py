"""When two workloads are one: `module_equality` of databases and of task extraction.

- "structural": the functions say the same; names of functions, blocks, buffers and variables do not
  count, nor do marks that passes leave on functions.
- "ignore-tensor": as "structural", and the values of constants do not count.
- "anchor-block": the blocks that most of the work is in say the same, whatever is fused to them;
  a function without a reduction is compared as by "ignore-tensor".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from math import prod

from relax_mlir import mlir
from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.utils import operation_text
from relax_mlir.mlir import ir
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import init_of
from relax_mlir.tir.schedule.index import as_index

__all__ = ["MODULE_EQUALITY", "anchor_block", "module_key", "shash2hex"]

_MARKS = ("op_pattern", "tir.noalias", "tir.is_scheduled", "tirx.is_scheduled", "target",
          "operator_name", "layout_free_buffers")  # fmt: skip
"""Attributes of functions that do not change what there is to tune."""

_NAME = re.compile(r'\b(tir\.name|sym_name|key) = "(?:[^"\\]|\\.)*"')
_CONSTANT = re.compile(r"dense<[^>]*>|dense_resource<[^>]*>")
_VALUE = re.compile(r"%[\w.$-]+|<<UNKNOWN SSA VALUE>>")


def _names_out(text: str) -> str:
    """Text without the names of things; constants keep their key, a hash of what is in them."""
    return _NAME.sub(lambda m: m[0] if m[1] == "key" else "", text)


def _structural(mod: IRModule) -> str:
    return "\n".join(sorted(_function_text(f) for f in mod.functions.values()))


def _ignore_tensor(mod: IRModule) -> str:
    return _CONSTANT.sub("", _NAME.sub("", _structural(mod)))


def _anchor_block(mod: IRModule) -> str:
    parts: list[str] = []
    for function in mod.functions.values():
        text = _anchor_text(function) if isinstance(function, PrimFunc) else None
        parts.append(text or _ignore_tensor(IRModule({"main": function})))
    return "\n".join(sorted(parts))


MODULE_EQUALITY: dict[str, Callable[[IRModule], str]] = {
    "structural": _structural,
    "ignore-tensor": _ignore_tensor,
    "anchor-block": _anchor_block,
}
"""A text of a module, by the name of the equality: modules are equal where the texts are."""


def module_key(mod: IRModule, module_equality: str = "structural") -> str:
    """A text that is the same for workloads that are equal.

    Raises ValueError for an unknown kind of equality.
    """
    if module_equality not in MODULE_EQUALITY:
        known = ", ".join(f'"{name}"' for name in MODULE_EQUALITY)
        raise ValueError(f'module_equality is one of {known}, not "{module_equality}"')
    return MODULE_EQUALITY[module_equality](mod)


def shash2hex(mod: IRModule, module_equality: str = "structural") -> str:
    """A hash of what makes a workload, 16 hexadecimal digits, the same in every process."""
    key = module_key(mod, module_equality)
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _function_text(function: BaseFunc) -> str:
    copy = function.clone()
    with mlir.scope():
        operation = copy.operation
        if "sym_visibility" in operation.attributes:
            del operation.attributes["sym_visibility"]
        stored = from_attribute(operation.attributes[function.attrs_key])
        for mark in _MARKS:
            stored.pop(mark, None)
        operation.attributes[function.attrs_key] = to_attribute(stored)
        return _names_out(operation_text(operation))


def anchor_block(function: PrimFunc) -> BlockOp | None:
    """The reduction with the most iterations, None for a function without one.

    Its operation belongs to `function`, which has to stay alive as long as it is used.
    """
    with mlir.scope():
        reductions = [b for b in nest.blocks_of(function.operation.opview) if init_of(b)]
        return max(reductions, key=_iterations, default=None)


def _iterations(block: BlockOp) -> int:
    extents = [as_index(size).as_constant() for _, size in block.domain_pairs]
    return prod(size for size in extents if size is not None)


def _anchor_text(function: PrimFunc) -> str | None:
    """The loops around the anchor block with all that is in them, values numbered anew."""
    block = anchor_block(function)
    if block is None:
        return None
    with mlir.scope():
        loops = nest.loops_around(block)
        outermost: ir.OpView = loops[0] if loops else block
        text = _NAME.sub("", operation_text(outermost))
    numbers: dict[str, str] = {}
    return _VALUE.sub(lambda m: numbers.setdefault(m[0], f"%{len(numbers)}"), text)
