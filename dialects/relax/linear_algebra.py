"""Products of tensors: matmul, einsum, outer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir


def _matmul(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    x1, x2 = infer.tensor(kinds[0], "x1"), infer.tensor(kinds[1], "x2")
    dtype = infer.dtype_attribute(attributes, "out_dtype")
    if dtype is None:
        dtype = infer.same_dtype([x1, x2], kinds)
    if 0 in (x1.ndim, x2.ndim):
        scalar = kinds[0] if x1.ndim == 0 else kinds[1]
        raise InferError(f"needs tensors of rank one or more, got {types.describe(scalar)}")
    if x1.ndim < 0 or x2.ndim < 0:
        return TensorInfo(None, dtype).to_type()
    ndim = max(x1.ndim, x2.ndim, 2) - (x1.ndim == 1) - (x2.ndim == 1)
    if x1.dims is None or x2.dims is None:
        return TensorInfo(None, dtype, ndim).to_type()
    return TensorInfo(_matmul_dims(x1.dims, x2.dims, kinds), dtype, ndim).to_type()


def _matmul_dims(
    a: Sequence[Dim], b: Sequence[Dim], kinds: Sequence[ir.Type]
) -> tuple[Dim, ...] | None:
    rows = a[-2:-1]
    columns = b[-1:] if len(b) > 1 else ()
    inner = (a[-1], b[-2] if len(b) > 1 else b[-1])
    if dim_algebra.differ(*inner):
        raise InferError(
            f"reduction dimensions differ: {types.describe(kinds[0])} and "
            f"{types.describe(kinds[1])}, {inner[0]} and {inner[1]}"
        )
    batch = infer.broadcast_dims(tuple(a[:-2]), tuple(b[:-2]), kinds)
    return None if batch is None else (*batch, *rows, *columns)


def parse_subscripts(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Operand and result subscripts of an einsum, "..." replaced by capital letters of its own.

    Raises InferError when they do not fit the ranks.
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise InferError(f"'{subscripts}' is for {len(inputs)} tensors, got {len(ranks)}")
    spread = max(
        (
            rank - len(s.replace("...", ""))
            for s, rank in zip(inputs, ranks, strict=True)
            if "..." in s
        ),
        default=0,
    )
    letters = "".join(chr(0x391 + i) for i in range(max(spread, 0)))
    expanded = []
    for text, rank in zip(inputs, ranks, strict=True):
        missing = rank - len(text.replace("...", ""))
        if missing < 0 or (missing and "..." not in text):
            raise InferError(f"'{text}' does not name the dimensions of a rank {rank} tensor")
        expanded.append(text.replace("...", letters[len(letters) - missing :]))
    if arrow:
        return expanded, right.replace("...", letters)
    joined = "".join(expanded)
    once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in letters)
    return expanded, letters + "".join(once)


def einsum_sizes(
    inputs: Sequence[str], dims: Sequence[Sequence[Dim]], kinds: Sequence[ir.Type] = ()
) -> dict[str, Dim]:
    """The size of every subscript; a size-one dimension broadcasts."""
    sizes: dict[str, Dim] = {}
    for text, operand in zip(inputs, dims, strict=True):
        for letter, dim in zip(text, operand, strict=True):
            known = sizes.get(letter, 1)
            if known != 1 and dim != 1 and dim_algebra.differ(known, dim):
                shown = " and ".join(types.describe(kind) for kind in kinds)
                raise InferError(f"subscript '{letter}' is {known} and {dim} in {shown}")
            sizes[letter] = dim if known == 1 else known
    return sizes


def _einsum(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    infos = [infer.tensor(kind) for kind in kinds]
    if not infos:
        raise InferError("needs at least one tensor")
    dtype = infer.same_dtype(infos, kinds)
    if any(info.dims is None for info in infos):
        return TensorInfo(None, dtype).to_type()
    dims = [info.dims or () for info in infos]
    inputs, output = parse_subscripts(attributes["subscripts"], [len(d) for d in dims])
    sizes = einsum_sizes(inputs, dims, kinds)
    unknown = [letter for letter in output if letter not in sizes]
    if unknown or len(set(output)) != len(output):
        raise InferError(f"'{attributes['subscripts']}': the result's subscripts do not fit")
    return TensorInfo(tuple(sizes[letter] for letter in output), dtype).to_type()


def _outer(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    x1, x2 = infer.tensor(kinds[0], "x1"), infer.tensor(kinds[1], "x2")
    infer.require_rank(x1, 1, kinds[0], "x1")
    infer.require_rank(x2, 1, kinds[1], "x2")
    dtype = infer.same_dtype([x1, x2], kinds)
    dims = None if x1.dims is None or x2.dims is None else (*x1.dims, *x2.dims)
    return TensorInfo(dims, dtype, 2).to_type()


define(
    "matmul",
    ["x1", "x2"],
    _matmul,
    {"out_dtype": "void"},
    doc="Matrix product; leading dimensions are batches and broadcast, as numpy.matmul.",
)
define(
    "einsum",
    ["*operands"],
    _einsum,
    {"subscripts": REQUIRED},
    doc="Sum of products over the subscripts, as numpy.einsum.",
)
define("outer", ["x1", "x2"], _outer, doc="The product of every pair of elements of two vectors.")
