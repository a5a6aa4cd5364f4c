"""The scheduler of the emulator: the blocks of a launch one after another, the threads of a block
as coroutines.

A pass resumes every thread that can run, in the order of the launch, until it stops at a barrier,
at an exchange with its warp or at its end.  A warp goes on when all of its threads have stopped at
the same exchange, a block when all of its threads have stopped at the same barrier.  When nobody
can go on, threads wait for each other for ever: a divergent barrier.
"""

from __future__ import annotations

from relax_mlir.lowering.gpu_to_emulator.layout import WARP, Event, Fault, Word
from relax_mlir.lowering.gpu_to_emulator.native import Function, Int, NativeModule, Variable

__all__ = ["RUN_BLOCKS", "write_run_blocks"]

RUN_BLOCKS = "emu_run_blocks"
_POISON = 0xFF
_SITE_SHIFT = 8
_KIND = 0xFF


def write_run_blocks(module: NativeModule) -> None:
    """`emu_run_blocks(state, start, args, first, end)`: run the blocks [first, end) of a grid.

    `start(args, state, thread)` makes the coroutine of a thread.  Returns with the word `fault` of
    the state set when something went wrong.
    """
    _write_divergence(module)
    _write_release_warps(module)
    _write_release_block(module)
    _write_run_block(module)
    with module.function(RUN_BLOCKS, 5) as f:
        state, start, args, first, end = f.arguments
        with f.count(first, end) as block:
            f.call("emu_run_block", state, start, args, block)
            with f.when(f.load(state + Word.fault).is_not(0)):
                f.ret()


def _event(f: Function, state: Int, thread: Int) -> Int:
    return f.load(f.load(state + Word.events) + thread * 4, 32)


def _set_event(f: Function, state: Int, thread: Int, event: Int | int) -> None:
    f.store(event, f.load(state + Word.events) + thread * 4, 32)


def _write_run_block(module: NativeModule) -> None:
    _write_start_block(module)
    _write_run_together(module)
    _write_run_apart(module)
    with module.function("emu_run_block", 4) as f:
        state, start, args, block = f.arguments
        f.call("emu_start_block", state, start, args, block)
        going = f.var(1)
        with f.loop(lambda: going.get().is_not(0)):
            going.set(f.call("emu_run_together", state))
            with f.when(going.get().is_not(0)):
                going.set(f.call("emu_run_apart", state))
        threads = f.load(state + Word.threads)
        with f.count(0, threads) as thread:
            unfinished = (_event(f, state, thread) & _KIND).is_not(Event.DONE)
            with f.when(unfinished & f.load(state + Word.fault).is_(Fault.NONE)):
                f.call("emu_divergence", state, 0, threads)
        f.call("emu_leave_block", state)
    _write_leave_block(module)


def _write_start_block(module: NativeModule) -> None:
    """Enter a block and make the coroutines of its threads."""
    with module.function("emu_start_block", 4) as f:
        state, start, args, block = f.arguments
        _enter_block(f, state, block)
        handles = f.load(state + Word.handles)
        with f.count(0, f.load(state + Word.threads)) as thread:
            f.store(f.call_pointer(start, args, state, thread), handles + thread * 8)


def _write_run_together(module: NativeModule) -> None:
    """Run all threads from stop to stop as long as they all stop at the same place; 0 when they
    have all ended or one failed, 1 when they have stopped at different places."""
    with module.function("emu_run_together", 1) as f:
        (state,) = f.arguments
        threads, order = f.load(state + Word.threads), f.load(state + Word.order)
        handles, events = f.load(state + Word.handles), f.load(state + Word.events)
        warps = (threads + (WARP - 1)) // WARP
        with f.loop(lambda: f.lift(1).is_(1)):
            common, same = f.var(0), f.var(1)
            with f.count(0, threads) as place:
                thread = f.load(order + place * 8)
                f.store(thread, state + Word.current)
                f.resume(f.load(handles + thread * 8))
                event = f.load(state + Word.event)
                f.store(event, events + thread * 4, 32)
                with f.when(place.is_(0)):
                    common.set(event)
                with f.when(event.is_not(common.get())):
                    same.set(0)
                    with f.when((event & _KIND).is_(Event.FAULT)):
                        f.ret(_mark_waiting(f, state, order, place, threads))
            kind = common.get() & _KIND
            with f.when(same.get().is_(0)):
                f.ret(1)
            with f.when(kind.is_(Event.BARRIER)):
                f.store(f.load(state + Word.epoch) + 1, state + Word.epoch)
            for waiting, counters in (
                (Event.EXCHANGE, Word.warp_counts),
                (Event.WARP_BARRIER, Word.warp_epochs),
            ):
                with f.when(kind.is_(waiting)):
                    first = f.load(state + counters)
                    with f.count(0, warps) as warp:
                        count = first + warp * 8
                        f.store(f.load(count) + 1, count)
            with f.when(kind.is_(Event.DONE) | kind.is_(Event.FAULT)):
                f.ret(0)


