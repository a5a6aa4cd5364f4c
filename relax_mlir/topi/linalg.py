"""Products of matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import IterVar, PrimExpr
from relax_mlir.topi.common import (
    as_int,
    broadcast_indices,
    broadcast_shapes,
    int_list,
    named,
    normalize_axis,
    same_size,
)


def _check_contracted(a: PrimExpr, b: PrimExpr, left: Tensor, right: Tensor, what: str) -> None:
    if as_int(a) is not None and as_int(b) is not None and not same_size(a, b):
        raise Error(
            f"{what}: contracted sizes differ, {a} and {b}, for shapes {left.shape} "
            f"and {right.shape}"
        )


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Tensor:
    """The matrix product of the last two axes; leading axes broadcast.

    A one-dimensional operand is a row (left) or column (right) whose axis is dropped.
    """
    a_vector, b_vector = a.ndim == 1, b.ndim == 1
    if min(a.ndim, b.ndim) == 0:
        raise Error("matmul: operands need at least one dimension")
    left_batch = [] if a_vector else a.shape[:-2]
    right_batch = [] if b_vector else b.shape[:-2]
    batch = broadcast_shapes(left_batch, right_batch)
    rows, a_inner = (None, a.shape[0]) if a_vector else _matrix(a, transp_a)
    columns, b_inner = (None, b.shape[0]) if b_vector else _matrix(b, not transp_b)
    _check_contracted(a_inner, b_inner, a, b, "matmul")
    k = reduce_axis((0, a_inner), "k")
    shape = [*batch, *[s for s in (rows, columns) if s is not None]]

    def body(*i: Any) -> PrimExpr:
        head, tail = i[: len(batch)], list(i[len(batch) :])
        row = None if a_vector else tail.pop(0)
        column = None if b_vector else tail.pop(0)
        left = _element(a, broadcast_indices(head, left_batch, batch), row, k, transp_a)
        right = _element(b, broadcast_indices(head, right_batch, batch), column, k, not transp_b)
        return te_sum(O.multiply(left, right), axis=k)

    return named(shape, body, "T_matmul", "matmul")


def _matrix(x: Tensor, inner_first: bool) -> tuple[PrimExpr, PrimExpr]:
    """(outer size, contracted size) of the last two axes."""
    last, before = x.shape[-1], x.shape[-2]
    return (last, before) if inner_first else (before, last)


def _element(
    x: Tensor, batch: Sequence[Any], outer: Any, k: IterVar, inner_first: bool
) -> PrimExpr:
    if outer is None:
        return x(k)
    return x(*batch, k, outer) if inner_first else x(*batch, outer, k)


def tensordot(a: Tensor, b: Tensor, axes: Any) -> Tensor:
    """numpy's tensordot: a number of axes to contract, or a pair of axis lists."""
    if isinstance(axes, (list, tuple)):
        first, second = (list(x) if isinstance(x, (list, tuple)) else [x] for x in axes)
        left = [normalize_axis(x, a.ndim) for x in first]
        right = [normalize_axis(x, b.ndim) for x in second]
    else:
        (count,) = int_list(axes)
        left, right = list(range(a.ndim - count, a.ndim)), list(range(count))
    if len(left) != len(right):
        raise Error(f"tensordot: {len(left)} axes of the first, {len(right)} of the second")
    for x, y in zip(left, right, strict=True):
        _check_contracted(a.shape[x], b.shape[y], a, b, "tensordot")
    reduced = [reduce_axis((0, a.shape[x]), f"k{i}") for i, x in enumerate(left)]
    kept_a = [x for x in range(a.ndim) if x not in left]
    kept_b = [y for y in range(b.ndim) if y not in right]
    shape = [a.shape[x] for x in kept_a] + [b.shape[y] for y in kept_b]

    def body(*i: Any) -> PrimExpr:
        from_a, from_b = iter(i[: len(kept_a)]), iter(i[len(kept_a) :])
        at_a = [reduced[left.index(x)] if x in left else next(from_a) for x in range(a.ndim)]
        at_b = [reduced[right.index(y)] if y in right else next(from_b) for y in range(b.ndim)]
        value = O.multiply(a(*at_a), b(*at_b))
        return te_sum(value, axis=reduced) if reduced else value

    return named(shape, body, "T_tensordot", "matmul")


