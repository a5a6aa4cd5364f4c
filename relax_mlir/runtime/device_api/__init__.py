"""GPUs: NVIDIA's through the CUDA driver, and the emulated one that every machine has.

Compiled host code reaches a device through a table of functions (`table.py`); a `Backend` owns
the table, the memory and the kernels of one device.
"""

from relax_mlir.runtime.device_api.backend import Backend, DeviceProperties, backend_of, is_gpu
from relax_mlir.runtime.device_api.graphs import CapturedGraph, capture_graph
from relax_mlir.runtime.device_api.streams import Event, Stream

__all__ = [
    "Backend",
    "CapturedGraph",
    "DeviceProperties",
    "Event",
    "Stream",
    "backend_of",
    "capture_graph",
    "is_gpu",
]
