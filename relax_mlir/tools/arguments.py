"""Arguments for running a function from the command line: made up, or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import numpy_dtype
from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc
from relax_mlir.mlir import ir

Filler = Callable[[tuple[int, ...], str, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, and its dtype and shape, or its fields if it is a tuple.

    A scalar has no shape; a shape value has no dtype.
    """

    name: str
    dtype: str | None = None
    shape: tuple[Dim, ...] | None = None
    fields: tuple[Parameter, ...] | None = None


def _random(shape: tuple[int, ...], dtype: str, generator: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return generator.random(shape) < 0.5
    if dtypes.is_float(dtype):
        return generator.random(shape).astype(numpy_dtype(dtype))
    return generator.integers(0, 10, shape).astype(numpy_dtype(dtype))


def _arange(shape: tuple[int, ...], dtype: str, generator: np.random.Generator) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64))
    return np.arange(count).reshape(shape).astype(numpy_dtype(dtype))


def _ones(shape: tuple[int, ...], dtype: str, generator: np.random.Generator) -> np.ndarray:
    return np.ones(shape).astype(numpy_dtype(dtype))


def _zeros(shape: tuple[int, ...], dtype: str, generator: np.random.Generator) -> np.ndarray:
    return np.zeros(shape).astype(numpy_dtype(dtype))


FILLERS: dict[str, Filler] = {
    "random": _random,
    "arange": _arange,
    "ones": _ones,
    "zeros": _zeros,
}
"""What `--args` may name: random floats are in [0, 1), random integers in [0, 10)."""


def parameters_of(function: BaseFunc) -> list[Parameter]:
    """The parameters of a Relax or TensorIR function.  Raises Error for kinds that no array is."""
    with mlir.scope():
        operation = function.operation
        inputs = ir.FunctionType(ir.TypeAttr(operation.attributes["function_type"]).value).inputs
        described = from_attribute(operation.attributes["arg_attrs"]) if len(inputs) else []
        read = _buffer if function.attrs_key == "tir.attrs" else _relax_value
        return [read(d, kind) for d, kind in zip(described, inputs, strict=True)]


def _buffer(described: Mapping[str, Any], kind: ir.Type) -> Parameter:
    name = described["tir.name"]
    if not isinstance(kind, ir.MemRefType):
        return Parameter(name, described.get("tir.dtype") or dtypes.from_mlir(kind), None)
    dtype = described.get("tir.dtype") or dtypes.from_mlir(kind.element_type)
    shape = described.get("tir.shape") or list(kind.shape)
    return Parameter(name, dtype, tuple(dim_algebra.canonical(dim) for dim in shape))


def _relax_value(described: Mapping[str, Any], kind: ir.Type) -> Parameter:
    return _relax_parameter(described["relax.name"], kind)


def _relax_parameter(name: str, kind: ir.Type) -> Parameter:
    fields = types.tuple_fields(kind)
    if fields is not None:
        inner = tuple(_relax_parameter(f"{name}[{i}]", f) for i, f in enumerate(fields))
        return Parameter(name, fields=inner)
    tensor = types.tensor_info(kind)
    if tensor is not None and tensor.dims is not None and tensor.dtype is not None:
        return Parameter(name, tensor.dtype, tensor.dims)
    shape = types.shape_info(kind)
    if shape is not None and shape.dims is not None:
        return Parameter(name, None, shape.dims)
    prim = types.prim_info(kind)
    if prim is not None:
        return Parameter(name, prim[0], None)
    raise Error(
        f"parameter '{name}' is {types.describe(kind)}: no value can be made up for it",
        hint="give it by --args FILE.npz",
    )


class ArgumentMaker:
    """Makes arguments: by a filler, from arrays by name, with values for symbolic sizes."""

    def __init__(
        self,
        filler: str = "random",
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.filler = FILLERS[filler]
        self.generator = np.random.default_rng(seed)
        self.sizes = dict(sizes or {})
        self.arrays = dict(arrays or {})

    def make(self, parameter: Parameter) -> Any:
        """The argument for a parameter; raises Error for an unknown size."""
        if parameter.name in self.arrays:
            return self.arrays[parameter.name]
        if parameter.fields is not None:
            return tuple(self.make(field) for field in parameter.fields)
        if parameter.shape is None:
            return self.filler((), parameter.dtype or "int64", self.generator).item()
        shape = tuple(self._size(parameter.name, dim) for dim in parameter.shape)
        if parameter.dtype is None:
            return shape
        return self.filler(shape, parameter.dtype, self.generator)

    def _size(self, name: str, dim: Dim) -> int:
        known: dict[str, Dim] = {**self.sizes}
        value = dim_algebra.substitute(dim, known)
        if isinstance(value, int):
            return value
        symbol = dim_algebra.symbols(value)[0]
        raise Error(
            f"parameter '{name}' has a size that depends on '{symbol}'",
            hint=f"give it by --size {symbol}=16",
        )
