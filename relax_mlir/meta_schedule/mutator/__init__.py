"""Mutators of traces."""

from relax_mlir.meta_schedule.mutator.decisions import (
    MutateComputeLocation,
    MutateParallel,
    MutateThreadBinding,
    MutateTileSize,
    MutateUnroll,
)
from relax_mlir.meta_schedule.mutator.mutator import Mutator, PyMutator

__all__ = [
    "MutateComputeLocation",
    "MutateParallel",
    "MutateThreadBinding",
    "MutateTileSize",
    "MutateUnroll",
    "Mutator",
    "PyMutator",
    "create",
]

create = Mutator.create
