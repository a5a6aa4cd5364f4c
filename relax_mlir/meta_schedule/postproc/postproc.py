"""The interface of postprocessors, and which of them a kind of target has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from relax_mlir.meta_schedule.component import Component, of_kind
from relax_mlir.tir.schedule import Schedule

__all__ = ["Postproc", "PyPostproc"]


class Postproc(Component, ABC):
    """Finishes a schedule whose decisions are made, or rejects it.  Users' own derive from
    `PyPostproc`."""

    @abstractmethod
    def apply(self, sch: Schedule) -> bool:
        """Change the schedule; False where it is not to be measured."""

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The postprocessors of a kind of target: "llvm" or "cuda".

        Raises ValueError for another kind.
        """
        from relax_mlir.meta_schedule import postproc

        kinds: dict[str, list[Callable[[], Postproc]]] = {
            "llvm": [
                postproc.DisallowDynamicLoop,
                postproc.RewriteParallelVectorizeUnroll,
                postproc.RewriteReductionBlock,
            ],
            "cuda": [
                postproc.DisallowDynamicLoop,
                postproc.RewriteCooperativeFetch,
                postproc.RewriteUnboundBlock,
                postproc.RewriteParallelVectorizeUnroll,
                postproc.RewriteReductionBlock,
                postproc.VerifyGPUCode,
            ],
        }
        return [make() for make in of_kind(kinds, kind, "set of postprocessors for")]


PyPostproc = Postproc
"""TVM's name of the class that users derive from."""
