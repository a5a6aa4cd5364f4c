"""What the threads of a kernel do in all: bytes of each memory, operations, barriers.

Counted on the kernel as it is before NVVM: a loop of known length counts its body so many times, a
condition counts as if it held, so that kernels with guards at their edges count a little too much.
Of each access the addresses of the first warp's lanes tell how many sectors of 32 bytes (global
memory) or rows of 32 banks (shared memory) a warp moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from relax_mlir import mlir
from relax_mlir.lowering.tir_to_gpu.buffers import is_workgroup
from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside, kernels_of
from relax_mlir.lowering.tir_to_gpu.memory_accesses import (
    Access,
    accesses_of,
    element_bytes,
    root_of,
    view_range,
)
from relax_mlir.lowering.tir_to_gpu.swizzle_shared_memory import DESCRIPTOR
from relax_mlir.mlir import dynamic, ir
from relax_mlir.runtime.device_code import DeviceCode
from relax_mlir.tir.schedule.enumeration import evaluate
from relax_mlir.tir.schedule.index import Index, as_index

__all__ = ["KernelWork", "kernel_works"]

_WARP, _SECTOR, _BANKS, _BANK_BYTES = 32, 32, 32, 4
_AXES = "xyz"
_FACTOR_BYTES = 2

# Operations of floats that count as one of each element.
_FLOPS = frozenset(
    f"arith.{name}" for name in "addf subf mulf divf maximumf minimumf maxnumf minnumf negf".split()
)
# Of an elementary function: about what its polynomial takes.
_FLOPS_OF_MATH = 12
_CHEAP_MATH = {"math.absf": 1, "math.sqrt": 1, "math.fma": 2, "math.copysign": 1}
_PRODUCTS = ("nvgpu.mma.sync", "nvvm.mma.sync")
_GROUP_PRODUCT, _WARPS_OF_GROUP = "nvvm.wgmma.mma_async", 4


@dataclass
class KernelWork:
    """One launch: `global_bytes` go between the multiprocessors and L2 in whole sectors,
    `useful_bytes` are those that lanes asked for, `wavefronts` rows of banks of shared memory and
    `shared_bytes` what lanes asked for there, as often as the program says it."""

    name: str
    blocks: int
    threads: int
    dynamic_shared: int = 0
    global_bytes: float = 0.0
    useful_bytes: float = 0.0
    wavefronts: float = 0.0
    ideal_wavefronts: float = 0.0
    shared_bytes: float = 0.0
    flops: float = 0.0
    tensor_flops: float = 0.0
    warpgroup_flops: float = 0.0
    barriers: int = 0
    issued: dict[str, float] = field(default_factory=dict)
    """Instructions of warps, in all, by what they are; those that are counted."""

    @property
    def warps(self) -> int:
        return self.blocks * -(-self.threads // _WARP)

    @property
    def coalescing(self) -> float:
        """The share of the moved bytes that a lane asked for; above one where lanes share."""
        return self.useful_bytes / self.global_bytes if self.global_bytes else 1.0

    @property
    def bank_conflicts(self) -> float:
        """How many times more rows of banks are moved than without conflicts."""
        return self.wavefronts / self.ideal_wavefronts if self.ideal_wavefronts else 1.0


def kernel_works(code: DeviceCode) -> dict[str, KernelWork]:
    """The work of every kernel of a program whose sizes are all known, by its name.

    Raises ValueError for a kernel that is launched over unknown sizes.
    """
    with mlir.scope():
        return {
            ir.StringAttr(kernel.attributes["sym_name"]).value: _Counting(kernel).run()
            for kernel in kernels_of(code.state)
        }


class _Counting:
    def __init__(self, kernel: ir.Operation) -> None:
        name = ir.StringAttr(kernel.attributes["sym_name"]).value
        if "known_grid_size" not in kernel.attributes:
            raise ValueError(f"{name} is launched over sizes that only run time knows")
        grid, block = (
            list(ir.DenseI32ArrayAttr(kernel.attributes[f"known_{what}_size"]))
            for what in ("grid", "block")
        )
        self.kernel = kernel
        self.work = KernelWork(name, int(np.prod(grid)), int(np.prod(block)))
        lanes = np.arange(min(_WARP, self.work.threads))
        numbers = (lanes % block[0], lanes // block[0] % block[1], lanes // (block[0] * block[1]))
        self.lanes = len(lanes)
        self.places = {
            op.results[0]: numbers[_AXES.index(str(op.attributes["dimension"])[-2])]
            for op in inside(kernel)
            if op.name == "gpu.thread_id"
        }

    def run(self) -> KernelWork:
        for op, times in _repeated(self.kernel.regions[0].blocks[0], 1.0):
            self._count(op, times * self.work.warps)
        return self.work

    def _count(self, op: ir.Operation, times: float) -> None:
        """Count an operation that all warps together run `times` times."""
        work = self.work
        if op.name == "gpu.barrier":
            work.barriers += round(times / work.warps)
            self._issue("barriers", times)
        elif op.name in _PRODUCTS:
            work.tensor_flops += times * _product_flops(op)
            self._issue("tensor cores", times)
        elif op.name == _GROUP_PRODUCT:
            self._count_group_product(op, times / _WARPS_OF_GROUP)
        elif op.name == "nvgpu.ldmatrix":
            count = ir.IntegerAttr(op.attributes["numTiles"]).value
            work.wavefronts += times * count
            work.ideal_wavefronts += times * count
            work.shared_bytes += times * count * _BANKS * _BANK_BYTES
            self._issue("shared", times)
        elif op.name == "gpu.shuffle":
            self._issue("shuffles", times)
        elif op.name in _FLOPS or op.name.startswith("math."):
            self._count_math(op, times)
        elif op.name == "memref.view":
            _, end = view_range(op.results[0]) or (0, 0)
            work.dynamic_shared = max(work.dynamic_shared, end)
        elif op.name != DESCRIPTOR:  # what is read through it is counted with the product
            for access in (*accesses_of(op), *_sources(op)):
                self._count_access(access, times)

    def _count_group_product(self, op: ir.Operation, times: float) -> None:
        """`wgmma` reads both matrices from shared memory, once for all four warps."""
        m, n, k = _product_sizes(op)
        size = (m + n) * k * _FACTOR_BYTES
        self.work.warpgroup_flops += times * 2.0 * m * n * k
        self.work.wavefronts += times * size / (_BANKS * _BANK_BYTES)
        self.work.ideal_wavefronts += times * size / (_BANKS * _BANK_BYTES)
        self.work.shared_bytes += times * size
        self._issue("tensor cores", times * _WARPS_OF_GROUP)

    def _count_math(self, op: ir.Operation, times: float) -> None:
        kind = op.results[0].type
        elements = int(np.prod(kind.shape)) if isinstance(kind, ir.VectorType) else 1
        each = 1 if op.name in _FLOPS else _CHEAP_MATH.get(op.name, _FLOPS_OF_MATH)
        self.work.flops += times * self.lanes * elements * each
        # A product whose sum follows is one instruction with it.
        fused = op.name == "arith.mulf" and "contract" in str(op.attributes["fastmath"])
        self._issue("arithmetic", 0.0 if fused else times * elements * max(1, each // 2))

    def _issue(self, what: str, times: float) -> None:
        self.work.issued[what] = self.work.issued.get(what, 0.0) + times

    # -- memory -------------------------------------------------------------------------------

    def _count_access(self, access: Access, times: float) -> None:
        each = element_bytes(ir.MemRefType(access.buffer.type).element_type) * access.lanes
        first = self._addresses(access)
        if is_workgroup(access.root.type):
            rows, ideal = _wavefronts(first, each)
            self.work.wavefronts += times * rows
            self.work.ideal_wavefronts += times * ideal
            self.work.shared_bytes += times * each * self.lanes
            self._issue("shared", times)
            return
        # Of buffers that start where sectors do.
        sectors = np.unique((first[:, None] + np.arange(0, each)) // _SECTOR)
        self.work.global_bytes += times * len(sectors) * _SECTOR
        self.work.useful_bytes += times * each * self.lanes
        self._issue("global", times)

    def _addresses(self, access: Access) -> np.ndarray:
        """Where the access of each lane starts, in bytes, as if all other variables were zero."""
        kind = ir.MemRefType(access.buffer.type)
        strides, _ = kind.get_strides_and_offset()
        total = np.zeros(self.lanes, np.int64)
        for index, stride in zip(access.indices or (), strides, strict=False):
            total += self._values(index) * (1 if stride == dynamic() else stride)
        return total * element_bytes(kind.element_type)

    def _values(self, index: Index) -> np.ndarray:
        none = np.zeros(self.lanes, np.int64)
        places = {leaf: self.places.get(leaf, none) for leaf in index.leaves()}
        return evaluate(index, places, self.lanes)


def _sources(op: ir.Operation) -> Iterator[Access]:
    """What an asynchronous copy reads, which no thread has to wait for as for other reads."""
    if op.name != "nvgpu.device_async_copy":
        return
    target, target_indices, source, source_indices, *_ = ir.DenseI32ArrayAttr(
        op.attributes["operandSegmentSizes"]
    )
    start = target + target_indices
    operands = list(op.operands)[start : start + source + source_indices]
    lanes = ir.IntegerAttr(op.attributes["dstElements"]).value
    indices = tuple(as_index(v) for v in operands[1:])
    yield Access(operands[0], root_of(operands[0]), False, indices, lanes)


def _wavefronts(first: np.ndarray, each: int) -> tuple[int, int]:
    """Rows of banks that lanes move when each takes `each` bytes from `first` on, and how few
    it could be: lanes of wide accesses go in groups of 128 bytes, equal words move once."""
    group = max(1, _WARP * _BANK_BYTES // max(each, _BANK_BYTES))
    rows = ideal = 0
    for start in range(0, len(first), group):
        offsets = np.arange(0, max(each, _BANK_BYTES), _BANK_BYTES)
        words = np.unique((first[start : start + group, None] + offsets) // _BANK_BYTES)
        rows += int(np.bincount(words % _BANKS).max())
        ideal += -(-len(words) // _BANKS)
    return rows, ideal


def _product_flops(op: ir.Operation) -> float:
    """Of a matrix product by one warp."""
    return 2.0 * float(np.prod(_product_sizes(op)))


def _product_sizes(op: ir.Operation) -> tuple[int, int, int]:
    """Rows, columns and products of a matrix instruction."""
    name = "mmaShape" if op.name.startswith("nvgpu") else "shape"
    text = str(op.attributes[name])
    m, n, k, *_ = (int(p) for p in "".join(c if c.isdigit() else " " for c in text).split())
    return m, n, k


def _repeated(block: ir.Block, times: float) -> Iterator[tuple[ir.Operation, float]]:
    """The operations of a block and inside of it, with how often a thread runs them."""
    for view in block.operations:
        op = view.operation
        yield op, times
        inner = times * (_trips(op) if op.name == "scf.for" else 1)
        for region in op.regions:
            for body in region.blocks:
                yield from _repeated(body, inner)


def _trips(loop: ir.Operation) -> int:
    low, high, step = (as_index(v).as_constant() for v in list(loop.operands)[:3])
    if low is None or high is None or not step:
        return 1
    return max(0, -(-(high - low) // step))
