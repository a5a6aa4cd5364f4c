"""Tensors: n-dimensional arrays on a device, shared with other frameworks through DLPack.

`Tensor` is tvm_ffi's tensor with TVM's methods (`numpy`, `copyfrom`, `copyto`); every tensor that
compiled code returns or hands to a registered Python function is one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.device import require_cpu, require_present
from relax_mlir.runtime.ffi import tvm_ffi

__all__ = ["Tensor", "constant_tensor", "convert", "empty", "from_dlpack", "tensor"]

# Offset of the DLTensor in a tensor object and of its dtype word (dlpack.h, tvm/ffi/c_api.h).
_OBJECT_HEADER = 24
_DTYPE = 20


@tvm_ffi.register_object("ffi.Tensor")
class Tensor(tvm_ffi.core.Tensor):
    """An n-dimensional array; `numpy()` reads it, `copyfrom` writes it, DLPack shares it."""

    # tvm_ffi refuses a class with a larger instance than its own.
    __slots__ = ()

    def numpy(self) -> np.ndarray:
        """The contents as a new numpy array (bf16 and the like as `ml_dtypes` arrays).

        From a GPU they are copied, when all work issued before is done.
        """
        shape, name = self.shape, str(self.dtype)
        if self.device.type != "cpu":
            return _to_host(self, name)
        if self.is_contiguous():
            return bridge.from_bytes(_raw_bytes(self), shape, name)
        if bridge.packed_bits(name) is not None:
            raise ValueError(f"a tensor of {name} with strides {self.strides} cannot be read")
        return np.array(_strided_view(self), copy=True)

    def copyfrom(self, source: Any) -> Tensor:
        """Overwrite the contents from an array of the same shape (converted to this dtype).

        Raises ValueError when the shapes differ, TypeError when `source` is not array-like.
        """
        if _on_same_gpu(self, source):
            return _copy_on_device(self, source)
        values = _as_numpy(source, str(self.dtype))
        if values.shape != self.shape:
            raise ValueError(
                f"Tensor.copyfrom: expected an array of shape {self.shape}, got {values.shape}"
            )
        if self.device.type != "cpu":
            return _to_device(self, values)
        if not self.is_contiguous():
            _strided_view(self)[...] = values
            return self
        packed = bridge.to_bytes(values)
        ctypes.memmove(self.data_ptr(), packed.ctypes.data, packed.nbytes)
        return self

    def copyto(self, target: Any, mem_scope: str | None = None) -> Tensor:
        """Copy into `target`, a tensor of the same shape or a device on which to make one."""
        if isinstance(target, tvm_ffi.Device):
            return empty(self.shape, str(self.dtype), target, mem_scope).copyfrom(self)
        if not isinstance(target, tvm_ffi.core.Tensor):
            raise TypeError(f"Tensor.copyto: expected a tensor or a device, got {target!r}")
        return target.copyfrom(self)

    def asnumpy(self) -> np.ndarray:
        """`numpy()` under the name that TVM used before 0.8."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-dimensional tensor")
        return self.shape[0]

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.numpy()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        values = self.numpy()
        values[index] = _as_numpy(value, str(self.dtype))
        self.copyfrom(values)

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        return f"<relax_mlir.runtime.Tensor shape={self.shape}, {self.device}>\n{self.numpy()!r}"


# from_dlpack and callbacks make this class too.
tvm_ffi.core._set_class_tensor(Tensor)


def _storage_bytes(shape: Sequence[int], name: str) -> int:
    bits = bridge.packed_bits(name)
    if bits is not None:
        return (prod(shape) * bits + 7) // 8
    return prod(shape) * bridge.numpy_dtype(name).itemsize


def _raw_bytes(source: Tensor) -> np.ndarray:
    nbytes = _storage_bytes(source.shape, str(source.dtype))
    if nbytes == 0:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(source.data_ptr()))


def _span(source: Tensor) -> int:
    """Bytes from the first element of a tensor to the end of its last one."""
    if source.is_contiguous() or bridge.packed_bits(str(source.dtype)) is not None:
        return _storage_bytes(source.shape, str(source.dtype))
    if 0 in source.shape:
        return 0
    pairs = zip(source.shape, source.strides, strict=True)
    last = sum((size - 1) * stride for size, stride in pairs)
    return (last + 1) * bridge.numpy_dtype(str(source.dtype)).itemsize


def _backend(source: Tensor, what: str) -> Any:
    from relax_mlir.runtime.device_api.backend import backend_of, is_gpu

    if not is_gpu(source.device):
        require_cpu(source.device, what)
    require_present(source.device, what)
    return backend_of(source.device)


def _to_host(source: Tensor, name: str) -> np.ndarray:
    backend, span = _backend(source, "Tensor.numpy"), _span(source)
    raw = np.empty(span, np.uint8)
    if span:
        backend.to_host(raw.ctypes.data, source.data_ptr(), span)
    if source.is_contiguous():
        return bridge.from_bytes(raw, source.shape, name)
    if bridge.packed_bits(name) is not None:
        raise ValueError(f"a tensor of {name} with strides {source.strides} cannot be read")
    dtype = bridge.numpy_dtype(name)
    strides = [stride * dtype.itemsize for stride in source.strides]
    return np.array(np.ndarray(source.shape, dtype, memoryview(raw.data), strides=strides))


