"""Checking of memory accesses: bounds, alignment, initialisation, races.

Two accesses of different threads to the same memory, of which one writes, race unless a barrier
stands between them; blocks are never ordered.  Atomic updates do not race with each other, nor do
stores of the bytes that are there already.
"""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.layout import (
    REGION_BYTES,
    SHADOW_BYTES,
    WARP,
    Access,
    Fault,
    Initialised,
    Region,
    RegionKind,
    Shadow,
    Word,
)
from relax_mlir.lowering.gpu_to_emulator.native import Function, Int, NativeModule

__all__ = ["CHECK_ACCESS", "write_check_access"]

CHECK_ACCESS = "emu_check_access"
# In the site of a record of a write: several threads stored the same bytes.
_SHARED_STORE = 1 << 31
_SITE = 0x7FFFFFFF


def write_check_access(module: NativeModule) -> None:
    """`emu_check_access(state, address, bytes, info, in bounds)` returns 1 when all is well, else 0
    with the fault in the state.  `info` is that of `layout.access_info`.
    """
    _write_fault(module)
    _write_conflict(module)
    _write_find_region(module)
    _write_check_initialised(module)
    _write_check_race(module)
    with module.function(CHECK_ACCESS, 5) as f:
        state, address, count, info, in_bounds = f.arguments
        f.store(address, state + Word.fault_address)
        with f.when(in_bounds.is_(0)):
            f.ret(f.call("emu_fault", state, Fault.OUT_OF_BOUNDS, info, 0))
        region = f.call("emu_find_region", state, address, count)
        with f.when(region.is_(0)):
            f.ret(f.call("emu_fault", state, Fault.UNKNOWN_ADDRESS, info, 0))
        align = f.lift(1) << ((info >> 40) & 0xFF)
        with f.when((address & (align - 1)).is_not(0)):
            f.ret(f.call("emu_fault", state, Fault.MISALIGNED, info, align))
        known, kind = f.load(region + Region.initialised), (info >> 32) & 0xFF
        place = address - f.load(region + Region.base)
        with f.when(known.is_not(0) & kind.is_not(Access.WRITE)):
            held = f.call("emu_check_initialised", known + place, count)
            with f.when(held.is_not(Initialised.YES)):
                f.ret(f.call("emu_fault", state, Fault.UNINITIALISED, info, held))
        with f.when(f.load(region + Region.shadow).is_not(0)):
            fine = f.call("emu_check_race", state, region, place, count, info)
            with f.when(fine.is_(0)):
                f.ret(0)
        with f.when(known.is_not(0) & kind.is_not(Access.READ) & (info >> 48).is_(0)):
            f.call("memset", known + place, Initialised.YES, count)
        f.ret(1)


def _write_fault(module: NativeModule) -> None:
    with module.function("emu_fault", 4) as f:
        state, fault, info, detail = f.arguments
        f.store(fault, state + Word.fault)
        f.store(info & 0xFFFFFFFF, state + Word.fault_site)
        f.store(detail, state + Word.fault_detail)
        f.store(f.load(state + Word.current), state + Word.fault_thread)
        f.store(f.load(state + Word.block), state + Word.fault_block)
        f.ret(0)


def _write_find_region(module: NativeModule) -> None:
    """The region that holds [address, address + bytes), or 0."""
    with module.function("emu_find_region", 3) as f:
        state, address, count = f.arguments
        regions = f.load(state + Word.regions)
        with f.count(0, f.load(state + Word.region_count)) as number:
            region = regions + number * REGION_BYTES
            starts = f.load(region + Region.base) <= address
            with f.when(starts & (address + count <= f.load(region + Region.end))):
                f.ret(region)
        f.ret(0)


def _write_check_initialised(module: NativeModule) -> None:
    """What the first byte that is not initialised holds, Initialised.YES when all are."""
    with module.function("emu_check_initialised", 2) as f:
        known, count = f.arguments
        with f.when(count.is_(4)), f.when(f.load(known, 32).is_(0x01010101)):
            f.ret(Initialised.YES)
        with f.count(0, count) as place:
            held = f.load(known + place, 8)
            with f.when(held.is_not(Initialised.YES)):
                f.ret(held)
        f.ret(Initialised.YES)


