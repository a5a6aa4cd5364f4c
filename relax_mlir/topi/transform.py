"""Operators that move elements: reshape, transpose, concatenate, split, repeat and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import (
    Shape,
    as_int,
    int_list,
    named,
    normalize_axes,
    normalize_axis,
    product,
    ravel,
    same_size,
    unravel,
)


def reshape(a: Tensor, newshape: Shape | int) -> Tensor:
    """The elements in row-major order under another shape; one size may be -1.

    Raises Error if the numbers of elements are known and differ.
    """
    sizes = _resolve_shape(a, newshape)
    old, new = as_int(product(a.shape)), as_int(product(sizes))
    if old is not None and new is not None and old != new:
        raise Error(f"cannot reshape {a.shape} of {old} elements to {sizes} of {new}")
    if len(sizes) == len(a.shape) and all(map(same_size, sizes, a.shape)):
        return named(sizes, lambda *i: a(*i), "T_reshape", "injective")
    if not a.shape:
        return named(sizes, lambda *i: a(), "T_reshape", "injective")
    if new == 0:  # nothing to place, and no size to divide by
        origin = [O.const(0, "int64")] * len(a.shape)
        return named(sizes, lambda *i: a(*origin), "T_reshape", "injective")
    return named(
        sizes, lambda *i: a(*_reshaped_indices(i, sizes, a.shape)), "T_reshape", "injective"
    )


def _resolve_shape(a: Tensor, newshape: Shape | int) -> list[PrimExpr]:
    entries = list(newshape) if isinstance(newshape, (list, tuple)) else [newshape]
    dtype = a.shape[0].dtype if a.shape else None
    sizes = [as_expr(s, dtype if isinstance(s, int) else None) for s in entries]
    unknown = [i for i, s in enumerate(sizes) if as_int(s) == -1]
    if len(unknown) > 1:
        raise Error(f"only one size of {entries} may be -1")
    if unknown:
        rest = product([s for i, s in enumerate(sizes) if i != unknown[0]])
        sizes[unknown[0]] = simplify(O.floordiv(product(a.shape), rest))
    return sizes


def _reshaped_indices(
    indices: Sequence[PrimExpr], sizes: Sequence[PrimExpr], old: Sequence[PrimExpr]
) -> list[PrimExpr]:
    """Input indices, group of dimensions by group: equal leading products split the shapes, so that
    what is unchanged keeps its own index instead of going through one flat position."""
    result: list[PrimExpr] = [O.const(0, s.dtype) for s in old]
    news = [i for i, s in enumerate(sizes) if as_int(s) != 1]
    olds = [i for i, s in enumerate(old) if as_int(s) != 1]
    while olds:
        count_new, count_old = _group([sizes[i] for i in news], [old[i] for i in olds])
        group_new, group_old = news[:count_new], olds[:count_old]
        flat = ravel([indices[i] for i in group_new], [sizes[i] for i in group_new])
        found = unravel(flat, [old[i] for i in group_old])
        for position, index in zip(group_old, found, strict=True):
            result[position] = index
        news, olds = news[count_new:], olds[count_old:]
    return result


def _group(new: Sequence[PrimExpr], old: Sequence[PrimExpr]) -> tuple[int, int]:
    """The fewest leading dimensions of each that have equal products; all, where none provably
    have."""
    news, olds = ([product(sizes[: i + 1]) for i in range(len(sizes))] for sizes in (new, old))
    pairs = [(i, j) for i in range(len(new)) for j in range(len(old))]
    for i, j in sorted(pairs, key=sum):
        if same_size(news[i], olds[j]):
            return i + 1, j + 1
    return len(new), len(old)


def flatten_from(a: Tensor, axis: int) -> Tensor:
    """The axes before `axis` as they are, the rest as one."""
    sizes = [*a.shape[:axis], product(a.shape[axis:])]

    def body(*i: Any) -> PrimExpr:
        return a(*i[:axis], *unravel(i[axis], a.shape[axis:]))

    names = ["i", "j"] if axis == 1 else None
    return compute(sizes, body, "compute", "injective", varargs_names=names)


def transpose(a: Tensor, axes: Sequence[Any] | None = None) -> Tensor:
    """Output axis i is input axis `axes[i]`; reversed by default."""
    rank = len(a.shape)
    order = [normalize_axis(x, rank) for x in axes] if axes is not None else [*range(rank)][::-1]
    if sorted(order) != list(range(rank)):
        raise Error(f"transpose: {axes} is not a permutation of {rank} axes")
    source = [order.index(axis) for axis in range(rank)]
    return named(
        [a.shape[axis] for axis in order],
        lambda *i: a(*[i[position] for position in source]),
        "T_transpose",
        "injective",
    )


def expand_dims(a: Tensor, axis: int | Sequence[int], num_newaxis: int = 1) -> Tensor:
    """Insert axes of size one: `num_newaxis` at `axis`, or one at each of several positions."""
    if isinstance(axis, (list, tuple)):
        rank = len(a.shape) + len(axis)
        new = normalize_axes(axis, rank)
    else:
        start = normalize_axis(axis, len(a.shape) + 1)
        new = list(range(start, start + num_newaxis))
        rank = len(a.shape) + num_newaxis
    sizes = iter(a.shape)
    dtype = a.shape[0].dtype if a.shape else "int32"
    shape = [O.const(1, dtype) if axis in new else next(sizes) for axis in range(rank)]
    kept = [axis for axis in range(rank) if axis not in new]
    return named(shape, lambda *i: a(*[i[axis] for axis in kept]), "T_expand_dims", "broadcast")


def squeeze(a: Tensor, axis: Any = None) -> Tensor:
    """Drop axes of size one, all by default.  Raises Error if an axis has another size."""
    rank = len(a.shape)
    if axis is None:
        gone = [i for i, s in enumerate(a.shape) if as_int(s) == 1]
    else:
        gone = normalize_axes(axis, rank)
        for i in gone:
            if as_int(a.shape[i]) not in (1, None):
                raise Error(f"squeeze: axis {i} has size {a.shape[i]}, not 1")
    kept = [i for i in range(rank) if i not in gone]

    def body(*i: Any) -> PrimExpr:
        indices = iter(i)
        return a(*[next(indices) if x in kept else O.const(0) for x in range(rank)])

    return named([a.shape[i] for i in kept], body, "T_squeeze", "injective")


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis."""
    tensors = list(a_tuple)
    axis = normalize_axis(axis, len(tensors[0].shape))
    for tensor in tensors[1:]:
        _check_concatenated(tensors[0], tensor, axis)
    starts: list[PrimExpr] = [O.const(0, tensors[0].shape[axis].dtype)]
    for tensor in tensors:
        starts.append(simplify(O.add(starts[-1], tensor.shape[axis])))
    shape = list(tensors[0].shape)
    shape[axis] = starts.pop()

    def body(*i: Any) -> PrimExpr:
        result = tensors[0](*i)
        for tensor, start in zip(tensors[1:], starts[1:], strict=True):
            moved = [*i[:axis], simplify(O.subtract(i[axis], start)), *i[axis + 1 :]]
            result = I.if_then_else(O.less_equal(start, i[axis]), tensor(*moved), result)
        return result

    return named(shape, body, "T_concat", "injective")


