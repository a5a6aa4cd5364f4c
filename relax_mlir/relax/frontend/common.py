"""Weights that come with an imported program (TVM: `relax.frontend.detach_params`), and what an
importer says of operators it does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects.relax.constants import constant_key
from relax_mlir.ir import IRModule

if TYPE_CHECKING:
    from relax_mlir.runtime import Tensor

_KEY = "params"


def attach_params(module: IRModule, function: str, params: Sequence[np.ndarray]) -> None:
    """Keep `params`, the values of the last parameters of a function, with the module (in place).

    The arrays go into the module's table of constants; the function's attribute `params` lists
    their keys.
    """
    keys = [constant_key(array) for array in params]
    module.state.constants.update(zip(keys, params, strict=True))
    module.update_func(function, module[function].with_attr(_KEY, keys))


def detach_params(module: IRModule) -> tuple[IRModule, dict[str, list[Tensor]]]:
    """Take the weights out of a module: returns it without them, and the tensors by function."""
    from relax_mlir.runtime import tensor

    result = module.clone()
    detached: dict[str, list[Any]] = {}
    for var in result.get_global_vars():
        function = result[var]
        keys = function.attrs.get(_KEY)
        if keys is None:
            continue
        table = result.state.constants
        detached[var.name_hint] = [tensor(table[key]) for key in keys]
        result.update_func(var, function.without_attr(_KEY))
    _drop_unused_constants(result)
    return result, detached


def _drop_unused_constants(module: IRModule) -> None:
    text = module.mlir()
    for key in list(module.state.constants):
        if f'"{key}"' not in text:
            del module.state.constants[key]


def listed_operators(missing: Sequence[tuple[str, str]]) -> str:
    """Lines for a message: each operator of (operator, place) pairs, how often, and where first."""
    counts = Counter(operator for operator, _ in missing)
    first = dict(reversed(missing))
    return "".join(f"\n  {key}: {counts[key]}x, first {first[key]}" for key in sorted(counts))