def _write_conflict(module: NativeModule) -> None:
    """Whether the access that a record tells of is unordered with one of the running thread."""
    with module.function("emu_conflict", 3) as f:
        state, record, first_epoch = f.arguments
        epoch = f.load(record + 4, 32)
        # Nobody, or somebody of an earlier launch (of an earlier block, for shared memory).
        with f.when(epoch < first_epoch):
            f.ret(0)
        threads, current = f.load(state + Word.threads), f.load(state + Word.current)
        author = f.load(record, 32)
        block, thread = author // threads, author % threads
        with f.when(block.is_not(f.load(state + Word.block))):
            f.ret(1)
        with f.when(thread.is_(current) | epoch.is_not(f.load(state + Word.epoch))):
            f.ret(0)
        with f.when((thread // WARP).is_not(current // WARP)):
            f.ret(1)
        warp_epoch = f.load(f.load(state + Word.warp_epochs) + current // WARP * 8)
        with f.when(f.load(record + 8, 32).is_(warp_epoch & 0xFFFFFFFF)):
            f.ret(1)
        f.ret(0)


# What an access is compared with, and the access that such a record tells of.
_RIVALS = {
    Access.READ: ((Shadow.write, Access.WRITE), (Shadow.atomic, Access.ATOMIC)),
    Access.WRITE: (
        (Shadow.write, Access.WRITE),
        (Shadow.read, Access.READ),
        (Shadow.other_read, Access.READ),
        (Shadow.atomic, Access.ATOMIC),
    ),
    Access.ATOMIC: (
        (Shadow.write, Access.WRITE),
        (Shadow.read, Access.READ),
        (Shadow.other_read, Access.READ),
    ),
}


def _write_check_race(module: NativeModule) -> None:
    """`emu_check_race(state, region, place, bytes, info)`: compare with the shadow and enter."""
    _write_race(module)
    for access, rivals in _RIVALS.items():
        with module.function(f"emu_race_{access.name.lower()}", 6) as f:
            state, shadow, first_epoch, info, address, count = f.arguments
            for slot, other in rivals:
                record = shadow + slot
                with f.when(f.call("emu_conflict", state, record, first_epoch).is_not(0)):
                    _judge(f, access, other, record, (state, info, address, count))
            _enter(f, access, state, shadow, info)
            f.ret(1)
    with module.function("emu_check_race", 5) as f:
        state, region, place, count, info = f.arguments
        first_epoch = f.var(f.load(state + Word.launch_epoch))
        with f.when(f.load(region + Region.kind).is_(RegionKind.SHARED)):
            first_epoch.set(f.load(state + Word.block_epoch))
        granule, shadow = f.load(region + Region.granule), f.load(region + Region.shadow)
        address, kind = f.load(region + Region.base) + place, (info >> 32) & 0xFF
        first, last = place >> granule, (place + count - 1) >> granule
        with f.count(first, last + 1) as number:
            at, fine = shadow + number * SHADOW_BYTES, f.var(1)
            for access in Access:
                with f.when(kind.is_(access)):
                    name = f"emu_race_{access.name.lower()}"
                    fine.set(f.call(name, state, at, first_epoch.get(), info, address, count))
            with f.when(fine.get().is_(0)):
                f.ret(0)
        f.ret(1)


def _write_race(module: NativeModule) -> None:
    with module.function("emu_race", 4) as f:
        state, record, info, other = f.arguments
        author, threads = f.load(record, 32), f.load(state + Word.threads)
        f.store(author % threads, state + Word.other_thread)
        f.store(author // threads, state + Word.other_block)
        f.store(f.load(record + 12, 32) & _SITE, state + Word.other_site)
        f.store(other, state + Word.other_access)
        f.ret(f.call("emu_fault", state, Fault.RACE, info, 0))


def _judge(
    f: Function, access: Access, other: Access, record: Int, known: tuple[Int, Int, Int, Int]
) -> None:
    """Report the race unless both store the same bytes."""
    state, info, address, count = known
    report = f.var(1)
    if access is Access.WRITE and other is Access.WRITE:
        scratch = state + Word.scratch
        differs = f.call("memcmp", address, scratch, count) & 0xFFFFFFFF
        with f.when(differs.is_(0)):
            site = f.load(record + 12, 32)
            f.store(site | _SHARED_STORE, record + 12, 32)
            f.ret(1)
    if access is Access.READ and other is Access.WRITE:
        with f.when((f.load(record + 12, 32) & _SHARED_STORE).is_not(0)):
            report.set(0)
    with f.when(report.get().is_not(0)):
        f.ret(f.call("emu_race", state, record, info, other))


def _enter(f: Function, access: Access, state: Int, shadow: Int, info: Int) -> None:
    """Write the running thread into the shadow."""
    current, threads = f.load(state + Word.current), f.load(state + Word.threads)
    author = f.load(state + Word.block) * threads + current
    slot = f.var(shadow + {Access.READ: Shadow.read, Access.WRITE: Shadow.write,
                           Access.ATOMIC: Shadow.atomic}[access])  # fmt: skip
    epoch = f.load(state + Word.epoch)
    if access is Access.READ:
        # The first reader since the last barrier stays, the second slot takes another one.
        fresh = f.load(shadow + Shadow.read + 4, 32).is_(epoch)
        with f.when(fresh & f.load(shadow + Shadow.read, 32).is_not(author)):
            slot.set(shadow + Shadow.other_read)
    at = slot.get()
    warp_epoch = f.load(f.load(state + Word.warp_epochs) + current // WARP * 8)
    f.store(author, at, 32)
    f.store(epoch, at + 4, 32)
    f.store(warp_epoch, at + 8, 32)
    f.store(info & _SITE, at + 12, 32)