def outer(a: Tensor, b: Tensor) -> Tensor:
    """The outer product of two vectors."""
    return named([a.shape[0], b.shape[0]], lambda i, j: O.multiply(a(i), b(j)), "T_outer", "matmul")


def einsum(subscripts: str, *operand: Any) -> Tensor:
    """numpy's einsum; `...` stands for broadcast leading axes.

    Raises Error if subscripts and operands do not fit.
    """
    operands: list[Tensor] = []
    for x in operand:
        operands += list(x) if isinstance(x, (list, tuple)) else [x]
    inputs, output = _parse_einsum(subscripts, [t.ndim for t in operands])
    sizes: dict[str, PrimExpr] = {}
    for labels, tensor in zip(inputs, operands, strict=True):
        for label, size in zip(labels, tensor.shape, strict=True):
            known = sizes.get(label)
            if known is None or as_int(known) == 1:
                sizes[label] = size
            elif as_int(size) != 1:
                _check_contracted(known, size, operands[0], tensor, "einsum")
    reduced = {
        label: reduce_axis((0, size), label if label.isalpha() else f"k{label}")
        for label, size in sizes.items()
        if label not in output
    }

    def body(*i: Any) -> PrimExpr:
        where: dict[str, Any] = dict(zip(output, i, strict=True))
        where |= {label: axis.var for label, axis in reduced.items()}
        value: PrimExpr | None = None
        for labels, tensor in zip(inputs, operands, strict=True):
            factor = tensor(*_einsum_indices(labels, tensor, where, sizes))
            value = factor if value is None else O.multiply(value, factor)
        assert value is not None
        return te_sum(value, axis=list(reduced.values())) if reduced else value

    return named([sizes[label] for label in output], body, "T_einsum", "matmul")


def _einsum_indices(
    labels: Sequence[str], tensor: Tensor, where: dict[str, Any], sizes: dict[str, PrimExpr]
) -> list[Any]:
    """Axes of size one that another operand stretches are read at 0."""
    result: list[Any] = []
    for label, size in zip(labels, tensor.shape, strict=True):
        stretched = as_int(size) == 1 and as_int(sizes[label]) != 1
        result.append(O.const(0, size.dtype) if stretched else where[label])
    return result


def _parse_einsum(subscripts: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise Error(f"einsum: {len(terms)} terms in {subscripts!r}, {len(ranks)} operands")
    inputs = [_labels(t, rank, subscripts) for t, rank in zip(terms, ranks, strict=True)]
    dots = max(([x for x in labels if x.isdigit()] for labels in inputs), key=len)
    dots = sorted(dots, key=int, reverse=True)
    if not arrow:  # implicit: dots, then the labels that appear once, in order
        flat = [x for labels in inputs for x in labels if x.isalpha()]
        return inputs, dots + sorted(x for x in set(flat) if flat.count(x) == 1)
    output: list[str] = []
    for part in right.replace("...", "."):
        output += dots if part == "." else [part]
    unknown = [x for x in output if not any(x in labels for labels in inputs)]
    if unknown or len(set(output)) != len(output):
        raise Error(f"einsum: the output of {subscripts!r} names an unknown or repeated axis")
    return inputs, output


def _labels(term: str, rank: int, subscripts: str) -> list[str]:
    """The axis labels of a term; `...` becomes numbers counted from the right."""
    named_count = len(term.replace("...", ""))
    dots = rank - named_count if "..." in term else 0
    if named_count + dots != rank or dots < 0:
        raise Error(f"einsum: term {term!r} of {subscripts!r} does not fit {rank} dimensions")
    labels: list[str] = []
    for part in term.replace("...", "."):
        labels += [str(n) for n in range(dots - 1, -1, -1)] if part == "." else [part]
    return labels