def _mark_waiting(f: Function, state: Int, order: Int, place: Int, threads: Int) -> Int:
    """After a fault: the threads whose turn did not come are waiting still."""
    with f.count(place + 1, threads) as later:
        _set_event(f, state, f.load(order + later * 8), Event.RUNNABLE)
    return f.lift(0)


def _write_run_apart(module: NativeModule) -> None:
    """Run the threads that may go on until all of them may (1) or nobody may (0)."""
    with module.function("emu_run_apart", 1) as f:
        (state,) = f.arguments
        threads, order = f.load(state + Word.threads), f.load(state + Word.order)
        handles = f.load(state + Word.handles)
        with f.loop(lambda: f.lift(1).is_(1)):
            f.call("emu_release_warps", state)
            with f.when(f.call("emu_release_block", state).is_(1)):
                ended = f.var(0)
                with f.count(0, threads) as thread:
                    kind = _event(f, state, thread) & _KIND
                    with f.when(kind.is_(Event.DONE)):
                        ended.set(1)
                with f.when(ended.get().is_(0)):
                    f.ret(1)
            progress = f.var(0)
            with f.count(0, threads) as place:
                thread = f.load(order + place * 8)
                with f.when(_event(f, state, thread).is_(Event.RUNNABLE)):
                    progress.set(1)
                    f.store(thread, state + Word.current)
                    f.resume(f.load(handles + thread * 8))
                    event = f.load(state + Word.event)
                    _set_event(f, state, thread, event)
                    with f.when((event & _KIND).is_(Event.FAULT)):
                        f.ret(0)
            with f.when(progress.get().is_(0)):
                f.ret(0)


