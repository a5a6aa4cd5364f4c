"""Parameters on disk: a dictionary of tensors as one safetensors file.

The format is the one of the `safetensors` project: a length, a JSON header that gives dtype, shape
and place of every tensor, then the data.  Whatever reads safetensors reads these files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.tensor import Tensor, tensor

__all__ = [
    "load_param_dict",
    "load_param_dict_from_file",
    "save_param_dict",
    "save_param_dict_to_file",
]

# safetensors' names of element types.
_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16",
    "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_MAX_HEADER = 100 << 20


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The parameters as the bytes of a safetensors file.

    Raises TypeError for a dtype that the format does not have.
    """
    header: dict[str, Any] = {}
    blobs: list[bytes] = []
    end = 0
    for name, value in params.items():
        array = np.asarray(value.numpy() if isinstance(value, Tensor) else value)
        dtype = bridge.dtype_name(array.dtype)
        if dtype not in _NAMES:
            raise TypeError(f"save_param_dict: {name!r}: dtype {dtype} cannot be saved")
        blob = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + len(blob)],
        }
        blobs.append(blob)
        end += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *blobs])


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, Tensor]:
    """The parameters in the bytes of a safetensors file; raises ValueError for anything else."""
    data = bytes(param_bytes)
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(len(data) - 8, _MAX_HEADER):
        raise ValueError("load_param_dict: not a safetensors file")
    try:
        header = json.loads(data[8 : 8 + size])
        entries = {k: v for k, v in header.items() if k != "__metadata__"}
        return {name: _read(data, 8 + size, entry) for name, entry in entries.items()}
    except (KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"load_param_dict: damaged safetensors header: {error}") from error


def _read(data: bytes, start: int, entry: dict[str, Any]) -> Tensor:
    first, last = entry["data_offsets"]
    raw = np.frombuffer(data[start + first : start + last], np.uint8)
    return tensor(bridge.from_bytes(raw, entry["shape"], _DTYPES[entry["dtype"]]))


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the parameters to a safetensors file."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read the parameters of a safetensors file."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())
