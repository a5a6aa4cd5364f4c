"""The session of `tvm.rpc` that needs no server: programs written for a remote device run here.

    remote = rpc.LocalSession()
    remote.upload("program.so")
    remote.load_module("program.so")["main"](tensor(x, remote.cpu()))

A session on another machine is no part of this package: the library that `export_library` writes
runs there by itself (docs/tutorials/deploy.md).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.runtime.device import Device, cpu, device
from relax_mlir.runtime.module import Module, load_module
from relax_mlir.runtime.registry import get_global_func

__all__ = ["LocalSession", "connect", "connect_tracker"]


class LocalSession:
    """A session in this process, with a folder of its own for the files that are uploaded."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="relax_mlir_rpc_"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / os.path.basename(name)

    def upload(self, data: str | os.PathLike[str] | bytes, target: str | None = None) -> None:
        """Copy a file, or bytes to a file named `target`, into the session's folder.

        Raises ValueError for bytes without a name.
        """
        if isinstance(data, (bytes, bytearray)):
            if target is None:
                raise ValueError("upload: bytes need a target, the name of the file")
            self._path(target).write_bytes(data)
        else:
            shutil.copy(data, self._path(target or os.fspath(data)))

    def download(self, path: str) -> bytes:
        """The bytes of a file that was uploaded."""
        return self._path(path).read_bytes()

    def remove(self, path: str) -> None:
        """Delete a file that was uploaded."""
        self._path(path).unlink()

    def load_module(self, path: str) -> Module:
        """The functions of a library that was uploaded."""
        return load_module(self._path(path))

    def get_function(self, name: str) -> Any:
        """A function of the registry."""
        return get_global_func(name)

    def device(self, dev_type: str, dev_id: int = 0) -> Device:
        """A device of this machine."""
        return device(dev_type, dev_id)

    def cpu(self, dev_id: int = 0) -> Device:
        return cpu(dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        return device("cuda", dev_id)

    def cl(self, dev_id: int = 0) -> Device:
        return device("opencl", dev_id)


def connect(url: str, port: int, *args: Any, **options: Any) -> LocalSession:
    """Refused: there is no server to connect to."""
    del args, options
    raise Error(
        f"rpc.connect: there are no sessions on other machines ({url}:{port})",
        hint="rpc.LocalSession() runs the program here; a library of export_library runs elsewhere "
        "by itself",
    )


def connect_tracker(url: str, port: int) -> LocalSession:
    """Refused: there is no server to connect to."""
    return connect(url, port)
