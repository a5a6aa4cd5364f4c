"""`tir.Schedule`: the primitives a user calls.  Each is a few lines here; what it does and when it
refuses is in the file of its family beside this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.tir.schedule import (
    annotate,
    binding,
    blockize,
    compute_location,
    epilogue,
    inline,
    loops,
    merging,
    partition,
    queries,
    reduction,
    rfactor,
    sampling,
    tensorize,
)
from relax_mlir.tir.schedule.memory_primitives import MemoryPrimitives
from relax_mlir.tir.schedule.random_variable import BlockRV, ExprRV, LoopRV


class Schedule(MemoryPrimitives):
    """A module and the primitives that rewrite its TensorIR functions.

    Every primitive keeps the meaning of the program: it checks that it may be applied, and
    otherwise raises ScheduleError, which shows the loop nest and the reason, and changes nothing.
    """

    # -- sampling ---------------------------------------------------------------------------

    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> ExprRV:
        """One of the candidates, drawn with the given probabilities."""
        keywords = {"candidates": list(candidates), "probs": [float(p) for p in probs],
                    "decision": decision}  # fmt: skip
        return self._apply(
            "sample_categorical", sampling.sample_categorical, [], keywords, decide=True
        )

    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = 16,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """`n` factors whose product is the loop's extent."""
        keywords = {"loop": loop, "n": n, "max_innermost_factor": max_innermost_factor,
                    "decision": decision}  # fmt: skip
        return self._apply(
            "sample_perfect_tile", sampling.sample_perfect_tile, [], keywords, decide=True
        )

    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """`n` factors of the extent; those from `partition_pos` on multiply to a multiple of
        `innerpart_factor`."""
        keywords = {"loop": loop, "n": n, "partition_pos": partition_pos,
                    "innerpart_factor": innerpart_factor, "decision": decision}  # fmt: skip
        return self._apply(
            "sample_partitioned_tile", sampling.sample_partitioned_tile, [], keywords, decide=True
        )

    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """A loop of the block's consumers to compute it at."""
        keywords = {"block": self._block(block), "decision": decision}
        return self._apply(
            "sample_compute_location", sampling.sample_compute_location, [], keywords, decide=True
        )

    # -- queries ----------------------------------------------------------------------------

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block of that name (today's spelling: `get_sblock`)."""
        return self.get_sblock(name, func_name)

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block up to its scope, outermost first."""
        return self._apply("get_loops", queries.get_loops, [], {"block": self._block(block)})

    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks directly below a block or loop."""
        return self._apply("get_child_blocks", queries.get_child_blocks, [block_or_loop], {})

    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks of its scope that write what the block reads."""
        return self._apply(
            "get_producers", queries.get_producers, [], {"block": self._block(block)}
        )

    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks of its scope that read what the block writes."""
        return self._apply(
            "get_consumers", queries.get_consumers, [], {"block": self._block(block)}
        )

    def get_output_blocks(self, scope_block: BlockRV | str) -> list[BlockRV]:
        """The blocks in a scope that write buffers which outlive it."""
        scope = self._block(scope_block)
        return self._apply(
            "get_output_blocks", queries.get_output_blocks, [], {"scope_block": scope}
        )

    # -- loops ------------------------------------------------------------------------------

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | ExprRV | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into nested loops of the given extents, outermost first.

        One factor may be None and is inferred.  When the extents cover more than the loop, the
        blocks inside get a predicate (`T.where`), unless `disable_predication`.
        """
        keywords = {"loop": loop, "factors": list(factors),
                    "preserve_unit_iters": preserve_unit_iters,
                    "disable_predication": disable_predication}  # fmt: skip
        return self._apply("split", loops.split, [], keywords)

    def loop_partition(
        self,
        loop: LoopRV,
        factors: Sequence[int | ExprRV | None],
        preserve_unit_iters: bool = True,
    ) -> list[LoopRV]:
        """Loops over consecutive parts of a loop's range, of the given lengths.

        One length may be None and is the rest; without, a last part takes what is left.
        """
        keywords = {"loop": loop, "factors": list(factors),
                    "preserve_unit_iters": preserve_unit_iters}  # fmt: skip
        return self._apply("loop_partition", partition.loop_partition, [], keywords)

    def fuse(self, *loops_: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse consecutive loops, given outermost first, into one."""
        return self._apply(
            "fuse", _fuse, list(loops_), {"preserve_unit_iters": preserve_unit_iters}
        )

    def merge(self, *loops_: LoopRV) -> LoopRV:
        """One loop that does in each iteration what these, which follow each other, do."""
        return self._apply("merge", _merge, list(loops_), {})

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops of one nest into the given order, outermost first."""
        self._apply("reorder", _reorder, list(ordered_loops), {})

    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV | str) -> LoopRV:
        """A loop of one iteration around a block or loop."""
        return self._apply("add_unit_loop", loops.add_unit_loop, [self._block(block_or_loop)], {})

    # -- how loops run ----------------------------------------------------------------------

    def parallel(self, loop: LoopRV) -> None:
        """Run a loop's iterations on the cores."""
        self._apply("parallel", binding.parallel, [], {"loop": loop})

    def vectorize(self, loop: LoopRV) -> None:
        """Run a loop's iterations as vector lanes."""
        self._apply("vectorize", binding.vectorize, [], {"loop": loop})

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Bind a loop to a GPU axis such as "blockIdx.x" or "threadIdx.x"."""
        self._apply("bind", binding.bind, [], {"loop": loop, "thread_axis": thread_axis})

    def unroll(self, loop: LoopRV) -> None:
        """Write a loop's iterations out."""
        self._apply("unroll", binding.unroll, [], {"loop": loop})

    # -- where blocks are computed ----------------------------------------------------------

    def compute_inline(self, block: BlockRV | str) -> None:
        """Compute a block's elements where they are read, and remove it."""
        self._apply("compute_inline", inline.compute_inline, [], {"block": self._block(block)})

    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Compute a block where its only producer writes, and remove it."""
        keywords = {"block": self._block(block)}
        self._apply("reverse_compute_inline", inline.reverse_compute_inline, [], keywords)

    def compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Compute, in each iteration of a loop, what its body reads of the block's output.

        `index` is the place in the loop's body: -1 the last possible, -2 the first, or a number.
        """
        keywords = {"block": self._block(block), "loop": loop,
                    "preserve_unit_loops": preserve_unit_loops, "index": index}  # fmt: skip
        self._apply("compute_at", compute_location.compute_at, [], keywords)

    def reverse_compute_at(
        self,
        block: BlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Run a block, in each iteration of a loop, on what its body has produced."""
        keywords = {"block": self._block(block), "loop": loop,
                    "preserve_unit_loops": preserve_unit_loops, "index": index}  # fmt: skip
        self._apply("reverse_compute_at", compute_location.reverse_compute_at, [], keywords)

    # -- reductions -------------------------------------------------------------------------

    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Run a reduction's init in a block of its own before a loop; that block."""
        keywords = {"block": self._block(block), "loop": loop}
        return self._apply("decompose_reduction", reduction.decompose_reduction, [], keywords)

    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Give each iteration of a reduction loop a partial result; the block that makes them."""
        keywords = {"loop": loop, "factor_axis": factor_axis}
        return self._apply("rfactor", rfactor.rfactor, [], keywords)

    def fuse_reduction_epilogue(
        self, reduction_block: BlockRV | str, epilogue_block: BlockRV | str
    ) -> None:
        """Let a reduction start from what an epilogue would combine its result with, such as a
        bias, and drop the epilogue."""
        keywords = {"reduction_block": self._block(reduction_block),
                    "epilogue_block": self._block(epilogue_block)}  # fmt: skip
        self._apply("fuse_reduction_epilogue", epilogue.fuse_reduction_epilogue, [], keywords)

    # -- blocks -----------------------------------------------------------------------------

    def blockize(
        self, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True
    ) -> BlockRV:
        """Turn the nest from a loop down, which holds one block, into a block; or blocks that
        follow each other into one."""
        target = list(target) if isinstance(target, (list, tuple)) else target
        keywords = {"target": target, "preserve_unit_iters": preserve_unit_iters}
        return self._apply("blockize", blockize.blockize, [], keywords)

    def tensorize(
        self,
        block_or_loop: BlockRV | LoopRV | str,
        tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:
        """Replace a nest that computes what a registered `TensorIntrin` describes by its
        implementation."""
        keywords = {"block_or_loop": self._block(block_or_loop), "tensor_intrin": tensor_intrin,
                    "preserve_unit_iters": preserve_unit_iters}  # fmt: skip
        self._apply("tensorize", tensorize.tensorize, [], keywords)

    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Put a block's iteration variables into another order."""
        keywords = {"block": self._block(block), "new_order": list(new_order)}
        self._apply("reorder_block_iter_var", blockize.reorder_block_iter_var, [], keywords)

    # -- annotations and buffers ------------------------------------------------------------

    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Add an annotation: a string, number, list or dictionary."""
        keywords = {"block_or_loop": block_or_loop, "ann_key": ann_key, "ann_val": ann_val}
        self._apply("annotate", annotate.annotate, [], keywords)

    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Remove an annotation."""
        keywords = {"block_or_loop": block_or_loop, "ann_key": ann_key}
        self._apply("unannotate", annotate.unannotate, [], keywords)

    def enter_postproc(self) -> None:
        """Mark the end of the part of the trace that a search may change."""
        self._apply("enter_postproc", _nothing, [], {})


def _nothing(state: Any) -> None:
    """What `enter_postproc` does to the program."""


def _fuse(state: Any, *given: Any, preserve_unit_iters: bool) -> Any:
    return loops.fuse(state, _flat(given), preserve_unit_iters)


def _merge(state: Any, *given: Any) -> Any:
    return merging.merge(state, _flat(given))


def _reorder(state: Any, *given: Any) -> None:
    loops.reorder(state, _flat(given))


def _flat(given: Sequence[Any]) -> list[Any]:
    """The loops of a call that names them one by one or in a list."""
    return [loop for item in given for loop in (item if isinstance(item, list) else [item])]
