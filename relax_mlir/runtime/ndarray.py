"""The names that tensors had before TVM 0.22: `tvm.nd.array`, `tvm.nd.NDArray`, devices."""

from __future__ import annotations

from relax_mlir.runtime.device import Device, cpu, cuda, device, gpu, metal, opencl, rocm, vulkan
from relax_mlir.runtime.tensor import Tensor, empty, from_dlpack, tensor

__all__ = [
    "Device",
    "NDArray",
    "array",
    "cpu",
    "cuda",
    "device",
    "empty",
    "from_dlpack",
    "gpu",
    "metal",
    "opencl",
    "rocm",
    "vulkan",
]

NDArray = Tensor
array = tensor
