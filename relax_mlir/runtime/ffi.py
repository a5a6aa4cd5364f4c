"""The one door to `tvm_ffi`, the ABI and registry that compiled functions live on.

`tvm_ffi` imports torch when it is installed, which costs seconds that a user who never touches
torch should not pay.  Torch 2.10 and later describe themselves to DLPack consumers, so nothing is
lost when the import is kept away from torch; with an older torch, or one that is already imported,
`tvm_ffi` is left to do as it likes.
"""

from __future__ import annotations

import sys
from importlib import metadata
from types import ModuleType
from typing import Any

__all__ = ["tvm_ffi"]

_SELF_DESCRIBING_TORCH = (2, 10)


def _may_skip_torch() -> bool:
    if "torch" in sys.modules or "tvm_ffi" in sys.modules or sys.platform == "win32":
        return False
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return False
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) >= _SELF_DESCRIBING_TORCH


def _import_tvm_ffi() -> ModuleType:
    if not _may_skip_torch():
        import tvm_ffi

        return tvm_ffi
    # A None entry makes `import torch` raise ImportError, which tvm_ffi expects and handles.
    modules: dict[str, Any] = sys.modules
    modules["torch"] = None
    try:
        import tvm_ffi
    finally:
        del sys.modules["torch"]
    return tvm_ffi


tvm_ffi = _import_tvm_ffi()
