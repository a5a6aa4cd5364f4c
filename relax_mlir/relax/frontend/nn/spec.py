"""What a module's methods take, for `export_tvm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from relax_mlir.relax.frontend.nn.core import Module

MODES = ("plain", "packed", "none")


class Int:
    """An integer argument: a symbolic size that is given at run time."""

    def __repr__(self) -> str:
        return "int"


class Tensor:
    """A tensor argument; strings and `tir` variables in the shape are symbolic sizes."""

    def __init__(self, shape: Sequence[Any], dtype: str):
        self.shape = list(shape)
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Object:
    """An argument that is any runtime object; it arrives in the method as `object_type`."""

    def __init__(self, object_type: type[Any]):
        self.object_type = object_type

    def __repr__(self) -> str:
        return "object"


class Tuple:
    """An argument that is a tuple or a list of others."""

    def __init__(self, name: str, elements: Sequence[Any]):
        self.name = name
        self.elements = elements

    def __len__(self) -> int:
        return len(self.elements)

    def __getitem__(self, index: int) -> Any:
        return self.elements[index]

    def __repr__(self) -> str:
        return repr(self.elements)


@dataclass
class MethodSpec:
    """A method: its arguments by name, and how parameters and the state of effects are passed:
    "plain" (one by one), "packed" (one tuple) or "none" (not at all)."""

    method: Any
    arg_names: list[str]
    arg_specs: list[Any]
    param_mode: str = "plain"
    effect_mode: str = "plain"

    @classmethod
    def from_raw(cls, raw: Any, method: Any) -> MethodSpec:
        """From `{"x": nn.spec.Tensor(...), "n": int, "$": {"param_mode": "packed"}}`.

        Raises ValueError for arguments that are not the method's.
        """
        if isinstance(raw, MethodSpec):
            return raw
        given = dict(raw)
        config = given.pop("$", {})
        names = list(signature(method).parameters)
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"the method has no argument '{unknown[0]}'; it has {names}")
        missing = [
            name
            for name, parameter in signature(method).parameters.items()
            if name not in given and parameter.default is parameter.empty
        ]
        if missing:
            raise ValueError(f"the spec of argument '{missing[0]}' is missing")
        ordered = [name for name in names if name in given]
        made = cls(method, ordered, [_argument(given[n], n) for n in ordered], **config)
        if made.param_mode not in MODES or made.effect_mode not in MODES:
            raise ValueError(f"modes are {', '.join(MODES)}, not {config}")
        return made


def _argument(raw: Any, name: str) -> Any:
    if raw is int:
        return Int()
    if isinstance(raw, (Int, Tensor, Object, Tuple)):
        return raw
    if isinstance(raw, (list, tuple)):
        elements = [_argument(item, f"{name}_{i}") for i, item in enumerate(raw)]
        return Tuple(name, type(raw)(elements))
    raise TypeError(f"argument '{name}': expected nn.spec.Tensor(...) or int, got {raw!r}")


@dataclass
class ModuleSpec:
    """The methods of a module that are exported."""

    module: Module
    method_names: list[str] = field(default_factory=list)
    method_specs: list[MethodSpec] = field(default_factory=list)

    @classmethod
    def from_raw(cls, raw: ModuleSpec | Mapping[str, Any], module: Module) -> ModuleSpec:
        """From `{"forward": {...}}`.  Raises AttributeError for a method that does not exist."""
        if isinstance(raw, ModuleSpec):
            return raw
        names = list(raw)
        specs = [MethodSpec.from_raw(raw[name], getattr(module, name)) for name in names]
        return cls(module, names, specs)
