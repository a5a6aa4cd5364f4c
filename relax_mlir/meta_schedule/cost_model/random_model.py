"""A cost model that knows nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from relax_mlir.meta_schedule.cost_model.cost_model import CostModel
from relax_mlir.meta_schedule.runner import RunnerResult

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["RandomModel"]


class RandomModel(CostModel):
    """Scores at random, from 0 to `max_range`; `path` is a state that `save` wrote."""

    def __init__(
        self, *, seed: int | None = None, path: str | None = None, max_range: int = 100
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self.max_range = max_range
        if path is not None:
            self.load(path)

    def load(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self._rng.bit_generator.state = json.load(file)

    def save(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._rng.bit_generator.state, file)

    def update(
        self,
        context: TuneContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        """Nothing is learned."""

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        return self._rng.random(len(candidates)) * self.max_range
