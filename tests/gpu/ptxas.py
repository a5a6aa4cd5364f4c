"""NVIDIA's assembler, where it is installed: the check that PTX is what a GPU takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

ARCHS = ("sm_75", "sm_80", "sm_90")


@cache
def find_ptxas() -> str | None:
    """The assembler of one of NVIDIA's packages, or of the path."""
    for package in ("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc-cu13"):
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "ptxas":
                return str(file.locate())
    return shutil.which("ptxas")


@dataclass(frozen=True)
class Resources:
    """What a kernel takes: registers, spilled bytes, bytes of static shared memory, and of memory
    for arrays that did not fit registers."""

    registers: int
    spills: int
    shared: int
    stack: int = 0


def assemble(ptx: str, arch: str) -> dict[str, Resources]:
    """The resources of each kernel; fails the test when the text does not assemble, skips it when
    there is no assembler."""
    tool = find_ptxas()
    if tool is None:
        pytest.skip("no ptxas here: pip install nvidia-cuda-nvcc-cu12")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.ptx"
        path.write_text(ptx)
        command = [
            tool,
            "-v",
            f"-arch={arch}",
            str(path),
            "-o",
            str(Path(folder) / "kernels.cubin"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stderr}\n{ptx}"
    return _resources(done.stderr)


def _resources(log: str) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    for part in log.split("Compiling entry function '")[1:]:
        name = part.split("'")[0]
        numbers = [
            re.search(pattern, part)
            for pattern in (
                r"Used (\d+) registers",
                r"(\d+) bytes spill stores",
                r"(\d+) bytes smem",
                r"(\d+) bytes stack frame",
            )
        ]
        found[name] = Resources(*(int(n[1]) if n else 0 for n in numbers))
    return found
