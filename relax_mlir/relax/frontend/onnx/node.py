"""A node of the graph as converters see it: inputs, attributes, and operators that bind at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.onnx.values import ConstantNeededError, UnsupportedOnnxOperatorError

if TYPE_CHECKING:
    from relax_mlir.relax.frontend.onnx.importer import GraphImporter

Converter: TypeAlias = "Callable[[Node], Any]"
"""Turns a node into its result: an expression, a `Known`, or a list with one value an output."""
Row: TypeAlias = "Converter | dict[int, Converter]"
"""A converter for all operator set versions, or converters by the first version they are for."""


class Node:
    """One node that is being converted."""

    def __init__(
        self, importer: GraphImporter, proto: Any, attributes: dict[str, Any], inputs: list[Any]
    ):
        self.importer = importer
        self.proto = proto
        self.op_type: str = proto.op_type
        self.domain: str = proto.domain
        self.version = importer.version_of(proto.domain)
        self.attributes = attributes
        self.inputs = inputs
        self.ops = importer.ops

    # -- attributes -------------------------------------------------------------------------

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute's value; strings are decoded, lists are Python lists."""
        return self.attributes.get(name, default)

    def choice(self, name: str, table: Mapping[str, Any], default: str) -> Any:
        """The row of a table that a string attribute names; refuses one that is not there."""
        given = self.attr(name, default)
        if given not in table:
            self.refuse(f"{name}={given!r} is none of {', '.join(table)}")
        return table[given]

    @property
    def output_count(self) -> int:
        return len(self.proto.output)

    def wants(self, index: int) -> bool:
        """Whether an output is used by the graph."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    # -- inputs -----------------------------------------------------------------------------

    def value(self, index: int) -> Any:
        """An input as it is, None when it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def has(self, index: int) -> bool:
        return self.value(index) is not None

    def tensor(self, index: int) -> Any:
        """An input as a Relax expression; raises when it is left out."""
        value = self.value(index)
        if value is None or isinstance(value, list):
            self.refuse(f"input {index} must be a tensor")
        return self.importer.expr(value)

    def optional(self, index: int) -> Any:
        """An input as a Relax expression, None when it is left out."""
        return self.tensor(index) if self.has(index) else None

    def tensors(self) -> list[Any]:
        """All inputs as Relax expressions."""
        return [self.tensor(i) for i in range(len(self.inputs))]

    def known(self, index: int, what: str = "") -> Known:
        """An input that must be known while importing.  Raises ConstantNeededError."""
        value = self.value(index)
        if isinstance(value, Known):
            return value
        name = self.proto.input[index] if index < len(self.proto.input) else "(absent)"
        raise ConstantNeededError(name, f"{self.describe()}: {what or f'input {index}'}")

    def array(self, index: int, what: str = "") -> np.ndarray:
        """The numbers of an input that must be known.  Raises ConstantNeededError."""
        array = self.known(index, what).numbers()
        if array is None:
            raise ConstantNeededError(
                self.proto.input[index], f"{self.describe()}: {what or f'input {index}'}"
            )
        return array

    def ints(self, index: int, attribute: str | None = None) -> list[int] | None:
        """Integers that later versions take as an input, earlier ones as an attribute."""
        if self.has(index):
            return [int(v) for v in self.array(index, attribute or "").reshape(-1)]
        given = self.attr(attribute) if attribute else None
        return None if given is None else [int(v) for v in given]

    def dims(self, index: int, what: str = "") -> list[Dim]:
        """The elements of an integer input as dimensions."""
        return self.known(index, what).elements()

    def scalar(self, index: int, default: Any = None) -> Any:
        """The one number of a known input."""
        return self.array(index).reshape(-1)[0].item() if self.has(index) else default

    # -- tensors ----------------------------------------------------------------------------

    def emit(self, expr: Any) -> Any:
        return self.importer.emit(expr)

    def const(self, value: Any, dtype: str | None = None) -> Any:
        """A Relax constant."""
        return self.importer.constant(value, dtype)

    def like(self, value: float | int | bool, tensor: Any) -> Any:
        """A scalar of another tensor's dtype."""
        return self.const(value, self.dtype(tensor))

    def shape(self, tensor: Any) -> list[Dim]:
        """The dimensions of a tensor; refuses a tensor whose shape is not known."""
        dims = self.importer.dims_of(tensor)
        if dims is None:
            self.refuse("the shape of an input is known only when the program runs")
        return dims

    def static_shape(self, tensor: Any) -> list[int]:
        """The sizes of a tensor that must all be numbers."""
        dims = self.shape(tensor)
        if not all(isinstance(dim, int) for dim in dims):
            self.refuse(f"needs a static shape, got {dims}")
        return [int(dim) for dim in dims]

    def last_size(self, tensor: Any) -> int:
        """The size of the last axis, which must be a number."""
        size = self.shape(tensor)[-1]
        if not isinstance(size, int):
            self.refuse(f"needs a known size of the last axis, got {size}")
        return size

    def shape_of_rank(self, tensor: Any, rank: int) -> list[Dim]:
        """The dimensions of a tensor; refuses one that has not so many."""
        dims = self.shape(tensor)
        if len(dims) != rank:
            self.refuse(f"takes a tensor of rank {rank}, not of rank {len(dims)}")
        return dims

    def rank(self, tensor: Any) -> int:
        if isinstance(tensor, Known):
            return tensor.ndim
        rank = tensor.struct_info.ndim
        if rank < 0:
            self.refuse("the rank of an input is not known")
        return rank

    def dtype(self, tensor: Any) -> str:
        if tensor is None or isinstance(tensor, list):
            self.refuse("an input must be a tensor")
        return tensor.dtype if isinstance(tensor, Known) else tensor.struct_info.dtype

    def cast(self, tensor: Any, dtype: str) -> Any:
        if self.dtype(tensor) == dtype:
            return tensor
        return self.ops.astype(tensor, dtype)

    def reshape(self, tensor: Any, dims: Sequence[Dim]) -> Any:
        return self.ops.reshape(tensor, self.importer.shape_expr(dims))

    def broadcast(self, tensor: Any, dims: Sequence[Dim]) -> Any:
        if self.shape(tensor) == list(dims):
            return tensor
        return self.ops.broadcast_to(tensor, self.importer.shape_expr(dims))

    def permute(self, tensor: Any, axes: Sequence[int]) -> Any:
        if list(axes) == list(range(len(axes))):
            return tensor
        return self.ops.permute_dims(tensor, axes=list(axes))

    def slice(
        self, tensor: Any, axis: int, begin: Dim, end: Dim, step: int = 1, squeeze: bool = False
    ) -> Any:
        """`tensor[..., begin:end:step, ...]` along one axis."""
        shape = self.importer.shape_expr
        result = self.ops.strided_slice(
            tensor, shape([axis]), shape([begin]), shape([end]), shape([step])
        )
        return self.ops.squeeze(result, axis=[axis]) if squeeze else result

    def split(self, tensor: Any, sections: int, axis: int) -> list[Any]:
        """Equal parts along an axis."""
        if sections == 1:
            return [tensor]
        return self.fields(self.ops.split(tensor, sections, axis=axis))

    def fields(self, value: Any) -> list[Any]:
        """The bound fields of a tuple."""
        count = len(value.struct_info.fields)
        return [self.emit(self.importer.relax.TupleGetItem(value, i)) for i in range(count)]

    def te(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """A new TensorIR function from a te function, called."""
        return self.importer.block_builder.emit_te(function, *args, **keywords)

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front.  Refuses one out of range."""
        if not -rank <= value < max(rank, 1):
            self.refuse(f"axis {value} of a tensor of rank {rank}")
        return value % rank if rank else 0

    # -- errors -----------------------------------------------------------------------------

    def describe(self) -> str:
        """The operator and the node's name, for messages."""
        name = self.proto.name or (self.proto.output[0] if self.proto.output else "")
        domain = f"{self.domain}." if self.domain not in ("", "ai.onnx") else ""
        return f"ONNX operator '{domain}{self.op_type}' (node '{name}')"

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error of a use that cannot be imported."""
        raise UnsupportedOnnxOperatorError(f"{self.describe()}: {reason}")
