"""Random numbers in imported programs: each place that draws asks for a key when it runs, and the
numbers are computed from it.

They are of the distribution that the program asks for, and the same again after the same
`relax_mlir.runtime.seed(n)`; they are not the numbers of the framework that the program is from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.runtime.random_state import KEY_FUNCTION
from relax_mlir.topi import random

__all__ = ["classes", "draw", "gumbel", "seed_words"]

_PLACES = itertools.count()


def seed_words(seed: float) -> np.ndarray:
    """The key, two uint32, of a seed that a model gives."""
    bits = int(np.float64(seed).view(np.uint64))
    return np.random.SeedSequence(bits).generate_state(2, np.uint32)


def draw(
    builder: Any,
    function: Callable[..., Any],
    shape: Sequence[Any],
    key: Any = None,
    **options: Any,
) -> Any:
    """A tensor of the shape (integers and symbolic sizes) by a function of `topi.random`, bound in
    the block that `builder` is in.  With a `key` (an expression) each call gives the same."""
    from relax_mlir import relax

    if key is None:
        place = relax.PrimValue(next(_PLACES))
        declared = relax.TensorStructInfo([2], "uint32")
        key = builder.emit(relax.call_dps_packed(KEY_FUNCTION, [place], declared))
    return builder.emit_te(function, key, list(shape), **options)


def gumbel(builder: Any, shape: Sequence[Any], dtype: str, key: Any = None) -> Any:
    """Gumbel noise: added to the logarithms of weights, the largest is a class of that weight."""
    from relax_mlir.relax import op

    noise = draw(builder, random.uniform, shape, key, low=1e-20, high=1.0, dtype=dtype)
    for function in (op.log, op.negative, op.log, op.negative):
        noise = builder.emit(function(noise))
    return noise


def classes(builder: Any, logarithms: Any, count: int, key: Any = None) -> Any:
    """`count` classes for each row of the logarithms of their weights, (rows..., classes), drawn
    with replacement; an unbound expression of (rows..., count), int64."""
    from relax_mlir.relax import op

    *rows, number = (getattr(size, "value", size) for size in logarithms.struct_info.shape)
    noise = gumbel(builder, [*rows, count, number], logarithms.struct_info.dtype, key)
    expanded = builder.emit(op.expand_dims(logarithms, len(rows)))
    return op.argmax(builder.emit(op.add(expanded, noise)), axis=-1)
