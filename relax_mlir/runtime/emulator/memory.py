"""Memory of the emulated device: blocks, what of them was written, and who touched it.

A block has a map with a byte for every byte (`Initialised`), made with it, and a shadow with a
record for every granule, made when a checked kernel touches it first.
"""

from __future__ import annotations

import ctypes
import threading
from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from relax_mlir.lowering.gpu_to_emulator.layout import SHADOW_BYTES, Initialised

__all__ = ["MEMORY", "Block", "DeviceMemory"]

_ALIGNMENT = 256


@dataclass
class Block:
    """`size` bytes at `address`, which `storage` holds (None: memory of somebody else)."""

    address: int
    size: int
    storage: np.ndarray | None = None
    initialised: np.ndarray | None = None
    _shadow: np.ndarray | None = None
    _granule: int = 0

    def shadow(self, granule: int) -> np.ndarray:
        """Records for granules of 2**`granule` bytes; zero where nobody was."""
        if self._shadow is None or granule < self._granule:
            count = (self.size >> granule) + 1
            self._shadow = np.zeros(count * SHADOW_BYTES, np.uint8)
            self._granule = granule
        return self._shadow

    @property
    def granule(self) -> int:
        """Binary logarithm of the bytes of a granule of the shadow."""
        return self._granule


@dataclass
class DeviceMemory:
    """All blocks of the emulated device, found by any address inside of them."""

    _blocks: dict[int, Block] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def allocate(self, size: int) -> int:
        """A new block; returns its address.  Raises MemoryError when there is no memory."""
        storage = np.empty(max(size, 1) + _ALIGNMENT, np.uint8)
        address = -(-storage.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        known = np.zeros(max(size, 1), np.uint8)
        with self._lock:
            self._blocks[address] = Block(address, size, storage, known)
            self._starts.insert(bisect_right(self._starts, address), address)
        return address

    def free(self, address: int) -> None:
        """Give up the block at an address; nothing happens when there is none."""
        with self._lock:
            if self._blocks.pop(address, None) is not None:
                self._starts.pop(bisect_right(self._starts, address) - 1)

    def find(self, address: int) -> Block | None:
        """The block that holds an address (or ends at it), None when no block does."""
        with self._lock:
            place = bisect_right(self._starts, address) - 1
            if place < 0:
                return None
            block = self._blocks[self._starts[place]]
        return block if address <= block.address + block.size else None

    def write(self, target: int, source: int, size: int) -> None:
        """Copy `size` bytes of the host to the device."""
        self._mark(target, size)
        ctypes.memmove(target, source, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device, with what is known of the bytes."""
        here, there = self.find(source), self.find(target)
        known = None if here is None else here.initialised
        if here is None or there is None or known is None or there.initialised is None:
            self._mark(target, size)
        else:
            start, end = source - here.address, target - there.address
            there.initialised[end : end + size] = known[start : start + size]
        ctypes.memmove(target, source, size)

    def _mark(self, address: int, size: int) -> None:
        block = self.find(address)
        if block is not None and block.initialised is not None:
            start = address - block.address
            block.initialised[start : start + size] = Initialised.YES

    @property
    def allocated(self) -> int:
        """Bytes of all blocks."""
        with self._lock:
            return sum(block.size for block in self._blocks.values())


MEMORY = DeviceMemory()
"""The memory of the one emulated device of the process."""
