"""Markers: a test that needs what may be missing says so, and skips with the reason."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable
from functools import cache

import pytest

# Tests see what the compiler does now, and leave nothing in the user's cache.
os.environ.setdefault("RELAX_MLIR_CACHE", "0")
# Every pass leaves a valid module.
os.environ.setdefault("RELAX_MLIR_VERIFY_EACH", "1")


def _package(name: str) -> Callable[[], bool]:
    # Found, not imported: importing torch or tvm takes more than a second.
    return lambda: importlib.util.find_spec(name) is not None


def _cuda_device() -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


REQUIREMENTS: dict[str, tuple[Callable[[], bool], str]] = {
    "torch": (cache(_package("torch")), "PyTorch is not installed"),
    "onnx": (cache(_package("onnx")), "onnx is not installed"),
    "tvm": (cache(_package("tvm")), "apache-tvm is not installed"),
    "gpu": (cache(_cuda_device), "no NVIDIA GPU with its driver is here"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker, (present, reason) in REQUIREMENTS.items():
            if item.get_closest_marker(marker) and not present():
                item.add_marker(pytest.mark.skip(reason=reason))
