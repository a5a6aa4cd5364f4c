"""Strategies that choose what is measured."""

from relax_mlir.meta_schedule.search_strategy.evolutionary_search import EvolutionarySearch
from relax_mlir.meta_schedule.search_strategy.replay import ReplayFunc, ReplayTrace
from relax_mlir.meta_schedule.search_strategy.search_strategy import (
    MeasureCandidate,
    PySearchStrategy,
    SearchStrategy,
)

__all__ = [
    "EvolutionarySearch",
    "MeasureCandidate",
    "PySearchStrategy",
    "ReplayFunc",
    "ReplayTrace",
    "SearchStrategy",
    "create",
]

create = SearchStrategy.create
