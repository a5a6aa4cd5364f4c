"""The interface of mutators, and which of them a kind of target has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from relax_mlir.meta_schedule.component import Component, of_kind
from relax_mlir.tir.schedule import Trace

__all__ = ["Mutator", "PyMutator"]


class Mutator(Component, ABC):
    """Changes a decision of a trace.  Users' own derive from `PyMutator`."""

    @abstractmethod
    def apply(self, trace: Trace, rand_state: int = -1) -> Trace | None:
        """A trace with another decision, drawn from the seed; None where there is none to make."""

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """The mutators of a kind of target, "llvm" or "cuda", with their probabilities.

        Raises ValueError for another kind.
        """
        from relax_mlir.meta_schedule import mutator

        kinds: dict[str, Callable[[], dict[Mutator, float]]] = {
            "llvm": lambda: {
                mutator.MutateTileSize(): 0.9,
                mutator.MutateComputeLocation(): 0.05,
                mutator.MutateUnroll(): 0.03,
                mutator.MutateParallel(max_jobs_per_core=16): 0.02,
            },
            "cuda": lambda: {
                mutator.MutateTileSize(): 0.9,
                mutator.MutateUnroll(): 0.08,
                mutator.MutateThreadBinding(): 0.02,
            },
        }
        return of_kind(kinds, kind, "set of mutators for")()


PyMutator = Mutator
"""TVM's name of the class that users derive from."""
