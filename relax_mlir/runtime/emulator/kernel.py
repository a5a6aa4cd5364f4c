"""Kernels of the emulator: compiled from a GPU module, launched with pointers and numbers."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.gpu_to_emulator.async_copies import QUEUE_BYTES
from relax_mlir.lowering.gpu_to_emulator.gpu_to_emulator import (
    ARGUMENTS,
    LOCAL_BYTES,
    SHARED_BYTES,
    SITES,
    WRITTEN,
)
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import Site
from relax_mlir.lowering.gpu_to_emulator.layout import (
    EXCHANGE_BYTES,
    REGION_BYTES,
    SHADOW_BYTES,
    STATE_BYTES,
    WARP,
    Region,
    RegionKind,
    Word,
)
from relax_mlir.lowering.gpu_to_emulator.pipeline import emulator_pipeline
from relax_mlir.lowering.gpu_to_emulator.support import (
    EMULATOR_SYMBOLS,
    RUN_BLOCKS,
    emulator_module,
)
from relax_mlir.lowering.pipeline import run
from relax_mlir.mlir import ir
from relax_mlir.runtime.emulator.addresses import add_address_function, read_addresses
from relax_mlir.runtime.emulator.memory import MEMORY, Block
from relax_mlir.runtime.emulator.options import EmulatorOptions, current_options
from relax_mlir.runtime.emulator.report import Report, read_report
from relax_mlir.runtime.engine import Engine

__all__ = ["EmulatedKernel", "compile_kernels"]

Extents = Sequence[int]
MAX_THREADS = 1024
MAX_SHARED_BYTES = 232448
"""What a block of an H100 or H200 may have; the target's own limit is checked on compiling."""

_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)


@cache
def _runtime() -> tuple[Engine, dict[str, int], Any]:
    """The emulator's runtime, compiled once a process: its functions and its entry."""
    names = [*EMULATOR_SYMBOLS, RUN_BLOCKS]
    with mlir.scope():
        module = emulator_module()
        add_address_function(module, names)
        engine = Engine(module, share_support=False, opt_level=2)
    addresses = read_addresses(engine, names)
    return engine, addresses, _RUN(addresses[RUN_BLOCKS])


class _Epochs:
    """Numbers of barriers over all launches of the process: a record of an earlier launch is told
    by its number."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value = 0


_EPOCHS = _Epochs()


@dataclass
class EmulatedKernel:
    """One kernel.  `kinds` are the types of its arguments: "ptr", "i64", "f32" ...; granules are
    binary logarithms of the bytes of global and of shared memory that share a shadow; `written`
    are the places of the arguments that the kernel writes through."""

    name: str
    kinds: tuple[str, ...]
    shared_bytes: int
    local_bytes: int
    sites: Sequence[Site]
    checks: bool
    address: int
    engine: Engine
    granule: int = 0
    shared_granule: int = 0
    written: frozenset[int] = frozenset()

    def launch(
        self, grid: Extents, block: Extents, shared_bytes: int, args: Sequence[Any],
        options: EmulatorOptions | None = None,
    ) -> None:  # fmt: skip
        """Run the kernel and wait for it.

        `grid` and `block` are (x, y, z) or shorter; `args` are addresses of device memory, numpy
        arrays (memory of the host, all of it initialised), ints and floats, one for each of
        `kinds`.  Raises EmulatorError for what the checks find, ValueError for a launch that no
        GPU takes.
        """
        if len(args) != len(self.kinds):
            raise TypeError(
                f"kernel {self.name} takes {len(self.kinds)} arguments "
                f"({', '.join(self.kinds)}), got {len(args)}"
            )
        packed = _Arguments(args, self.kinds)
        self.launch_packed(grid, block, shared_bytes, packed.address, options, packed.blocks)

    def launch_packed(
        self, grid: Extents, block: Extents, shared_bytes: int, args: int,
        options: EmulatorOptions | None = None, blocks: Mapping[int, Block] | None = None,
    ) -> None:  # fmt: skip
        """As `launch`, with the arguments as a CUDA driver takes them: the address of an array of
        pointers to their values.  `blocks` is the memory that they point to, by their places; by
        default it is looked for among the device's."""
        chosen = options or current_options()
        extents, threads = _extents(self.name, grid), _extents(self.name, block)
        count = threads[0] * threads[1] * threads[2]
        if not 1 <= count <= MAX_THREADS:
            raise ValueError(
                f"kernel {self.name}: a block has {count} threads, 1 to {MAX_THREADS} are possible"
            )
        total = self.shared_bytes + shared_bytes
        if total > MAX_SHARED_BYTES:
            raise ValueError(
                f"kernel {self.name}: {total} bytes of shared memory, at most {MAX_SHARED_BYTES} "
                "are possible"
            )
        self._check_grid(extents, chosen.max_blocks)
        found = self._blocks(args) if blocks is None else blocks
        with _EPOCHS.lock:
            launch = _Launch(self, extents, threads, shared_bytes, chosen, found)
            number = extents[0] * extents[1] * extents[2]
            _runtime()[2](launch.state.ctypes.data, self.address, args, 0, number)
            _EPOCHS.value = launch.word(Word.epoch)
        if launch.word(Word.fault):
            raise read_report(Report(self.name, launch.state, self.sites, extents, threads))

    def _check_grid(self, extents: Extents, most: Extents) -> None:
        for axis, blocks, limit in zip("xyz", extents, most, strict=True):
            if blocks > limit:
                raise ValueError(
                    f"kernel {self.name}: {blocks} blocks along blockIdx.{axis}, at most {limit} "
                    "are possible: bind the loop to blockIdx.x, or give the kernel a part of the "
                    "work at a time"
                )

    def _blocks(self, args: int) -> dict[int, Block]:
        """The device memory that the pointers among packed arguments point to, by place."""
        pointers = (ctypes.c_void_p * len(self.kinds)).from_address(args) if self.kinds else ()
        blocks: dict[int, Block] = {}
        for place, (pointer, kind) in enumerate(zip(pointers, self.kinds, strict=True)):
            if kind != "ptr":
                continue
            block = MEMORY.find(ctypes.c_int64.from_address(pointer).value)
            if block is not None:
                blocks[place] = block
        return blocks


