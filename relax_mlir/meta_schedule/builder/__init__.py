"""Builders of candidates."""

from relax_mlir.meta_schedule.builder.builder import (
    Builder,
    BuilderInput,
    BuilderResult,
    PyBuilder,
)
from relax_mlir.meta_schedule.builder.local_builder import LocalBuilder

__all__ = ["Builder", "BuilderInput", "BuilderResult", "LocalBuilder", "PyBuilder", "create"]

create = Builder.create
