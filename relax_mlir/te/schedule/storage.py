"""Where the tensors of a schedule are stored."""

from __future__ import annotations

from relax_mlir.te.schedule.stage import AT, Stage
from relax_mlir.tir.expr import IterVar

__all__ = ["storage_scope"]


def storage_scope(stage: Stage) -> str:
    """The storage scope of what a stage computes: the one it has been given; else, by the threads
    around it, that of what a thread or a block of threads has for itself."""
    if stage.scope:
        return stage.scope
    tags = {thread.thread_tag.split(".")[0] for thread in _threads_around(stage)}
    if tags & {"threadIdx", "vthread"}:
        return "local"
    return "shared" if "blockIdx" in tags else "global"


def _threads_around(stage: Stage) -> list[IterVar]:
    """The threads of the loops that a stage is computed in."""
    found: list[IterVar] = []
    current = stage
    while current.attach_type == AT and current.attach_stage is not None:
        parent = current.attach_stage
        for loop in parent.leaf_iter_vars:
            how = parent.iter_var_attrs.get(loop)
            if how is not None and how.bind_thread is not None:
                found.append(how.bind_thread)
            if loop is current.attach_ivar:
                break
        current = parent
    return found
