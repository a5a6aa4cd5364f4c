"""The cost model of convolutions: which form, which register tile, what goes to which core."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS, CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO

__all__ = [
    "CACHED_WEIGHT",
    "FEW_TILES",
    "SUMMED_IN_REGISTERS",
    "VECTOR_COUNTS",
    "RegisterTile",
    "WeightBlock",
    "choose_register_tile",
    "chunk_in_cache",
    "chunk_rows",
    "depthwise_pixels",
    "even_pieces",
    "positions",
    "register_groups",
    "tile_heights",
    "tiles_at_once",
    "weight_is_larger",
    "weight_stays_in_cache",
    "winograd_1d_chunk",
    "winograd_chunk_rows",
    "winograd_panel_width",
    "winograd_weight_block",
    "worth_packing",
]

# Laying out a weight in the call costs about as much as so many output positions.
_PACKING_POSITIONS = 24

# The rows of products of a transformed weight are made in so many parts, or where there are few
# tiles one by one, of blocks of so many input channels.
_WEIGHT_PARTS, _SUMMED_CHANNELS = 3, 16
# What is read for every vector of output channels may take so much of the second-level cache.
_READ_AGAIN = 0.45
# Transformed data may take so much of the second-level cache before they are made in parts.
_WINOGRAD_CHUNK, _LARGEST_CHUNK = 0.6, 4

CACHED_WEIGHT = 200_000
"""A weight of at most so many bytes stays in the second-level cache while the image passes."""

FEW_TILES = 16
"""Tiles whose sums in a panel stay in the first-level cache."""

SUMMED_IN_REGISTERS = 32
"""Input channels that a weight is transformed for in registers before their products are added to
those of the channels before."""
# Registers that a weight and its transform take, beside the sums of at most so many tiles.
_TRANSFORM_REGISTERS, _MOST_IN_REGISTERS = 7, 8
# Each product is code of its own in registers: 81, of 3x3 by 2, take 0.1 s to compile and are 8 %
# faster than a direct convolution, if the data stay in the cache.
_MOST_PRODUCTS = 36

_MAX_PIXELS = 14
# At most so many tiles of an image of any size go together, in register tiles of one of these parts
# of the largest height.
_MOST_TILES, _PARTS_OF_HEIGHT = 256, (1.0, 0.72, 0.56)
# Products of one output position that may be unrolled for as many positions as hide their latency.
_UNROLLED_PRODUCTS = 48
VECTOR_COUNTS = (1, 2, 3, 4)
"""Vectors of output channels that a register tile may have."""
# Output positions of a row of unknown length that are computed at once.
_DYNAMIC_PIXELS = 8


@dataclass(frozen=True)
class RegisterTile:
    """Accumulators of `pixels` output positions times `vectors` vectors of output channels."""

    pixels: int
    vectors: int


def even_pieces(size: int, largest: int) -> list[int]:
    """`size` in the fewest pieces of at most `largest`, as equal as can be, long ones first."""
    count = -(-size // largest)
    low, longer = divmod(size, count)
    return [low + 1] * longer + [low] * (count - longer)


@lru_cache(maxsize=1024)
def choose_register_tile(
    pixels: int | None,
    channels: int | None,
    lanes: int,
    target: CPUTarget,
    counts: tuple[int, ...] = VECTOR_COUNTS,
) -> RegisterTile:
    """The tile of least cost for rows of `pixels` positions (None: known at run time) and
    `channels` output channels that lie together, of as many vectors as one of `counts`.

    Cost is the multiply-adds issued, padding included, more where there are too few chains to hide
    latency or too many loads for the products.
    """
    best: tuple[float, RegisterTile] | None = None
    for vectors in counts:
        if vectors > 1 and channels is not None and (vectors - 1) * lanes >= channels:
            continue
        limit = _DYNAMIC_PIXELS if pixels is None else min(pixels, _MAX_PIXELS)
        for height in range(1, limit + 1):
            if height * vectors + vectors + 1 > target.vector_registers:
                continue
            cost = _tile_cost(pixels or 4 * _DYNAMIC_PIXELS, channels or 4 * lanes, height, vectors,
                              lanes)  # fmt: skip
            if best is None or cost < best[0]:
                best = (cost, RegisterTile(height, vectors))
    # The panels of a weight may be made for wider registers than the target has.
    return RegisterTile(1, min(counts)) if best is None else best[1]


def _tile_cost(pixels: int, channels: int, height: int, vectors: int, lanes: int) -> float:
    whole, rest = divmod(-(-channels // lanes), vectors)
    panels = [vectors] * whole + ([rest] if rest else [])
    cost = 0.0
    for piece in even_pieces(pixels, height):
        for panel in panels:
            accumulators = piece * panel
            loads = (piece + 2 * panel) / 2.0
            # The weight comes from the second-level cache, at half the rate of the first.
            cost += max(accumulators, CHAINS, loads) + 0.1 * piece + 0.5 * panel
    return cost


def weight_stays_in_cache(conv: Convolution) -> bool:
    """Whether rows of the image go outermost, instead of panels of output channels."""
    size = _bytes(conv, conv.weight)
    return size is not None and size <= CACHED_WEIGHT


def weight_is_larger(conv: Convolution) -> bool:
    """Whether the weight takes more room than the data: then each core should read its own part
    of it."""
    weight, data = _bytes(conv, conv.weight), _bytes(conv, conv.data)
    return weight is not None and data is not None and weight > data


def _bytes(conv: Convolution, operand: int) -> int | None:
    """Size of what the loops read of an operand, overlapping windows counted anew; None if it is
    only known at run time."""
    nest = conv.nest
    taps = [w.tap for w in conv.windows] if operand == conv.data else []
    size = nest.operands[operand].element_type.width // 8
    for dim in range(nest.rank):
        if nest.stride(operand, dim) != ZERO and dim not in taps:
            static = nest.extents[dim].static
            if static is None:
                return None
            size *= static
    return size


def worth_packing(conv: Convolution, width: int) -> bool:
    """Whether to copy the weight into panels of `width` output channels before using it: always
    if its output channels are apart, else if its rows are much longer than a panel and there are
    enough output positions."""
    if conv.nest.stride(conv.weight, conv.column) != ONE:
        return True
    channels = conv.extent(conv.column).static
    if channels is not None and channels < 4 * width:
        return False
    return positions(conv) >= _PACKING_POSITIONS


def positions(conv: Convolution) -> int:
    """Output positions of all images; a size known at run time counts as large."""
    count = 1
    for dim in range(conv.nest.rank):
        in_weight = conv.nest.stride(conv.weight, dim) != ZERO
        if not conv.nest.reduction[dim] and not in_weight:
            static = conv.nest.extents[dim].static
            count *= 1 << 20 if static is None else static
    return count


def depthwise_pixels(conv: Convolution, target: CPUTarget, channels: int = 1) -> int:
    """Output positions of a row that a convolution by groups of so many channels computes at once:
    accumulators, the weights of a row of taps and a vector of data fill the registers; long rows of
    taps, which are unrolled, get shorter tiles."""
    products = (conv.row_taps or 1) * channels
    free = target.vector_registers - 2 - min(products, target.vector_registers // 3)
    least = CHAINS if channels > 1 and products <= _UNROLLED_PRODUCTS else 4
    return max(1, min(_MAX_PIXELS, free, max(least, 100 // products)))


def winograd_chunk_rows(
    rows: int, columns: int, elements: int, outputs: int, target: CPUTarget, cores: int = 1
) -> int:
    """Of `rows` of `columns` tiles those that go through all steps of a Winograd convolution
    together; `elements` are the transformed data of a tile."""
    least = -(-CHAINS // columns)
    return chunk_in_cache(
        rows, least, columns * elements * 4, elements * outputs * 4, target, cores
    )


def tiles_at_once(elements: int, outputs: int, target: CPUTarget) -> int:
    """How many tiles of an image of any size go through all steps together; `elements` are the
    transformed data of one."""
    room = _room_for_chunk(elements * outputs * 4, target) // (elements * 4)
    return max(_MAX_PIXELS, min(_MOST_TILES, room))


def tile_heights(tiles: int, vectors: int, target: CPUTarget) -> list[int]:
    """Heights of register tiles of some vectors, one of which suits any number of up to `tiles`
    tiles."""
    free = (target.vector_registers - 1) // vectors - 1
    largest = max(1, min(_MAX_PIXELS, free, tiles))
    return list(dict.fromkeys(max(1, round(largest * part)) for part in _PARTS_OF_HEIGHT))


def chunk_in_cache(
    rows: int, least: int, row_bytes: int, weight_bytes: int, target: CPUTarget, cores: int
) -> int:
    """Of `rows`, each of so many bytes of transformed data, those that go through all steps
    together, `least` if possible.

    A small weight is read again for each chunk, whose transformed data should stay in the
    second-level cache.  Where the transformed weight is more than that, it is worth reading, or
    making, it once for all rows, as long as the last-level cache holds their data.
    """
    most = max(least, _room_for_chunk(weight_bytes, target) // row_bytes)
    return rows if most >= rows else chunk_rows(rows, most, least, cores)


def _room_for_chunk(weight_bytes: int, target: CPUTarget) -> int:
    """Bytes of transformed data that go through all steps together."""
    cached, held = _WINOGRAD_CHUNK * target.l2_bytes, _LARGEST_CHUNK * target.l2_bytes
    return int(max(cached, min(held, weight_bytes)))


def winograd_1d_chunk(
    sizes: tuple[int, int],
    elements: int,
    weight: int,
    stride: int,
    target: CPUTarget,
    cores: int = 1,
) -> int:
    """How much of a convolution along one axis goes through all steps together: of `sizes` (output
    positions of the summed axis, tiles) of the first, or where it is one of the tiles.  `elements`
    are the transformed data of a tile at one position, `stride` of which belong to an output."""
    rows, tiles = sizes
    row_bytes = elements * 4 if rows == 1 else tiles * elements * stride * 4
    least = CHAINS if rows == 1 else -(-CHAINS // tiles)
    total = tiles if rows == 1 else rows
    return chunk_in_cache(total, least, row_bytes, weight * 4, target, cores)


def chunk_rows(tiles: int, most: int, least: int, cores: int) -> int:
    """Into how many rows of tiles, `most` if nothing speaks against it, to cut a number of them:
    the busiest of `cores` should have little more to do than the others, else chunks be equal."""
    if cores > 1 and cores * least <= tiles:
        return min(range(most, least - 1, -1), key=partial(_busiest_core, tiles, cores))
    whole = [rows for rows in range(most, 0, -1) if tiles % rows == 0]
    return whole[0] if 2 * whole[0] >= most else most


def _busiest_core(tiles: int, cores: int, rows: int) -> int:
    """Rows of tiles that the core with the most of them has, when chunks have `rows` of them."""
    chunks = -(-tiles // rows)
    return min(tiles, -(-chunks // cores) * rows)


def winograd_panel_width(win: Winograd, tiles: int, target: CPUTarget) -> int:
    """Output channels that are computed together: those of a panel of the weight, or where it has
    none those of the register tile for `tiles` tiles."""
    lanes = target.lanes(32)
    if win.panel is not None:
        return win.panel
    return choose_register_tile(tiles, win.outputs, lanes, target).vectors * lanes


@dataclass(frozen=True)
class WeightBlock:
    """The part of a weight that is transformed at once: so many input channels, in so many rows of
    products."""

    channels: int
    rows: int


def winograd_weight_block(
    rows: int, columns: int, channels: int, width: int, tiles: int, target: CPUTarget
) -> WeightBlock:
    """What of a panel of `width` output channels to transform at once, for `tiles` tiles of `rows`
    times `columns` products.

    The sums of the panel are read and written once for every block.  Few tiles have short sums and
    use what is transformed a few times only: that should stay in the first-level cache.  For many
    tiles the sums are more, and blocks of part of the second-level cache are better.
    """
    part, lanes = 1, target.lanes(32)
    most = _SUMMED_CHANNELS
    if tiles > FEW_TILES:
        part = -(-rows // _WEIGHT_PARTS)
        most = max(most, target.l2_bytes // 4 // (part * columns * width * 4))
    blocks = -(-channels // most)
    block = -(-channels // (blocks * lanes)) * lanes
    return WeightBlock(min(channels, block), part)


def register_groups(
    columns: int, tiles: int, sizes: tuple[int, int], target: CPUTarget
) -> list[range]:
    """The columns of products, of which `tiles` tiles have one each, whose sums fit into registers
    beside the transform of a weight: the fewest groups of about one size; none where there are so
    many tiles that a transformed weight is better stored.

    sizes: products and input channels of a tile.  Its transformed data are read again for every
    vector of output channels, and have to stay in the second-level cache while the weight passes:
    3x3 by 2 over 512 channels, where they take 0.7 of it, is 8 % slower so than directly.
    """
    count, channels = sizes
    data = tiles * count * channels * 4
    if tiles > _MOST_IN_REGISTERS or count > _MOST_PRODUCTS or data > _READ_AGAIN * target.l2_bytes:
        return []
    most = (target.vector_registers - _TRANSFORM_REGISTERS) // tiles
    if most == 0:
        return []
    groups: list[range] = []
    for size in even_pieces(columns, most):
        low = groups[-1].stop if groups else 0
        groups.append(range(low, low + size))
    return groups