def _extents(kernel: str, given: Extents) -> tuple[int, int, int]:
    numbers = [int(number) for number in given]
    if not 1 <= len(numbers) <= 3 or any(number < 0 for number in numbers):
        raise ValueError(f"kernel {kernel}: expected up to three sizes, got {tuple(given)}")
    x, y, z = [*numbers, 1, 1][:3]
    return x, y, z


class _Arguments:
    """Python values as an array of pointers to the values of a kernel's arguments."""

    def __init__(self, args: Sequence[Any], kinds: Sequence[str]) -> None:
        self.blocks: dict[int, Block] = {}
        self._values = [
            self._value(place, arg, kind)
            for place, (arg, kind) in enumerate(zip(args, kinds, strict=True))
        ]
        pointers = [ctypes.addressof(value) for value in self._values]
        self._array = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
        self.address = ctypes.addressof(self._array)

    def _value(self, place: int, arg: Any, kind: str) -> Any:
        if kind == "ptr":
            return ctypes.c_int64(self._pointer(place, arg))
        if kind in _CTYPES:
            return _CTYPES[kind](arg)
        raise TypeError(f"a kernel argument of type {kind} cannot be given from Python")

    def _pointer(self, place: int, arg: Any) -> int:
        if isinstance(arg, np.ndarray):
            self.blocks[place] = Block(arg.ctypes.data, arg.nbytes)
            return arg.ctypes.data
        block = MEMORY.find(int(arg))
        if block is not None:
            self.blocks[place] = block
        return int(arg)