def _to_device(target: Tensor, values: np.ndarray) -> Tensor:
    backend = _backend(target, "Tensor.copyfrom")
    if not target.is_contiguous():
        raise ValueError(
            f"Tensor.copyfrom: a tensor on {target.device} with strides {target.strides} cannot be "
            "written; make a compact one"
        )
    packed = bridge.to_bytes(values)
    if packed.nbytes:
        backend.to_device(target.data_ptr(), packed.ctypes.data, packed.nbytes)
    return target


def _on_same_gpu(target: Tensor, source: Any) -> bool:
    return (
        isinstance(source, tvm_ffi.core.Tensor)
        and target.device.type != "cpu"
        and source.device == target.device
        and source.dtype == target.dtype
        and source.shape == target.shape
        and source.is_contiguous()
        and target.is_contiguous()
    )


def _copy_on_device(target: Tensor, source: Any) -> Tensor:
    size = _storage_bytes(target.shape, str(target.dtype))
    if size:
        backend = _backend(target, "Tensor.copyfrom")
        backend.copy(target.data_ptr(), source.data_ptr(), size)
    return target


def _strided_view(source: Tensor) -> np.ndarray:
    """A numpy view of a tensor whose memory is not compact; valid while `source` lives."""
    dtype = bridge.numpy_dtype(str(source.dtype))
    pairs = zip(source.shape, source.strides, strict=True)
    last = sum((size - 1) * stride for size, stride in pairs)
    memory = (ctypes.c_uint8 * ((last + 1) * dtype.itemsize)).from_address(source.data_ptr())
    strides = [stride * dtype.itemsize for stride in source.strides]
    return np.ndarray(source.shape, dtype, memoryview(memory), strides=strides)


def _as_numpy(source: Any, dtype: str) -> np.ndarray:
    values = _as_array(source)
    try:
        return values.astype(bridge.numpy_dtype(dtype), copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"expected an array of {dtype}, got {type(source).__name__}") from error


def empty(
    shape: Sequence[int] | int,
    dtype: Any = "float32",
    device: Any = None,
    mem_scope: str | None = None,
) -> Tensor:
    """A tensor of the given shape and dtype whose contents are not initialised.

    Raises ValueError for a negative size, TypeError for an unknown dtype, RuntimeError for a device
    that this machine does not have.
    """
    require_present(device, "empty")
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"empty: sizes must not be negative, got {sizes}")
    name = bridge.dtype_name(dtype)
    if device is not None and device.type != "cpu":
        from relax_mlir.runtime.device_api.backend import backend_of
        from relax_mlir.runtime.device_api.managed import new_tensor

        word = int.from_bytes(_dtype_word(name), "little")
        return new_tensor(backend_of(device), sizes, word, _storage_bytes(sizes, name))
    made = tvm_ffi.from_dlpack(bridge.aligned_storage(sizes, name))
    ctypes.memmove(made.__chandle__() + _OBJECT_HEADER + _DTYPE, _dtype_word(name), 4)
    return made


def _dtype_word(name: str) -> bytes:
    dtype = tvm_ffi.dtype(name)
    return bytes([int(dtype.type_code), dtype.bits]) + int(dtype.lanes).to_bytes(2, "little")


def tensor(arr: Any, device: Any = None, mem_scope: str | None = None) -> Tensor:
    """A tensor holding a copy of `arr`: a numpy or torch array, a tensor, a number or nested lists.

    The dtype is the array's own; errors are those of `empty`.
    """
    values = _as_array(arr)
    return empty(values.shape, values.dtype, device, mem_scope).copyfrom(values)


def constant_tensor(array: np.ndarray) -> Tensor:
    """A tensor on the CPU of an array that nobody writes: its own memory where that is aligned as
    tensors are, else a copy."""
    name = bridge.dtype_name(array.dtype)
    flags = array.flags
    fits = flags.c_contiguous and flags.writeable and bridge.packed_bits(name) is None
    if not fits or array.size == 0 or array.ctypes.data % bridge.ALIGNMENT:
        return tensor(array)
    made = tvm_ffi.from_dlpack(array.view(f"u{array.itemsize}"))
    ctypes.memmove(made.__chandle__() + _OBJECT_HEADER + _DTYPE, _dtype_word(name), 4)
    return made


def _as_array(arr: Any) -> np.ndarray:
    if isinstance(arr, tvm_ffi.core.Tensor):
        return arr.numpy()
    if type(arr).__module__.partition(".")[0] == "torch":
        return from_dlpack(arr.detach().cpu()).numpy()
    return np.asarray(arr)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares the memory of any object with `__dlpack__` (numpy, torch, jax)."""
    return tvm_ffi.from_dlpack(ext_tensor)


def convert(value: Any) -> Any:
    """A Python value as the runtime passes it: arrays become tensors, sequences become arrays."""
    if isinstance(value, np.ndarray | np.generic):
        return tensor(value)
    if isinstance(value, list | tuple):
        return tvm_ffi.convert([convert(item) for item in value])
    return tvm_ffi.convert(value)
