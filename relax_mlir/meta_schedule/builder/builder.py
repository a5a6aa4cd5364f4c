"""The interface of builders: modules to files that a runner loads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.component import of_kind
from relax_mlir.target import Target

__all__ = ["Builder", "BuilderInput", "BuilderResult", "PyBuilder"]


@dataclass(frozen=True)
class BuilderInput:
    """A module to build for a target; `params` are bound to the parameters of a Relax program."""

    mod: IRModule
    target: Target
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class BuilderResult:
    """The path of what was built, or why it was not."""

    artifact_path: str | None
    error_msg: str | None


class Builder(ABC):
    """Builds candidates.  Users' own derive from `PyBuilder` and define `build`."""

    @abstractmethod
    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """One result for each input, in order; failures are results too."""

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Builder:
        """A builder by its kind: "local".  Raises ValueError for another one."""
        from relax_mlir.meta_schedule.builder.local_builder import LocalBuilder

        return of_kind({"local": LocalBuilder}, kind, "builder")(*args, **kwargs)


PyBuilder = Builder
"""TVM's name of the class that users derive from."""
