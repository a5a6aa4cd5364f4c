"""What happens after candidates were measured."""

from relax_mlir.meta_schedule.measure_callback.callbacks import (
    AddToDatabase,
    RemoveBuildArtifact,
    UpdateCostModel,
)
from relax_mlir.meta_schedule.measure_callback.measure_callback import (
    MeasureCallback,
    PyMeasureCallback,
)

__all__ = [
    "AddToDatabase",
    "MeasureCallback",
    "PyMeasureCallback",
    "RemoveBuildArtifact",
    "UpdateCostModel",
    "create",
]

create = MeasureCallback.create
