"""The variables of a for statement."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from relax_mlir.script.parser.evaluator import unpack
from relax_mlir.tir.expr import PrimExpr

if TYPE_CHECKING:
    from relax_mlir.script.parser.prim_func import TirParser


def loop_targets(parser: TirParser, target: ast.expr, count: int) -> list[str]:
    """The names of the loop variables."""
    if isinstance(target, ast.Name):
        if count == 1:
            return [target.id]
        return [f"{target.id}_{i}" for i in range(count)]
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise parser.error("a loop variable is a name", target)
    starred = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
    names = [e.value if isinstance(e, ast.Starred) else e for e in target.elts]
    texts = [n.id for n in names if isinstance(n, ast.Name)]
    if len(texts) != len(names):
        raise parser.error("a loop variable is a name", target)
    if starred and count >= len(texts) - 1:
        at, extra = starred[0], count - len(texts) + 1
        texts[at : at + 1] = [f"{texts[at]}_{i}" for i in range(extra)]
    if len(texts) != count:
        raise parser.error(f"{len(texts)} loop variables for {count} loops", target)
    return texts


def define_targets(parser: TirParser, target: ast.expr, variables: list[PrimExpr]) -> None:
    if isinstance(target, ast.Name):
        many = len(variables) != 1
        parser.names.define(target.id, tuple(variables) if many else variables[0])
        return
    for name, part in unpack(parser.context.source, target, variables):
        parser.names.define(name.id, part)
