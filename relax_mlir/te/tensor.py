"""Tensors of tensor expressions, and the operations that make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error
from relax_mlir.tir.expr import (
    IterVar,
    PrimExpr,
    ProducerLoad,
    Reduce,
    as_expr,
    canonical_dtype,
    post_order,
)
from relax_mlir.tir.expr_op import ExprOp

if TYPE_CHECKING:
    from relax_mlir.tir.buffer import Buffer
    from relax_mlir.tir.builder import PrimFuncBuilder

__all__ = ["ComputeOp", "ExternOp", "Operation", "PlaceholderOp", "Tensor", "TensorSlice"]


class Tensor:
    """One output of an operation: a shape, a dtype, and a rule for its elements.

    `A[i, j]` and `A(i, j)` are the element; `A[i]` a slice to be indexed further.  Python
    operators on whole tensors are topi's broadcasting operators.
    """

    def __init__(self, shape: Sequence[Any], dtype: object, op: Operation, value_index: int = 0):
        self._shape = tuple(as_expr(s) for s in shape)
        self.dtype = canonical_dtype(dtype)
        self.op = op
        self.value_index = value_index

    @property
    def shape(self) -> list[PrimExpr]:
        """The sizes, as a new list."""
        return list(self._shape)

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def name(self) -> str:
        """The operation's name, with `_v<index>` if it has several outputs."""
        several = self.op.num_outputs > 1
        return f"{self.op.name}_v{self.value_index}" if several else self.op.name

    def __call__(self, *indices: Any) -> PrimExpr:
        """The element at `indices`.  Raises Error if their number is not the tensor's rank."""
        flat = [i for index in indices for i in (index if isinstance(index, tuple) else (index,))]
        if len(flat) != self.ndim:
            raise Error(f"tensor {self.name} has {self.ndim} dimensions, {len(flat)} indices given")
        return ProducerLoad(self, flat)

    def __getitem__(self, indices: Any) -> Any:
        return TensorSlice(self, ())[indices]

    def __hash__(self) -> int:
        return hash((id(self.op), self.value_index))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            return NotImplemented
        return self.op is other.op and self.value_index == other.value_index

    def same_as(self, other: object) -> bool:
        return self == other

    def __repr__(self) -> str:
        sizes = ", ".join(str(s) for s in self._shape)
        return f"Tensor(shape=[{sizes}], op.name={self.op.name})"

    def astype(self, dtype: object) -> Tensor:
        """The tensor converted to a dtype."""
        return _topi().cast(self, dtype)

    def __add__(self, other: Any) -> Tensor:
        return _topi().add(self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _topi().add(other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _topi().subtract(self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _topi().subtract(other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _topi().multiply(self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _topi().multiply(other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _topi().divide(self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _topi().divide(other, self)

    def __neg__(self) -> Tensor:
        return _topi().negative(self)


def _topi() -> Any:
    """topi, which is written in te and hence imported late."""
    from relax_mlir import topi

    return topi


class TensorSlice(ExprOp):
    """A tensor with its first indices given; an expression once all of them are."""

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]):
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: Any) -> Any:
        new = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)
        if any(isinstance(i, slice) for i in new):
            raise Error(f"tensor {self.tensor.name}: elements are indexed one by one, not sliced")
        both = (*self.indices, *new)
        if len(both) >= self.tensor.ndim:
            return self.tensor(*both)
        return TensorSlice(self.tensor, both)

    @property
    def dtype(self) -> str:
        return self.tensor.dtype

    def asobject(self) -> PrimExpr:
        return self.tensor(*self.indices)


class Operation(ABC):
    """What makes tensors.  `tag` and `attrs` are kept for whoever reads the graph."""

    num_outputs = 1

    def __init__(self, name: str, tag: str = "", attrs: Mapping[str, Any] | None = None):
        self.name = name
        self.tag = tag
        self.attrs = dict(attrs or {})
        self.axis: list[IterVar] = []
        self.reduce_axis: list[IterVar] = []

    @abstractmethod
    def output(self, index: int) -> Tensor:
        """The output of that number."""

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors read, in order of first use."""
        return []


class PlaceholderOp(Operation):
    """An input."""

    def __init__(self, name: str, shape: Sequence[Any], dtype: object):
        super().__init__(name)
        self.shape = [as_expr(s) for s in shape]
        self.dtype = canonical_dtype(dtype)

    def output(self, index: int) -> Tensor:
        return Tensor(self.shape, self.dtype, self, index)


class ComputeOp(Operation):
    """Elements computed by `body`, one expression an output, over `axis` and `reduce_axis`."""

    def __init__(
        self,
        name: str,
        axis: Sequence[IterVar],
        body: Sequence[PrimExpr],
        tag: str = "",
        attrs: Mapping[str, Any] | None = None,
    ):
        super().__init__(name, tag, attrs)
        self.axis = list(axis)
        self.body = list(body)
        first = self.body[0]
        self.reduce_axis = list(first.axis) if isinstance(first, Reduce) else []
        self.num_outputs = len(self.body)

    def output(self, index: int) -> Tensor:
        shape = [axis.dom.extent for axis in self.axis if axis.dom is not None]
        return Tensor(shape, self.body[index].dtype, self, index)

    @property
    def input_tensors(self) -> list[Tensor]:
        found: dict[Tensor, None] = {}
        for expr in self.body:
            for node in post_order(expr):
                if isinstance(node, ProducerLoad):
                    found.setdefault(node.producer)
        return list(found)


class ExternOp(Operation):
    """Outputs written by statements: `emit` gets the function's builder and all buffers."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[Sequence[Any], object]],
        emit: Callable[[PrimFuncBuilder, list[Buffer], list[Buffer]], None],
        tag: str = "",
        attrs: Mapping[str, Any] | None = None,
    ):
        super().__init__(name, tag, attrs)
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.emit = emit
        self.num_outputs = len(self.outputs)

    def output(self, index: int) -> Tensor:
        shape, dtype = self.outputs[index]
        return Tensor(shape, dtype, self, index)

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))
