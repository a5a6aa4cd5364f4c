"""Attributes and types of StableHLO operations as Python values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax.constants import dense_array, numpy_dtype
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.stablehlo.errors import UnsupportedStablehloOperatorError

_PLAIN = (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.FlatSymbolRefAttr)
_ARRAYS = (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseBoolArrayAttr)
_DIMENSION_NUMBERS = (
    "ConvDimensionNumbers",
    "DotDimensionNumbers",
    "GatherDimensionNumbers",
    "ScatterDimensionNumbers",
)
_ENUMERATIONS = (
    "ComparisonDirectionAttr",
    "ComparisonTypeAttr",
    "FftTypeAttr",
    "RngAlgorithmAttr",
    "RngDistributionAttr",
    "TransposeAttr",
)


def attribute_value(attribute: ir.Attribute) -> Any:
    """A number, text, list or array; dimension numbers keep their fields, enumerations are text."""
    if isinstance(attribute, _PLAIN):
        return attribute.value
    if isinstance(attribute, _ARRAYS):
        return list(attribute)
    if isinstance(attribute, ir.ArrayAttr):
        return [attribute_value(item) for item in attribute]
    if isinstance(attribute, ir.DenseElementsAttr):
        return dense_array(attribute)
    library = mlir.stablehlo()
    for name in _DIMENSION_NUMBERS:
        if getattr(library, name).isinstance(attribute):
            return getattr(library, name)(attribute)
    for name in _ENUMERATIONS:
        if getattr(library, name).isinstance(attribute):
            return getattr(library, name)(attribute).value
    return attribute


def constant_array(
    attribute: ir.Attribute, resources: Callable[[], Mapping[str, bytes]]
) -> np.ndarray:
    """The elements of a constant; one that repeats a single element is a view of that.

    `resources` gives the blobs at the end of the program's text, by name.
    """
    if not isinstance(attribute, ir.DenseElementsAttr):
        return _resource_array(attribute, resources())
    if not attribute.is_splat:
        return dense_array(attribute)
    kind = ir.RankedTensorType(attribute.type)
    scalar = ir.RankedTensorType.get([], kind.element_type)
    single = ir.DenseElementsAttr.get_splat(scalar, attribute.get_splat_value())
    return np.broadcast_to(dense_array(single), tuple(kind.shape))


_COMPLEX = re.compile(r"dense<(.*)> : tensor<((?:\d+x)*)complex<(\w+)>>", re.DOTALL)


def complex_constant(operation: ir.Operation) -> np.ndarray:
    """The parts of a complex constant along one more axis.  The bindings do not have attributes of
    complex elements: they are read from the operation's text, as pairs of real ones."""
    found = _COMPLEX.search(operation.get_asm())
    if found is None:
        raise UnsupportedStablehloOperatorError("a complex constant that the text does not tell")
    body, sizes, part = found.groups()
    repeated = body.startswith("(")
    pairs = body.replace("(", "[").replace(")", "]")
    text = f"dense<{pairs}> : tensor<{'' if repeated else sizes}2x{part}>"
    array = dense_array(ir.Attribute.parse(text, operation.context))
    return np.broadcast_to(array, (*map(int, sizes.split("x")[:-1]), 2))


_BLOB = re.compile(r'([\w.$-]+): "0x([0-9A-Fa-f]+)"')
_BLOB_HEADER = 4
"""Bytes before the data of a blob: its alignment."""


def resources_of(module: ir.Module) -> dict[str, bytes]:
    """The blobs of constants that stand at the end of a program's text, by name."""
    _, found, tail = module.operation.get_asm().rpartition("{-#")
    blobs = _BLOB.findall(tail) if found else []
    return {name: bytes.fromhex(digits)[_BLOB_HEADER:] for name, digits in blobs}


def _resource_array(attribute: ir.Attribute, resources: Mapping[str, bytes]) -> np.ndarray:
    name, _, kind = str(attribute).removeprefix("dense_resource<").partition("> : ")
    if name not in resources:
        raise UnsupportedStablehloOperatorError(f"the constant {attribute} has no elements")
    tensor = ir.RankedTensorType(ir.Type.parse(kind, attribute.context))
    dtype = numpy_dtype(dtype_of(tensor.element_type))
    return np.frombuffer(resources[name], dtype).reshape(tensor.shape)


def part_of(element: ir.Type) -> ir.Type | None:
    """The type of the parts of a complex element type; None for others."""
    return element.element_type if isinstance(element, ir.ComplexType) else None


def dtype_of(element: ir.Type) -> str:
    """TVM's name of an element type.

    Raises UnsupportedStablehloOperatorError for complex, quantized and other elements.
    """
    try:
        return dtypes.from_mlir(element)
    except KeyError as error:
        raise UnsupportedStablehloOperatorError(
            f"tensors of {element} have no counterpart in Relax"
        ) from error
