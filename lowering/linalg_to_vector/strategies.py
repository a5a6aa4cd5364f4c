"""Which strategy lowers a loop nest; decided by its structure, never by an operator's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.arg_reduction import (
    emit_arg_reduction,
    plan_arg_reduction,
)
from relax_mlir.lowering.linalg_to_vector.block_copy import emit_block_copy, plan_block_copy
from relax_mlir.lowering.linalg_to_vector.builder import Builder
from relax_mlir.lowering.linalg_to_vector.contraction.grouped_product import (
    emit_grouped_product,
    grouped_kind,
)
from relax_mlir.lowering.linalg_to_vector.contraction.matching import (
    Contraction,
    match_contraction,
)
from relax_mlir.lowering.linalg_to_vector.contraction.matrix_product import emit_matrix_product
from relax_mlir.lowering.linalg_to_vector.contraction.row_dots import (
    emit_row_dots,
    suits_column_dots,
    suits_row_dots,
    turned,
)
from relax_mlir.lowering.linalg_to_vector.contraction.row_sweep import (
    emit_row_sweep,
    suits_row_sweep,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.interleaving_nest import (
    emit_interleaving_nest,
    plan_interleaving_nest,
)
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest
from relax_mlir.lowering.linalg_to_vector.parallel import emit_divided
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
    arg_plan = plan_arg_reduction(nest, target)
    if arg_plan is not None:
        return _divided(nest, {}, target, partial(emit_arg_reduction, arg_plan))
    copy_plan = plan_block_copy(nest)
    if copy_plan is not None:
        return _divided(nest, {copy_plan.dim: 1024}, target, partial(emit_block_copy, copy_plan))
    vector_plan = plan_vector_nest(nest, target)
    if vector_plan is not None:
        lanes = {vector_plan.dim: vector_plan.lanes * vector_plan.unroll}
        return _divided(nest, lanes, target, partial(emit_vector_nest, vector_plan))
    interleaving_plan = plan_interleaving_nest(nest, target)
    if interleaving_plan is not None:
        rows: dict[int | None, int] = {interleaving_plan.row: 64}
        return _divided(nest, rows, target, partial(emit_interleaving_nest, interleaving_plan))
    transposing_plan = plan_transposing_nest(nest, target)
    if transposing_plan is not None:
        tile: dict[int | None, int] = {transposing_plan.row: 64, transposing_plan.column: 64}
        return _divided(nest, tile, target, partial(emit_transposing_nest, transposing_plan))
    return None


def _divided(
    nest: LoopNest,
    multiples: Mapping[int | None, int],
    target: CPUTarget,
    emit: Callable[[LoopNest, Builder, dict[int, ir.Value]], None],
) -> Emission:
    """`emit` on the whole nest, or on a piece for each core; pieces are cut outermost first, in
    the given multiples."""

    def emission(b: Builder, initial: dict[int, ir.Value]) -> None:
        parallel = [dim for dim in range(nest.rank) if not nest.reduction[dim]]
        dims = [(dim, multiples.get(dim, 1)) for dim in parallel]
        emit_divided(b, nest, dims, target.num_cores, lambda piece: emit(piece, b, initial))

    return emission


def contraction_strategy(contraction: Contraction, target: CPUTarget) -> Emission:
    """Dot-product instructions for bfloat16 and bytes where the CPU has them; row dot products
    where both inputs are contiguous along K and A has few rows, sweeps of whole rows of a large B,
    else a tiled matrix product.  Sizes known at run time choose then."""

    con = contraction

    def emission(b: Builder, initial: dict[int, ir.Value]) -> None:
        start = initial.get(con.c)
        # Pieces of many columns share no work; rows would each pack all of B.
        dims = [(dim, 1) for dim in con.outer] + [(con.column, 64)]
        dims += [(con.row, 8)] if con.row is not None else []
        emit_divided(
            b,
            con.nest,
            dims,
            target.num_cores,
            lambda piece: _emit_product(b, replace(con, nest=piece), target, start),
        )

    return emission


def _emit_product(
    b: Builder, contraction: Contraction, target: CPUTarget, initial: ir.Value | None
) -> None:
    kind = grouped_kind(contraction, target, initial)
    if kind is not None:
        assert initial is not None
        emit_grouped_product(b, contraction, target, initial, kind)
        return

    def sweep_or_tiled() -> None:
        b.when(
            suits_row_sweep(b, contraction, target),
            lambda: emit_row_sweep(b, contraction, target, initial),
            lambda: emit_matrix_product(b, contraction, target, initial),
        )

    def one_column_or_more() -> None:
        b.when(
            suits_column_dots(b, contraction),
            lambda: emit_row_dots(b, turned(contraction), target, initial),
            sweep_or_tiled,
        )

    b.when(
        suits_row_dots(b, contraction),
        lambda: emit_row_dots(b, contraction, target, initial),
        one_column_or_more,
    )
