"""Cost models."""

from relax_mlir.meta_schedule.cost_model.cost_model import CostModel, PyCostModel
from relax_mlir.meta_schedule.cost_model.random_model import RandomModel
from relax_mlir.meta_schedule.cost_model.xgb_model import XGBModel

__all__ = ["CostModel", "PyCostModel", "RandomModel", "XGBModel", "create"]

create = CostModel.create
