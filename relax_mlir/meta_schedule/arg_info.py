"""What a function takes, so that a runner can make arguments of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.utils import prim_func_of
from relax_mlir.tir.function import PrimFunc

__all__ = ["ArgInfo", "TensorInfo"]


class ArgInfo(ABC):
    """What is known of one argument."""

    @abstractmethod
    def as_json(self) -> list[Any]:
        """A list of strings and numbers that `from_json` reads."""

    @staticmethod
    def from_json(json_obj: Sequence[Any]) -> ArgInfo:
        """The information that `as_json` wrote.  Raises ValueError for anything else."""
        kind, *rest = json_obj
        if kind != "TENSOR" or len(rest) != 2:
            raise ValueError(f"no information about an argument: {list(json_obj)}")
        return TensorInfo(str(rest[0]), [int(n) for n in rest[1]])

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[ArgInfo]:
        """One for each parameter of a function.

        Raises ValueError for one whose sizes are not constants and for scalars.
        """
        infos: list[ArgInfo] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                raise ValueError(f"the parameter {param.name} is a scalar; tuning needs buffers")
            sizes = [as_int(size) for size in buffer.shape]
            known = [size for size in sizes if size is not None]
            if len(known) != len(sizes):
                raise ValueError(
                    f"the sizes of {param.name} are not constants; tuning measures one size: "
                    "bind the symbols first (relax.transform.BindSymbolicVars)"
                )
            infos.append(TensorInfo(str(buffer.dtype), known))
        return infos

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[ArgInfo]:
        """Those of the function of a workload; `remove_preproc` is accepted: blocks that rewrite
        layouts do not change what a function takes."""
        del remove_preproc
        return ArgInfo.from_prim_func(prim_func_of(mod))


def as_int(size: Any) -> int | None:
    """A size as an int, None for a symbolic one."""
    value = getattr(size, "value", size)
    return value if isinstance(value, int) else None


class TensorInfo(ArgInfo):
    """A tensor of a dtype and a constant shape."""

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self.dtype = str(dtype)
        self.shape = tuple(int(n) for n in shape)

    def as_json(self) -> list[Any]:
        return ["TENSOR", self.dtype, list(self.shape)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorInfo) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __repr__(self) -> str:
        return f'TensorInfo("{self.dtype}", {list(self.shape)})'
