"""Building on this machine, in processes of their own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from relax_mlir.driver import build
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.builder.builder import Builder, BuilderInput, BuilderResult
from relax_mlir.meta_schedule.utils import cpu_count
from relax_mlir.meta_schedule.worker import WorkerError, borrowed
from relax_mlir.target import Target

__all__ = ["LocalBuilder", "build_artifact", "default_build", "default_export"]


class LocalBuilder(Builder):
    """Builds candidates on this machine, several at a time.

    Each is built in a process that is given `timeout_sec`.  `f_build(mod, target, params)` and
    `f_export(module) -> path` are functions of the user, which run in this process, without that
    protection; `initializer()` is called before the first of them.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: Callable[..., Any] | None = None,
        f_export: Callable[[Any], str] | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.max_workers = max_workers or cpu_count()
        self.timeout_sec = timeout_sec
        if initializer is not None:
            initializer()
        self._f_build = user_function("f_build", f_build)
        self._f_export = user_function("f_export", f_export)

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        if self._f_build is not None or self._f_export is not None:
            return [self._build_here(item) for item in build_inputs]
        with ThreadPoolExecutor(self.max_workers) as pool:
            return list(pool.map(self._build_in_worker, _descriptions(build_inputs)))

    def _build_in_worker(self, description: tuple[Any, ...]) -> BuilderResult:
        folder = tempfile.mkdtemp(prefix="relax_mlir_tune_")
        try:
            with borrowed() as worker:
                path = worker.call("build", [*description, folder], self.timeout_sec)
        except WorkerError as error:
            shutil.rmtree(folder, ignore_errors=True)
            return BuilderResult(None, f"LocalBuilder: {error}")
        return BuilderResult(path, None)

    def _build_here(self, item: BuilderInput) -> BuilderResult:
        make = self._f_build or default_build
        export = self._f_export or default_export
        try:
            return BuilderResult(export(make(item.mod, item.target, item.params)), None)
        except Exception as error:
            return BuilderResult(None, f"LocalBuilder: {type(error).__name__}: {error}")


def user_function(name: str, given: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A function of the user.  Raises TypeError for a name: through the registry of functions
    modules would not arrive as what they are."""
    if given is not None and not callable(given):
        raise TypeError(f"{name} is a function, not {given!r}")
    return given


def _descriptions(inputs: Sequence[BuilderInput]) -> list[tuple[Any, ...]]:
    """What a worker needs of each input, as text and arrays."""
    return [
        (item.mod.mlir(), dict(item.mod.state.constants), item.target.export(), item.params)
        for item in inputs
    ]


def build_artifact(
    text: str,
    constants: Mapping[str, np.ndarray],
    target: Mapping[str, Any],
    params: Mapping[str, Any] | None,
    folder: str,
) -> str:
    """Build a module given as MLIR text into a library in a folder; its path."""
    made = default_build(IRModule.parse(text, constants), Target(target), params)
    return default_export(made, folder)


def default_build(mod: IRModule, target: Target, params: Mapping[str, Any] | None = None) -> Any:
    """Compile a module as `relax_mlir.build` does."""
    return build(mod, target=target, params=params)


def default_export(module: Any, folder: str | None = None) -> str:
    """Write a library into a folder, a new one without; its path."""
    path = os.path.join(folder or tempfile.mkdtemp(prefix="relax_mlir_tune_"), "candidate.so")
    module.export_library(path)
    if not os.path.exists(path):
        raise Error(f"the library {path} was not written")
    return path
