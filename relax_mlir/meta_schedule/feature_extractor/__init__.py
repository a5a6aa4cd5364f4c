"""Descriptions of candidates for cost models."""

from relax_mlir.meta_schedule.feature_extractor.feature_extractor import (
    FeatureExtractor,
    PyFeatureExtractor,
)
from relax_mlir.meta_schedule.feature_extractor.per_store_feature import PerStoreFeature

__all__ = ["FeatureExtractor", "PerStoreFeature", "PyFeatureExtractor", "create"]

create = FeatureExtractor.create
