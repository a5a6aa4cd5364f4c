"""`layout_transform`: the elements of a tensor by other indices."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.mlir import ir

_NAMES = (("floordiv", "//"), ("mod", "%"), ("d", "i"))


def map_text(index_map: ir.AffineMap | ir.AffineMapAttr) -> str:
    """The map as Python: `lambda i0, i1: (i0 // 4, i1, i0 % 4)`."""
    text = str(getattr(index_map, "value", index_map))
    text = text.removeprefix("affine_map<").removesuffix(">")
    for name, python in _NAMES:
        text = re.sub(rf"\b{name}(?=\b|\d)", python, text)
    names, results = text.split(" -> ")
    results = results[:-1] + ",)" if results.count(",") == 0 else results
    return f"lambda {names[1:-1]}: {results}"


def transformed_dims(index_map: ir.AffineMap, dims: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """The shape that holds every element of a tensor; None where that is not known."""
    tree = ast.parse(map_text(index_map), mode="eval").body
    assert isinstance(tree, ast.Lambda) and isinstance(tree.body, ast.Tuple)
    sizes = {f"i{axis}": dim for axis, dim in enumerate(dims)}
    found = [size for node in tree.body.elts if (size := _size(node, sizes)) is not None]
    return tuple(found) if len(found) == len(tree.body.elts) else None


def _size(node: ast.expr, sizes: Mapping[str, Dim]) -> Dim | None:
    """One more than the largest value of an index expression whose smallest is not negative."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value + 1
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _size(node.left, sizes), _size(node.right, sizes)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Add):
        return dim_algebra.subtract(dim_algebra.add(left, right), 1)
    factor = node.right.value if isinstance(node.right, ast.Constant) else None
    if not isinstance(factor, int):
        return None
    if isinstance(node.op, ast.Mult):
        largest = dim_algebra.multiply(dim_algebra.subtract(left, 1), factor)
        return dim_algebra.add(largest, 1)
    if isinstance(node.op, ast.FloorDiv):
        return dim_algebra.ceildiv(left, factor)
    if isinstance(node.op, ast.Mod):
        return factor  # room for all remainders, as in TVM, also where there are fewer
    return None


def _layout_transform(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    given = attributes["index_map"]
    if not isinstance(given, ir.AffineMapAttr):
        raise InferError(f"index_map is a map such as lambda i: (i // 4, i % 4), not {given}")
    index_map: ir.AffineMap = given.value
    infer.require_rank(info, index_map.n_dims, kinds[0])
    rank = len(list(index_map.results))
    dims = None if info.dims is None else transformed_dims(index_map, info.dims)
    return types.tensor_type(dims, info.dtype, rank)


define(
    "layout_transform",
    ["x"],
    _layout_transform,
    {
        "index_map": REQUIRED,
        "pad_value": None,
        "axis_separators": [],
        "input_axis_separators": [],
    },
    doc="The tensor whose element index_map(i) is element i of the operand; other elements are "
    "pad_value.",
)
