"""Random numbers in imported programs: each place that draws asks for a key when it runs, and the
numbers are computed from it.

They are of the distribution that the program asks for, and the same again after the same
`relax_mlir.runtime.seed(n)`; they are not the numbers of the framework that the program is from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.runtime.random_state import KEY_FUNCTION

__all__ = ["draw"]

_PLACES = itertools.count()


def draw(builder: Any, function: Callable[..., Any], shape: Sequence[Any], **options: Any) -> Any:
    """A tensor of the shape (integers and symbolic sizes) by a function of `topi.random`, bound in
    the block that `builder` is in."""
    from relax_mlir import relax

    place = relax.PrimValue(next(_PLACES))
    declared = relax.TensorStructInfo([2], "uint32")
    key = builder.emit(relax.call_dps_packed(KEY_FUNCTION, [place], declared))
    return builder.emit_te(function, key, list(shape), **options)
