"""An operation of the program as converters see it: operands, attributes, regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from relax_mlir.dialects.dims import Dim
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.stablehlo.attributes import attribute_value, dtype_of
from relax_mlir.relax.frontend.stablehlo.errors import UnsupportedStablehloOperatorError

if TYPE_CHECKING:
    from relax_mlir.relax.frontend.stablehlo.importer import ProgramImporter

Converter: TypeAlias = "Callable[[Operation], Any]"
"""Turns an operation into its result: a value (see `values`), or a list with one a result."""


DESCRIPTION = "StableHLO operation"
_NESTED = ("composite_attributes", "mhlo.attributes")
"""Attributes that hold those of the operation that a composite or a custom call stands for."""
_TARGETS = {"stablehlo.composite": "name", "stablehlo.custom_call": "call_target_name"}


def key_of(source: ir.Operation) -> str:
    """The key of an operation in the tables: its name, or of what a call of another one names."""
    named = _TARGETS.get(source.name)
    if named is None:
        return source.name
    return ir.StringAttr(source.attributes[named]).value.replace("mhlo.", "chlo.")


class Operation:
    """One operation that is being converted."""

    def __init__(self, importer: ProgramImporter, source: ir.Operation, operands: Sequence[Any]):
        self.importer = importer
        self.source = source
        self.name: str = source.name
        self.operands = list(operands)
        self.ops = importer.ops

    # -- attributes and types ---------------------------------------------------------------

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute's value, see `attribute_value`."""
        attributes: Any = self.source.attributes
        for nested in ("", *_NESTED):
            found = attributes if not nested else self._dictionary(nested)
            if name in found:
                return attribute_value(found[name])
        return default

    def _dictionary(self, name: str) -> Any:
        attributes = self.source.attributes
        return ir.DictAttr(attributes[name]) if name in attributes else {}

    def ints(self, name: str, default: Sequence[int] = ()) -> list[int]:
        """A list of integers."""
        return [int(v) for v in np.asarray(self.attr(name, list(default))).reshape(-1)]

    def result_type(self, index: int = 0) -> ir.RankedTensorType:
        return ir.RankedTensorType(self.source.results[index].type)

    def result_dtype(self, index: int = 0) -> str:
        return dtype_of(self.result_type(index).element_type)

    def result_shape(self, index: int = 0) -> list[int]:
        """The sizes of a result.  Refuses one with sizes that the program does not know."""
        kind = self.result_type(index)
        if not kind.has_static_shape:
            self.refuse(f"needs a result of known size, got {kind}")
        return list(kind.shape)

    # -- operands ---------------------------------------------------------------------------

    def tensor(self, index: int) -> Any:
        """An operand as a Relax expression of known dimensions, where they are known at all."""
        return self.importer.sized(self.importer.expr(self.operands[index]))

    def tensors(self, first: int = 0, last: int | None = None) -> list[Any]:
        """Operands as Relax expressions."""
        return [self.tensor(i) for i in range(first, len(self.operands) if last is None else last)]

    def dims(self, index: int = 0) -> list[Dim]:
        """The dimensions of an operand.  Refuses one of unknown shape."""
        dims = self.importer.dims_of(self.operands[index])
        if dims is None:
            self.refuse(f"the shape of operand {index} is known only when the program runs")
        return dims

    def known_dims(self, index: int, what: str) -> list[Dim]:
        """The elements of an integer operand, which must be known, as dimensions."""
        value = self.importer.collapsed(self.operands[index])
        if not isinstance(value, Known):
            self.refuse(f"{what} must be known while importing, but the program computes it")
        return value.elements()

    def known_ints(self, index: int, what: str) -> list[int]:
        """The elements of an integer operand that must be numbers."""
        dims = self.known_dims(index, what)
        if not all(isinstance(dim, int) for dim in dims):
            self.refuse(f"{what} must be numbers, got {dims}")
        return [int(dim) for dim in dims]

    def scalar(self, index: int) -> Any:
        """The number that an operand is everywhere, None when the program computes it."""
        value = self.importer.collapsed(self.operands[index])
        numbers = value.numbers() if isinstance(value, Known) else None
        return numbers.reshape(-1)[0] if numbers is not None and numbers.size else None

    # -- regions ----------------------------------------------------------------------------

    def region(self, index: int) -> ir.Block:
        """The block of a region.  Refuses one with control flow between blocks."""
        blocks = list(self.source.regions[index].blocks)
        if len(blocks) != 1:
            self.refuse(f"region {index} has {len(blocks)} blocks; one can be imported")
        return blocks[0]

    def apply(self, index: int, arguments: Sequence[Any]) -> list[Any]:
        """The values that a region returns for arguments, converted in place."""
        return self.importer.block(self.region(index), arguments)

    # -- building ---------------------------------------------------------------------------

    def te(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """A new TensorIR function from a te function, called."""
        return self.importer.block_builder.emit_te(function, *args, **keywords)

    def reshape(self, x: Any, dims: Sequence[Dim]) -> Any:
        """A bound reshape, or the tensor itself when it has that shape."""
        return self.importer.reshaped(x, dims)

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        """A bound transposition, or the tensor itself when the order stays."""
        return x if list(axes) == sorted(axes) else self.ops.permute_dims(x, axes=list(axes))

    # -- errors -----------------------------------------------------------------------------

    def describe(self) -> str:
        """The operation and where it comes from, for messages."""
        return f"{DESCRIPTION} '{self.name}' at {location_of(self.source)}"

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error of a use that cannot be imported."""
        raise UnsupportedStablehloOperatorError(f"{self.describe()}: {reason}")


def location_of(operation: ir.Operation) -> str:
    """Where an operation comes from: the file and line, or the name, as far as they are known."""
    return str(operation.location).removeprefix("loc(").removesuffix(")")
