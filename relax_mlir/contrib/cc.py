"""Linking with the system's compiler driver."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.runtime.linking import find_compiler, link_shared

__all__ = ["create_shared", "get_cc"]


def get_cc() -> str | None:
    """The compiler driver: `CC`, or the first of cc, gcc and clang; None when there is none."""
    return find_compiler()


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link objects into a shared library; raises CompileError with the linker's message.

    Usable as `export_library(path, fcompile=cc.create_shared)`.
    """
    files = [objects] if isinstance(objects, str) else list(objects)
    link_shared(output, files, options=list(options or ()), compiler=cc)
