"""Converters for random numbers."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.random_numbers import draw
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.topi import random

_ALGORITHMS = {"DEFAULT": "philox", "PHILOX": "philox", "THREE_FRY": "threefry"}


def rng(operation: Operation) -> Any:
    """UNIFORM in [a, b), or NORMAL with mean a and standard deviation b."""
    shape = operation.known_dims(2, "the shape of random numbers")
    dtype, ops = operation.result_dtype(), operation.ops
    first, second = operation.tensor(0), operation.tensor(1)
    builder = operation.importer.block_builder
    if operation.attr("rng_distribution") == "NORMAL":
        made = draw(builder, random.normal, shape, dtype=dtype)
        return ops.add(ops.multiply(made, second), first)
    width = ops.subtract(second, first)
    if dtype.startswith(("float", "bfloat")):
        made = draw(builder, random.uniform, shape, dtype=dtype)
        return ops.add(ops.multiply(made, width), first)
    if dtype == "bool":
        operation.refuse("a uniform distribution of truth values")
    bits = draw(builder, random.random_bits, shape)
    place = ops.floor_mod(bits, ops.astype(width, "int64"))
    return ops.add(ops.astype(place, dtype), first)


def rng_bit_generator(operation: Operation) -> Any:
    """(the next state, the bits) of a generator by Salmon et al.; StableHLO leaves open how the
    words of its blocks are laid out, `topi.random.rng_bit_generator` says how they are here."""
    algorithm = _ALGORITHMS[operation.attr("rng_algorithm")]
    shape, dtype = operation.result_shape(1), operation.result_dtype(1)
    made = operation.te(
        random.rng_bit_generator, operation.tensor(0), shape, dtype=dtype, algorithm=algorithm
    )
    return [operation.importer.bound(made[i]) for i in range(2)]


CONVERTERS: dict[str, Converter] = {
    "stablehlo.rng": rng,
    "stablehlo.rng_bit_generator": rng_bit_generator,
}
"""By operation; see `operation.Converter`."""
