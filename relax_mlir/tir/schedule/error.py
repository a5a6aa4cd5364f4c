"""Refusals: why a primitive would not do what was asked, shown on the loop nest."""

from __future__ import annotations

from collections.abc import Iterable

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import ScheduleError
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.index import as_index
from relax_mlir.tir.schedule.nest import function_of, name_of_block, value_name


class Refusal(Exception):
    """Raised by a primitive before it changes anything; the Schedule turns it into ScheduleError.

    `marked` are the loops and blocks that are the reason; `hint` says what would have to hold.
    """

    def __init__(self, reason: str, *marked: ir.OpView, hint: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.marked = marked
        self.hint = hint


def to_error(primitive: str, refusal: Refusal, detail: bool = True) -> ScheduleError:
    """The error a user sees: the primitive, the reason, and the nest with the culprits marked."""
    message = f"{primitive}: {refusal.reason}"
    if detail and refusal.marked:
        function = function_of(refusal.marked[0])
        message += "\n" + render_nest(function, refusal.marked)
    return ScheduleError(message, hint=refusal.hint)


def render_nest(function: ir.OpView, marked: Iterable[ir.OpView] = ()) -> str:
    """The loops and blocks of a function as text, an arrow before the `marked` ones."""
    name = ir.StringAttr(function.operation.attributes["sym_name"]).value
    lines: list[tuple[str, bool]] = [(f"def {name}:", function in marked)]
    _render(function, 1, list(marked), lines)
    return "\n".join(("=>  " if mark else "    ") + text for text, mark in lines)


def _render(
    op: ir.OpView, depth: int, marked: list[ir.OpView], lines: list[tuple[str, bool]]
) -> None:
    for region in op.operation.regions:
        for block in region.blocks:
            for child in block.operations:
                text = describe(child)
                if text is not None:
                    lines.append(("    " * depth + text, child in marked))
                if child.operation.regions:
                    _render(child, depth + (text is not None), marked, lines)


_OTHERS = {"scf.if": "if ...:", "scf.while": "while ...:", "tir.init": "init:"}


def describe(op: ir.OpView) -> str | None:
    """One line for a loop or block, None for what the nest leaves out."""
    if isinstance(op, ForOp):
        low, extent = as_index(op.min), as_index(op.extent)
        kind = op.kind.value
        span = f"{extent}" if low.as_constant() == 0 else f"{low}, {low + extent}"
        if "thread" in op.operation.attributes:
            span += f', thread="{ir.StringAttr(op.operation.attributes["thread"]).value}"'
        head = "range" if kind == "serial" else kind
        return f"for {value_name(nest.loop_var(op), 'i')} in {head}({span}):"
    if isinstance(op, BlockOp):
        iters = ", ".join(
            f"{value_name(v)} [{k}] = {as_index(b)}"
            for v, k, b in zip(nest.iter_vars(op), op.kinds, op.bindings, strict=True)
        )
        where = " where ..." if len(op.predicate) else ""
        return f'block "{name_of_block(op)}": {iters}{where}'
    return _OTHERS.get(op.operation.name)


def label(op: ir.OpView) -> str:
    """How a message names a loop or block."""
    if isinstance(op, ForOp):
        return f"loop {value_name(nest.loop_var(op), 'i')}"
    return f'block "{name_of_block(op)}"'
