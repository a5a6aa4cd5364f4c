"""The table of legalisations: what each operator computes, in tensor expressions.

A row is a function from te tensors to te tensors.  It gets the operator's operands in order (a te
tensor, a list of them for a variadic operand, a list of sizes for a shape, an expression for a
scalar, None for an absent one), then the attributes by name.  A row declared with `result=True`
also gets `result`, the shape and dtype that inference found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relax_mlir import te
from relax_mlir.dialects.attributes import integers
from relax_mlir.errors import Error

TensorFunction = Callable[..., Any]


@dataclass(frozen=True)
class Result:
    """The inferred type of one output; `shape` holds int64 expressions."""

    shape: list[Any]
    dtype: str


@dataclass(frozen=True)
class Row:
    """`name` is what the made function is called, `immediate` says which constant scalar operands
    become numbers inside it: the first of these that is one.

    A row with `loops` writes statements instead: it gets a PrimFuncBuilder, then buffers in place
    of tensors, then the output buffers, then the attributes.  `on_gpu` takes the function's place
    on a GPU, where what it writes would be one thread's.
    """

    name: str
    function: TensorFunction
    immediate: tuple[int, ...] = ()
    result: bool = False
    loops: bool = False
    on_gpu: TensorFunction | None = None

    def for_gpu(self) -> Row:
        """The row whose function is the one for GPUs."""
        return self if self.on_gpu is None else replace(self, function=self.on_gpu)


ROWS: dict[str, Row] = {}
"""Rows by TVM's operator name without `relax.`."""


def legalize(
    operator: str, name: str | None = None, *, immediate: Sequence[int] = (), result: bool = False
) -> Callable[[TensorFunction], TensorFunction]:
    """Decorator: the function is the row of `operator`."""

    def register(function: TensorFunction) -> TensorFunction:
        ROWS[operator] = Row(
            name or operator.rsplit(".", 1)[-1], function, tuple(immediate), result
        )
        return function

    return register


def legalize_loops(operator: str) -> Callable[[TensorFunction], TensorFunction]:
    """Decorator: the function writes the statements that `operator` becomes."""

    def register(function: TensorFunction) -> TensorFunction:
        ROWS[operator] = Row(operator.rsplit(".", 1)[-1], function, loops=True)
        return function

    return register


def add_rows(table: Iterable[tuple[str, TensorFunction, str]]) -> None:
    """Rows from (operator, function, name) triples."""
    for operator, function, name in table:
        ROWS[operator] = Row(name, function)


def positive_axis(axis: Any, ndim: int) -> int:
    return int(axis) % ndim if ndim else 0


def normalized_axes(axis: Any, ndim: int) -> list[int]:
    """Non-negative axes of None (all), a number or a list."""
    if axis is None:
        return list(range(ndim))
    return [positive_axis(a, ndim) for a in integers(axis)]


def constant(size: Any) -> int:
    """The value of a constant expression.  Raises Error for a symbolic one."""
    value = getattr(size, "value", size)
    if not isinstance(value, int):
        raise Error(f"must be a constant, not {size}")
    return value


def is_zero(size: Any) -> bool:
    """True for a size that is the constant zero."""
    return getattr(size, "value", size) == 0 if not isinstance(size, te.Tensor) else False


def is_one(size: Any) -> bool:
    """True for a size that is the constant one."""
    return isinstance(getattr(size, "value", None), int) and size.value == 1
