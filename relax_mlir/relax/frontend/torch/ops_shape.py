"""Converters that move, cut and join: views, slices, padding and concatenation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_of


def flat(values: tuple[Any, ...]) -> list[Any]:
    """Arguments that may be given as one list or one by one."""
    nested = len(values) == 1 and isinstance(values[0], (list, tuple))
    return list(values[0]) if nested else [*values]


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def product(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


# -- transpositions ----------------------------------------------------------------------------


def permute(imp: Importer, x: Any, *axes: Any) -> Any:
    return imp.permute(x, flat(axes))


def transpose(imp: Importer, x: Any, first: int, second: int) -> Any:
    axes = list(range(imp.ndim(x)))
    if axes:
        axes[first], axes[second] = axes[second], axes[first]
    return imp.permute(x, axes)


def t(imp: Importer, x: Any) -> Any:
    return imp.permute(x, list(range(imp.ndim(x)))[::-1])


def matrix_transpose(imp: Importer, x: Any) -> Any:
    return transpose(imp, x, -1, -2)


def movedim(imp: Importer, x: Any, source: Any, destination: Any) -> Any:
    rank = imp.ndim(x)
    starts, ends = ([a % rank for a in as_list(axes)] for axes in (source, destination))
    axes: list[int | None] = [None] * rank
    for start, end in zip(starts, ends, strict=True):
        axes[end] = start
    rest = iter(axis for axis in range(rank) if axis not in starts)
    return imp.permute(x, [next(rest) if axis is None else axis for axis in axes])


# -- reshapes ----------------------------------------------------------------------------------


def reshape(imp: Importer, x: Any, *shape: Any) -> Any:
    import torch

    wanted = flat(shape)
    if len(wanted) == 1 and isinstance(wanted[0], torch.dtype):
        raise Error(f"view as {wanted[0]}: reading bits as another dtype has no Relax operator")
    return x if wanted == imp.shape_of(x) else imp.op.reshape(x, wanted)


def reshape_as(imp: Importer, x: Any, other: Any) -> Any:
    return imp.op.reshape(x, imp.shape_of(other))


def flatten(imp: Importer, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape, rank = imp.shape_of(x), imp.ndim(x)
    start, end = start_dim % max(rank, 1), end_dim % max(rank, 1)
    return imp.op.reshape(x, [*shape[:start], product(shape[start : end + 1]), *shape[end + 1 :]])


def unflatten(imp: Importer, x: Any, dim: int, sizes: Sequence[Any]) -> Any:
    shape = imp.shape_of(x)
    dim %= len(shape)
    return imp.op.reshape(x, [*shape[:dim], *sizes, *shape[dim + 1 :]])


def squeeze(imp: Importer, x: Any, dim: Any = None) -> Any:
    shape = imp.shape_of(x)
    axes = range(len(shape)) if dim is None else [axis % len(shape) for axis in as_list(dim)]
    kept = [axis for axis in axes if isinstance(shape[axis], int) and shape[axis] == 1]
    return imp.op.squeeze(x, kept) if kept else x


def unsqueeze(imp: Importer, x: Any, dim: int) -> Any:
    return imp.op.expand_dims(x, dim)


def at_least(rank: int) -> Converter:
    def convert(imp: Importer, x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return [imp.bind(convert(imp, item)) for item in x]
        shape = imp.shape_of(x)
        if len(shape) >= rank:
            return x
        wanted = [1] * (rank - len(shape)) + shape
        if rank == 3 and shape:
            wanted = [1, *shape, 1] if len(shape) == 1 else [*shape, 1]
        return imp.op.reshape(x, wanted)

    return convert


def expand(imp: Importer, x: Any, *sizes: Any, implicit: bool = False) -> Any:
    wanted, shape = flat(sizes), imp.shape_of(x)
    lead = len(wanted) - len(shape)
    for i, size in enumerate(wanted):
        if isinstance(size, int) and size == -1:
            wanted[i] = shape[i - lead]
    return x if wanted == shape else imp.op.broadcast_to(x, wanted)


def expand_as(imp: Importer, x: Any, other: Any) -> Any:
    return expand(imp, x, imp.shape_of(other))


def broadcast_tensors(imp: Importer, tensors: Sequence[Any]) -> Any:
    """All tensors in their common shape; equal sizes or ones, from the last axis."""
    shapes = [imp.shape_of(x) for x in tensors]
    common: list[Any] = []
    for axis in range(1, max(map(len, shapes)) + 1):
        sizes = [shape[-axis] for shape in shapes if len(shape) >= axis]
        common.insert(0, next((s for s in sizes if not (isinstance(s, int) and s == 1)), 1))
    return [expand(imp, x, common) for x in tensors]


# -- joining and cutting -----------------------------------------------------------------------


def cat(imp: Importer, tensors: Sequence[Any], dim: int = 0, axis: int | None = None) -> Any:
    """Concatenation; PyTorch lets empty one-dimensional tensors stand among others."""
    axis = dim if axis is None else axis
    rank = max(imp.ndim(x) for x in tensors)
    parts = [x for x in tensors if imp.ndim(x) == rank or imp.shape_of(x) != [0]]
    first = parts[0]
    parts = [first, *(imp.pair(first, x)[1] for x in parts[1:])]
    parts = [imp.cast(x, dtype_of(parts[-1])) for x in parts]
    return parts[0] if len(parts) == 1 else imp.op.concat(parts, axis=axis)


def stack(imp: Importer, tensors: Sequence[Any], dim: int = 0) -> Any:
    return imp.op.stack(list(tensors), axis=dim)


def _stacked(rank: int, axis: int) -> Converter:
    """hstack, vstack and dstack."""

    def convert(imp: Importer, tensors: Sequence[Any]) -> Any:
        parts = [imp.bind(at_least(rank)(imp, x)) for x in tensors]
        return cat(imp, parts, axis if imp.ndim(parts[0]) > axis else 0)

    return convert


def split(imp: Importer, x: Any, size: Any, dim: int = 0) -> Any:
    """Pieces of one size (the last may be smaller), or of listed sizes."""
    dim %= imp.ndim(x)
    if isinstance(size, (list, tuple)):
        return _split_at(imp, x, [product_sum(size[: i + 1]) for i in range(len(size) - 1)], dim)
    extent = imp.shape_of(x)[dim]
    if not isinstance(extent, int):
        raise Error(f"split of axis {dim}, whose size {extent} is symbolic, into pieces of {size}")
    return _split_at(imp, x, list(range(size, extent, size)), dim)


def product_sum(sizes: Sequence[Any]) -> Any:
    total: Any = 0
    for size in sizes:
        total = total + size
    return total


def _split_at(imp: Importer, x: Any, places: Sequence[Any], dim: int) -> list[Any]:
    if not places:
        return [x]
    if all(isinstance(place, int) for place in places):
        return imp.fields(imp.op.split(x, list(places), axis=dim))
    bounds = [0, *places, imp.shape_of(x)[dim]]
    return [imp.bind(slice_tensor(imp, x, dim, a, b)) for a, b in itertools.pairwise(bounds)]


def chunk(imp: Importer, x: Any, chunks: int, dim: int = 0) -> Any:
    extent = imp.shape_of(x)[dim]
    if not isinstance(extent, int):
        raise Error(f"chunk of axis {dim}, whose size {extent} is symbolic")
    return split(imp, x, max(1, -(-extent // chunks)), dim)


def tensor_split(imp: Importer, x: Any, sections: Any, dim: int = 0) -> Any:
    if not isinstance(sections, int):
        return _split_at(imp, x, list(sections), dim % imp.ndim(x))
    extent = imp.shape_of(x)[dim]
    sizes = [extent // sections + (i < extent % sections) for i in range(sections)]
    return split(imp, x, sizes, dim)


def unbind(imp: Importer, x: Any, dim: int = 0) -> Any:
    count = imp.shape_of(x)[dim]
    if not isinstance(count, int):
        raise Error(f"unbind of axis {dim}, whose size {count} is symbolic")
    pieces = _split_at(imp, x, list(range(1, count)), dim % imp.ndim(x))
    return [imp.emit(imp.op.squeeze(piece, [dim])) for piece in pieces]


def select(imp: Importer, x: Any, dim: int, index: Any) -> Any:
    """The slice at one place of an axis, which goes away."""
    dim %= imp.ndim(x)
    size = imp.shape_of(x)[dim]
    if isinstance(index, int) and index < 0:
        index = size + index
    piece = imp.emit(
        imp.op.strided_slice(x, axes=[dim], begin=[index], end=[index + 1], strides=[1])
    )
    return imp.op.squeeze(piece, [dim])


def slice_tensor(
    imp: Importer, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    size = imp.shape_of(x)[dim]
    whole = end is None or (isinstance(end, int) and end >= 2**62) or end is size
    first: Any = 0 if start is None else start
    if whole and isinstance(first, int) and first == 0 and step == 1:
        return x
    last: Any = size if whole else end
    if all(isinstance(v, int) for v in (size, first, last)):
        first, last, _ = slice(first, last).indices(size)
        if (first, last, step) == (0, size, 1):
            return x
        last = max(first, last)
    elif not isinstance(size, int):
        first, last = _from_end(first, size), _from_end(last, size)
    inbound = step == 1 and imp.expected is not None and same(imp.expected[dim], last - first)
    return imp.op.strided_slice(
        x, axes=[dim], begin=[first], end=[last], strides=[step], assume_inbound=inbound
    )


def same(a: Any, b: Any) -> bool:
    """Whether two sizes are provably equal."""
    from relax_mlir.relax.symbols import to_dim

    return to_dim(a) == to_dim(b)


def _from_end(place: Any, size: Any) -> Any:
    return size + place if isinstance(place, int) and place < 0 else place


def narrow(imp: Importer, x: Any, dim: int, start: Any, length: Any) -> Any:
    return slice_tensor(imp, x, dim, start, start + length)


def diff(
    imp: Importer, x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = imp.bind(cat(imp, parts, dim))
    for _ in range(n):
        later = imp.bind(slice_tensor(imp, x, dim, 1))
        size = imp.shape_of(x)[dim]
        earlier = imp.emit(
            imp.op.strided_slice(x, axes=[dim], begin=[0], end=[size - 1], strides=[1])
        )
        name = imp.op.not_equal if dtype_of(x) == "bool" else imp.op.subtract
        x = imp.emit(name(later, earlier))
    return x


# -- repetition and order ----------------------------------------------------------------------


def repeat(imp: Importer, x: Any, *repeats: Any) -> Any:
    counts = flat(repeats)
    if all(isinstance(count, int) for count in counts):
        return imp.op.tile(x, counts)
    # Symbolic counts: (r, s, ...) of (1, s, ...) is (r * s, ...).
    shape = imp.shape_of(x)
    shape = [1] * (len(counts) - len(shape)) + shape
    pairs = list(zip(counts, shape, strict=True))
    narrow = imp.emit(imp.op.reshape(x, [d for size in shape for d in (1, size)]))
    wide = imp.emit(imp.op.broadcast_to(narrow, [d for pair in pairs for d in pair]))
    return imp.op.reshape(wide, [count * size for count, size in pairs])


def repeat_interleave(
    imp: Importer, x: Any, repeats: Any, dim: int | None = None, *, output_size: Any = None
) -> Any:
    if isinstance(repeats, int):
        return imp.op.repeat(x, repeats, axis=dim)
    if imp.is_tensor(repeats):
        raise Error("repeat_interleave with a tensor of repeats has no Relax operator")
    shape = imp.shape_of(x) if dim is not None else [product(imp.shape_of(x))]
    at = (dim or 0) % len(shape) + 1
    narrow = imp.emit(imp.op.reshape(x, [*shape[:at], 1, *shape[at:]]))
    wide = imp.emit(imp.op.broadcast_to(narrow, [*shape[:at], repeats, *shape[at:]]))
    return imp.op.reshape(wide, [*shape[: at - 1], shape[at - 1] * repeats, *shape[at:]])


def flip(imp: Importer, x: Any, *dims: Any) -> Any:
    for dim in flat(dims):
        x = imp.emit(imp.op.flip(x, dim))
    return x


def roll(imp: Importer, x: Any, shifts: Any, dims: Any = ()) -> Any:
    if not as_list(dims):
        shape = imp.shape_of(x)
        rolled = roll(imp, imp.emit(imp.op.reshape(x, [-1])), shifts, [0])
        return imp.op.reshape(imp.bind(rolled), shape)
    for shift, dim in zip(as_list(shifts), as_list(dims), strict=True):
        size = imp.shape_of(x)[dim]
        place = -shift % size if isinstance(size, int) else size - shift
        if isinstance(place, int) and place == 0:
            continue
        head = imp.bind(slice_tensor(imp, x, dim, 0, place))
        tail = imp.bind(slice_tensor(imp, x, dim, place))
        x = imp.emit(imp.op.concat([tail, head], axis=dim))
    return x


def rot90(imp: Importer, x: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    first, second = dims
    turns = k % 4
    if turns == 2:
        return flip(imp, x, [first, second])
    if turns == 0:
        return x
    turned = transpose(imp, x, first, second)
    return flip(imp, turned, [first if turns == 1 else second])


# -- padding and windows -----------------------------------------------------------------------

_PAD_MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "replicate": "replicate",
    "circular": "circular",
}


def pad(
    imp: Importer, x: Any, widths: Sequence[int], mode: str = "constant", value: Any = None
) -> Any:
    """Widths come in pairs from the last axis; negative ones cut."""
    rank = imp.ndim(x)
    before, after = [0] * rank, [0] * rank
    for i in range(len(widths) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = widths[2 * i], widths[2 * i + 1]
    for axis in range(rank):
        low, high = min(before[axis], 0), min(after[axis], 0)
        if low or high:
            x = imp.bind(slice_tensor(imp, x, axis, -low, imp.shape_of(x)[axis] + high))
    pairs = [max(width, 0) for both in zip(before, after, strict=True) for width in both]
    if not any(pairs):
        return x
    return imp.op.nn.pad(x, pairs, _PAD_MODES[mode], float(0 if value is None else value))


def constant_pad(imp: Importer, x: Any, widths: Sequence[int], value: float = 0.0) -> Any:
    return pad(imp, x, widths, "constant", value)


def _padding(mode: str) -> Converter:
    def convert(imp: Importer, x: Any, widths: Sequence[int]) -> Any:
        return pad(imp, x, widths, mode)

    return convert


def pixel_shuffle(imp: Importer, x: Any, factor: int) -> Any:
    return imp.op.nn.pixel_shuffle(x, factor)


def pixel_unshuffle(imp: Importer, x: Any, factor: int) -> Any:
    *lead, channels, height, width = imp.shape_of(x)
    n = len(lead)
    split_up = [*lead, channels, height // factor, factor, width // factor, factor]
    blocks = imp.emit(imp.op.reshape(x, split_up))
    moved = imp.permute(blocks, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return imp.op.reshape(
        moved, [*lead, channels * factor * factor, height // factor, width // factor]
    )


def channel_shuffle(imp: Importer, x: Any, groups: int) -> Any:
    batch, channels, *rest = imp.shape_of(x)
    grouped = imp.emit(imp.op.reshape(x, [batch, groups, channels // groups, *rest]))
    swapped = transpose(imp, grouped, 1, 2)
    return imp.op.reshape(swapped, [batch, channels, *rest])


def unfold(imp: Importer, x: Any, dim: int, size: int, step: int) -> Any:
    """Windows along an axis, as a new last axis."""
    extent = imp.shape_of(x)[dim]
    dim %= imp.ndim(x)
    starts = np.arange(0, extent - size + 1, step, dtype="int64")
    places = starts[:, None] + np.arange(size, dtype="int64")
    windows = imp.emit(imp.op.take(x, imp.relax.const(places.reshape(-1)), axis=dim))
    shape = imp.shape_of(x)
    cut = imp.emit(imp.op.reshape(windows, [*shape[:dim], len(starts), size, *shape[dim + 1 :]]))
    return movedim(imp, cut, dim + 1, -1)


def as_strided(
    imp: Importer, x: Any, size: Sequence[int], stride: Sequence[int], offset: Any = None
) -> Any:
    """Of a tensor that lies row by row."""
    place = np.full(tuple(size), int(offset or 0), dtype="int64")
    for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
        along = np.arange(extent, dtype="int64") * step
        place += along.reshape([-1 if i == axis else 1 for i in range(len(size))])
    row = imp.emit(imp.op.reshape(x, [-1]))
    picked = imp.emit(imp.op.take(row, imp.relax.const(place.reshape(-1)), axis=0))
    return imp.op.reshape(picked, list(size))


def diagonal(imp: Importer, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The elements (i, i + offset) of two axes, as the last axis."""
    moved = movedim(imp, x, (dim1, dim2), (-2, -1))
    *lead, rows, columns = imp.shape_of(moved)
    i = np.arange(max(0, min(rows + min(offset, 0), columns - max(offset, 0))), dtype="int64")
    places = (i - min(offset, 0)) * columns + i + max(offset, 0)
    flattened = imp.emit(imp.op.reshape(moved, [*lead, rows * columns]))
    return imp.op.take(flattened, imp.relax.const(places), axis=len(lead))


