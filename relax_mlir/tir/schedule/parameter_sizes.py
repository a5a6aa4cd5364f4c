"""Dynamic sizes of parameters in terms of the function's symbols.

Two parameters with the size `n` have the same size: both are the `memref.dim` of the first that has
`n` as a dimension, so that expressions of them compare equal.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.mlir import dynamic, ir, memref
from relax_mlir.tir.schedule.index import FUNCTIONS, Index, as_index, read
from relax_mlir.tir.schedule.index_write import write

_OPERATORS: dict[type[ast.AST], Callable[[Index, Index], Index]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: FUNCTIONS["floordiv"],
    ast.Mod: FUNCTIONS["mod"],
}
_CALLS = {
    "floordiv": FUNCTIONS["floordiv"],
    "floormod": FUNCTIONS["mod"],
    "min": FUNCTIONS["min"],
    "max": FUNCTIONS["max"],
}


def parameter_size(buffer: ir.Value, number: int) -> Index | None:
    """A dynamic size of a function's parameter; None where its symbols do not say it."""
    owner = buffer.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "func.func":
        return None
    shapes = _shapes(owner)
    shape = shapes[ir.BlockArgument(buffer).arg_number]
    if shape is None or not isinstance(shape[number], str):
        return None
    try:
        return _evaluate(ast.parse(shape[number], mode="eval").body, owner, shapes)
    except SyntaxError:
        return None


def symbol_value(function: ir.OpView, name: str) -> Index | None:
    """The value of a symbol of a function, None for a name that is none."""
    body = function.operation.regions[0].blocks[0]
    return _symbol(name, body, _shapes(body))


Shapes = list["list[int | str] | None"]


def _shapes(body: ir.Block) -> Shapes:
    """What the parameters declare as their shapes."""
    function = body.owner.operation
    if "arg_attrs" not in function.attributes:
        return [None] * len(body.arguments)
    rows = [ir.DictAttr(entry) for entry in ir.ArrayAttr(function.attributes["arg_attrs"])]
    return [from_attribute(row["tir.shape"]) if "tir.shape" in row else None for row in rows]


def _evaluate(node: ast.expr, body: ir.Block, shapes: Shapes) -> Index | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Index({}, node.value)
    if isinstance(node, ast.Name):
        return _symbol(node.id, body, shapes)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        negated = _evaluate(node.operand, body, shapes)
        return None if negated is None else -negated
    function, sides = _application(node)
    operands = [_evaluate(side, body, shapes) for side in sides]
    known = [operand for operand in operands if operand is not None]
    if function is None or len(known) < max(len(operands), 2):
        return None
    return reduce(function, known)


def _application(
    node: ast.expr,
) -> tuple[Callable[[Index, Index], Index] | None, list[ast.expr]]:
    """The function and the operands of an operator or a call."""
    if isinstance(node, ast.BinOp):
        return _OPERATORS.get(type(node.op)), [node.left, node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _CALLS.get(node.func.id), node.args
    return None, []


def _symbol(name: str, body: ir.Block, shapes: Shapes) -> Index | None:
    """The `memref.dim` that a symbol's value is, made at the top where it is not there yet."""
    for argument, shape in zip(body.arguments, shapes, strict=True):
        kind = ir.MemRefType(argument.type).shape if shape is not None else []
        if shape is None or name not in shape:
            continue
        number = shape.index(name)
        if kind[number] != dynamic():
            continue
        for use in argument.uses:
            op = use.owner.operation
            if op.name != "memref.dim" or op.block != body:
                continue
            if as_index(op.operands[1]).as_constant() == number:
                return read(op.results[0])
        at = ir.InsertionPoint.at_block_begin(body)
        return read(memref.DimOp(argument, write(Index({}, number), at), ip=at).result)
    return None