def _check_concatenated(first: Tensor, other: Tensor, axis: int) -> None:
    fits = len(first.shape) == len(other.shape) and all(
        i == axis or same_size(a, b) or as_int(a) is None or as_int(b) is None
        for i, (a, b) in enumerate(zip(first.shape, other.shape, strict=True))
    )
    if not fits:
        raise Error(
            f"concatenate: shapes {first.shape} and {other.shape} differ outside axis {axis}"
        )


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    tensors = list(tensors)
    axis = normalize_axis(axis, len(tensors[0].shape) + 1)
    shape = list(tensors[0].shape)
    dtype = shape[0].dtype if shape else "int32"
    shape.insert(axis, O.const(len(tensors), dtype))

    def body(*i: Any) -> PrimExpr:
        inner = [*i[:axis], *i[axis + 1 :]]
        result = tensors[0](*inner)
        for number, tensor in enumerate(tensors[1:], 1):
            result = I.if_then_else(O.equal(i[axis], number), tensor(*inner), result)
        return result

    return named(shape, body, "T_stack", "injective")


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts along an axis: a number of equal sections, or the positions where parts start.

    As TVM's, sections that do not divide the size are rounded up and the last is shorter.
    """
    axis = normalize_axis(axis, len(ary.shape))
    size = ary.shape[axis]
    if isinstance(indices_or_sections, (list, tuple)):
        name, starts = "T_split", [O.const(0, size.dtype), *map(as_expr, indices_or_sections)]
    else:
        (sections,) = int_list(indices_or_sections)
        name, width = "T_split_sections", simplify(O.ceildiv(size, sections))
        starts = [simplify(O.multiply(width, n)) for n in range(sections)]
    ends = [*starts[1:], size]
    return [
        _slice_of(ary, axis, begin, simplify(O.subtract(end, begin)), name)
        for begin, end in zip(starts, ends, strict=True)
    ]


def _slice_of(a: Tensor, axis: int, begin: PrimExpr, size: PrimExpr, name: str) -> Tensor:
    shape = list(a.shape)
    shape[axis] = O.cast(shape[axis].dtype, size)
    return named(
        shape,
        lambda *i: a(*i[:axis], O.add(i[axis], begin), *i[axis + 1 :]),
        name,
        "injective",
    )


def repeat(a: Tensor, repeats: int, axis: int = 0) -> Tensor:
    """Every element `repeats` times along an axis."""
    axis = normalize_axis(axis, len(a.shape))
    shape = list(a.shape)
    shape[axis] = simplify(O.multiply(shape[axis], repeats))
    return named(
        shape,
        lambda *i: a(*i[:axis], O.floordiv(i[axis], repeats), *i[axis + 1 :]),
        "T_repeat",
        "broadcast",
    )


def tile(a: Tensor, reps: Any) -> Tensor:
    """The tensor repeated as a whole, `reps` times along each of the last axes."""
    counts = list(reps) if isinstance(reps, (list, tuple)) else [reps]
    rank = max(len(counts), len(a.shape))
    dtype = a.shape[0].dtype if a.shape else "int32"
    counts = [1] * (rank - len(counts)) + counts
    sizes = [O.const(1, dtype)] * (rank - len(a.shape)) + a.shape
    shape = [simplify(O.multiply(s, c)) for s, c in zip(sizes, counts, strict=True)]
    first = rank - len(a.shape)

    def place(index: Any, size: PrimExpr) -> PrimExpr:
        return index if as_int(size) == 0 else O.floormod(index, size)

    def body(*i: Any) -> PrimExpr:
        return a(*[place(x, s) for x, s in zip(i[first:], a.shape, strict=True)])

    return named(shape, body, "T_tile", "broadcast")


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """The elements in reverse order along an axis."""
    axis = normalize_axis(axis, len(a.shape))
    last = O.subtract(a.shape[axis], 1)
    return named(
        a.shape,
        lambda *i: a(*i[:axis], simplify(O.subtract(last, i[axis])), *i[axis + 1 :]),
        "T_reverse_sequence",
        "injective",
    )


def reverse_sequence(
    a: Tensor, seq_lengths: Tensor | None = None, seq_axis: int = 1, batch_axis: int = 0
) -> Tensor:
    """The first `seq_lengths[b]` elements along an axis reversed, the rest as they are."""
    if seq_lengths is None:
        return flip(a, seq_axis)
    seq_axis = normalize_axis(seq_axis, len(a.shape))
    batch_axis = normalize_axis(batch_axis, len(a.shape))

    def body(*i: Any) -> PrimExpr:
        length, index = O.cast(i[seq_axis].dtype, seq_lengths(i[batch_axis])), i[seq_axis]
        size = a.shape[seq_axis]
        bounded = O.min(length, size)
        mirrored = O.subtract(O.subtract(bounded, index), 1)
        unchanged = O.logical_or(O.less_equal(length, 1), O.less_equal(bounded, index))
        source = I.if_then_else(unchanged, index, mirrored)
        return a(*i[:seq_axis], source, *i[seq_axis + 1 :])

    return named(a.shape, body, "T_reverse_sequence", "injective")
