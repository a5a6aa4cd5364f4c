"""Constant tensors: small ones in the IR, large ones in the module's table (DESIGN.md, 11)."""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from relax_mlir.cores import compile_threads
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import types
from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

INLINE_ELEMENTS = 16
"""Constants of up to this many elements stand in the IR itself."""

# Larger constants are hashed in pieces of so many bytes.
_PIECE = 1 << 20


def numpy_dtype(dtype: str) -> np.dtype:
    """numpy's dtype for a TVM dtype name; ml_dtypes has those that numpy lacks.

    Raises TypeError for vectors and handles.
    """
    name = dtypes.canonical(dtype)
    if hasattr(ml_dtypes, name):
        return np.dtype(getattr(ml_dtypes, name))
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(f"an array has no elements of dtype {name}") from None


def constant_key(array: np.ndarray) -> str:
    """The key of an array in the table of constants: a hash of its dtype, shape and bytes."""
    digest = hashlib.sha256(f"{array.dtype.name}{array.shape}".encode())
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    digest.update(data if len(data) <= _PIECE else _digests(data))
    return f"const_{digest.hexdigest()[:16]}"


def _digests(data: memoryview) -> bytes:
    """The hashes of the pieces of large data, made at the same time."""
    pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)]
    with ThreadPoolExecutor(min(compile_threads(), len(pieces))) as pool:
        return b"".join(pool.map(_digest, pieces))


def _digest(data: memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def build_constant(
    array: np.ndarray,
    constants: MutableMapping[str, np.ndarray],
    loc: ir.Location | None = None,
    result_type: ir.Type | None = None,
) -> ir.Value:
    """Create `relax.constant` at the insertion point; a large array goes into `constants`."""
    if result_type is None:
        result_type = types.tensor_type(array.shape, array.dtype.name)
    if array.size <= INLINE_ELEMENTS:
        attributes = {"value": dense_attribute(array)}
    else:
        key = constant_key(array)
        constants.setdefault(key, array)
        attributes = {"key": ir.StringAttr.get(key)}
    return ir.Operation.create(
        "relax.constant", results=[result_type], attributes=attributes, loc=loc
    ).result


def read_constant(
    op: ir.Operation | ir.OpView, constants: Mapping[str, np.ndarray]
) -> np.ndarray | None:
    """The array of a `relax.constant`; None when its key is not in the table."""
    attributes = op.operation.attributes
    if "key" in attributes:
        return constants.get(ir.StringAttr(attributes["key"]).value)
    return dense_array(attributes["value"])


def dense_attribute(array: np.ndarray) -> ir.Attribute:
    """`dense<...>` of an array, of any of TVM's dtypes."""
    kind = ir.RankedTensorType.get(array.shape, dtypes.to_mlir(array.dtype.name))
    data = np.require(array, requirements="C")
    if data.dtype.kind == "V" and data.dtype.itemsize > 1:
        data = data.view(f"u{data.dtype.itemsize}")
    if data.ndim == 0:
        data = data.reshape(1)
    return ir.DenseElementsAttr.get(data, type=kind)


def dense_array(attribute: ir.Attribute) -> np.ndarray:
    """The array of a `dense<...>` attribute."""
    dense = ir.DenseElementsAttr(attribute)
    kind = ir.RankedTensorType(dense.type)
    name = dtypes.from_mlir(kind.element_type)
    shape = tuple(kind.shape)
    dtype = numpy_dtype(name)
    if hasattr(ml_dtypes, name):
        return _from_text(str(dense), dtype, shape)
    return np.array(dense).astype(dtype, copy=False).reshape(shape)


_ELEMENT = re.compile(r"0x[0-9A-Fa-f]+|[-+]?\d[\d.]*(?:[eE][-+]?\d+)?")


def _from_text(text: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Elements the bindings cannot hand out: read from `dense<[[1.0, 0x7FC0]]> : ...`."""
    body = text[len("dense<") : text.rindex("> : ")]
    elements = [_element(token, dtype) for token in _ELEMENT.findall(body)]
    if len(elements) == 1:
        return np.full(shape, elements[0], dtype)
    return np.array(elements, dtype).reshape(shape)


def _element(token: str, dtype: np.dtype) -> object:
    if token.startswith("0x"):  # MLIR writes what decimal digits cannot, such as NaN, as bits
        return np.array(int(token, 16), f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(float(token))
