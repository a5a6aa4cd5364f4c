"""Partial results that are computed in the loop of the threads that combine them.

    s[B].bind(k, threadIdx.x)              for tx in threads:   B.rf[tx] = ...
    s[parts].compute_at(s[B], k)    ->     for tx in threads:   B = B + B.rf[tx]

The loop that threads share for a reduction holds nothing else, so what each thread shall have
computed for its part goes outside of it, in a loop on the same threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensor import ComputeOp, Operation
from relax_mlir.tir.expr import IterVar, ProducerLoad, post_order

__all__ = ["SharedReduction"]


@dataclass(frozen=True)
class SharedReduction:
    """`outside` is the loop to compute the stage in, `axis` the stage's own that counts the parts,
    `thread` what to bind it to."""

    outside: IterVar
    axis: IterVar
    thread: IterVar

    @classmethod
    def around(cls, stage: Stage, stages: Mapping[Operation, Stage]) -> SharedReduction | None:
        """That of a stage which is computed in such a loop; None for others."""
        parent, scope = stage.attach_stage, stage.attach_ivar
        if parent is None or scope is None:
            return None
        how = parent.iter_var_attrs.get(scope)
        if how is None or how.bind_thread is None or scope not in parent.op.reduce_axis:
            return None
        place = parent.leaf_iter_vars.index(scope)
        counting = _counting_axis(stage, parent, scope, stages)
        if place == 0 or counting is None:
            return None
        return cls(parent.leaf_iter_vars[place - 1], counting, how.bind_thread)


def _counting_axis(
    stage: Stage, parent: Stage, scope: IterVar, stages: Mapping[Operation, Stage]
) -> IterVar | None:
    """The axis of the stage at which the parent reads by its loop alone."""
    for body in parent.op.body if isinstance(parent.op, ComputeOp) else ():
        for read in post_order(body):
            if not isinstance(read, ProducerLoad) or stages.get(read.producer.op) is not stage:
                continue
            for axis, index in zip(stage.op.axis, read.indices, strict=True):
                if index is scope.var:
                    return axis
    return None
