"""Optimizers as Relax functions `(params, gradients, states) -> (params, states)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax import op
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.expr import Expr, Tuple, TupleGetItem, Var, const
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import TensorType, TupleType


class Optimizer:
    """Base of optimizers.

    `init(params)` says what is optimized, `state` is what the optimizer remembers (a tuple of
    tensors, the number of steps first), `get_function()` one step as a Relax function, whose
    attribute `state_init` has the number that each first state is filled with.
    """

    def __init__(self, name: str):
        self.name = name
        self.dtype = "float32"
        self.param_list: list[Var] | None = None
        self.state: tuple[Any, ...] = ()

    def init(self, params: Var | Sequence[Var]) -> Optimizer:
        """Choose the parameters, float tensors of known shapes and one dtype.  Gives the optimizer.

        Raises Error for others, and for a parameter given twice.
        """
        chosen = [params] if isinstance(params, Var) else list(params)
        if len(set(chosen)) != len(chosen):
            raise Error(f"{self.name}: a parameter is given twice")
        dtypes = {_checked(self.name, param) for param in chosen}
        if len(dtypes) != 1:
            raise Error(f"{self.name} takes parameters of one dtype, not {sorted(dtypes)}")
        self.param_list = chosen
        self.dtype = dtypes.pop()
        self.state = tuple(_tensor(array) for array in self._initial(chosen))
        return self

    def get_function(self) -> Function:
        """One step.  Raises Error before `init`."""
        if self.param_list is None:
            raise Error(f"{self.name}: call init(params) first")
        kinds = [param.struct_info for param in self.param_list]
        states = [TensorType(tensor.shape, str(tensor.dtype)) for tensor in self.state]
        params = Var("params", TupleType(kinds))
        gradients = Var("gradients", TupleType(kinds))
        remembered = Var("optim_states", TupleType(states))
        builder = BlockBuilder()
        # Every first state is one number all over.
        first = [
            float(tensor.numpy().flat[0]) if tensor.numpy().size else 0.0 for tensor in self.state
        ]
        with builder.function(self.name, [params, gradients, remembered], {"state_init": first}):
            with builder.dataflow():
                step = _Step(builder, params, gradients, remembered)
                result = builder.emit_output(Tuple([*map(Tuple, self._step(step))]))
            builder.emit_func_output(result)
        made = builder.get()[self.name]
        assert isinstance(made, Function)
        return made

    def _initial(self, params: Sequence[Var]) -> list[np.ndarray]:
        """The first state."""
        return [np.zeros((), "int64")]

    def _step(self, step: _Step) -> tuple[list[Expr], list[Expr]]:
        """(new parameters, new states)."""
        raise TypeError(f"{type(self).__name__} does not define a step")

    def number(self, value: float) -> Expr:
        return const(value, self.dtype)


class _Step:
    """The parts of the arguments of a step, and how to emit what is computed from them."""

    def __init__(self, builder: BlockBuilder, params: Var, gradients: Var, states: Var):
        self.emit = builder.emit
        self.params = self._fields(params)
        self.gradients = self._fields(gradients)
        self.states = self._fields(states)
        self.count = self.emit(op.add(self.states[0], const(1, "int64")), "num_steps")

    def _fields(self, value: Var) -> list[Expr]:
        kind = value.struct_info
        assert isinstance(kind, TupleType)
        return [self.emit(TupleGetItem(value, i)) for i in range(len(kind))]


def _checked(name: str, param: Any) -> str:
    info = param.struct_info if isinstance(param, Var) else None
    if not isinstance(info, TensorType) or info.dims is None or "float" not in str(info.dtype):
        raise Error(f"{name} optimizes float tensors of known shapes, not {param}: {info}")
    if not all(isinstance(dim, int) for dim in info.dims):
        raise Error(f"{name} optimizes tensors of constant shapes, not {param}: {info}")
    return str(info.dtype)


def _tensor(array: np.ndarray) -> Any:
    from relax_mlir.runtime import tensor

    return tensor(array)


def _shape(param: Var) -> tuple[int, ...]:
    info = param.struct_info
    assert isinstance(info, TensorType)
    return tuple(int(dim) for dim in info.dims or ())


class SGD(Optimizer):
    """p - lr * (g + weight_decay * p)."""

    def __init__(self, lr: float, weight_decay: float = 0):
        super().__init__("SGD")
        self.lr, self.weight_decay = float(lr), float(weight_decay)

    def _decayed(self, step: _Step, index: int) -> Expr:
        gradient = step.gradients[index]
        if not self.weight_decay:
            return gradient
        decay = op.multiply(self.number(self.weight_decay), step.params[index])
        return step.emit(op.add(decay, gradient))

    def _step(self, step: _Step) -> tuple[list[Expr], list[Expr]]:
        updated: list[Expr] = []
        for i, param in enumerate(step.params):
            change = op.multiply(self.number(self.lr), self._decayed(step, i))
            updated.append(step.emit(op.subtract(param, change)))
        return updated, [step.count]


class MomentumSGD(SGD):
    """SGD along v = momentum * v + (1 - dampening) * g; with `nesterov` along g + momentum * v."""

    def __init__(
        self,
        lr: float,
        momentum: float,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ):
        super().__init__(lr, weight_decay)
        self.name = "MomentumSGD"
        self.momentum, self.dampening = float(momentum), float(dampening)
        self.nesterov = nesterov

    def _initial(self, params: Sequence[Var]) -> list[np.ndarray]:
        return [*super()._initial(params), *(np.zeros(_shape(p), self.dtype) for p in params)]

    def _step(self, step: _Step) -> tuple[list[Expr], list[Expr]]:
        updated: list[Expr] = []
        velocities: list[Expr] = []
        for i, (param, old) in enumerate(zip(step.params, step.states[1:], strict=True)):
            gradient = self._decayed(step, i)
            new = op.multiply(self.number(1 - self.dampening), gradient)
            velocity = step.emit(op.add(op.multiply(self.number(self.momentum), old), new))
            direction: Expr = velocity
            if self.nesterov:
                ahead = op.multiply(self.number(self.momentum), velocity)
                direction = step.emit(op.add(gradient, ahead))
            change = op.multiply(self.number(self.lr), direction)
            updated.append(step.emit(op.subtract(param, change)))
            velocities.append(velocity)
        return updated, [step.count, *velocities]


class Adam(SGD):
    """Adam (Kingma and Ba, 2014), with bias correction; the state also holds beta1^t, beta2^t."""

    def __init__(
        self,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0,
    ):
        super().__init__(lr, weight_decay)
        self.name = "Adam"
        self.betas, self.eps = (float(betas[0]), float(betas[1])), float(eps)

    def _initial(self, params: Sequence[Var]) -> list[np.ndarray]:
        ones = [np.ones((), self.dtype) for _ in self.betas]
        moments = [np.zeros(_shape(p), self.dtype) for _ in self.betas for p in params]
        return [*super()._initial(params), *ones, *moments]

    def _step(self, step: _Step) -> tuple[list[Expr], list[Expr]]:
        count = len(step.params)
        products = [
            step.emit(op.multiply(product, self.number(beta)))
            for product, beta in zip(step.states[1:3], self.betas, strict=True)
        ]
        rests = [step.emit(op.subtract(self.number(1.0), product)) for product in products]
        old = step.states[3 : 3 + count], step.states[3 + count :]
        moments: tuple[list[Expr], list[Expr]] = [], []
        updated: list[Expr] = []
        for i, param in enumerate(step.params):
            gradient = self._decayed(step, i)
            squared = step.emit(op.multiply(gradient, gradient))
            for k, value in enumerate((gradient, squared)):
                kept = op.multiply(self.number(self.betas[k]), old[k][i])
                new = op.multiply(self.number(1 - self.betas[k]), value)
                moments[k].append(step.emit(op.add(kept, new)))
            first, second = (op.divide(moments[k][i], rests[k]) for k in range(2))
            scale = op.add(op.sqrt(second), self.number(self.eps))
            change = op.divide(op.multiply(self.number(self.lr), first), scale)
            updated.append(step.emit(op.subtract(param, change)))
        return updated, [step.count, *products, *moments[0], *moments[1]]
