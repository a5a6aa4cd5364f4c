"""The interface of cost models."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.meta_schedule.component import of_kind
from relax_mlir.meta_schedule.runner import RunnerResult

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["CostModel", "PyCostModel"]


class CostModel(ABC):
    """Guesses how fast candidates are, from those that were measured.  Users' own derive from
    `PyCostModel`."""

    @abstractmethod
    def load(self, path: str) -> None:
        """Read what `save` wrote."""

    @abstractmethod
    def save(self, path: str) -> None:
        """Write what was learned to a file."""

    @abstractmethod
    def update(
        self,
        context: TuneContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        """Learn from measurements."""

    @abstractmethod
    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        """A score for each candidate, larger for faster ones."""

    @staticmethod
    def create(kind: str = "default", *args: Any, **kwargs: Any) -> CostModel:
        """A cost model by its kind: "xgb", "random", or "default", which is "xgb" where XGBoost is
        installed.

        Raises ValueError for another kind, and Error for "xgb" without XGBoost.
        """
        from relax_mlir.meta_schedule import cost_model

        if kind == "default":
            kind = "xgb" if importlib.util.find_spec("xgboost") else "random"
        if kind == "random":
            for name in ("num_tuning_cores", "tree_method"):
                kwargs.pop(name, None)
        kinds: dict[str, Callable[..., CostModel]] = {
            "xgb": cost_model.XGBModel,
            "random": cost_model.RandomModel,
        }
        return of_kind(kinds, kind, "cost model")(*args, **kwargs)


PyCostModel = CostModel
"""TVM's name of the class that users derive from."""
