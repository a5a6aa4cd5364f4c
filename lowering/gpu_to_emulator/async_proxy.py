"""The asynchronous proxy: `wgmma` reads shared memory by another way than threads write it by.

What a thread has written is seen there after a fence of its own (`fence.proxy.async`).  Each thread
remembers the epoch (the number of barriers before) of its last fence; a write of a later epoch was
not followed by one.
"""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.layout import SHADOW_BYTES, Fault, Region, Shadow, Word
from relax_mlir.lowering.gpu_to_emulator.native import NativeModule

__all__ = ["CHECK_FENCED", "FENCE", "write_async_proxy"]

FENCE, CHECK_FENCED = "emu_fence_proxy", "emu_check_fenced"


def write_async_proxy(module: NativeModule) -> None:
    """`emu_fence_proxy(state)`, and `emu_check_fenced(state, address, bytes, site)`, which returns
    0 on a fault."""
    with module.function(FENCE, 1) as f:
        (state,) = f.arguments
        fences = f.load(state + Word.fence_epochs) + f.load(state + Word.current) * 8
        f.store(f.load(state + Word.epoch), fences)
        f.ret(1)
    with module.function(CHECK_FENCED, 4) as f:
        state, address, count, site = f.arguments
        region = f.call("emu_find_region", state, address, count)
        with f.when(region.is_(0)):
            f.ret(1)
        place, granule = address - f.load(region + Region.base), f.load(region + Region.granule)
        last = (place + count - 1) >> granule
        with f.count(place >> granule, last + 1) as number:
            record = f.load(region + Region.shadow) + number * SHADOW_BYTES + Shadow.write
            epoch = f.load(record + 4, 32)
            thread = f.load(record, 32) % f.load(state + Word.threads)
            fenced = f.load(f.load(state + Word.fence_epochs) + thread * 8)
            of_block = f.load(state + Word.block_epoch) <= epoch
            with f.when(of_block & (fenced < epoch)):
                f.store(thread, state + Word.other_thread)
                f.store(f.load(record + 12, 32) & 0x7FFFFFFF, state + Word.other_site)
                f.ret(f.call("emu_fault", state, Fault.UNFENCED, site, 0))
        f.ret(1)
