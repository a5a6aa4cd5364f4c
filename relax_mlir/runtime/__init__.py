"""The runtime: tensors, devices, the registry of functions, modules and the virtual machine.

What runs compiled code is imported on first use.
"""

from typing import TYPE_CHECKING

from relax_mlir.on_demand import names_on_demand
from relax_mlir.runtime import builtin_functions as _builtin_functions  # noqa: F401 (registers)
from relax_mlir.runtime import ndarray
from relax_mlir.runtime.device import (
    Device,
    DLDeviceType,
    cpu,
    cuda,
    cuda_emu,
    device,
    enabled,
    ext_dev,
    gpu,
    hexagon,
    metal,
    num_threads,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.random_state import seed
from relax_mlir.runtime.registry import (
    Function,
    PackedFunc,
    get_global_func,
    list_global_func_names,
    register_func,
    register_global_func,
    remove_global_func,
)
from relax_mlir.runtime.tensor import Tensor, convert, empty, from_dlpack, tensor

if TYPE_CHECKING:
    from relax_mlir.runtime.benchmark import BenchmarkResult
    from relax_mlir.runtime.device_api import CapturedGraph, Event, Stream, capture_graph
    from relax_mlir.runtime.executable import Executable, VMExecutable
    from relax_mlir.runtime.module import Module, load_module, system_lib
    from relax_mlir.runtime.params import (
        load_param_dict,
        load_param_dict_from_file,
        save_param_dict,
        save_param_dict_to_file,
    )
    from relax_mlir.runtime.vm import VirtualMachine

nd = ndarray
NDArray = Tensor
DataType = tvm_ffi.dtype
Shape = ShapeTuple = tvm_ffi.Shape
Object = tvm_ffi.Object
String = str

__all__ = [
    "BenchmarkResult",
    "CapturedGraph",
    "DLDeviceType",
    "DataType",
    "Device",
    "Event",
    "Executable",
    "Function",
    "Module",
    "NDArray",
    "Object",
    "PackedFunc",
    "Shape",
    "ShapeTuple",
    "Stream",
    "String",
    "Tensor",
    "VMExecutable",
    "VirtualMachine",
    "capture_graph",
    "convert",
    "cpu",
    "cuda",
    "cuda_emu",
    "device",
    "empty",
    "enabled",
    "ext_dev",
    "from_dlpack",
    "get_global_func",
    "gpu",
    "hexagon",
    "list_global_func_names",
    "load_module",
    "load_param_dict",
    "load_param_dict_from_file",
    "metal",
    "nd",
    "ndarray",
    "num_threads",
    "opencl",
    "register_func",
    "register_global_func",
    "remove_global_func",
    "rocm",
    "save_param_dict",
    "save_param_dict_to_file",
    "seed",
    "system_lib",
    "tensor",
    "vpi",
    "vulkan",
    "webgpu",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "benchmark": "BenchmarkResult",
        "device_api": "CapturedGraph Event Stream capture_graph",
        "executable": "Executable VMExecutable",
        "module": "Module load_module system_lib",
        "params": (
            "load_param_dict load_param_dict_from_file save_param_dict save_param_dict_to_file"
        ),
        "vm": "VirtualMachine",
    },
)
