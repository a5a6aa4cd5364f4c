"""What the emulator found, in words."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import Site
from relax_mlir.lowering.gpu_to_emulator.layout import Access, Event, Fault, Initialised, Word

__all__ = ["EmulatorError", "MemoryAccess", "Report", "read_report"]


@dataclass(frozen=True)
class MemoryAccess:
    """One thread at one place of a kernel: thread and block as (x, y, z), the source line."""

    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    file: str
    line: int
    what: str

    def __str__(self) -> str:
        thread = ", ".join(map(str, self.thread))
        block = ", ".join(map(str, self.block))
        return f"thread ({thread}) of block ({block}) {self.what}{self.place()}"

    def place(self) -> str:
        """`at file:line`, and the text of that line where it can be read."""
        if not self.file or self.file == "-":
            return ""
        text = linecache.getline(self.file, self.line).strip()
        shown = f"\n      {text}" if text else ""
        return f"\n    at {self.file}:{self.line}{shown}"


class EmulatorError(Error, RuntimeError):
    """A kernel did what no kernel may do.

    `kind` is one of "out of bounds", "unknown address", "misaligned", "uninitialised", "race",
    "divergence", "no fence"; `kernel` and `buffer` are names; `accesses` the one or two threads.
    """

    def __init__(
        self, kind: str, kernel: str, buffer: str, accesses: Sequence[MemoryAccess], message: str,
        hint: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message, hint=hint)
        self.kind = kind
        self.kernel = kernel
        self.buffer = buffer
        self.accesses = tuple(accesses)


@dataclass(frozen=True)
class Report:
    """What a launch left in its state, and what is needed to explain it."""

    kernel: str
    state: np.ndarray
    sites: Sequence[Site]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    def word(self, word: Word) -> int:
        return int(self.state[int(word) // 8])

    def site(self, word: Word) -> Site | None:
        number = self.word(word)
        return self.sites[number] if number < len(self.sites) else None

    def access(self, thread: Word, block: Word, site: Site | None, what: str) -> MemoryAccess:
        file, line = (site.file, site.line) if site is not None else ("", 0)
        return MemoryAccess(
            _coordinates(self.word(thread), self.block),
            _coordinates(self.word(block), self.grid), file, line, what,
        )  # fmt: skip


def _coordinates(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


_VERBS = {Access.READ: "reads", Access.WRITE: "writes", Access.ATOMIC: "updates"}


def _verb(site: Site) -> str:
    writes = ("store" in site.op, "atomic" in site.op or "cmpxchg" in site.op)
    return {(True, False): "writes", (False, True): "updates"}.get(writes, "reads")


def read_report(report: Report) -> EmulatorError:
    """The error that a state with a fault tells of."""
    return _READERS[Fault(report.word(Word.fault))](report)


def _buffer(site: Site) -> str:
    where = {"shared": " in shared memory", "local": " in local memory"}.get(site.space, "")
    return f"'{site.buffer}'{where}"


def _one(report: Report, kind: str, what: str, hint: str | None = None) -> EmulatorError:
    """An error about one access."""
    site = report.site(Word.fault_site)
    assert site is not None
    access = report.access(Word.fault_thread, Word.fault_block, site, f"{_verb(site)} {what}")
    message = f"kernel {report.kernel}: {kind}: {access}"
    return EmulatorError(kind, report.kernel, site.buffer, [access], message, hint)


def _out_of_bounds(report: Report) -> EmulatorError:
    site = report.site(Word.fault_site)
    assert site is not None
    first = int(Word.index0) // 8
    indices = [int(report.state[first + axis]) for axis in range(len(site.shape))]
    given = _tuple(indices)
    shape = _tuple([None if size == -1 else size for size in site.shape])
    return _one(report, "out of bounds", f"{_buffer(site)} at index {given}, its shape is {shape}")


def _tuple(numbers: Sequence[int | None]) -> str:
    words = ["?" if number is None else str(number) for number in numbers]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def _unknown_address(report: Report) -> EmulatorError:
    site = report.site(Word.fault_site)
    assert site is not None
    address = report.word(Word.fault_address)
    what = f"{_buffer(site)} at address {address:#x}, which no argument of the kernel holds"
    hint = "the buffer is larger in the kernel than the tensor that was given, or on another device"
    return _one(report, "unknown address", what, hint)


def _misaligned(report: Report) -> EmulatorError:
    site = report.site(Word.fault_site)
    assert site is not None
    address, align = report.word(Word.fault_address), report.word(Word.fault_detail)
    at = f"at address {address:#x}, which is no multiple of {align}"
    what = f"{_buffer(site)} {align} bytes at a time {at}"
    return _one(report, "misaligned", what)


def _uninitialised(report: Report) -> EmulatorError:
    site = report.site(Word.fault_site)
    assert site is not None
    if report.word(Word.fault_detail) == Initialised.PENDING:
        what = f"{_buffer(site)} while an asynchronous copy into it is under way"
        return _one(report, "uninitialised", what, "wait for the copy, then for the other threads")
    hint = "a barrier is missing between writing and reading it" if site.space == "shared" else None
    what = f"{_buffer(site)}, of which nobody has written this element"
    return _one(report, "uninitialised", what, hint)


def _race(report: Report) -> EmulatorError:
    site, other_site = report.site(Word.fault_site), report.site(Word.other_site)
    assert site is not None and other_site is not None
    earlier = _VERBS[Access(report.word(Word.other_access))]
    accesses = [
        report.access(
            Word.other_thread, Word.other_block, other_site, f"{earlier} {_buffer(other_site)}"
        ),
        report.access(Word.fault_thread, Word.fault_block, site, f"{_verb(site)} the same element"),
    ]
    same_block = accesses[0].block == accesses[1].block
    order = "no barrier between them" if same_block else "blocks run in any order"
    message = f"kernel {report.kernel}: race: {order}\n  {accesses[0]}\n  {accesses[1]}"
    hint = "put a barrier between the two" if same_block else "give each block elements of its own"
    return EmulatorError("race", report.kernel, site.buffer, accesses, message, hint)


def _unfenced(report: Report) -> EmulatorError:
    site, other_site = report.site(Word.fault_site), report.site(Word.other_site)
    assert site is not None
    wrote = report.access(Word.other_thread, Word.fault_block, other_site, "writes it")
    read = report.access(Word.fault_thread, Word.fault_block, site, f"reads {_buffer(site)}")
    message = (
        f"kernel {report.kernel}: no fence: wgmma reads shared memory by the asynchronous proxy, "
        f"where a write that no fence follows is not seen\n  {wrote}\n  {read}"
    )
    hint = "fence.proxy.async after the write, in the thread that writes, before the barrier"
    return EmulatorError("no fence", report.kernel, site.buffer, [wrote, read], message, hint)


_WAITS = {
    Event.BARRIER: "waits at a barrier",
    Event.EXCHANGE: "waits for its warp",
    Event.WARP_BARRIER: "waits at a barrier of its warp",
    Event.DONE: "has ended",
}


def _divergence(report: Report) -> EmulatorError:
    site = report.site(Word.fault_site)
    kind = Event(report.word(Word.fault_detail))
    first = report.access(Word.fault_thread, Word.fault_block, site, _WAITS[kind])
    accesses = [first]
    other = Event(report.word(Word.other_access))
    if report.word(Word.other_thread) != report.word(Word.fault_thread):
        other_site = report.site(Word.other_site) if other is not Event.DONE else None
        accesses.append(
            report.access(Word.other_thread, Word.fault_block, other_site, _WAITS[other])
        )
    message = (
        f"kernel {report.kernel}: divergence: threads wait for each other for ever\n  "
        + "\n  ".join(map(str, accesses))
    )
    hint = "all threads of a block must reach the same barrier"
    return EmulatorError("divergence", report.kernel, "", accesses, message, hint)


_READERS = {
    Fault.OUT_OF_BOUNDS: _out_of_bounds,
    Fault.UNKNOWN_ADDRESS: _unknown_address,
    Fault.MISALIGNED: _misaligned,
    Fault.UNINITIALISED: _uninitialised,
    Fault.RACE: _race,
    Fault.DIVERGENCE: _divergence,
    Fault.UNFENCED: _unfenced,
}
