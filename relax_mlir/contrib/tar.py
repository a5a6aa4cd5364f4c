"""Archives of files (TVM's `tvm.contrib.tar`)."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Sequence

__all__ = ["tar", "untar"]


def tar(output: str, files: str | Sequence[str]) -> None:
    """Pack files, under their own names, into the archive `output`."""
    with tarfile.open(output, "w") as archive:
        for file in [files] if isinstance(files, str) else files:
            archive.add(file, arcname=os.path.basename(file))


def untar(tar_file: str, directory: str) -> None:
    """Unpack the files of an archive into a directory.

    Raises ValueError for a file that would be written outside of it.
    """
    root = os.path.realpath(directory)
    with tarfile.open(tar_file) as archive:
        for member in archive.getmembers():
            data = archive.extractfile(member)
            if data is None:  # a folder, or a link to nothing
                continue
            place = os.path.realpath(os.path.join(root, member.name))
            if os.path.commonpath([root, place]) != root:
                raise ValueError(f"untar: {member.name} of {tar_file} is outside of {directory}")
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with data, open(place, "wb") as file:
                shutil.copyfileobj(data, file)
