"""NVIDIA's assembler, where it is installed: the check that PTX is what a GPU takes."""

from __future__ import annotations

import pytest

from relax_mlir.testing.assemblers import Resources, ToolMissing, assemble_ptx

ARCHS = ("sm_75", "sm_80", "sm_90")


def assemble(ptx: str, arch: str) -> dict[str, Resources]:
    """The resources of each kernel; fails the test when the text does not assemble, skips it when
    there is no assembler."""
    try:
        return assemble_ptx(ptx, arch).resources
    except ToolMissing as missing:
        pytest.skip(str(missing))
