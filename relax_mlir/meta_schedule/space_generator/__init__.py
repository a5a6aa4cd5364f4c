"""Design spaces."""

from relax_mlir.meta_schedule.space_generator.post_order_apply import PostOrderApply
from relax_mlir.meta_schedule.space_generator.schedule_fn import ScheduleFn
from relax_mlir.meta_schedule.space_generator.space_generator import (
    PySpaceGenerator,
    ScheduleFnType,
    SpaceGenerator,
)
from relax_mlir.meta_schedule.space_generator.space_generator_union import SpaceGeneratorUnion

__all__ = [
    "PostOrderApply",
    "PySpaceGenerator",
    "ScheduleFn",
    "ScheduleFnType",
    "SpaceGenerator",
    "SpaceGeneratorUnion",
    "create",
]

create = SpaceGenerator.create
