"""Attributes and stored tensors of ONNX's protocol buffers as Python values."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.relax.frontend.onnx.values import (
    OnnxError,
    UnsupportedDtypeError,
    UnsupportedOnnxOperatorError,
)


def attributes_of(node: Any, base_dir: str) -> dict[str, Any]:
    """The attributes of a node: strings decoded, tensors as arrays, graphs as they are."""
    return {a.name: _value(a, base_dir) for a in node.attribute if not a.ref_attr_name}


def _value(attribute: Any, base_dir: str) -> Any:
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, onnx.TensorProto):
        return tensor_value(value, base_dir)
    if isinstance(value, (str, int, float)) or not hasattr(value, "__iter__"):
        return value
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]


def tensor_value(tensor: Any, base_dir: str) -> np.ndarray:
    """A stored tensor; external data is read from beside the model.

    Raises UnsupportedDtypeError for strings, OnnxError for data that is not there.
    """
    import onnx

    if tensor.data_type == onnx.TensorProto.STRING:
        raise UnsupportedDtypeError(f"the tensor '{tensor.name}' holds strings")
    try:
        return onnx.numpy_helper.to_array(tensor, base_dir=base_dir)
    except (ValueError, OSError, onnx.checker.ValidationError) as error:
        raise OnnxError(f"the tensor '{tensor.name}' cannot be read: {error}") from error


def dtype_name(element_type: int) -> str:
    """TVM's name of an ONNX element type.  Raises UnsupportedDtypeError for strings ..."""
    import onnx

    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(element_type)
    except KeyError:
        raise UnsupportedOnnxOperatorError(f"element type {element_type} is not known") from None
    if dtype.kind not in "fiubV":
        name = onnx.TensorProto.DataType.Name(element_type)
        raise UnsupportedDtypeError(f"tensors of {name} are not supported")
    return dtype.name
