"""Blocks of the first TVMScript: `with tir.block([128, 128], "B") as [vi, vj]:`."""

from __future__ import annotations

import ast
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from relax_mlir.script.forms.blocks import BlockForm, OpenAxis
from relax_mlir.script.forms.loops import LoopForm
from relax_mlir.tir.expr import PrimExpr

if TYPE_CHECKING:
    from relax_mlir.script.parser.prim_func import TirParser


def open_axes(form: BlockForm, target: Any) -> Any:
    """The axes of a block of the first TVMScript, which `T.bind` gives their values."""
    names = getattr(target, "elts", [] if target is None else [target])
    axes = form.axes or []
    if len(names) != len(axes):
        raise ValueError(f"{len(names)} names for {len(axes)} axes")
    opened = [
        OpenAxis(getattr(n, "id", ""), kind, domain)
        for n, (kind, domain) in zip(names, axes, strict=True)
    ]
    return opened if hasattr(target, "elts") else opened[0] if opened else None


def axis_values(
    parser: TirParser, form: BlockForm, item: ast.AST, around: ExitStack
) -> list[PrimExpr]:
    """The values of the axes of an old block whose body binds none: the variables of the loops
    around it if there are as many, or loops of its own, one for each."""
    statement = next(
        (n for n in ast.walk(parser.context.node) if isinstance(n, ast.With) and item in n.items),
        None,
    )
    target = getattr(item, "optional_vars", None)
    if not form.axes or statement is None or target is None:
        return []
    calls = [n.func for s in statement.body for n in ast.walk(s) if isinstance(n, ast.Call)]
    if any(isinstance(c, ast.Attribute) and c.attr == "bind" for c in calls):
        return []
    outside = _loop_variables(parser, statement)
    if len(outside) == len(form.axes):
        return outside
    from relax_mlir.script.parser.tir_forms import loop

    domains = [d if isinstance(d, tuple) else (0, d) for _, d in form.axes]
    return [
        around.enter_context(loop(parser, LoopForm("serial", [domain]), 0, f"i{i}"))
        for i, domain in enumerate(domains)
    ]


def _loop_variables(parser: TirParser, statement: ast.With) -> list[PrimExpr]:
    """The variables of the loops around a statement, out to the next block."""
    function = parser.context.node
    parents = {child: n for n in ast.walk(function) for child in ast.iter_child_nodes(n)}
    names: list[str] = []
    current = parents[statement]
    while isinstance(current, ast.For):
        target = current.target
        elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names = [e.id for e in elements if isinstance(e, ast.Name)] + names
        current = parents[current]
    values = [parser.names.lookup(name) for name in names]
    return [v for v in values if isinstance(v, PrimExpr)]
