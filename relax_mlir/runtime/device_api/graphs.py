"""Captured graphs: the launches of one call, recorded once and run again with one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.runtime.device_api.backend import Backend, backend_of, is_gpu

__all__ = ["CapturedGraph", "capture_graph"]


class CapturedGraph:
    """What `capture_graph` has recorded; calling it runs the launches again on the same memory.

    Write new inputs into the tensors that were given (`copyfrom`); `result` is what the call
    returned, overwritten by every run.
    """

    def __init__(self, backend: Backend, graph: Any, result: Any, kept: tuple[Any, ...]) -> None:
        self._backend = backend
        self._graph = graph
        self.result = result
        self._kept = kept

    def __call__(self) -> Any:
        """Run the launches; returns `result`."""
        self._backend.replay(self._graph)
        return self.result

    launch = __call__

    def __del__(self) -> None:
        graph = getattr(self, "_graph", None)
        if graph is not None:
            self._backend.destroy_graph(graph)


def capture_graph(function: Callable[..., Any], *args: Any) -> CapturedGraph:
    """Record the launches of `function(*args)` on the device of its tensors.

    The call must do the same whatever the tensors hold: no sizes that depend on values, no copies
    to the host.  It is made once before, so that kernels are loaded.  Raises Error when no argument
    is on a GPU or nothing was launched.
    """
    device = next((a.device for a in args if is_gpu(getattr(a, "device", None))), None)
    if device is None:
        raise Error("capture_graph: no argument is a tensor on a GPU")
    backend = backend_of(device)
    function(*args)
    backend.begin_capture()
    try:
        result = function(*args)
    finally:
        graph = backend.end_capture()
    if graph is None:
        raise Error("capture_graph: the call launched no kernel")
    return CapturedGraph(backend, graph, result, args)
