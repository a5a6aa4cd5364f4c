"""Compiling by way of the cache on disk: what decides the code, and who files it.

A module is looked up by a hash of its text, the pipelines, the target, this CPU, the PassContext
and the compiler's own files.  Code that took long to make is linked and filed in the background
once it is machine code (`file_artifact.py`); a program that ends waits for that.  Pipelines that
are functions, and contexts with instruments, are not known by content: they compile as ever.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.driver.asked_cores import asked_cores
from relax_mlir.ir import IRModule
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.to_llvm.num_threads import num_threads
from relax_mlir.runtime.artifact_cache import Entry, default_cache
from relax_mlir.runtime.compiled_code import SET_CONSTANTS, Code, CompiledCode
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.linking import find_compiler
from relax_mlir.runtime.tensor import Tensor, constant_tensor
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

if TYPE_CHECKING:
    from relax_mlir.runtime.engine import Engine

__all__ = ["compiler_version", "through_cache"]


def through_cache(
    module: IRModule, target: Target, pipelines: tuple[Any, Any], make: Callable[[], CompiledCode]
) -> Code:
    """The code that `make` compiles from `module`, or what an earlier process filed of it."""
    store = default_cache()
    key = _key(module, target, pipelines) if store is not None and find_compiler() else None
    if store is None or key is None:
        return make()
    entry = store.load(key, module.state.constants)
    if entry is not None:
        context = copy_context()  # the PassContext of now, should the module be wanted after all
        return CachedCode(
            functions=entry.functions,
            constants=entry.constants,
            entry=entry,
            recompile=lambda: context.run(make),
        )
    started = time.perf_counter()
    code = make()
    at_hand = frozenset(module.state.constants)
    lowering = time.perf_counter() - started

    def file(engine: Engine) -> None:
        from relax_mlir.driver.file_artifact import file_later

        file_later(store, key, code, engine, at_hand, lowering)

    code.on_engine = file
    return code


@dataclass(kw_only=True)
class CachedCode(Code):
    """Code in a library of the cache.  What needs the module itself compiles it after all."""

    entry: Entry
    recompile: Callable[[], CompiledCode]

    @cached_property
    def _compiled(self) -> CompiledCode:
        return self.recompile()

    def compiled(self) -> CompiledCode:
        return self._compiled

    def _make_function(self, name: str) -> Any:
        return _loaded(self.entry).function(name)


class _Library:
    """A loaded library of the cache with its constants; one a process, for its table is one."""

    def __init__(self, entry: Entry) -> None:
        self._module = tvm_ffi.load_module(str(entry.library))
        self._tensors: list[Tensor] = [constant_tensor(array) for array in entry.constants]
        if self._tensors:
            self._module.get_function(SET_CONSTANTS)(*self._tensors)

    def function(self, name: str) -> Any:
        return self._module.get_function(name)


# Never unloaded: functions may outlive every executable, and the constants are pages of files.
_LIBRARIES: dict[Path, _Library] = {}
_LOADING = threading.Lock()


def _loaded(entry: Entry) -> _Library:
    with _LOADING:
        found = _LIBRARIES.get(entry.library)
        if found is None:
            found = _LIBRARIES[entry.library] = _Library(entry)
        return found


# -- what decides the code ------------------------------------------------------------------------


def _key(module: IRModule, target: Target, pipelines: tuple[Any, Any]) -> str | None:
    """The entry's name; None when something that decides the code is not known by content."""
    context = PassContext.current()
    if context.instruments or context.trace is not None:
        return None
    if not all(part is None or isinstance(part, str) for part in pipelines):
        return None
    with mlir.scope():
        text = module.state.module.operation.get_asm(assume_verified=True)
        threads = num_threads(asked_cores(target))
    cpu = host_cpu()
    parts = (
        text,
        module.state.attributes,
        target.export(),
        (cpu.vector_bits, cpu.l1_bytes, cpu.l2_bytes, cpu.num_cores, sorted(cpu.features)),
        threads,
        pipelines,
        (context.opt_level, context.required_pass, context.disabled_pass, context.config),
        compiler_version(),
    )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode() if not isinstance(part, str) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:40]


@cache
def compiler_version() -> str:
    """The compiler's own version: its files, and the wheels below it."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for folder in (root, (root / "dialects").resolve(), (root / "lowering").resolve()):
        for path in sorted(_sources(folder)):
            status = os.stat(path)
            digest.update(f"{path}:{status.st_mtime_ns}:{status.st_size}\n".encode())
    wheels = [f"{name} {metadata.version(name)}" for name in ("torch-mlir", "apache-tvm-ffi")]
    return " ".join([digest.hexdigest(), *wheels])


def _sources(folder: Path) -> Iterator[str]:
    for parent, _, files in os.walk(folder):
        yield from (os.path.join(parent, f) for f in files if f.endswith((".py", ".mlir")))
