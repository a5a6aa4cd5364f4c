"""relax_mlir: Apache TVM's Relax and TensorIR as MLIR dialects.

`import relax_mlir as tvm` gives what `import tvm` gives, in the spelling of any TVM of the last
years.  Names are imported on first use, so that importing the package stays fast.
"""

from __future__ import annotations

import importlib
from typing import Any

from relax_mlir import aliases as _aliases

__version__ = "0.1.0"

# Name of the package -> the module that has it.
_NAMES = {
    "IRModule": "ir",
    "Target": "target",
    "TVMError": "errors",
    "Error": "errors",
    "build": "driver",
    "compile": "driver",
    "lower": "driver",
    "Executable": "driver",
    "cpu": "runtime",
    "cuda": "runtime",
    "gpu": "runtime",
    "rocm": "runtime",
    "opencl": "runtime",
    "metal": "runtime",
    "vulkan": "runtime",
    "device": "runtime",
    "Device": "runtime",
    "DataType": "runtime",
    "register_func": "runtime",
    "register_global_func": "runtime",
    "get_global_func": "runtime",
    "remove_global_func": "runtime",
    "parse": "script",
    "from_source": "script",
}
_MODULES = (
    "contrib dialects dlight driver errors instrument ir lowering meta_schedule mlir relax rpc "
    "runtime script target te testing tir tools topi transform"
).split()

__all__ = ["__version__", *_NAMES, *_MODULES, *_aliases.TOP_LEVEL]  # pyright: ignore[reportUnsupportedDunderAll]

_aliases.install()


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    elif name in _MODULES or name in _aliases.TOP_LEVEL:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
