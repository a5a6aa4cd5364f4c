"""Computations on sizes and small integers, which leave nothing to run.

Programs for any size compute the shapes they broadcast and reshape to; here those are arrays of
dimensions, numbers or expressions over the sizes of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.relax.frontend.known import (
    Known,
    absolute,
    divide,
    extreme,
    modulo,
    negative,
    object_array,
    order,
    same,
)
from relax_mlir.relax.frontend.stablehlo.importer import ProgramImporter
from relax_mlir.relax.frontend.stablehlo.values import Spread

_LIMIT = 64
"""Elements of the largest tensor that is computed while importing."""

_EXTREMES = {
    "maximum": extreme(dim_algebra.maximum, 1),
    "minimum": extreme(dim_algebra.minimum, -1),
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "stablehlo.add": dim_algebra.add,
    "stablehlo.subtract": dim_algebra.subtract,
    "stablehlo.multiply": dim_algebra.multiply,
    "stablehlo.divide": divide,
    "stablehlo.remainder": modulo,
    "stablehlo.negate": negative,
    "stablehlo.abs": absolute,
    **{f"stablehlo.{name}": function for name, function in _EXTREMES.items()},
}
_COMPARISONS: dict[str, Callable[..., bool | None]] = {
    "compare EQ": same,
    "compare NE": lambda a, b: None if same(a, b) is None else not same(a, b),
    "compare LT": order(lambda d: d < 0),
    "compare LE": order(lambda d: d <= 0),
    "compare GT": order(lambda d: d > 0),
    "compare GE": order(lambda d: d >= 0),
}
_BITS: dict[str, Callable[..., Any]] = {
    "stablehlo.and": np.logical_and,
    "stablehlo.or": np.logical_or,
    "stablehlo.xor": np.logical_xor,
    "stablehlo.not": np.logical_not,
}


def small(value: Any, importer: ProgramImporter, kinds: str = "iu") -> Known | None:
    """A value as a small known tensor of integers (of `kinds`), None if it is something else."""
    known = importer.collapsed(value)
    if not isinstance(known, Known) or known.array.size > _LIMIT:
        return None
    return known if known.is_symbolic or known.array.dtype.kind in kinds else None


def elementwise(name: str, operands: Sequence[Any], importer: ProgramImporter) -> Known | None:
    """The result of an elementwise operation on small known integers, else None."""
    if name in _BITS:
        truths = [small(value, importer, "b") for value in operands]
        if any(truth is None for truth in truths):
            return None
        return Known(_BITS[name](*(truth.array for truth in truths if truth is not None)))
    function = _ARITHMETIC.get(name) or _COMPARISONS.get(name)
    values = [small(value, importer) for value in operands]
    if function is None or not values:
        return None
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return None
    arrays = np.broadcast_arrays(*(object_array(v.elements(), v.shape) for v in present))
    results = [function(*row) for row in zip(*(a.reshape(-1) for a in arrays), strict=True)]
    if any(result is None for result in results):
        return None
    if name in _COMPARISONS:
        return Known(np.array(results, "bool").reshape(arrays[0].shape))
    return integers(results, arrays[0].shape, present[0].dtype)


def integers(values: Sequence[Any], shape: Sequence[int], dtype: str) -> Known:
    """A tensor of dimensions; numbers wrap around as those of its dtype do."""
    if all(isinstance(value, int) for value in values):
        wide = np.array(values, dtype="object").reshape(shape)
        bits = np.iinfo(dtype).bits
        wrapped = np.array([int(v) % (1 << bits) for v in wide.reshape(-1)], f"uint{bits}")
        return Known(wrapped.astype(dtype).reshape(shape))
    return Known(object_array(values, tuple(shape)), dtype)


def select(operands: Sequence[Any], importer: ProgramImporter) -> Any:
    """The operand that a known condition chooses; None when it is not known everywhere."""
    condition = small(operands[0], importer, "b")
    if condition is None:
        return None
    mask = condition.numbers()
    assert mask is not None  # truth values are no sizes
    if mask.all():
        return operands[1]
    if not mask.any():
        return operands[2]
    chosen, other = (small(value, importer) for value in operands[1:])
    if chosen is None or other is None:
        return None
    rows = zip(mask.reshape(-1), chosen.elements(), other.elements(), strict=True)
    return integers([a if m else b for m, a, b in rows], mask.shape, chosen.dtype)


def converted(value: Any, dtype: str) -> Any:
    """A known scalar (or what repeats one), or sizes, in another dtype; else None."""
    if isinstance(value, Spread):
        source = converted(value.source, dtype)
        return None if source is None else Spread(source, value.dims)
    if not isinstance(value, Known) or value.array.size > _LIMIT:
        return None
    if value.is_symbolic:
        return Known(value.array, dtype) if dtype in ("int32", "int64") else None
    from relax_mlir.dialects.relax.constants import numpy_dtype

    return Known(value.array.astype(numpy_dtype(dtype)))


def rearranged(value: Any, importer: ProgramImporter, change: Callable[[Any], Any]) -> Known | None:
    """`change` of the array of a small known tensor of integers, None if it is something else."""
    known = small(value, importer, "iub")
    if known is None:
        return None
    array = np.asarray(change(known.array))
    return Known(array, known.dtype) if known.is_symbolic else Known(array)


def joined(values: Sequence[Any], importer: ProgramImporter, axis: int) -> Known | None:
    """Small known tensors of integers, one after the other; None if some is something else."""
    parts = [small(value, importer) for value in values]
    present = [part for part in parts if part is not None]
    if len(present) < len(parts) or sum(part.array.size for part in present) > _LIMIT:
        return None
    arrays = [object_array(part.elements(), part.shape) for part in present]
    array = np.concatenate(arrays, axis)
    return integers(list(array.reshape(-1)), array.shape, present[0].dtype)
