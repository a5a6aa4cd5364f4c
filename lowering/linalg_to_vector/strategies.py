"""Which strategy lowers a loop nest; decided by its structure, never by an operator's name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder
from relax_mlir.lowering.linalg_to_vector.contraction.matching import (
    Contraction,
    match_contraction,
)
from relax_mlir.lowering.linalg_to_vector.contraction.matrix_product import emit_matrix_product
from relax_mlir.lowering.linalg_to_vector.contraction.row_dots import (
    emit_row_dots,
    suits_row_dots,
)
from relax_mlir.lowering.linalg_to_vector.contraction.row_sweep import (
    emit_row_sweep,
    suits_row_sweep,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest
from relax_mlir.lowering.linalg_to_vector.transposing_nest import (
    emit_transposing_nest,
    plan_transposing_nest,
)
from relax_mlir.lowering.linalg_to_vector.vector_nest import emit_vector_nest, plan_vector_nest
from relax_mlir.mlir import ir

__all__ = ["Emission", "contraction_strategy", "find_strategy"]

Emission = Callable[[Builder, dict[int, ir.Value]], None]
"""Emits a nest at the insertion point; the dictionary has the constants that output operands are
filled with before."""


def find_strategy(nest: LoopNest, target: CPUTarget) -> Emission | None:
    """How to emit a simplified nest with vectors, or None if only scalar loops will do."""
    contraction = match_contraction(nest)
    if contraction is not None:
        return contraction_strategy(contraction, target)
    vector_plan = plan_vector_nest(nest, target)
    if vector_plan is not None:
        return partial(emit_vector_nest, nest, vector_plan)
    transposing_plan = plan_transposing_nest(nest, target)
    if transposing_plan is not None:
        return partial(emit_transposing_nest, nest, transposing_plan)
    return None


def contraction_strategy(contraction: Contraction, target: CPUTarget) -> Emission:
    """Row dot products where both inputs are contiguous along K and A has few rows, sweeps of
    whole rows of a large B, else a tiled matrix product.  Sizes known at run time choose then."""

    def emission(b: Builder, initial: dict[int, ir.Value]) -> None:
        start = initial.get(contraction.c)

        def tiled() -> None:
            emit_matrix_product(b, contraction, target, start)

        def sweep_or_tiled() -> None:
            b.when(
                suits_row_sweep(b, contraction, target),
                lambda: emit_row_sweep(b, contraction, target, start),
                tiled,
            )

        b.when(
            suits_row_dots(b, contraction),
            lambda: emit_row_dots(b, contraction, target, start),
            sweep_or_tiled,
        )

    return emission
