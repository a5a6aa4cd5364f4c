"""The registry of tensor intrinsics.

Those that come with the project are given as TVMScript and parsed when first asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from relax_mlir.errors import ScheduleError
from relax_mlir.ir.function import above
from relax_mlir.tir.tensor_intrin import dot_product_common, micro_kernel, tensor_cores, x86

if TYPE_CHECKING:
    from relax_mlir.tir.function import PrimFunc

_MAKERS: dict[str, Callable[[], tuple[str, str]]] = {
    **x86.INTRINSICS,
    **micro_kernel.INTRINSICS,
    **dot_product_common.INTRINSICS,
    **tensor_cores.INTRINSICS,
}
"""Name -> what makes description and implementation as TVMScript."""


@dataclass(frozen=True)
class TensorIntrin:
    """`desc` is a loop nest that says what is computed, `impl` a function of the same parameters
    that computes it."""

    desc: PrimFunc
    impl: PrimFunc

    _registered: ClassVar[dict[str, TensorIntrin]] = {}

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """File an intrinsic under a name.

        Raises ScheduleError when the name is taken and `override` is false, or when the functions
        do not have the same parameters.
        """
        taken = name in TensorIntrin._registered or name in _MAKERS
        if taken and not override:
            raise ScheduleError(f'a tensor intrinsic "{name}" is registered already',
                                hint="override=True replaces it")  # fmt: skip
        TensorIntrin._registered[name] = TensorIntrin._checked(name, desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of a name; None where there is none and `allow_missing`.

        Raises ScheduleError when there is none.
        """
        found = TensorIntrin._registered.get(name)
        if found is None and name in _MAKERS:
            desc, impl = parse_pair(_MAKERS[name]())
            found = TensorIntrin._checked(name, desc, impl)
            TensorIntrin._registered[name] = found
        if found is None and not allow_missing:
            near = difflib.get_close_matches(name, TensorIntrin.names(), 8, 0.3)
            known = ", ".join(near or TensorIntrin.names()[:8])
            raise ScheduleError(f'no tensor intrinsic "{name}" is registered; there are for '
                                f"instance {known}")  # fmt: skip
        return found

    @staticmethod
    def names() -> list[str]:
        """The names of all intrinsics."""
        return sorted({*_MAKERS, *TensorIntrin._registered})

    @staticmethod
    def _checked(name: str, desc: PrimFunc, impl: PrimFunc) -> TensorIntrin:
        kinds = [
            [(b.dtype, [str(s) for s in b.shape]) for b in f.buffer_map.values()]
            for f in (desc, impl)
        ]
        if len(desc.params) != len(impl.params) or kinds[0] != kinds[1]:
            raise ScheduleError(f'the description and the implementation of "{name}" do not have '
                                "the same parameters")  # fmt: skip
        return TensorIntrin(desc, impl)


def parse_pair(texts: tuple[str, str]) -> tuple[PrimFunc, PrimFunc]:
    """Description and implementation, of TVMScript."""
    script = above("script")
    desc, impl = (script.from_source(text, {"T": script.tir}) for text in texts)
    return desc, impl
