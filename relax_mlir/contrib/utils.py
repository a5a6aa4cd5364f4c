"""Temporary folders, by the name TVM's examples use."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["TempDirectory", "tempdir"]


class TempDirectory:
    """A folder that is removed with its contents when the object is."""

    def __init__(self, custom_path: str | None = None) -> None:
        if custom_path is not None:
            os.makedirs(custom_path)
        self._owner = None if custom_path else tempfile.TemporaryDirectory()
        self.temp_dir = custom_path or (self._owner.name if self._owner else "")

    @property
    def path(self) -> Path:
        return Path(self.temp_dir)

    def relpath(self, name: str) -> str:
        """The path of a file of that name in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Remove the folder now; a folder given by path is left alone."""
        if self._owner is not None:
            self._owner.cleanup()

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def tempdir(custom_path: str | None = None) -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory(custom_path)
