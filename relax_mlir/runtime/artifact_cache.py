"""Compiled modules on disk, found again by their content.

An entry is a folder named by a hash of all that decides the code (`driver/cached_compile.py` makes
it): the linked library, the list of its functions, and the constants that compiling made (packed or
folded weights; those of the program itself are at hand).  Constants are files of their own, shared
by entries.  Everything is written under another name and renamed when it is whole, so that any
number of processes may write the same entry; what does not have the length and checksum that
were noted is thrown away and made anew.

`RELAX_MLIR_CACHE=0` turns the cache off, `RELAX_MLIR_CACHE_DIR` moves it from
`$XDG_CACHE_HOME/relax_mlir`, `RELAX_MLIR_CACHE_GB` (4) is how large it may become: the entries not
used for longest go first.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.compiled_code import FunctionInfo

__all__ = ["ArtifactCache", "Entry", "default_cache"]

_LIBRARY, _INDEX, _CONSTANTS = "module.so", "index.json", "constants"
_OFF = ("0", "off", "false", "no")


@dataclass(frozen=True)
class Entry:
    """What is known of a module on disk: `constants` are in the order of its table."""

    library: Path
    functions: Mapping[str, FunctionInfo]
    constants: Sequence[np.ndarray]


class ArtifactCache:
    """The folder `root`; `limit_bytes` bounds its size."""

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self.root = root
        self.limit_bytes = limit_bytes

    def load(self, key: str, at_hand: Mapping[str, np.ndarray]) -> Entry | None:
        """The entry of that key, or None.  `at_hand` are the constants of the program.

        An entry that is damaged is removed.
        """
        folder = self.root / key
        try:
            index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
            _check(folder / _LIBRARY, index["library"])
            constants = [self._constant(row, at_hand) for row in index["constants"]]
            functions = {
                name: FunctionInfo(name, kind, tuple(parameters))
                for name, kind, parameters in index["functions"]
            }
            os.utime(folder)
        except (OSError, ValueError, KeyError, TypeError):
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return Entry(folder / _LIBRARY, functions, constants)

    def _constant(self, row: Mapping[str, Any], at_hand: Mapping[str, np.ndarray]) -> np.ndarray:
        if row["key"] in at_hand:
            return at_hand[row["key"]]
        path = self.root / _CONSTANTS / row["key"]
        raw = np.memmap(path, np.uint8, mode="c") if row["bytes"] else np.empty(0, np.uint8)
        if raw.nbytes != row["bytes"] or zlib.crc32(raw.data) != row["crc"]:
            path.unlink(missing_ok=True)
            raise ValueError(f"{path} is damaged")
        os.utime(path)
        if bridge.packed_bits(row["dtype"]):
            return bridge.from_bytes(raw, row["shape"], row["dtype"])
        return raw.view(bridge.numpy_dtype(row["dtype"])).reshape(row["shape"])

    def store(
        self,
        key: str,
        library: Path,
        functions: Mapping[str, FunctionInfo],
        constants: Mapping[str, np.ndarray],
        at_hand: frozenset[str],
    ) -> None:
        """File a linked library (which is moved) under a key.

        `constants` are those of its table by key; `at_hand` names those that a later program brings
        itself.  A cache that cannot be written stays as it is.
        """
        try:
            rows = [
                {"key": name} if name in at_hand else self._store_constant(name, array)
                for name, array in constants.items()
            ]
            index = {
                "library": _checksum(library),
                "functions": [(f.name, f.kind, f.parameters) for f in functions.values()],
                "constants": rows,
            }
            self._publish(key, library, json.dumps(index))
            self.evict()
        except OSError:
            return

    def _publish(self, key: str, library: Path, index: str) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=self.root))
        try:
            shutil.move(str(library), made / _LIBRARY)
            (made / _INDEX).write_text(index, encoding="utf-8")
            os.chmod(made, 0o755)
            made.rename(self.root / key)
        except OSError:  # another process was first
            shutil.rmtree(made, ignore_errors=True)

    def _store_constant(self, key: str, array: np.ndarray) -> dict[str, Any]:
        raw = bridge.to_bytes(array)
        path = self.root / _CONSTANTS / key
        if not path.exists() or path.stat().st_size != raw.nbytes:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(raw.data)
            os.replace(file.name, path)
        return {
            "key": key,
            "dtype": bridge.dtype_name(array.dtype),
            "shape": list(array.shape),
            "bytes": raw.nbytes,
            "crc": zlib.crc32(raw.data),
        }

    def evict(self) -> None:
        """Remove what was not used for longest until the cache is within its limit."""
        if not self.root.is_dir():
            return
        pieces = [*self.root.iterdir(), *(self.root / _CONSTANTS).glob("*")]
        aged = sorted(
            (path.stat().st_mtime, _size(path), path) for path in pieces if path.name != _CONSTANTS
        )
        excess = sum(size for _, size, _ in aged) - self.limit_bytes
        for _, size, path in aged:
            if excess <= 0:
                return
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            excess -= size


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.iterdir())
    return path.stat().st_size


def _checksum(path: Path) -> list[int]:
    data = path.read_bytes()
    return [len(data), zlib.crc32(data)]


def _check(path: Path, noted: Sequence[int]) -> None:
    if _checksum(path) != list(noted):
        raise ValueError(f"{path} is damaged")


def default_cache() -> ArtifactCache | None:
    """The cache that the environment asks for; None when it is turned off."""
    if os.environ.get("RELAX_MLIR_CACHE", "").strip().lower() in _OFF:
        return None
    folder = os.environ.get("RELAX_MLIR_CACHE_DIR")
    if folder is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = os.path.join(home, "relax_mlir")
    try:
        limit = float(os.environ.get("RELAX_MLIR_CACHE_GB", "4"))
    except ValueError:
        limit = 4.0
    return ArtifactCache(Path(folder), int(limit * 1e9))