def meshgrid(imp: Importer, tensors: Sequence[Any], indexing: str = "ij") -> Any:
    return imp.fields(imp.op.meshgrid(list(tensors), indexing=indexing))


def sym_size(imp: Importer, x: Any, dim: int | None = None) -> Any:
    shape = imp.shape_of(x)
    return shape if dim is None else shape[dim]


def sym_numel(imp: Importer, x: Any) -> Any:
    return product(imp.shape_of(x))


def sym_stride(imp: Importer, x: Any, dim: int | None = None) -> Any:
    """What PyTorch says, or else that of a tensor that lies in order: those of Relax do."""
    stated = imp.stated_result()
    if stated is not None:
        return stated
    shape = imp.shape_of(x)
    strides = [product(shape[axis + 1 :]) for axis in range(len(shape))]
    return strides if dim is None else strides[dim]


def sym_storage_offset(imp: Importer, x: Any) -> Any:
    stated = imp.stated_result()
    return 0 if stated is None else stated


def sym_is_contiguous(imp: Importer, x: Any, memory_format: Any = None) -> bool:
    stated = imp.stated_result()
    return stated if isinstance(stated, bool) else True


def resize(imp: Importer, x: Any, size: Sequence[Any], **ignored: Any) -> Any:
    """The elements in order; zeros where the tensor has none (PyTorch leaves them undefined)."""
    wanted, present = product(size), product(imp.shape_of(x))
    flattened = imp.emit(imp.op.reshape(x, [present]))
    if not (isinstance(wanted, int) and isinstance(present, int) and wanted <= present):
        more = imp.emit(imp.op.zeros([wanted], dtype_of(x)))
        flattened = imp.emit(imp.op.concat([flattened, more], axis=0))
    kept = imp.emit(imp.op.strided_slice(flattened, [0], [0], [wanted], assume_inbound=True))
    return imp.op.reshape(kept, list(size))


