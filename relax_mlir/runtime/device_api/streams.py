"""Streams and events of a GPU."""

from __future__ import annotations

from typing import Any

from relax_mlir.runtime.device_api.backend import backend_of

__all__ = ["Event", "Stream"]


class Stream:
    """Work of one stream runs in order; `with stream:` launches kernels on it.

    On the emulated GPU everything has run when its launch returns.
    """

    def __init__(self, device: Any) -> None:
        self.device = device
        self._backend = backend_of(device)
        self.handle = self._backend.create_stream()
        self._outer: list[int] = []

    def synchronize(self) -> None:
        """Wait until all of it is done."""
        self._backend.synchronize(self.handle)

    def __enter__(self) -> Stream:
        self._outer.append(self._backend.stream)
        self._backend.stream = self.handle
        return self

    def __exit__(self, *exc: object) -> None:
        self._backend.stream = self._outer.pop()

    def __del__(self) -> None:
        handle = getattr(self, "handle", 0)
        if handle:
            self._backend.destroy_stream(handle)


class Event:
    """A mark in a stream, to time or to wait for."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._backend = backend_of(device)
        self._handle = self._backend.create_event()

    def record(self, stream: Stream | None = None) -> Event:
        """Set the mark behind what was issued to a stream (the current one by default)."""
        handle = self._backend.stream if stream is None else stream.handle
        self._backend.record_event(self._handle, handle)
        return self

    def synchronize(self) -> None:
        """Wait until the device has come to the mark."""
        self._backend.wait_event(self._handle)

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this mark to another one; both must have been recorded."""
        end.synchronize()
        return self._backend.elapsed(self._handle, end._handle)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", 0)
        if handle:
            self._backend.destroy_event(handle)
