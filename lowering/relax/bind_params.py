"""relax-bind-params."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import build_constant
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    entry_block,
    functions_by_name,
    operations,
)
from relax_mlir.lowering.relax.substitute import remove_arguments, substitute_symbols
from relax_mlir.mlir import ir


@register_pass("relax-bind-params")
@dataclass(frozen=True)
class BindParams(Pass):
    """Replace parameters of a Relax function by constants.

    `params` maps parameter names to arrays; in a pipeline's text they come from the `.npz` file
    `file`.  Symbols of the parameters' shapes get the arrays' sizes, everywhere in the function.
    """

    func_name: str = "main"
    file: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = f"func-name={self.func_name}" + (f" file={self.file}" if self.file else "")
        return f"{self.name}{{{options}}}"

    def run(self, state: ModuleState) -> None:
        arrays = {str(getattr(k, "name_hint", k)): _array(v) for k, v in self.params.items()}
        if self.file:
            arrays |= _read(self.file)
        function = functions_by_name(state).get(self.func_name)
        if function is None or "relax.attrs" not in function.attributes:
            raise PassError(f"there is no Relax function '{self.func_name}' to bind parameters of")
        names = [
            ir.StringAttr(entry["relax.name"]).value if "relax.name" in entry else ""
            for entry in argument_attributes(function)
        ]
        unknown = [name for name in arrays if name not in names]
        if unknown:
            raise PassError(
                f"function '{self.func_name}' has no parameter '{unknown[0]}'",
                hint=f"its parameters are {', '.join(names)}",
            )
        bound = [(i, arrays[name]) for i, name in enumerate(names) if name in arrays]
        _bind(function, names, bound, state)


def _bind(
    function: ir.Operation,
    names: list[str],
    bound: list[tuple[int, np.ndarray]],
    state: ModuleState,
) -> None:
    block = entry_block(function)
    sizes: dict[str, Dim] = {}
    for position, array in bound:
        _match(names[position], block.arguments[position].type, array, sizes)
    if sizes:
        substitute_symbols(function, sizes)
    first = operations(block)[0]
    with ir.InsertionPoint(first):
        for position, array in bound:
            argument = block.arguments[position]
            constant = build_constant(
                array, state.constants, argument.location, _constant_type(argument.type, array)
            )
            argument.replace_all_uses_with(constant)
    remove_arguments(function, [position for position, _ in bound])


def _constant_type(kind: ir.Type, array: np.ndarray) -> ir.Type:
    info = types.tensor_info(kind)
    assert info is not None  # _match has checked it
    return types.tensor_type(array.shape, info.dtype or array.dtype.name)


def _match(name: str, kind: ir.Type, array: np.ndarray, sizes: dict[str, Dim]) -> None:
    """Check an array against a parameter's type; symbols get their sizes."""
    info = types.tensor_info(kind)
    if info is None:
        raise PassError(f"parameter '{name}' is {types.describe(kind)}, it takes no array")
    given = types.describe(types.tensor_type(array.shape, array.dtype.name))
    message = f"parameter '{name}' is {types.describe(kind)}, the array is {given}"
    if info.dtype is not None and info.dtype != array.dtype.name:
        raise PassError(message)
    if info.ndim not in (-1, array.ndim):
        raise PassError(message)
    for axis, (dim, size) in enumerate(zip(info.dims or (), array.shape, strict=False)):
        if isinstance(dim, str) and dim_algebra.is_symbol(dim):
            known = sizes.setdefault(dim, size)
        else:
            known = dim_algebra.substitute(dim, sizes)
        if isinstance(known, int) and known != size:
            raise PassError(f"{message}: dimension {axis} is {known} and {size}")


def _array(value: Any) -> np.ndarray:
    """numpy's view of a tensor of numpy, torch, the runtime, or anything with DLPack."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if hasattr(value, "numpy"):
        return np.asarray(value.numpy())
    return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)


def _read(path: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise PassError(f"cannot read parameters from '{path}': {error}") from None