_CTYPES = {
    "i1": ctypes.c_int8, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32,
    "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


class _Launch:
    """The state of a launch and all memory that it refers to."""

    def __init__(
        self, kernel: EmulatedKernel, grid: Sequence[int], block: Sequence[int], dynamic: int,
        options: EmulatorOptions, blocks: Mapping[int, Block],
    ) -> None:  # fmt: skip
        self.state = np.zeros(STATE_BYTES // 8, np.int64)
        self._kept: list[Any] = []
        threads = block[0] * block[1] * block[2]
        warps = -(-threads // WARP)
        shared_size = kernel.shared_bytes + dynamic
        local_size = kernel.local_bytes * threads
        shared, local = self._memory(shared_size), self._memory(local_size)
        epoch = _EPOCHS.value + 1
        words = {
            Word.threads: threads, Word.checks: int(kernel.checks),
            Word.strict: int(kernel.checks),
            Word.shared: shared, Word.shared_bytes: shared_size,
            Word.dynamic: shared + kernel.shared_bytes, Word.dynamic_bytes: dynamic,
            Word.local: local, Word.local_bytes: local_size,
            Word.exchange: self._memory(2 * EXCHANGE_BYTES * warps * WARP, 0xFF),
            Word.order: self._keep(options.permutation(threads)),
            Word.events: self._memory(4 * threads), Word.handles: self._memory(8 * threads),
            Word.warp_epochs: self._memory(8 * warps), Word.warp_counts: self._memory(8 * warps),
            Word.fence_epochs: self._memory(8 * threads),
            Word.async_queues: self._memory(QUEUE_BYTES * threads),
            Word.epoch: epoch, Word.launch_epoch: epoch,
        }  # fmt: skip
        for axis, letter in enumerate("xyz"):
            words[Word[f"grid_{letter}"]] = grid[axis]
            words[Word[f"dim_{letter}"]] = block[axis]
        for word, value in words.items():
            self.state[int(word) // 8] = value
        if kernel.checks:
            self._add_regions(kernel, blocks, (shared, shared_size), (local, local_size))

    def word(self, word: Word) -> int:
        return int(self.state[int(word) // 8])

    def _memory(self, size: int, fill: int = 0) -> int:
        """The address of fresh memory, at a multiple of 128 bytes."""
        block = np.full(max(size, 1) + 128, fill, np.uint8)
        self._kept.append(block)
        return -(-block.ctypes.data // 128) * 128

    def _keep(self, array: np.ndarray) -> int:
        self._kept.append(array)
        return array.ctypes.data

    def _add_regions(
        self, kernel: EmulatedKernel, blocks: Mapping[int, Block], shared: tuple[int, int],
        local: tuple[int, int],
    ) -> None:  # fmt: skip
        rows: list[tuple[int, int, int, int, int, int]] = []
        for (base, size), kind, word in (
            (shared, RegionKind.SHARED, Word.shared_initialised),
            (local, RegionKind.LOCAL, Word.local_initialised),
        ):
            known = self._memory(size)
            self.state[int(word) // 8] = known
            granule = kernel.shared_granule
            count = (size >> granule) + 1
            shadow = self._memory(count * SHADOW_BYTES) if kind is RegionKind.SHARED else 0
            rows.append((base, size, known, shadow, granule, kind))
        # What is only read by the whole kernel cannot be raced for.
        written = {blocks[place].address for place in kernel.written if place in blocks}
        for block in {block.address: block for block in blocks.values()}.values():
            known = 0 if block.initialised is None else block.initialised.ctypes.data
            shadow = 0
            if block.address in written:
                shadow = block.shadow(kernel.granule).ctypes.data
            row = (block.address, block.size, known, shadow, block.granule, RegionKind.GLOBAL)
            rows.append(row)
        table = np.zeros((len(rows), REGION_BYTES // 8), np.int64)
        for row, (base, size, known, shadow, granule, kind) in zip(table, rows, strict=True):
            fields = {
                Region.base: base, Region.bytes: size, Region.initialised: known,
                Region.shadow: shadow, Region.granule: granule, Region.kind: int(kind),
                Region.end: base + size,
            }  # fmt: skip
            for name, value in fields.items():
                row[int(name) // 8] = value
        self.state[int(Word.regions) // 8] = self._keep(table)
        self.state[int(Word.region_count) // 8] = len(rows)


def compile_kernels(
    module: ModuleState | ir.Module | str, checks: bool = True, opt_level: int = 1
) -> dict[str, EmulatedKernel]:
    """The kernels of a module with `gpu.module`s, by name.

    `module` is a module, its state, or MLIR text (with locations, if reports are to name lines); it
    is not changed.  `opt_level` is LLVM's.  Raises CompileError for what the emulator cannot run.
    """
    with mlir.scope():
        if isinstance(module, str):
            state = ModuleState(ir.Module.parse(module))
        elif isinstance(module, ir.Module):
            state = ModuleState(module).clone()
        else:
            state = module.clone()
        for op in list(state.module.body.operations):
            if op.operation.name not in ("gpu.module", "memref.global"):
                op.operation.erase()
        run(state, emulator_pipeline(checks))
        attributes = state.module.operation.attributes
        if SITES not in attributes:
            raise Error("there is no gpu.module with kernels to compile")
        sites = [Site.read(entry) for entry in ir.ArrayAttr(attributes[SITES])]
        found = _kernel_attributes(state.module)
        add_address_function(state.module, list(found))
        engine = Engine(state.module, share_support=False, opt_level=opt_level)
    support, functions, _ = _runtime()
    engine.keep(support)
    for symbol in EMULATOR_SYMBOLS:
        engine.define(symbol, functions[symbol])
    addresses = read_addresses(engine, list(found))
    of_global, of_shared = (_granule(sites, space) for space in ("global", "shared"))
    kernels: dict[str, EmulatedKernel] = {}
    for name, (kinds, shared, local, written) in found.items():
        kernels[name] = EmulatedKernel(
            name, kinds, shared, local, sites, checks, addresses[name], engine, of_global,
            of_shared, written,
        )  # fmt: skip
    return kernels


_Attributes = tuple[tuple[str, ...], int, int, frozenset[int]]


def _kernel_attributes(module: ir.Module) -> dict[str, _Attributes]:
    """Kinds of arguments, shared bytes, local bytes and written arguments of each kernel."""
    found: dict[str, _Attributes] = {}
    for op in module.body.operations:
        attributes = op.operation.attributes
        if SHARED_BYTES not in attributes:
            continue
        name = ir.StringAttr(attributes["sym_name"]).value
        kinds = tuple(ir.StringAttr(kind).value for kind in ir.ArrayAttr(attributes[ARGUMENTS]))
        shared, local = (
            ir.IntegerAttr(attributes[key]).value for key in (SHARED_BYTES, LOCAL_BYTES)
        )
        written = frozenset(ir.DenseI64ArrayAttr(attributes[WRITTEN]))
        found[name] = (kinds, shared, local, written)
    return found


_ELEMENT_BYTES = {"f64": 8, "i64": 8, "index": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}


def _granule(sites: Sequence[Site], space: str) -> int:
    """Binary logarithm of the smallest element that the kernels touch in a memory space."""
    sizes = [
        _ELEMENT_BYTES.get(site.dtype, 1) for site in sites if site.buffer and site.space == space
    ]
    return min(sizes, default=1).bit_length() - 1
