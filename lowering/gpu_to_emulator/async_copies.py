"""Asynchronous copies (cp.async): what a thread has issued is copied when it waits for it.

Copying as late as the program allows shows a missing wait.  A thread's copies are a queue in the
order they were issued; a group is what was issued up to a commit.
"""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.check_access import CHECK_ACCESS
from relax_mlir.lowering.gpu_to_emulator.layout import Access, Initialised, Region, Word
from relax_mlir.lowering.gpu_to_emulator.native import Function, Int, NativeModule

__all__ = ["ASYNC_COMMIT", "ASYNC_COPY", "ASYNC_WAIT", "QUEUE_BYTES", "write_async_copies"]

ASYNC_COPY, ASYNC_COMMIT, ASYNC_WAIT = "emu_async_copy", "emu_async_commit", "emu_async_wait"
QUEUE_BYTES = 24
_HEAD, _TAIL, _GROUP = 0, 8, 16
# A copy: the next one, where to, where from, bytes there, bytes here, its group, its site.
_NEXT, _TO, _FROM, _BYTES, _READ, _OF_GROUP, _INFO, _COPY_BYTES = 0, 8, 16, 24, 32, 40, 48, 56
_POISON = 0xFF


def write_async_copies(module: NativeModule) -> None:
    """`emu_async_copy(state, to, from, bytes, bytes read, info)`, `emu_async_commit(state)`,
    `emu_async_wait(state, groups that may stay)`; the last returns 0 on a fault."""
    _write_copy(module)
    _write_complete(module)
    with module.function(ASYNC_COMMIT, 1) as f:
        queue = _queue(f, f.arguments[0])
        f.store(f.load(queue + _GROUP) + 1, queue + _GROUP)
    with module.function(ASYNC_WAIT, 2) as f:
        state, pending = f.arguments
        queue = _queue(f, state)
        group = f.load(queue + _GROUP)
        with f.when(group < pending):
            f.ret(1)
        limit, node = group - pending, f.var(f.load(queue + _HEAD))
        with f.loop(lambda: _before(f, node.get(), limit)):
            copy = node.get()
            fine = f.call("emu_async_complete", state, copy)
            node.set(f.load(copy + _NEXT))
            f.store(node.get(), queue + _HEAD)
            f.call("free", copy, result=False)
            with f.when(fine.is_(0)):
                f.ret(0)
        f.ret(1)
    with module.function("emu_async_forget", 2) as f:
        state, thread = f.arguments
        queue = f.load(state + Word.async_queues) + thread * QUEUE_BYTES
        with f.loop(lambda: f.load(queue + _HEAD).is_not(0)):
            copy = f.load(queue + _HEAD)
            f.store(f.load(copy + _NEXT), queue + _HEAD)
            f.call("free", copy, result=False)
        f.store(0, queue + _GROUP)


def _queue(f: Function, state: Int) -> Int:
    return f.load(state + Word.async_queues) + f.load(state + Word.current) * QUEUE_BYTES


def _before(f: Function, copy: Int, limit: Int) -> Int:
    """Whether there is a copy and it is of a group below `limit`."""
    holds = f.var(0)
    with f.when(copy.is_not(0)), f.when(f.load(copy + _OF_GROUP) < limit):
        holds.set(1)
    return holds.get().is_not(0)


def _write_copy(module: NativeModule) -> None:
    with module.function(ASYNC_COPY, 6) as f:
        state, to, source, count, read, info = f.arguments
        queue, copy = _queue(f, state), f.call("malloc", _COPY_BYTES)
        for place, value in (
            (_NEXT, f.lift(0)), (_TO, to), (_FROM, source), (_BYTES, count), (_READ, read),
            (_OF_GROUP, f.load(queue + _GROUP)), (_INFO, info),
        ):  # fmt: skip
            f.store(value, copy + place)
        last = f.var(queue + _HEAD)
        with f.when(f.load(queue + _HEAD).is_not(0)):
            last.set(f.load(queue + _TAIL) + _NEXT)
        f.store(copy, last.get())
        f.store(copy, queue + _TAIL)
        f.call("memset", to, _POISON, count)
        with f.when(f.load(state + Word.checks).is_not(0)):
            region = f.call("emu_find_region", state, to, count)
            known = f.load(region + Region.initialised)
            with f.when(known.is_not(0)):
                place = known + (to - f.load(region + Region.base))
                f.call("memset", place, Initialised.PENDING, count)


def _write_complete(module: NativeModule) -> None:
    """Copy, behind the checks of a store; bytes that are not read become zero."""
    with module.function("emu_async_complete", 2) as f:
        state, copy = f.arguments
        to, count, read = f.load(copy + _TO), f.load(copy + _BYTES), f.load(copy + _READ)
        scratch = state + Word.scratch
        f.call("memset", scratch, 0, count)
        f.call("memcpy", scratch, f.load(copy + _FROM), read)
        with f.when(f.load(state + Word.checks).is_not(0)):
            info = (f.load(copy + _INFO) & ~(0xFF << 32 | 1 << 48)) | int(Access.WRITE) << 32
            fine = f.call(CHECK_ACCESS, state, to, count, info, 1)
            with f.when(fine.is_(0)):
                f.ret(0)
        f.call("memcpy", to, scratch, count)
        f.ret(1)