CONVERTERS: dict[str, Converter] = {
    "sym_stride": sym_stride,
    "sym_storage_offset": sym_storage_offset,
    "sym_is_contiguous": sym_is_contiguous,
    "resize": resize,
    "permute": permute,
    "transpose": transpose,
    "swapaxes": transpose,
    "swapdims": transpose,
    "t": t,
    "numpy_T": t,
    "mT": matrix_transpose,
    "adjoint": matrix_transpose,
    "movedim": movedim,
    "moveaxis": movedim,
    **dict.fromkeys(("reshape", "view", "_unsafe_view"), reshape),
    **dict.fromkeys(("reshape_as", "view_as"), reshape_as),
    "flatten": flatten,
    "ravel": flatten,
    "unflatten": unflatten,
    "squeeze": squeeze,
    "unsqueeze": unsqueeze,
    **{f"atleast_{rank}d": at_least(rank) for rank in (1, 2, 3)},
    "expand": expand,
    "broadcast_to": expand,
    "expand_as": expand_as,
    "broadcast_tensors": broadcast_tensors,
    **dict.fromkeys(("cat", "concat", "concatenate"), cat),
    "stack": stack,
    "hstack": _stacked(1, 1),
    "vstack": _stacked(2, 0),
    "dstack": _stacked(3, 2),
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split"), split),
    **dict.fromkeys(("chunk", "unsafe_chunk"), chunk),
    "tensor_split": tensor_split,
    "unbind": unbind,
    "select": select,
    "slice": slice_tensor,
    "narrow": narrow,
    "diff": diff,
    "repeat": repeat,
    "tile": repeat,
    "repeat_interleave": repeat_interleave,
    "flip": flip,
    "roll": roll,
    "rot90": rot90,
    "pad": pad,
    "constant_pad_nd": constant_pad,
    **{f"reflection_pad{n}d": _padding("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _padding("replicate") for n in (1, 2, 3)},
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "channel_shuffle": channel_shuffle,
    "unfold": unfold,
    "as_strided": as_strided,
    "diagonal": diagonal,
    "meshgrid": meshgrid,
    "sym_size": sym_size,
    "size": sym_size,
    "sym_numel": sym_numel,
    "numel": sym_numel,
}
"""By the operator's name without namespace, overload and trailing underscore."""
