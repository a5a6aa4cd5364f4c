"""Converters for recurrent layers: written out step by step, for a known number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer
from relax_mlir.relax.frontend.torch.ops_shape import select, transpose

State = tuple[Any, ...]
Cell = Callable[[Importer, Any, State, Sequence[Any]], State]
"""(importer, gates of the input, state, weights) -> new state, whose first is the output."""


def _matrix(imp: Importer, x: Any, weight: Any, bias: Any) -> Any:
    product = imp.emit(imp.op.matmul(x, imp.permute(weight, [1, 0])))
    return product if bias is None else imp.emit(imp.op.add(product, bias))


def _lstm_cell(imp: Importer, gates: Any, state: State, weights: Sequence[Any]) -> State:
    hidden, cell = state
    total = imp.emit(imp.op.add(gates, _matrix(imp, hidden, weights[1], weights[3])))
    enter, forget, new, leave = imp.fields(imp.op.split(total, 4, axis=-1))
    enter, forget, leave = (imp.emit(imp.op.sigmoid(v)) for v in (enter, forget, leave))
    kept = imp.emit(imp.op.multiply(forget, cell))
    added = imp.emit(imp.op.multiply(enter, imp.emit(imp.op.tanh(new))))
    cell = imp.emit(imp.op.add(kept, added))
    return imp.emit(imp.op.multiply(leave, imp.emit(imp.op.tanh(cell)))), cell


def _gru_cell(imp: Importer, gates: Any, state: State, weights: Sequence[Any]) -> State:
    hidden = state[0]
    own = _matrix(imp, hidden, weights[1], weights[3])
    reset_x, update_x, new_x = imp.fields(imp.op.split(gates, 3, axis=-1))
    reset_h, update_h, new_h = imp.fields(imp.op.split(own, 3, axis=-1))
    reset = imp.chain(imp.emit(imp.op.add(reset_x, reset_h)), imp.op.sigmoid)
    update = imp.chain(imp.emit(imp.op.add(update_x, update_h)), imp.op.sigmoid)
    mixed = imp.emit(imp.op.multiply(reset, new_h))
    new = imp.chain(imp.emit(imp.op.add(new_x, mixed)), imp.op.tanh)
    change = imp.emit(imp.op.multiply(update, imp.emit(imp.op.subtract(hidden, new))))
    return (imp.emit(imp.op.add(new, change)),)


def _plain_cell(activation: str) -> Cell:
    def cell(imp: Importer, gates: Any, state: State, weights: Sequence[Any]) -> State:
        total = imp.emit(imp.op.add(gates, _matrix(imp, state[0], weights[1], weights[3])))
        function = imp.op.tanh if activation == "tanh" else imp.op.nn.relu
        return (imp.emit(function(total)),)

    return cell


def _direction(
    imp: Importer, cell: Cell, x: Any, state: State, weights: Sequence[Any], backwards: bool
) -> tuple[list[Any], State]:
    """One layer in one direction over (steps, batch, features): the outputs, and the last state."""
    steps = imp.shape_of(x)[0]
    gates = _matrix(imp, x, weights[0], weights[2])
    outputs: list[Any] = [None] * steps
    for step in reversed(range(steps)) if backwards else range(steps):
        state = cell(imp, imp.bind(select(imp, gates, 0, step)), state, weights)
        outputs[step] = state[0]
    return outputs, state


def _recurrent(cell: Cell, states: int) -> Converter:
    def convert(
        imp: Importer,
        x: Any,
        initial: Any,
        params: Sequence[Any],
        has_biases: bool,
        layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool = False,
    ) -> Any:
        start = list(initial) if isinstance(initial, (list, tuple)) else [initial]
        if batch_first:
            x = transpose(imp, x, 0, 1)
        if not isinstance(imp.shape_of(x)[0], int):
            raise Error("a recurrent layer over a symbolic number of steps cannot be written out")
        last: list[list[Any]] = [[] for _ in range(states)]
        directions = 2 if bidirectional else 1
        for layer in range(layers):
            outputs = []
            for direction in range(directions):
                row = layer * directions + direction
                state = tuple(imp.bind(select(imp, value, 0, row)) for value in start)
                weights = _layer_weights(params, row, has_biases)
                steps, state = _direction(imp, cell, x, state, weights, direction == 1)
                outputs.append(imp.emit(imp.op.stack(steps, axis=0)))
                for kept, value in zip(last, state, strict=True):
                    kept.append(value)
            x = outputs[0] if directions == 1 else imp.emit(imp.op.concat(outputs, axis=-1))
        if batch_first:
            x = transpose(imp, x, 0, 1)
        return [x, *(imp.emit(imp.op.stack(kept, axis=0)) for kept in last)]

    return convert


def _layer_weights(params: Sequence[Any], row: int, has_biases: bool) -> list[Any]:
    """(input weight, hidden weight, input bias, hidden bias) of one layer and direction."""
    count = 4 if has_biases else 2
    weights = list(params[row * count : (row + 1) * count])
    return weights if has_biases else [*weights, None, None]


CONVERTERS: dict[str, Converter] = {
    "lstm": _recurrent(_lstm_cell, 2),
    "gru": _recurrent(_gru_cell, 1),
    "rnn_tanh": _recurrent(_plain_cell("tanh"), 1),
    "rnn_relu": _recurrent(_plain_cell("relu"), 1),
}
"""By the operator's name without namespace, overload and trailing underscore."""
