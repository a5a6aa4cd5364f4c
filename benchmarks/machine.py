"""What the machine can do at best, measured: multiply-adds a second, and bytes copied a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.testing.kernels import compile_kernel

_CHAINS = 16
_STEPS = 200_000
# Bytes read and written by a copy: within the caches of one core, in the shared one, beyond.
_FOOTPRINTS = (1 << 19, 1 << 22, 1 << 24, 1 << 27)


@dataclass(frozen=True)
class Machine:
    """Floating-point operations and copied bytes (read and written) a second on one core.

    `copies` are bandwidths by how many bytes a copy reads and writes, ascending.  `threads` cores
    do at most so many times as much.
    """

    fma_peak: float
    copies: tuple[tuple[int, float], ...]
    threads: int = 1

    def __str__(self) -> str:
        copied = ", ".join(f"{speed / 1e9:.0f} ({_size(of)})" for of, speed in self.copies)
        return (
            f"one core: {self.fma_peak / 1e9:.0f} GFLOP/s of float32 multiply-adds, "
            f"GB/s copied: {copied}"
        )

    def least_seconds(self, flops: float, moved: float) -> float:
        """What multiply-adds or a copy take, whichever is longer, with all threads busy."""
        copies = [speed for of, speed in self.copies if of >= moved] or [self.copies[-1][1]]
        return max(flops / self.fma_peak, moved / copies[0]) / self.threads


def _size(bytes_: int) -> str:
    return f"{bytes_ >> 20} MiB" if bytes_ >> 20 else f"{bytes_ >> 10} KiB"


def measure(threads: int = 1) -> Machine:
    copies = tuple((footprint, _copy_bandwidth(footprint)) for footprint in _FOOTPRINTS)
    return Machine(_fma_peak(), copies, threads)


def _best(call: Callable[[], object], rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times)


def _fma_peak() -> float:
    """Independent chains of multiply-adds on registers."""
    lanes = host_cpu().lanes(32)
    vector, buffer = f"vector<{lanes}xf32>", f"memref<{_CHAINS + 2}x{lanes}xf32>"
    rows = range(_CHAINS + 2)
    loads = "\n".join(
        f"%i{i} = arith.constant {i} : index\n"
        f"%v{i} = vector.load %data[%i{i}, %i0] : {buffer}, {vector}"
        for i in rows
    )
    names = [f"%x{i}" for i in range(_CHAINS)]
    inits = ", ".join(f"{name} = %v{i}" for i, name in enumerate(names))
    body = "\n".join(
        f"%y{i} = vector.fma {name}, %v{_CHAINS}, %v{_CHAINS + 1} : {vector}"
        for i, name in enumerate(names)
    )
    stores = "\n".join(
        f"vector.store %r#{i}, %data[%i{i}, %i0] : {buffer}, {vector}" for i in range(_CHAINS)
    )
    types = ", ".join([vector] * _CHAINS)
    text = f"""
    func.func @f(%data: {buffer}) {{
      {loads}
      %steps = arith.constant {_STEPS} : index
      %r:{_CHAINS} = scf.for %i = %i0 to %steps step %i1 iter_args({inits}) -> ({types}) {{
        {body}
        scf.yield {", ".join(f"%y{i}" for i in range(_CHAINS))} : {types}
      }}
      {stores}
      return
    }}"""
    data = np.random.default_rng(0).random((_CHAINS + 2, lanes), dtype=np.float32)
    call = compile_kernel(text).bind(data)
    return 2 * lanes * _CHAINS * _STEPS / _best(call)


def _copy_bandwidth(footprint: int) -> float:
    source = np.ones(footprint // 2, np.uint8)
    target = np.zeros_like(source)
    repeats = max(1, (1 << 24) // footprint)

    def copy() -> None:
        for _ in range(repeats):
            np.copyto(target, source)

    return footprint * repeats / _best(copy)
