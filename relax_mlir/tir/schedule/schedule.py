"""`tir.Schedule`: the primitives a user calls.  Each is a few lines here; what it does and when it
refuses is in the file of its family beside this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.tir.schedule import binding, loops, queries
from relax_mlir.tir.schedule.base import ScheduleBase
from relax_mlir.tir.schedule.random_variable import BlockRV, ExprRV, LoopRV


class Schedule(ScheduleBase):
    """A module and the primitives that rewrite its TensorIR functions.

    Every primitive keeps the meaning of the program: it checks that it may be applied, and
    otherwise raises ScheduleError, which shows the loop nest and the reason, and changes nothing.
    """

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

    def fuse(self, *loops_: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse consecutive loops, given outermost first, into one."""
        return self._apply(
            "fuse", _fuse, list(loops_), {"preserve_unit_iters": preserve_unit_iters}
        )

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put loops of one nest into the given order, outermost first."""
        self._apply("reorder", _reorder, list(ordered_loops), {})

    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """A loop of one iteration around a block or loop."""
        return self._apply("add_unit_loop", loops.add_unit_loop, [block_or_loop], {})

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


def _fuse(state: Any, *given: Any, preserve_unit_iters: bool) -> Any:
    return loops.fuse(state, _flat(given), preserve_unit_iters)


def _reorder(state: Any, *given: Any) -> None:
    loops.reorder(state, _flat(given))


def _flat(given: Sequence[Any]) -> list[Any]:
    """The loops of a call that names them one by one or in a list."""
    return [loop for item in given for loop in (item if isinstance(item, list) else [item])]
