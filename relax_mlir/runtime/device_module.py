"""What `mod.imports[0]` of a module compiled for a GPU is: its kernels, to look at."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.errors import Error
from relax_mlir.runtime.device_code import DeviceCode

__all__ = ["DeviceModule"]


class DeviceModule:
    """The kernels of a module; launching them is the business of its host code."""

    imports: Sequence[object] = ()

    def __init__(self, code: DeviceCode) -> None:
        self._code = code

    @property
    def kind(self) -> str:
        return str(self._code.target.kind)

    @property
    def type_key(self) -> str:
        return self.kind

    def inspect_source(self, fmt: str = "") -> str:
        """The kernels as source: "mlir" (before the device's own lowering) or the target's assembly
        ("ptx" for CUDA, the default).

        Raises Error for another format, CompileError when llvmlite is missing.
        """
        formats = {"mlir": self._code.text, **self._code.sources()}
        chosen = fmt or next(name for name in formats if name != "mlir")
        if chosen not in formats:
            raise Error(f"inspect_source: no format {fmt!r} here; there are {', '.join(formats)}")
        return formats[chosen]()

    get_source = inspect_source

    def get_write_formats(self) -> list[str]:
        """The formats of `inspect_source`."""
        return ["mlir", *self._code.sources()]

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """True when there is a kernel of that name."""
        return name in self._code.names

    def __repr__(self) -> str:
        return f"DeviceModule({self.kind}: {', '.join(self._code.names)})"
