"""A task found in a Relax program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.ir.module import IRModule
from relax_mlir.target import Target

__all__ = ["ExtractedTask"]


@dataclass(frozen=True)
class ExtractedTask:
    """A TensorIR function that a program calls `weight` times: its name, the function as a
    workload (`mod`, and the only one of `dispatched`), and the target."""

    task_name: str
    mod: IRModule
    target: Target
    dispatched: Sequence[IRModule]
    weight: int
