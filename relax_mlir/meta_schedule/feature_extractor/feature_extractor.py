"""The interface of feature extractors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["FeatureExtractor", "PyFeatureExtractor"]


class FeatureExtractor(ABC):
    """Describes candidates in numbers that a cost model learns from.  Users' own derive from
    `PyFeatureExtractor`."""

    @abstractmethod
    def extract_from(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate]
    ) -> list[np.ndarray]:
        """A matrix for each candidate: a row a part of the program, a column a feature."""

    @staticmethod
    def create(kind: str = "per-store-feature", *args: Any, **kwargs: Any) -> FeatureExtractor:
        """An extractor by its kind: "per-store-feature".  Raises ValueError for another one."""
        from relax_mlir.meta_schedule.feature_extractor.per_store_feature import PerStoreFeature

        if kind != "per-store-feature":
            raise ValueError(f'there is no extractor "{kind}"; there is: per-store-feature')
        return PerStoreFeature(*args, **kwargs)


PyFeatureExtractor = FeatureExtractor
"""TVM's name of the class that users derive from."""
