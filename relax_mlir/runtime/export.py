"""Shared libraries from compiled code.

The library needs libtvm_ffi and nothing of this package: any program that speaks the TVM FFI loads
it (`tvm_ffi.load_module` in Python, C++, Rust).  Constants are part of its data section and become
tensors when it is loaded.  Of a module for a GPU the kernels are part of it too, as text; to run it
`relax_mlir.runtime.load_module` is needed, which knows devices.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.contrib.tar import tar
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.to_llvm.ffi_constants import LOADER, add_constant_loader
from relax_mlir.lowering.to_llvm.ffi_device_code import add_device_code
from relax_mlir.lowering.to_llvm.ffi_strings import add_string_function
from relax_mlir.lowering.to_llvm.link_ffi_support import LinkFFISupport
from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.compiled_code import FUNCTIONS, Code, functions_text
from relax_mlir.runtime.engine import Engine, makes_closures, openmp_library, uses_openmp
from relax_mlir.runtime.linking import link_shared

__all__ = ["ARCHIVE", "constant_name", "constants_path", "export_library"]

ARCHIVE = ".tar"
_BLOB = "__relax_blob"
_ALIGNMENT = 64


def export_library(
    code: Code,
    path: str,
    fcompile: Callable[..., Any] | None,
    addons: list[str],
    workspace_dir: str | None,
    constants_beside: bool = False,
) -> Any:
    """Write the shared library `path`; returns what `fcompile` returns.

    With `constants_beside` the constants are in `<path>.safetensors`, which `load_module` reads.
    A `path` that ends in `.tar` is an archive that holds the library.
    """
    if path.endswith(ARCHIVE) and fcompile is None:
        with tempfile.TemporaryDirectory(dir=workspace_dir) as folder:
            inner = str(Path(folder) / f"{Path(path).stem}.so")
            export_library(code, inner, None, addons, workspace_dir, constants_beside)
            tar(path, [str(file) for file in Path(folder).iterdir()])
        return None
    beside = constants_beside and len(code.constants) > 0
    if beside:
        from relax_mlir.runtime.params import save_param_dict_to_file

        named = {constant_name(i): array for i, array in enumerate(code.constants)}
        save_param_dict_to_file(named, constants_path(path))
    with tempfile.TemporaryDirectory(dir=workspace_dir) as folder:
        objects = [write_object(code, str(Path(folder) / "module.o"), embed=not beside)]
        if code.constants and not beside:
            objects.append(_write_constants(code.constants, Path(folder)))
        libraries = list(addons)
        if uses_openmp(code.compiled().module):
            libraries.append(openmp_library())
        if fcompile is not None:
            return fcompile(path, [*objects, *libraries])
        # Functions that the library made must find its code when it was closed.
        stays = makes_closures(code.compiled().module) and sys.platform != "darwin"
        options = ["-Wl,-z,nodelete"] if stays else []
        return link_shared(path, [*objects, *libraries], options=options)


def constants_path(library: str) -> str:
    """The file of the constants that lies beside a library."""
    return f"{library}.safetensors"


def constant_name(index: int) -> str:
    """The name of a constant in that file."""
    return f"constant_{index}"


def write_object(code: Code, path: str, embed: bool = True) -> str:
    """Write the machine code as an object file; returns its path.

    With constants it refers to data (`_BLOB`) that `export_library` puts beside it, unless they are
    not to be embedded: then the library waits for `__relax_set_constants`.
    """
    compiled = code.compiled()
    with mlir.scope():
        state = ModuleState(compiled.module).clone()
        LinkFFISupport().run(state)
        offsets = constant_offsets(code.constants)
        if offsets and embed:
            layout = [
                (array.shape, bridge.dtype_name(array.dtype), offset)
                for array, offset in zip(code.constants, offsets, strict=True)
            ]
            add_constant_loader(state, _BLOB, layout)
        if code.device_code is not None:
            from relax_mlir.runtime.device_api.library import device_code_text

            text = device_code_text(code.device_code, len(code.constants))
            add_device_code(state, text, len(code.constants))
        add_string_function(state, FUNCTIONS, functions_text(code.functions))
        engine = Engine(
            state.module,
            opt_level=compiled.opt_level,
            share_support=False,
            position_independent=True,
        )
    # The engine links in this process too, where nothing has the library's data; it never runs.
    stand_in = ctypes.create_string_buffer(_ALIGNMENT)
    engine.define(_BLOB, ctypes.addressof(stand_in))
    engine.function(next(iter(code.functions)))
    engine.dump_objects(path)
    return path


def constant_offsets(constants: Sequence[np.ndarray]) -> list[int]:
    """Where each constant starts in the data section."""
    offsets, end = [], 0
    for array in constants:
        offsets.append(end)
        size = bridge.to_bytes(array).nbytes
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return offsets


def _write_constants(constants: Sequence[np.ndarray], folder: Path) -> str:
    """An assembly file that takes in the constants as they are, whatever their size."""
    data, source = folder / "constants.bin", folder / "constants.s"
    with open(data, "wb") as file:
        for array in constants:
            values = bridge.to_bytes(array)
            file.write(values.tobytes())
            file.write(b"\0" * (-values.nbytes % _ALIGNMENT))
    template = _MACHO if sys.platform == "darwin" else _ELF
    source.write_text(template.format(blob=_BLOB, loader=LOADER, data=data, align=_ALIGNMENT))
    return str(source)


# The data, and a pointer to the loader among the library's constructors.
_ELF = """
.data
.balign {align}
.globl {blob}
.hidden {blob}
{blob}:
.incbin "{data}"
.hidden {loader}
.section .init_array,"aw"
.balign 8
.quad {loader}
.section .note.GNU-stack,"",%progbits
"""
_MACHO = """
.data
.p2align 6
.globl _{blob}
.private_extern _{blob}
_{blob}:
.incbin "{data}"
.section __DATA,__mod_init_func,mod_init_funcs
.p2align 3
.quad _{loader}
"""
