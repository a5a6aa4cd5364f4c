"""The emulated GPU: memory of the process, kernels run by the emulator, at once."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.ir.state import ModuleState
from relax_mlir.mlir import ir
from relax_mlir.runtime.device_api.backend import EMULATED, Backend, DeviceProperties
from relax_mlir.runtime.device_api.managed import delete_managed
from relax_mlir.runtime.device_api.table import (
    ALLOC_TYPE,
    COPY_TYPE,
    DELETE_TYPE,
    FREE_TYPE,
    LAUNCH_TYPE,
)
from relax_mlir.runtime.emulator.kernel import EmulatedKernel, compile_kernels
from relax_mlir.runtime.emulator.memory import MEMORY
from relax_mlir.runtime.emulator.options import current_options

if TYPE_CHECKING:
    from relax_mlir.runtime.device_code import DeviceCode

__all__ = ["EmulatedBackend"]

_TOTAL_MEMORY = 1 << 34
_KIND_BYTES = {"ptr": 8, "i64": 8, "f64": 8, "i32": 4, "f32": 4, "i16": 2, "f16": 2, "bf16": 2}


@dataclass
class _LazyKernel:
    """A kernel that is compiled when it is launched first, once with checks and once without."""

    name: str
    state: ModuleState
    compiled: dict[bool, EmulatedKernel] = field(default_factory=dict)

    def get(self, checks: bool) -> EmulatedKernel:
        if checks not in self.compiled:
            self.compiled[checks] = compile_kernels(self.state, checks)[self.name]
        return self.compiled[checks]


@dataclass(frozen=True)
class _Recorded:
    """A launch of a captured graph, with copies of its arguments' values."""

    kernel: _LazyKernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    values: tuple[bytes, ...]


