"""Dense attributes as numpy arrays, for every element type that tensors have."""

from __future__ import annotations

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.mlir import ir

__all__ = ["dense_to_numpy"]


def dense_to_numpy(attribute: ir.Attribute, dtype: str) -> np.ndarray:
    """The values of a `dense<...>` attribute as an array of TVM's dtype."""
    kind = ir.RankedTensorType(ir.Attribute(attribute).type)
    shape, target = tuple(kind.shape), _numpy_dtype(dtype)
    if isinstance(kind.element_type, ir.IntegerType):
        values = list(ir.DenseIntElementsAttr(attribute))
        if dtypes.is_unsigned(dtype):
            values = [value % (1 << dtypes.bits(dtype)) for value in values]
        return np.array(_spread(values, shape), dtype=target).reshape(shape)
    values = list(ir.DenseFPElementsAttr(attribute))
    return np.array(_spread(values, shape), dtype=np.float64).reshape(shape).astype(target)


def _spread(values: list[float], shape: tuple[int, ...]) -> list[float]:
    count = int(np.prod(shape, dtype=np.int64))
    return values * count if len(values) == 1 != count else values


def _numpy_dtype(dtype: str) -> np.dtype:
    if dtype in np.sctypeDict:
        return np.dtype(dtype)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, dtype))
