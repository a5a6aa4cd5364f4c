"""A cost model of boosted trees, by XGBoost."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.meta_schedule.cost_model.cost_model import CostModel
from relax_mlir.meta_schedule.feature_extractor import FeatureExtractor
from relax_mlir.meta_schedule.profiler import Profiler
from relax_mlir.meta_schedule.runner import RunnerResult

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["XGBModel"]

_ROUNDS = 60


class XGBModel(CostModel):
    """Learns how fast candidates are, relative to the fastest of their task, from features of
    their stores: the sum, the mean and the largest of each over the stores of a function.

    Scores are random until `num_warmup_samples` candidates were measured.  Raises Error where
    XGBoost is not installed (the extra `tune`).
    """

    def __init__(
        self,
        *,
        extractor: FeatureExtractor | str = "per-store-feature",
        num_warmup_samples: int = 16,
        max_depth: int = 8,
        eta: float = 0.2,
        seed: int = 43,
        num_tuning_cores: int | None = None,
        tree_method: str = "auto",
    ) -> None:
        self._xgboost = _xgboost()
        is_name = isinstance(extractor, str)
        self.extractor = FeatureExtractor.create(extractor) if is_name else extractor
        self.num_warmup_samples = num_warmup_samples
        self._parameters: dict[str, Any] = {
            "max_depth": max_depth,
            "eta": eta,
            "seed": seed,
            "nthread": num_tuning_cores or 1,
            "tree_method": tree_method,
            "objective": "reg:squarederror",
            "verbosity": 0,
        }
        self._rng = np.random.default_rng(seed)
        self._samples: dict[str, tuple[list[np.ndarray], list[float]]] = {}
        self._booster: Any = None

    def load(self, path: str) -> None:
        with open(path, "rb") as file:
            names, counts, features, costs = (np.load(file) for _ in range(4))
        self._samples = {}
        start = 0
        for name, count in zip(names.tolist(), counts.tolist(), strict=True):
            part = slice(start, start + count)
            self._samples[name] = (list(features[part]), costs[part].tolist())
            start += count
        self._train()

    def save(self, path: str) -> None:
        samples = self._samples.values()
        with open(path, "wb") as file:
            np.save(file, np.array(list(self._samples), dtype=str))
            np.save(file, np.array([len(costs) for _, costs in samples], np.int64))
            np.save(file, np.array([row for features, _ in samples for row in features]))
            np.save(file, np.array([cost for _, costs in samples for cost in costs]))

    def update(
        self,
        context: TuneContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        ran = [(c, r.seconds) for c, r in zip(candidates, results, strict=True) if r.run_secs]
        if not ran:
            return
        features, costs = self._samples.setdefault(context.task_name, ([], []))
        features += self._features(context, [candidate for candidate, _ in ran])
        costs += [seconds for _, seconds in ran]
        with Profiler.timeit("CostModel/Train"):
            self._train()

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        if self._booster is None or not candidates:
            return self._rng.random(len(candidates))
        with Profiler.timeit("CostModel/Predict"):
            matrix = self._xgboost.DMatrix(np.array(self._features(context, candidates)))
            return np.asarray(self._booster.predict(matrix), np.float64)

    def _features(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate]
    ) -> list[np.ndarray]:
        matrices = self.extractor.extract_from(context, list(candidates))
        return [np.concatenate([m.sum(axis=0), m.mean(axis=0), m.max(axis=0)]) for m in matrices]

    def _train(self) -> None:
        rows = [row for features, _ in self._samples.values() for row in features]
        if len(rows) < self.num_warmup_samples:
            return
        labels = [min(costs) / cost for _, costs in self._samples.values() for cost in costs]
        matrix = self._xgboost.DMatrix(np.array(rows), label=np.array(labels))
        self._booster = self._xgboost.train(self._parameters, matrix, num_boost_round=_ROUNDS)


def _xgboost() -> Any:
    try:
        return importlib.import_module("xgboost")
    except ImportError:
        raise Error(
            'the cost model "xgb" needs XGBoost, which is not installed',
            hint="pip install 'relax_mlir[tune]', or tune with cost_model=\"random\"",
        ) from None
