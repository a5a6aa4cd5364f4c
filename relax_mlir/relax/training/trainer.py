"""Running a module that SetupTrainer made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import TensorType, TupleType
from relax_mlir.relax.training.setup_trainer import ADJOINT, PREDICT, UPDATE


class Trainer:
    """Holds the parameters, the states and the optimizer's memory, and trains them step by step.

    `train_mod` comes from SetupTrainer, `vm` runs it compiled.  Parameters and states are zeros at
    first unless `zero_init_param_state` is off; then they are loaded before the first step.
    """

    def __init__(
        self,
        train_mod: IRModule,
        vm: Any,
        device: Any = None,
        zero_init_param_state: bool = True,
    ):
        from relax_mlir.runtime import cpu

        self.mod, self.vm = train_mod, vm
        self.device = cpu() if device is None else device
        backbone = train_mod[PREDICT]
        assert isinstance(backbone, Function)
        self._inputs = int(train_mod.get_attr("input_num"))
        count = int(train_mod.get_attr("param_num"))
        own = backbone.params[self._inputs :]
        self._params = {p.name_hint: p for p in own[:count]}
        self._states = {p.name_hint: p for p in own[count:]}
        self._values: dict[str, Any] = {}
        if zero_init_param_state:
            for name, param in {**self._params, **self._states}.items():
                self._values[name] = self._tensor(np.zeros(_shape(param), param.dtype))
        self._memory = tuple(self._tensor(a) for a in _initial_memory(train_mod))

    def predict(self, *input_instances: Any) -> Any:
        """The prediction for inputs."""
        arguments = [*self._given(input_instances), *self._held()]
        result = self.vm[PREDICT](*arguments)
        return result[0] if self._states else result

    def update(self, input_instances: Any, targets: Any) -> Any:
        """One step for inputs and targets (one of each, or lists); gives the loss."""
        returned, gradients = self.vm[ADJOINT](
            *self._given(_as_list(input_instances)),
            *self._held(),
            *(self._tensor(target) for target in _as_list(targets)),
        )
        loss, states = (returned[0], list(returned)[1:]) if self._states else (returned, [])
        params = tuple(self._values[name] for name in self._params)
        updated, self._memory = self.vm[UPDATE](params, tuple(gradients), tuple(self._memory))
        self._values |= dict(zip(self._params, updated, strict=True))
        self._values |= dict(zip(self._states, states, strict=False))
        return loss

    def xaiver_uniform_init_params(self, seed: int | None = None) -> None:
        """Fill the parameters with Xavier's uniform distribution (the spelling is TVM's)."""
        rng = np.random.default_rng(seed)
        for name, param in self._params.items():
            shape = _shape(param)
            fan_in = shape[1] if len(shape) > 1 else shape[0] if shape else 1
            fan_out = shape[0] if shape else 1
            field = int(np.prod(shape[2:], dtype=np.int64))
            bound = (6.0 / ((fan_in + fan_out) * field)) ** 0.5
            self._values[name] = self._tensor(rng.uniform(-bound, bound, shape).astype(param.dtype))

    xavier_uniform_init_params = xaiver_uniform_init_params

    def load_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters by name.  Raises Error for an unknown name or another shape."""
        self._load(params, self._params, "parameter")

    def load_states(self, states: Mapping[str, Any]) -> None:
        """Set states by name.  Raises Error for an unknown name or another shape."""
        self._load(states, self._states, "state")

    def _load(self, given: Mapping[str, Any], known: Mapping[str, Any], what: str) -> None:
        for name, value in given.items():
            if name not in known:
                raise Error(f"there is no {what} '{name}'; there are {', '.join(known) or 'none'}")
            tensor = self._tensor(value)
            if tuple(tensor.shape) != _shape(known[name]):
                raise Error(
                    f"{what} '{name}' has the shape {_shape(known[name])}, not {tensor.shape}"
                )
            self._values[name] = tensor

    def export_params(self) -> dict[str, Any]:
        """The parameters by name, as tensors."""
        return {name: self._values[name] for name in self._params}

    def export_states(self) -> dict[str, Any]:
        """The states by name, as tensors."""
        return {name: self._values[name] for name in self._states}

    def _given(self, inputs: Sequence[Any]) -> list[Any]:
        if len(inputs) != self._inputs:
            raise Error(f"'{PREDICT}' takes {self._inputs} inputs, not {len(inputs)}")
        return [self._tensor(value) for value in inputs]

    def _held(self) -> list[Any]:
        missing = [n for n in (*self._params, *self._states) if n not in self._values]
        if missing:
            raise Error(f"'{missing[0]}' has no value yet: load_params or load_states first")
        return [self._values[name] for name in (*self._params, *self._states)]

    def _tensor(self, value: Any) -> Any:
        from relax_mlir.runtime import tensor

        return tensor(np.asarray(value.numpy() if hasattr(value, "numpy") else value), self.device)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shape(param: Any) -> tuple[int, ...]:
    return tuple(int(dim) for dim in param.struct_info.dims)


def _initial_memory(mod: IRModule) -> list[np.ndarray]:
    """The optimizer's first state, as `update_params` says."""
    function = mod[UPDATE]
    assert isinstance(function, Function)
    kind = function.params[2].struct_info
    assert isinstance(kind, TupleType)
    arrays: list[np.ndarray] = []
    for value, info in zip(function.attrs["state_init"], kind.fields, strict=True):
        assert isinstance(info, TensorType)
        shape = tuple(int(dim) for dim in info.dims or ())
        arrays.append(np.full(shape, value, info.dtype))
    return arrays
