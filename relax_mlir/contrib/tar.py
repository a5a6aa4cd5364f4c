"""Archives of files (TVM's `tvm.contrib.tar`)."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Sequence

__all__ = ["tar", "untar"]


def tar(output: str, files: str | Sequence[str]) -> None:
    """Pack files, under their own names, into the archive `output`."""
    with tarfile.open(output, "w") as archive:
        for file in [files] if isinstance(files, str) else files:
            archive.add(file, arcname=os.path.basename(file))


def untar(tar_file: str, directory: str) -> None:
    """Unpack an archive into a directory; nothing is written outside of it."""
    with tarfile.open(tar_file) as archive:
        archive.extractall(directory, filter="data")
