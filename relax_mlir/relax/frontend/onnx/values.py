"""What a name of an ONNX graph may stand for while importing.

| value | is |
|---|---|
| a Relax expression | a tensor computed when the program runs |
| `Known` | a tensor whose elements are known while importing: numbers, or sizes over symbols |
| a list | a sequence: its length is known, its elements are values |
| `None` | an input that was left out, or an optional without a value |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.errors import Error

SYMBOLIC_LIMIT = 4096
"""Elements of the largest tensor of symbolic sizes that is kept as such."""


class OnnxError(Error, ValueError):
    """A model that cannot be imported; the message names the node."""


class UnsupportedOnnxOperatorError(Error, NotImplementedError):
    """Operators without a converter, or a use of one that has no Relax counterpart."""


class UnsupportedDtypeError(UnsupportedOnnxOperatorError):
    """Tensors of a dtype that compiled programs do not compute with."""


_NUMBERS = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 bfloat16 float16 float32 "
    "float64".split()
)


def require_runnable(dtype: str) -> None:
    """Refuse the dtypes of less than a byte and the eight-bit floats.

    Raises UnsupportedDtypeError.
    """
    if dtype not in _NUMBERS:
        raise UnsupportedDtypeError(f"tensors of {dtype} are not supported while a program runs")


class BranchError(Exception):
    """An If that cannot stand in the dataflow block that is open."""


class ConstantNeededError(OnnxError):
    """A node needs a value while importing that is known only when the program runs.

    `names` are the inputs of the model it depends on, `name` the first of them.
    """

    def __init__(self, name: str, what: str):
        self.names = [name]
        super().__init__(
            f"{what} must be known while importing, but '{name}' is computed when the program runs"
        )

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""


class Known:
    """A tensor with known elements.

    `array` has numpy's (or ml_dtypes') dtype when all are numbers, else dtype object: its elements
    are dimensions (`int`, or `str` for an expression over symbols) and `dtype` says which integer
    type they have.  `expr` is a Relax expression of the same value once there is one; a weight that
    stays a parameter has its variable there and `is_parameter` set.
    """

    def __init__(
        self, array: Any, dtype: str | None = None, expr: Any = None, is_parameter: bool = False
    ):
        self.array = np.asarray(array)
        if self.array.dtype == object and all(isinstance(v, int) for v in self.array.flat):
            self.array = self.array.astype(dtype or "int64")
        self.dtype = dtype if self.is_symbolic and dtype else self.array.dtype.name
        if self.is_symbolic and not dtype:
            self.dtype = "int64"
        self.expr = expr
        self.is_parameter = is_parameter

    @property
    def is_symbolic(self) -> bool:
        """Whether an element is an expression over symbols."""
        return self.array.dtype == object

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def elements(self) -> list[Dim]:
        """The elements of an integer tensor in order, as dimensions."""
        return [v if isinstance(v, str) else int(v) for v in self.array.reshape(-1)]

    def numbers(self) -> np.ndarray | None:
        """The array if all elements are numbers."""
        return None if self.is_symbolic else self.array


def object_array(values: Any, shape: Any = None) -> np.ndarray:
    """An array of dtype object from dimensions (a list keeps them apart, whatever they are)."""
    flat = list(values)
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array if shape is None else array.reshape(shape)


def is_non_negative(dim: Dim) -> bool:
    """Whether a dimension is provably at least 0, symbols being sizes."""
    return dim >= 0 if isinstance(dim, int) else "-" not in dim


def is_positive(dim: Dim) -> bool:
    """Whether a dimension is provably at least 1."""
    return is_non_negative(dim) and is_non_negative(dim_algebra.subtract(dim, 1))


def same(a: Dim, b: Dim) -> bool | None:
    """Whether two dimensions are equal; None when that depends on the symbols."""
    if dim_algebra.equal(a, b):
        return True
    difference = dim_algebra.subtract(a, b)
    if isinstance(difference, int) or is_positive(difference):
        return False
    return False if is_positive(dim_algebra.subtract(b, a)) else None