class EmulatedBackend(Backend):
    """The device "cuda-emu"."""

    def __init__(self, index: int) -> None:
        if index != 0:
            raise RuntimeError(f"there is one emulated GPU, cuda-emu:0; got number {index}")
        super().__init__(EMULATED, index)
        self._kernels: list[_LazyKernel] = []
        self._events: dict[int, float] = {}
        self._recording: list[_Recorded] | None = None
        self._withheld: list[int] = []
        self.table.set("launch", LAUNCH_TYPE(self._launch))
        self.table.set("alloc", ALLOC_TYPE(self._allocate_or_raise))
        self.table.set("free", FREE_TYPE(self.free))
        self.table.set("delete", DELETE_TYPE(lambda managed: delete_managed(managed, self.free)))
        self.table.set("to_host", COPY_TYPE(self._copy_to_host))
        self.table.set("to_device", COPY_TYPE(self._copy_to_device))
        self.table.set("copy", COPY_TYPE(self._copy_within))

    # -- memory -------------------------------------------------------------------------------
    def allocate(self, size: int) -> int:
        return MEMORY.allocate(size)

    def _allocate_or_raise(self, size: int) -> int:
        try:
            return self.allocate(size)
        except (MemoryError, ValueError) as error:
            self.keep_error(MemoryError(f"cuda-emu: cannot allocate {size} bytes: {error}"))
            return 0

    def free(self, address: int) -> None:
        if self._recording is not None:
            self._withheld.append(address)  # what was recorded uses it
        else:
            MEMORY.free(address)

    def to_device(self, target: int, source: int, size: int) -> None:
        MEMORY.write(target, source, size)

    def to_host(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def copy(self, target: int, source: int, size: int) -> None:
        MEMORY.copy(target, source, size)

    def _copy_to_host(self, target: int, source: int, size: int) -> int:
        self.to_host(target, source, size)
        return 0

    def _copy_to_device(self, target: int, source: int, size: int) -> int:
        self.to_device(target, source, size)
        return 0

    def _copy_within(self, target: int, source: int, size: int) -> int:
        self.copy(target, source, size)
        return 0

    def available_memory(self) -> int:
        return max(0, _TOTAL_MEMORY - MEMORY.allocated)

    # -- kernels ------------------------------------------------------------------------------
    def load(self, code: DeviceCode) -> Sequence[int]:
        handles: list[int] = []
        for name in code.names:
            self._kernels.append(_LazyKernel(name, _only(code.state, name)))
            handles.append(len(self._kernels))
        return handles

    def _launch(self, handle: int, *numbers: int) -> int:
        gx, gy, gz, bx, by, bz, shared_bytes, _, args = numbers
        try:
            kernel = self._kernels[handle - 1]
            grid, block = (gx, gy, gz), (bx, by, bz)
            if self._recording is not None:
                values = _values(kernel.get(current_options().checks).kinds, args or 0)
                self._recording.append(_Recorded(kernel, grid, block, shared_bytes, values))
                return 0
            chosen = current_options()
            kernel.get(chosen.checks).launch_packed(grid, block, shared_bytes, args or 0, chosen)
        except Exception as error:
            self.keep_error(error)
            return -1
        return 0

    def properties(self) -> DeviceProperties:
        return DeviceProperties(
            name="emulated GPU (relax_mlir)", compute_version="8.0", multi_processor_count=1,
            warp_size=32, max_threads_per_block=1024, max_shared_memory_per_block=49152,
            max_registers_per_block=65536, max_thread_dimensions=(1024, 1024, 64),
            max_clock_rate=1_000_000, l2_cache_size_bytes=1 << 22,
            total_global_memory=_TOTAL_MEMORY,
        )  # fmt: skip

    # -- streams and events -------------------------------------------------------------------
    def synchronize(self, stream: int = 0) -> None:
        """Nothing to wait for: kernels have run when their launch returns."""

    def create_stream(self) -> int:
        return 1

    def destroy_stream(self, stream: int) -> None:
        pass

    def create_event(self) -> int:
        event = max(self._events, default=0) + 1
        self._events[event] = 0.0
        return event

    def record_event(self, event: int, stream: int) -> None:
        self._events[event] = time.perf_counter()

    def wait_event(self, event: int) -> None:
        pass

    def elapsed(self, start: int, end: int) -> float:
        return (self._events[end] - self._events[start]) * 1e3

    def destroy_event(self, event: int) -> None:
        self._events.pop(event, None)

    # -- graphs -------------------------------------------------------------------------------
    def begin_capture(self) -> None:
        self._recording, self._withheld = [], []

    def end_capture(self) -> Any:
        recorded, self._recording = self._recording, None
        withheld, self._withheld = self._withheld, []
        return None if not recorded else (recorded, withheld)

    def replay(self, graph: Any) -> None:
        chosen = current_options()
        for launch in graph[0]:
            cells = [ctypes.create_string_buffer(value, len(value)) for value in launch.values]
            pointers = [ctypes.addressof(cell) for cell in cells]
            args = (ctypes.c_void_p * max(1, len(cells)))(*pointers)
            launch.kernel.get(chosen.checks).launch_packed(
                launch.grid, launch.block, launch.shared_bytes, ctypes.addressof(args), chosen
            )

    def destroy_graph(self, graph: Any) -> None:
        for address in graph[1]:
            MEMORY.free(address)


def _values(kinds: Sequence[str], args: int) -> tuple[bytes, ...]:
    """Copies of packed arguments."""
    pointers = (ctypes.c_void_p * max(1, len(kinds))).from_address(args)
    return tuple(
        ctypes.string_at(pointers[number] or 0, _KIND_BYTES.get(kind, 1))
        for number, kind in enumerate(kinds)
    )


def _only(state: ModuleState, name: str) -> ModuleState:
    """A module with one kernel of a module, and with what is no kernel beside it."""
    with mlir.scope():
        made = ModuleState(ir.Module.create(), {}, state.target)
        for op in state.module.body.operations:
            if op.operation.name != "gpu.module":
                made.module.body.append(op.operation.clone())
                continue
            inner = list(op.operation.regions[0].blocks[0].operations)
            names = [_symbol(entry.operation) for entry in inner]
            if name not in names:
                continue
            copy = op.operation.clone()
            for entry in list(copy.regions[0].blocks[0].operations):
                other = entry.operation.name == "gpu.func" and _symbol(entry.operation) != name
                if other:
                    entry.operation.erase()
            made.module.body.append(copy)
    return made


def _symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else ""
