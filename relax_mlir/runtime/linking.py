"""Linking objects with the system's compiler driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from relax_mlir.errors import CompileError

__all__ = ["find_compiler", "link_shared"]

_DRIVERS = ("cc", "gcc", "clang")


def find_compiler() -> str | None:
    """The compiler driver to link with: `CC`, or the first of cc, gcc and clang."""
    return os.environ.get("CC") or next(filter(None, map(shutil.which, _DRIVERS)), None)


def link_shared(
    path: str,
    objects: Sequence[str],
    *,
    options: Sequence[str] = (),
    compiler: str | None = None,
) -> None:
    """Link objects and libraries with the system's compiler driver.

    Raises CompileError when there is none, or with what it says when it fails.
    """
    driver = compiler or find_compiler()
    if driver is None:
        raise CompileError(
            "export_library: no compiler driver was found to link with",
            hint="install gcc or clang, set CC, or pass fcompile=",
        )
    folders = {os.path.dirname(item) for item in objects if item.endswith((".so", ".dylib"))}
    command = [driver, "-shared", "-fPIC", "-o", path, *objects, *options, "-lm"]
    command += [f"-Wl,-rpath,{folder}" for folder in sorted(folders)]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompileError(f"export_library: {driver} failed:\n{done.stderr}")