def _enter_block(f: Function, state: Int, block: Int) -> None:
    """Block numbers, fresh memory, a new epoch."""
    grid_x, grid_y = f.load(state + Word.grid_x), f.load(state + Word.grid_y)
    f.store(block, state + Word.block)
    f.store(block % grid_x, state + Word.block_x)
    rows = block // grid_x
    f.store(rows % grid_y, state + Word.block_y)
    f.store(rows // grid_y, state + Word.block_z)
    epoch = f.load(state + Word.epoch) + 1
    f.store(epoch, state + Word.epoch)
    f.store(epoch, state + Word.block_epoch)
    for memory, size, known in (
        (Word.shared, Word.shared_bytes, Word.shared_initialised),
        (Word.local, Word.local_bytes, Word.local_initialised),
    ):
        count = f.load(state + size)
        f.call("memset", f.load(state + memory), _POISON, count)
        with f.when(f.load(state + known).is_not(0)):
            f.call("memset", f.load(state + known), 0, count)


def _write_leave_block(module: NativeModule) -> None:
    """Free what the threads of a block have left: coroutines that did not end."""
    with module.function("emu_leave_block", 1) as f:
        (state,) = f.arguments
        handles = f.load(state + Word.handles)
        with f.count(0, f.load(state + Word.threads)) as thread:
            f.call("emu_async_forget", state, thread)
            kind = _event(f, state, thread) & _KIND
            with f.when(kind.is_not(Event.DONE) & kind.is_not(Event.FAULT)):
                f.destroy(f.load(handles + thread * 8))


def _write_release_warps(module: NativeModule) -> None:
    """Let every warp go on whose threads have all stopped at one exchange; 1 if there is one."""
    with module.function("emu_release_warps", 1) as f:
        (state,) = f.arguments
        threads, any_released = f.load(state + Word.threads), f.var(0)
        with f.count(0, (threads + (WARP - 1)) // WARP) as warp:
            first = warp * WARP
            end = f.var(first + WARP)
            with f.when(threads < end.get()):
                end.set(threads)
            event = _common_event(f, state, first, end.get())
            kind = event.get() & _KIND
            for waiting, counter in (
                (Event.EXCHANGE, Word.warp_counts),
                (Event.WARP_BARRIER, Word.warp_epochs),
            ):
                with f.when(kind.is_(waiting)):
                    _release(f, state, first, end.get())
                    count = f.load(state + counter) + warp * 8
                    f.store(f.load(count) + 1, count)
                    any_released.set(1)
        f.ret(any_released.get())


def _common_event(f: Function, state: Int, first: Int, end: Int) -> Variable:
    """The event that all threads of a range have in common; 0 when they differ.

    Threads that have ended do not count, unless the launch is strict.
    """
    common, same = f.var(0), f.var(1)
    strict = f.load(state + Word.strict)
    with f.count(first, end) as thread:
        event = _event(f, state, thread)
        ended = (event & _KIND).is_(Event.DONE)
        ignored = f.var(0)
        with f.when(ended & strict.is_(0)):
            ignored.set(1)
        with f.when(ignored.get().is_(0)):
            with f.when(common.get().is_(0)):
                common.set(event)
            with f.when(common.get().is_not(event)):
                same.set(0)
            with f.when(event.is_(0)):
                same.set(0)
    with f.when(same.get().is_(0)):
        common.set(0)
    return common


def _release(f: Function, state: Int, first: Int | int, end: Int) -> None:
    with f.count(first, end) as thread:
        ended = (_event(f, state, thread) & _KIND).is_(Event.DONE)
        with f.when(ended.is_(0)):
            _set_event(f, state, thread, Event.RUNNABLE)


def _write_release_block(module: NativeModule) -> None:
    """Let the block go on if all of its threads have stopped at the same barrier; 1 if so."""
    with module.function("emu_release_block", 1) as f:
        (state,) = f.arguments
        threads = f.load(state + Word.threads)
        event = _common_event(f, state, f.lift(0), threads)
        with f.when((event.get() & _KIND).is_(Event.BARRIER)):
            _release(f, state, 0, threads)
            f.store(f.load(state + Word.epoch) + 1, state + Word.epoch)
            f.ret(1)
        f.ret(0)


def _write_divergence(module: NativeModule) -> None:
    """Report the first thread of a range that waits, and the first that does something else."""
    with module.function("emu_divergence", 3) as f:
        state, first, end = f.arguments
        waiting, found = f.var(0), f.var(0)
        with f.count(first, end) as thread:
            event = _event(f, state, thread)
            with f.when((event & _KIND).is_not(Event.DONE) & found.get().is_(0)):
                found.set(1)
                waiting.set(thread)
        event = _event(f, state, waiting.get())
        kind, scope = event & _KIND, f.var(first)
        # Who stops at an exchange waits for its own warp only.
        stop = f.var(end)
        with f.when(kind.is_(Event.EXCHANGE) | kind.is_(Event.WARP_BARRIER)):
            scope.set(waiting.get() // WARP * WARP)
            with f.when(scope.get() + WARP < end):
                stop.set(scope.get() + WARP)
        other, differs = f.var(waiting.get()), f.var(0)
        with f.count(scope.get(), stop.get()) as thread:
            differing = _event(f, state, thread).is_not(event)
            with f.when(differing & differs.get().is_(0)):
                differs.set(1)
                other.set(thread)
        f.store(Fault.DIVERGENCE, state + Word.fault)
        f.store(waiting.get(), state + Word.fault_thread)
        f.store(f.load(state + Word.block), state + Word.fault_block)
        f.store(event >> _SITE_SHIFT, state + Word.fault_site)
        f.store(kind, state + Word.fault_detail)
        other_event = _event(f, state, other.get())
        f.store(other.get(), state + Word.other_thread)
        f.store(other_event >> _SITE_SHIFT, state + Word.other_site)
        f.store(other_event & _KIND, state + Word.other_access)
