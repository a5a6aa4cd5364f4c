"""What constants are worth: operators on constants computed by numpy while a graph is rewritten.

Only what stands between a stored weight and its use: reshapes, transpositions, zeros around it and
the arithmetic of normalisation.  `relax-fold-constant` computes everything else by compiling it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.relax.constants import numpy_dtype, read_constant
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.rewriting import dims_of, dtype_of
from relax_mlir.mlir import ir

_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}
_UNARY: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "negative": np.negative,
    "astype": lambda x: x,
}
_SHAPES = frozenset(("reshape", "expand_dims", "squeeze", "flatten"))


class ConstantValues:
    """The arrays of values that are constants, or follow from constants."""

    def __init__(self, state: ModuleState):
        self._constants = state.constants
        # Of constants only, which stay: an erased operation may leave its place to another.
        self._known: dict[ir.Value, np.ndarray] = {}

    def of(self, value: ir.Value) -> np.ndarray | None:
        """The array, or None for a value that is not constant."""
        if isinstance(value, ir.BlockArgument):
            return None
        if value not in self._known:
            array = self._compute(value)
            if array is None:
                return None
            self._known[value] = array
        return self._known[value]

    def _compute(self, value: ir.Value) -> np.ndarray | None:
        op = value.owner.operation
        if op.name == "relax.constant":
            return read_constant(op, self._constants)
        if op.name == "relax.bind":
            return self.of(op.operands[0])
        spec = spec_of(op)
        dims, dtype = dims_of(value), dtype_of(value)
        if spec is None or dims is None or dtype is None:
            return None
        if not all(isinstance(dim, int) for dim in dims):
            return None
        result = self._evaluate(op, spec.name, tuple(int(dim) for dim in dims))
        return None if result is None else result.astype(numpy_dtype(dtype), copy=False)

    def _evaluate(self, op: ir.Operation, name: str, dims: tuple[int, ...]) -> np.ndarray | None:
        operands = list(op.operands)
        if name in _BINARY:
            left, right = (self.of(operand) for operand in operands)
            if left is None or right is None:
                return None
            with np.errstate(all="ignore"):
                return np.asarray(_BINARY[name](left, right))
        if name not in _UNARY and name not in _SHAPES and name not in _MOVES:
            return None
        array = self.of(operands[0])
        if array is None:
            return None
        if name in _UNARY:
            with np.errstate(all="ignore"):
                return np.asarray(_UNARY[name](array))
        if name in _MOVES:
            return _MOVES[name](array, attributes_of(op))
        return array.reshape(dims)


def _padded(array: np.ndarray, attributes: Mapping[str, Any]) -> np.ndarray | None:
    if attributes["pad_mode"] != "constant":
        return None
    widths = np.reshape(attributes["pad_width"], (-1, 2))
    return np.pad(array, widths, constant_values=attributes["pad_value"])


_MOVES: dict[str, Callable[[np.ndarray, Mapping[str, Any]], np.ndarray | None]] = {
    "permute_dims": lambda array, attributes: array.transpose(attributes["axes"]),
    "flip": lambda array, attributes: np.flip(array, attributes["axis"]),
    "nn.pad": _padded,
}


def moves_elements(op: ir.Operation) -> bool:
    """Whether an operator only moves elements, or reads them as another shape."""
    spec = spec_of(op)
    return spec is not None and (spec.name in _SHAPES or spec.name in _MOVES)


def batch_norm_terms(
    attributes: Mapping[str, Any], parameters: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Scale and shift of a batch normalisation for inference with these gamma, beta, mean and
    variance."""
    gamma, beta, mean, variance = parameters
    scale = 1.0 / np.sqrt(variance + attributes["epsilon"])
    if attributes["scale"]:
        scale = scale * gamma
    shift = -mean * scale
    return scale, shift + beta if attributes["center"] else shift


__all__ = ["ConstantValues", "batch_norm_terms", "moves_elements"]
