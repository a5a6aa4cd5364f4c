"""`nn.Module.jit`: a module compiled, called with torch tensors or numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.relax.frontend.nn import spec as specs
from relax_mlir.relax.frontend.nn.core import Module
from relax_mlir.runtime import ShapeTuple, tensor

__all__ = ["CompiledModule", "compile_module"]

FORMATS = ("torch", "numpy", "raw")


def compile_module(
    module: Module, raw: Any, device: Any, pipeline: Any, out_format: str, debug: bool
) -> CompiledModule:
    """Export, compile and wrap a module.  Raises ValueError."""
    if out_format not in FORMATS:
        raise ValueError(f"out_format is one of {', '.join(FORMATS)}, not {out_format!r}")
    missing = [name for name, param in module.named_parameters() if param.data is None]
    if missing:
        raise ValueError(
            f"parameter '{missing[0]}' has no data: set it with load_state_dict or param.data"
        )
    from relax_mlir import relax
    from relax_mlir.relax.frontend.nn.exporter import export
    from relax_mlir.relax.frontend.nn.extern import external_modules
    from relax_mlir.runtime import device as as_device

    spec = specs.ModuleSpec.from_raw(raw, module)
    exported, params = export(module, spec, debug)
    for external in external_modules(module):
        external.load()
    place = as_device(device) if isinstance(device, str) else device
    target = "llvm" if place.type == "cpu" else "cuda"
    machine = relax.VirtualMachine(relax.build(exported, target, relax_pipeline=pipeline), place)
    return CompiledModule(spec, machine, [param.data for _, param in params], out_format)


class CompiledModule:
    """The methods of a compiled module by name: `compiled["forward"](x)`.

    The state of effects, such as a cache, goes from call to call.
    """

    def __init__(
        self, spec: specs.ModuleSpec, machine: Any, params: list[Any], out_format: str
    ) -> None:
        self.spec = spec
        self.vm = machine
        self.params = params
        self.out_format = out_format
        self.effects: list[Any] | None = None
        self.reset()

    def reset(self) -> None:
        """Begin anew: every effect has its first state."""
        try:
            initialize = self.vm["_initialize_effect"]
        except AttributeError:
            return
        self.effects = list(initialize())

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The method of that name.  Raises ValueError for one that was not exported."""
        if name not in self.spec.method_names:
            known = ", ".join(self.spec.method_names)
            raise ValueError(f"the method '{name}' was not exported; there are {known}")
        method = self.spec.method_specs[self.spec.method_names.index(name)]

        def call(*args: Any) -> Any:
            return self._call(name, method, args)

        call.__name__ = name
        return call

    def __call__(self, *args: Any) -> Any:
        """The only method, or `forward`."""
        names = self.spec.method_names
        return self[names[0] if len(names) == 1 else "forward"](*args)

    def _call(self, name: str, method: specs.MethodSpec, args: tuple[Any, ...]) -> Any:
        if len(args) != len(method.arg_names):
            raise TypeError(
                f"{name} takes {len(method.arg_names)} arguments "
                f"({', '.join(method.arg_names)}), {len(args)} given"
            )
        given = [
            _argument(argument, kind, value)
            for argument, kind, value in zip(method.arg_names, method.arg_specs, args, strict=True)
        ]
        effects = self._packed(self.effects or [], method.effect_mode)
        params = self._packed(self.params, method.param_mode)
        result = self.vm[name](*given, *effects, *params)
        if self.effects is not None and method.effect_mode != "none":
            result, effects = result
            self.effects = list(effects)
        return self._result(result)

    @staticmethod
    def _packed(values: list[Any], mode: str) -> list[Any]:
        if mode == "none":
            return []
        return list(values) if mode == "plain" or not values else [tuple(values)]

    def _result(self, value: Any) -> Any:
        if hasattr(value, "numpy"):
            if self.out_format == "raw":
                return value
            if self.out_format == "numpy":
                return value.numpy()
            import torch

            return torch.from_dlpack(value)
        if isinstance(value, (str, int, float)) or not hasattr(value, "__len__"):
            return value
        return [self._result(item) for item in value]


def _argument(name: str, kind: Any, value: Any) -> Any:
    """A value as the compiled function takes it.  Raises TypeError for one that does not fit."""
    if isinstance(kind, specs.Int):
        if not isinstance(value, int):
            raise TypeError(f"argument '{name}' must be an int, got {type(value).__name__}")
        return ShapeTuple([value])
    if isinstance(kind, specs.Tuple):
        parts = zip(kind.elements, value, strict=True)
        return tuple(_argument(f"{name}[{i}]", k, v) for i, (k, v) in enumerate(parts))
    if isinstance(kind, specs.Tensor):
        if type(value).__module__.partition(".")[0] == "torch":
            return tensor(value) if value.requires_grad else value.contiguous()
        if isinstance(value, np.ndarray) or hasattr(value, "__dlpack__"):
            return value
        raise TypeError(f"argument '{name}' must be a tensor, got {type(value).__name__}")
    return value
