"""Memory that a kernel, the scheduler and the launcher of the emulator share.

The state of a launch is an array of 64-bit words, named here; `Word.x` is the byte offset of one.
Addresses are words too.  A region is memory that a kernel may touch; a shadow record tells who
touched a granule of it last.
"""

from __future__ import annotations

from enum import IntEnum, auto

__all__ = [
    "EXCHANGE_BYTES",
    "REGION_BYTES",
    "SCRATCH_BYTES",
    "SHADOW_BYTES",
    "STATE_BYTES",
    "WARP",
    "Access",
    "Event",
    "Fault",
    "Initialised",
    "Region",
    "RegionKind",
    "Shadow",
    "Word",
    "access_info",
]

WARP = 32
"""Threads of a warp."""


class _Offsets(IntEnum):
    """Byte offsets of 64-bit words that follow each other."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return 8 * count


class Word(_Offsets):
    """The words of a launch's state.

    event: what the running thread reports when it stops (Event | site << 8); index*: the indices of
    an access that is out of bounds; fault*, other_*: the first error; order: thread numbers in the
    order they run; events, handles: of each thread; epoch: counts barriers, over all launches;
    scratch: the bytes that a store is about to write (the last word, SCRATCH_BYTES long).
    """

    event = auto()
    fault = auto()
    fault_site = auto()
    fault_thread = auto()
    fault_block = auto()
    fault_address = auto()
    fault_detail = auto()
    other_thread = auto()
    other_block = auto()
    other_site = auto()
    other_access = auto()
    index0 = auto()
    index1 = auto()
    index2 = auto()
    index3 = auto()
    index4 = auto()
    index5 = auto()
    index6 = auto()
    index7 = auto()
    block_x = auto()
    block_y = auto()
    block_z = auto()
    grid_x = auto()
    grid_y = auto()
    grid_z = auto()
    dim_x = auto()
    dim_y = auto()
    dim_z = auto()
    threads = auto()
    current = auto()
    block = auto()
    checks = auto()
    strict = auto()
    shared = auto()
    shared_bytes = auto()
    dynamic = auto()
    dynamic_bytes = auto()
    local = auto()
    local_bytes = auto()
    exchange = auto()
    order = auto()
    events = auto()
    handles = auto()
    warp_epochs = auto()
    warp_counts = auto()
    fence_epochs = auto()
    async_queues = auto()
    epoch = auto()
    launch_epoch = auto()
    block_epoch = auto()
    regions = auto()
    region_count = auto()
    shared_initialised = auto()
    local_initialised = auto()
    scratch = auto()


SCRATCH_BYTES = 512
STATE_BYTES = 8 * len(Word) + SCRATCH_BYTES

EXCHANGE_BYTES = 64
"""What a thread hands to its warp at a time (two slots, used in turn)."""


class Event(IntEnum):
    """Why a thread stopped: the low byte of the word `event`."""

    RUNNABLE = 0
    BARRIER = 1
    EXCHANGE = 2
    DONE = 3
    WARP_BARRIER = 4
    FAULT = 5


class Fault(IntEnum):
    """What went wrong: the word `fault`."""

    NONE = 0
    OUT_OF_BOUNDS = 1
    UNKNOWN_ADDRESS = 2
    MISALIGNED = 3
    UNINITIALISED = 4
    RACE = 5
    DIVERGENCE = 6
    UNFENCED = 7


class Access(IntEnum):
    """How memory is touched."""

    READ = 0
    WRITE = 1
    ATOMIC = 2


class Initialised(IntEnum):
    """A byte of the map that says what memory holds."""

    NO = 0
    YES = 1
    PENDING = 2  # an asynchronous copy into it was issued and not waited for


class RegionKind(IntEnum):
    """Where a region lies."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2


class Region(_Offsets):
    """A region: its memory, a byte map and a shadow (0 when there is none); granule is the binary
    logarithm of the bytes that share a record of the shadow."""

    base = auto()
    bytes = auto()
    initialised = auto()
    shadow = auto()
    granule = auto()
    kind = auto()
    end = auto()


REGION_BYTES = 64


class Shadow(IntEnum):
    """Of one granule: who wrote it, two threads that read it, who updated it atomically."""

    write = 0
    read = 16
    other_read = 32
    atomic = 48


# A record is {thread number in the grid, epoch, epoch of the warp, site}, 32 bits each.
SHADOW_BYTES = 64


def access_info(site: int, access: Access, align: int, sets: bool = True) -> int:
    """What is known of an access when the kernel is compiled, in one word.

    `site` is its number in the table of sites, `align` the alignment in bytes it relies on; `sets`
    is False for a write whose memory is not set yet (an asynchronous copy).
    """
    return site | int(access) << 32 | (align.bit_length() - 1) << 40 | int(not sets) << 48
