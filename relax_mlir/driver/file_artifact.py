"""Filing compiled code in the cache on disk, in the background."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from pathlib import Path

from relax_mlir import mlir
from relax_mlir.driver.cached_compile import compiler_version
from relax_mlir.errors import CompileError
from relax_mlir.lowering.to_llvm.ffi_support import SUPPORT_SYMBOLS, support_module
from relax_mlir.runtime.artifact_cache import ArtifactCache
from relax_mlir.runtime.compiled_code import CompiledCode
from relax_mlir.runtime.engine import Engine, openmp_library, uses_openmp
from relax_mlir.runtime.linking import link_shared

__all__ = ["file_later"]

_SUPPORT = "support-{}.o"


def file_later(
    store: ArtifactCache,
    key: str,
    code: CompiledCode,
    engine: Engine,
    at_hand: frozenset[str],
    lowering: float,
) -> None:
    """Write the object now, link and file it on a thread of its own."""
    started = time.perf_counter()
    first = engine.function(next(iter(code.functions)))
    seconds = lowering + time.perf_counter() - started
    if first is None or seconds < _worthwhile():
        return
    try:
        store.root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".link-", dir=store.root))
        objects = engine.dump_objects(str(folder / "module.o"))
        libraries = [str(_support_object(store.root))]
        if uses_openmp(code.module):
            libraries.append(openmp_library())
    except (OSError, CompileError):
        return
    constants = dict(zip(code.constant_keys, code.constants, strict=True))

    def link() -> None:
        made = folder / "module.so"
        try:
            link_shared(str(made), [*objects, *libraries], options=_LINK)
            store.store(key, made, code.functions, constants, at_hand)
        except (CompileError, OSError):
            return
        finally:
            _remove(folder)

    threading.Thread(target=link, name="relax_mlir cache").start()


# Symbols of the FFI's library are found in the process, when they are first called.
# Kernels are those of the library itself.
_LINK = ("-Wl,-z,lazy", "-Wl,--allow-shlib-undefined", "-Wl,-Bsymbolic")


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    folder.rmdir()


def _worthwhile() -> float:
    """Modules that compile within this many seconds are not filed."""
    try:
        return float(os.environ.get("RELAX_MLIR_CACHE_MIN_SECONDS", "0.2"))
    except ValueError:
        return 0.2


def _support_object(root: Path) -> Path:
    """The support functions of host code as an object that every entry is linked with."""
    path = root / _SUPPORT.format(hashlib.sha256(compiler_version().encode()).hexdigest()[:16])
    if path.exists():
        return path
    with mlir.scope():
        module = support_module(linkage="external")
        engine = Engine(module, share_support=False, position_independent=True)
    engine.address(next(iter(SUPPORT_SYMBOLS)))
    with tempfile.TemporaryDirectory(dir=root, prefix=".support-") as folder:
        made = os.path.join(folder, "support.o")
        engine.dump_objects(made)
        os.replace(made, path)
    return path
