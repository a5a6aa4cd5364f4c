"""GPUs: NVIDIA's through the CUDA driver, and the emulated one that every machine has.

Compiled host code reaches a device through a table of functions (`table.py`); a `Backend` owns
the table, the memory and the kernels of one device.
"""

from relax_mlir.runtime.gpu.backend import Backend, DeviceProperties, backend_of, is_gpu
from relax_mlir.runtime.gpu.graphs import CapturedGraph, capture
from relax_mlir.runtime.gpu.streams import Event, Stream

__all__ = [
    "Backend",
    "CapturedGraph",
    "DeviceProperties",
    "Event",
    "Stream",
    "backend_of",
    "capture",
    "is_gpu",
]
