"""Convolutions by groups of fewer output channels than a vector has lanes.

As many groups as a vector holds are computed together.  The data of all of them are one or few
vectors, in which each channel of the groups is spread to the lanes of its group's outputs; the
weight has its output channels beside each other (HWIO), as it is needed.  Otherwise such a
convolution is a depthwise one: each datum is spread once for all positions that it counts for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import Tile
from relax_mlir.lowering.linalg_to_vector.convolution.cost import depthwise_pixels
from relax_mlir.lowering.linalg_to_vector.convolution.depthwise import DepthwiseKernel, row_tile
from relax_mlir.lowering.linalg_to_vector.convolution.loops import Place, Selected, WindowLoops
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Extent
from relax_mlir.mlir import ir

__all__ = ["NarrowGroups", "emit_narrow_groups", "narrow_groups"]

# The channels of the groups of a vector lie in at most so many vectors.
_MOST_VECTORS = 4


@dataclass(frozen=True)
class NarrowGroups:
    """Groups of `inputs` channels of the data and `outputs` of the result, `count` of them in a
    vector; `dim` is their dimension."""

    dim: int
    inputs: int
    outputs: int
    count: int

    @property
    def width(self) -> int:
        """Output channels that are computed together."""
        return self.count * self.outputs

    @property
    def elements(self) -> int:
        """Channels of the data that they need."""
        return self.count * self.inputs


def narrow_groups(conv: Convolution, target: CPUTarget) -> NarrowGroups | None:
    """The groups of a convolution that are computed together; None if that does not pay."""
    nest = conv.nest
    if conv.depthwise or conv.combiner is not None or len(conv.channels) > 1:
        return None
    groups = [
        dim
        for dim in conv.outer
        if ZERO not in (nest.stride(conv.data, dim), nest.stride(conv.weight, dim))
    ]
    outputs = nest.extents[conv.column].static
    inputs = nest.extents[conv.channels[0]].static if conv.channels else 1
    if len(groups) != 1 or outputs is None or inputs is None:
        return None
    group = groups[0]
    beside = all(nest.stride(conv.data, dim) == ONE for dim in conv.channels)
    if not beside or nest.stride(conv.data, group) != Extent(inputs):
        return None
    # What else is read, by the epilogue, has one value a channel or one for all.
    for operand in range(len(nest.operands)):
        step = nest.stride(operand, conv.column) if operand != conv.data else None
        if step is not None and nest.stride(operand, group) != step * Extent(outputs):
            return None
    if nest.stride(conv.weight, conv.column) != ONE:
        return None
    lanes = _lanes(conv, target)
    count = min(lanes // outputs, nest.extents[group].static or lanes)
    found = NarrowGroups(group, inputs, outputs, count)
    return found if count > 1 and found.elements <= _MOST_VECTORS * lanes else None


def _lanes(conv: Convolution, target: CPUTarget) -> int:
    bits = max(32, *(argument.type.width for argument in conv.nest.body.block.arguments))
    return target.lanes(bits)


def emit_narrow_groups(
    b: Builder,
    conv: Convolution,
    target: CPUTarget,
    initial: ir.Value | None,
    rows: tuple[Index, Index] | None,
    groups: NarrowGroups,
) -> None:
    """Emit a convolution for which `narrow_groups` found how.  `rows` restricts the first window to
    a range of its output positions."""
    lanes, pixels = _lanes(conv, target), depthwise_pixels(conv, target, groups.inputs)
    count = conv.nest.emit_extent(b, conv.nest.extents[groups.dim])
    joined = _with_groups_in_columns(conv, groups.dim)
    taps = [w.tap for w in joined.windows if w.tap is not None]
    contraction = Contraction(
        joined.nest, (), joined.row, joined.column, tuple(taps),
        joined.data, joined.weight, joined.out, joined.epilogue,
    )  # fmt: skip
    loops = WindowLoops(b, joined, rows)
    channel = joined.channels[0] if joined.channels else None

    def tile(place: Place, position: Index, size: int, selected: Selected) -> None:
        window = joined.windows[-1] if joined.windows else None
        step = 0 if channel is None else place.accesses[joined.weight].strides[channel]
        kernel = _NarrowGroupsKernel(
            b, contraction, place.accesses, lanes, initial, place.taps, window, selected,
            groups=groups, weight_step=step,
        )  # fmt: skip

        def together(first: Index, groups_here: Index) -> None:
            column, active = (b.mul(n, groups.outputs) for n in (first, groups_here))
            full = None if active == lanes else active
            kernel.emit(row_tile(joined, place, loops, position, size, column, full))

        whole = b.round_down(count, groups.count)
        with b.loop(0, whole, groups.count) as first:
            together(first, groups.count)
        rest = b.sub(count, whole)
        b.when(b.at_least(rest, 1), lambda: together(whole, rest))

    def row(place: Place) -> None:
        loops.row(pixels, lambda *at: tile(place, *at))

    place = Place(joined.nest.emit_accesses(b, contraction.operands()))
    loops.over(list(joined.outer), place, lambda image: loops.rows(image, row))


def _with_groups_in_columns(conv: Convolution, group: int) -> Convolution:
    """The convolution with its groups and their outputs as one dimension, along which the data do
    not move: the kernel knows where those of a group are."""

    def moved(dim: int) -> int:
        return dim - (dim > group)

    def maybe(dim: int | None) -> int | None:
        return None if dim is None else moved(dim)

    return replace(
        conv,
        nest=conv.nest.joined(group, conv.column),
        outer=tuple(moved(dim) for dim in conv.outer if dim != group),
        windows=tuple(replace(w, out=maybe(w.out), tap=maybe(w.tap)) for w in conv.windows),
        channels=tuple(map(moved, conv.channels)),
        column=moved(conv.column),
    )


@dataclass
class _NarrowGroupsKernel(DepthwiseKernel):
    """Tiles of output positions times the channels of some groups.

    weight_step: from one channel of a group to the next in the weight.
    """

    groups: NarrowGroups = field(kw_only=True)
    weight_step: Index = field(kw_only=True)

    def _accumulate(self, tile: Tile) -> list[ir.Value]:
        self._data_masks = self._masks_of_data(tile.active)
        return super()._accumulate(tile)

    def _masks_of_data(self, active: Index | None) -> list[ir.Value | None]:
        """For every vector of data which lanes are of groups that exist."""
        b, lanes, groups = self.b, self.lanes, self.groups
        here: Index = groups.count if active is None else b.floordiv(active, groups.outputs)
        there = b.mul(here, groups.inputs)
        found: list[ir.Value | None] = []
        for start in range(0, groups.elements, lanes):
            left = b.sub(there, start)
            full = isinstance(left, int) and left >= lanes
            found.append(None if full else b.mask(lanes, b.maximum(left, 0)))
        return found

    def _first_channel(self, tile: Tile) -> Index:
        groups = self.groups
        return self.b.mul(self.b.floordiv(tile.column, groups.outputs), groups.inputs)

    def _data(self, view: FlatView, at: Index, mask: ir.Value | None) -> list[ir.Value]:
        b, lanes, groups = self.b, self.lanes, self.groups
        vectors = [
            self._promote(b.load(view, b.add(at, i * lanes), lanes, part))
            for i, part in enumerate(self._data_masks)
        ]
        return [
            _picked(b, vectors, [_source(groups, lane) + channel for lane in range(lanes)])
            for channel in range(groups.inputs)
        ]

    def _factors(self, view: FlatView, at: Index, mask: ir.Value | None) -> list[ir.Value]:
        b, groups = self.b, self.groups
        places = [b.add(at, b.mul(channel, self.weight_step)) for channel in range(groups.inputs)]
        return [self._promote(b.load(view, place, self.lanes, mask)) for place in places]


def _source(groups: NarrowGroups, lane: int) -> int:
    """The first channel of the group that a lane belongs to; that of the last one for lanes that
    are not used."""
    return min(lane // groups.outputs, groups.count - 1) * groups.inputs


def _picked(b: Builder, vectors: list[ir.Value], positions: list[int]) -> ir.Value:
    """The elements at some positions of vectors that follow one another."""
    lanes = len(positions)
    first, *others = sorted({position // lanes for position in positions})
    if positions == list(range(first * lanes, (first + 1) * lanes)):
        return vectors[first]
    # Where the elements of the vectors so far are; the others' may be any.
    placed = [position % lanes for position in positions]
    if not others:
        return b.shuffle((vectors[first], vectors[first]), placed)
    value = vectors[first]
    for number in others:
        chosen = [
            lanes + position % lanes if position // lanes == number else place
            for position, place in zip(positions, placed, strict=True)
        ]
        value = b.shuffle((value, vectors[number]), chosen)
        placed = list(range(lanes))
    return value
