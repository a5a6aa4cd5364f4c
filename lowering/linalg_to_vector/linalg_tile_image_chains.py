"""`linalg-tile-image-chains`: chains of operations on images go row by row."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.errors import PassError
from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, erase_unused_buffers
from relax_mlir.lowering.linalg_to_vector.builder import Builder
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget, host_cpu
from relax_mlir.lowering.linalg_to_vector.image_chain.cost import rows_of_block
from relax_mlir.lowering.linalg_to_vector.image_chain.matching import match_image_chain
from relax_mlir.lowering.linalg_to_vector.image_chain.tiling import emit_in_blocks
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.num_threads import mark_parallel
from relax_mlir.mlir import ir

__all__ = ["LinalgTileImageChains"]


@register_pass("linalg-tile-image-chains")
@dataclass(frozen=True)
class LinalgTileImageChains(Pass):
    """Compute what makes an image, slides a window over it and goes on, in blocks of rows.

    For functions that are one such chain (`image_chain/matching.py`); the image between is then
    never whole in memory.

    rows: rows of the result in a block; 0 for as many as the cost model takes, in the chains that
    are worth it (`image_chain/cost.py`).  num_cores: cores to divide blocks among; 0 for those of
    the module's target, one if it does not say.
    """

    rows: int = 0
    num_cores: int = 0

    def run(self, state: ModuleState) -> None:
        for option, value in (("rows", self.rows), ("num-cores", self.num_cores)):
            if value < 0:
                raise PassError(f"{self.name}: {option} is {value}, expected 0 or more")
        num_cores = self.num_cores or getattr(state.target, "num_cores", None) or 1
        target = host_cpu().restricted(0, num_cores)
        with state.module.context, ir.Location.unknown():
            for function in state.functions():
                if list(function.regions[0].blocks):
                    self._tile(function, target)

    def _tile(self, function: ir.Operation, target: CPUTarget) -> None:
        chain = match_image_chain(function, BufferUses(function))
        rows = None if chain is None else rows_of_block(chain, target, self.rows)
        if chain is None or rows is None:
            return
        last = chain.behind[-1].op
        members = chain.members
        with ir.InsertionPoint(last), last.location:
            emit_in_blocks(Builder(function.regions[0].blocks[0]), chain, rows, target.num_cores)
        for op in reversed(members):
            op.erase()
        erase_unused_buffers(function)
        if target.num_cores > 1:
            mark_parallel(function)
