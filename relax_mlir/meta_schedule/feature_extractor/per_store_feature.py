"""A row of numbers for each store of a scheduled function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log2, prod
from typing import TYPE_CHECKING

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.dlight.base.utils import buffer_bytes, element_bytes
from relax_mlir.meta_schedule.block_facts import stride_of
from relax_mlir.meta_schedule.feature_extractor.feature_extractor import FeatureExtractor
from relax_mlir.mlir import ir
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import Access, init_of, reads_of, writes_of
from relax_mlir.tir.schedule.annotate import annotations_of
from relax_mlir.tir.schedule.index import as_index

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["PerStoreFeature"]

_KINDS = ("serial", "parallel", "vectorized", "unrolled", "blockIdx", "threadIdx", "vthread")
_OPERATIONS = ("arith.addf", "arith.mulf", "arith.divf", "arith.cmpf", "arith.select", "math",
               "arith")  # fmt: skip
_DEPTHS = 4
_PER_BUFFER = 5 + _DEPTHS


class PerStoreFeature(FeatureExtractor):
    """Describes each block of a function by its loops, its operations and what it accesses.

    The loops: how many steps run in each way.  The operations: how many of each kind run.  Of
    `buffers_per_store` buffers: their size, the step of the innermost loop, and how many bytes the
    innermost loops touch; `cache_line_bytes` says what a step costs at least.
    """

    def __init__(self, buffers_per_store: int = 5, cache_line_bytes: int = 64) -> None:
        self.buffers_per_store = buffers_per_store
        self.cache_line_bytes = cache_line_bytes
        self.feature_vector_length = (
            len(_KINDS) + len(_OPERATIONS) + 4 + buffers_per_store * _PER_BUFFER
        )

    def extract_from(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate]
    ) -> list[np.ndarray]:
        return [self._of_module(candidate) for candidate in candidates]

    def _of_module(self, candidate: MeasureCandidate) -> np.ndarray:
        rows: list[list[float]] = []
        for function in candidate.sch.mod.functions.values():
            if isinstance(function, PrimFunc):
                with mlir.scope():
                    blocks = nest.blocks_of(function.operation.opview)
                    rows += [self._of_block(block) for block in blocks]
        return np.array(rows or [[0.0] * self.feature_vector_length], np.float32)

    def _of_block(self, block: BlockOp) -> list[float]:
        loops = _loops_around(block)
        extents = [_extent(loop) for loop in loops]
        steps = prod(extents)
        row = [_log(n) for n in _steps_by_kind(loops, extents)]
        row += [_log(n * steps) for n in _operations(block)]
        row += [_log(steps), float(len(loops)), _log(extents[-1] if extents else 1)]
        row.append(float(init_of(block) is not None))
        accesses = sorted(
            [*writes_of(block), *reads_of(block)], key=lambda a: -(buffer_bytes(a.buffer) or 0)
        )
        for access in accesses[: self.buffers_per_store]:
            row += self._of_access(block, access, loops)
        return row + [0.0] * (self.feature_vector_length - len(row))

    def _of_access(self, block: BlockOp, access: Access, loops: Sequence[ForOp]) -> list[float]:
        size = element_bytes(access.buffer)
        strides = [stride_of(block, access, loop) for loop in loops]
        innermost = (strides[-1] if strides else 0) or 0
        moved = min(abs(innermost) * size, self.cache_line_bytes)
        row = [
            _log(buffer_bytes(access.buffer) or 0),
            float(access in writes_of(block)),
            float(innermost == 0),
            float(innermost == 1),
            moved / self.cache_line_bytes,
        ]
        touched = [
            _extent(loop) if stride != 0 else 1 for loop, stride in zip(loops, strides, strict=True)
        ]
        row += [_log(prod(touched[len(touched) - depth :]) * size) if depth <= len(touched) else 0.0
                for depth in range(1, _DEPTHS + 1)]  # fmt: skip
        return row


def _log(number: float) -> float:
    return log2(1 + number)


def _extent(loop: ForOp) -> int:
    return as_index(loop.extent).as_constant() or 1


def _loops_around(op: ir.OpView) -> list[ForOp]:
    """All loops around an operation, outermost first, those outside of its scope too."""
    found: list[ForOp] = []
    current = nest.parent(op)
    while current is not None:
        if isinstance(current, ForOp):
            found.append(current)
        current = nest.parent(current)
    return found[::-1]


def _steps_by_kind(loops: Sequence[ForOp], extents: Sequence[int]) -> list[int]:
    """The product of the extents of the loops that run in each way."""
    steps = dict.fromkeys(_KINDS, 1)
    unroll = 0
    for loop, extent in zip(loops, extents, strict=True):
        axis = nest.thread_axis(loop)
        kind = axis.partition(".")[0] if axis else loop.kind.value
        unroll = max(unroll, int(annotations_of(loop).get("pragma_auto_unroll_max_step", 0)))
        if kind == "serial" and extent <= unroll:
            kind = "unrolled"
        if kind in steps:
            steps[kind] *= extent
    return list(steps.values())


def _operations(block: BlockOp) -> list[int]:
    """How many operations of each kind a block has."""
    names = Counter(op.operation.name for op in nest.descend_in_scope(block))
    counts = [names.pop(name, 0) for name in _OPERATIONS[:-2]]
    families: Counter[str] = Counter()
    for name, number in names.items():
        families[name.partition(".")[0]] += number
    return [*counts, families["math"], families["arith"]]
