"""Converters for RNN, GRU and LSTM, written out step by step for a known number of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.relax.frontend.onnx import ops_elementwise as elementwise
from relax_mlir.relax.frontend.onnx.node import Node, Row

Activation = Callable[[Node, Any], Any]


def _parametrised(function: Callable[..., Any], *defaults: float) -> Callable[..., Activation]:
    """An activation with `alpha` and `beta`, as many as it has defaults."""

    def make(*given: float | None) -> Activation:
        chosen = [
            d if g is None else g for g, d in zip((*given, None, None), defaults, strict=False)
        ]
        return lambda node, x: function(node, x, *(node.like(v, x) for v in chosen))

    return make


def _plain(name: str) -> Callable[..., Activation]:
    return lambda *given: lambda node, x: getattr(node.ops, name)(x)


def _affine(node: Node, x: Any, alpha: Any, beta: Any) -> Any:
    return node.ops.add(node.ops.multiply(alpha, x), beta)


def _scaled_tanh(node: Node, x: Any, alpha: Any, beta: Any) -> Any:
    return node.ops.multiply(alpha, node.ops.tanh(node.ops.multiply(beta, x)))


_ACTIVATIONS: dict[str, Callable[..., Activation]] = {
    "affine": _parametrised(_affine, 1.0, 0.0),
    "elu": _parametrised(elementwise.elu, 1.0),
    "hardsigmoid": _parametrised(elementwise.hard_sigmoid, 0.2, 0.5),
    "leakyrelu": _parametrised(elementwise.leaky_relu, 0.01),
    "relu": lambda *given: lambda node, x: node.ops.nn.relu(x),
    "scaledtanh": _parametrised(_scaled_tanh, 1.0, 1.0),
    "sigmoid": _plain("sigmoid"),
    "softplus": _parametrised(elementwise.softplus),
    "softsign": _parametrised(elementwise.softsign),
    "tanh": _plain("tanh"),
    "thresholdedrelu": _parametrised(elementwise.thresholded_relu, 1.0),
}


@dataclass
class _Layer:
    """One direction: weights are (gates * hidden, ...), states (batch, hidden)."""

    node: Node
    hidden: int
    w: Any
    r: Any
    input_bias: Any
    hidden_bias: Any
    peepholes: Any
    activations: list[Activation]
    states: list[Any]

    def gates(self, x: Any, weight: Any, bias: Any) -> Any:
        """x @ weight' + bias."""
        result = self.node.ops.matmul(x, self.node.permute(weight, [1, 0]))
        return result if bias is None else self.node.ops.add(result, bias)

    def cut(self, x: Any) -> Any:
        """Limited to the attribute `clip`."""
        limit = self.node.attr("clip")
        if limit is None:
            return x
        ops = self.node.ops
        low, high = self.node.like(-limit, x), self.node.like(limit, x)
        return ops.minimum(ops.maximum(x, low), high)

    def activate(self, which: int, x: Any) -> Any:
        return self.activations[which](self.node, self.cut(x))


Cell = Callable[[_Layer, Any], list[Any]]
"""(layer, gates of the input at a step) -> new states, the first is the output."""


def _rnn_cell(layer: _Layer, gates: Any) -> list[Any]:
    own = layer.gates(layer.states[0], layer.r, layer.hidden_bias)
    return [layer.activate(0, layer.node.ops.add(gates, own))]


def _gru_cell(layer: _Layer, gates: Any) -> list[Any]:
    node, ops = layer.node, layer.node.ops
    state = layer.states[0]
    update_x, reset_x, new_x = node.split(gates, 3, axis=-1)
    update_r, reset_r, new_r = node.split(layer.r, 3, axis=0)
    biases = [None] * 3 if layer.hidden_bias is None else node.split(layer.hidden_bias, 3, axis=0)
    update = layer.activate(0, ops.add(update_x, layer.gates(state, update_r, biases[0])))
    reset = layer.activate(0, ops.add(reset_x, layer.gates(state, reset_r, biases[1])))
    if node.attr("linear_before_reset", 0):
        mixed = ops.multiply(reset, layer.gates(state, new_r, biases[2]))
    else:
        mixed = layer.gates(ops.multiply(reset, state), new_r, biases[2])
    new = layer.activate(1, ops.add(new_x, mixed))
    return [ops.add(new, ops.multiply(update, ops.subtract(state, new)))]


def _lstm_cell(layer: _Layer, gates: Any) -> list[Any]:
    node, ops = layer.node, layer.node.ops
    hidden, cell = layer.states
    total = ops.add(gates, layer.gates(hidden, layer.r, layer.hidden_bias))
    enter, leave, forget, new = node.split(total, 4, axis=-1)
    peep = [None] * 3 if layer.peepholes is None else node.split(layer.peepholes, 3, axis=0)

    def seen(gate: Any, weight: Any, state: Any) -> Any:
        return gate if weight is None else ops.add(gate, ops.multiply(weight, state))

    enter = layer.activate(0, seen(enter, peep[0], cell))
    if node.attr("input_forget", 0):
        forget = ops.subtract(node.like(1, enter), enter)
    else:
        forget = layer.activate(0, seen(forget, peep[2], cell))
    added = ops.multiply(enter, layer.activate(1, new))
    cell = ops.add(ops.multiply(forget, cell), added)
    leave = layer.activate(0, seen(leave, peep[1], cell))
    return [ops.multiply(leave, layer.activations[2](node, cell)), cell]


@dataclass(frozen=True)
class _Kind:
    cell: Cell
    gates: int
    states: int
    activations: tuple[str, ...]


_KINDS = {
    "RNN": _Kind(_rnn_cell, 1, 1, ("Tanh",)),
    "GRU": _Kind(_gru_cell, 3, 1, ("Sigmoid", "Tanh")),
    "LSTM": _Kind(_lstm_cell, 4, 2, ("Sigmoid", "Tanh", "Tanh")),
}


def recurrent(node: Node) -> Any:
    """Outputs: every step's hidden state, then the last states."""
    kind = _KINDS[node.op_type]
    x, batch_first = node.tensor(0), bool(node.attr("layout", 0))
    x = node.permute(x, [1, 0, 2]) if batch_first else x
    steps, batch, _ = node.shape(x)
    if not isinstance(steps, int):
        node.refuse(f"the symbolic number of steps {steps} cannot be written out")
    directions = {"bidirectional": [False, True], "reverse": [True]}.get(
        node.attr("direction", "forward"), [False]
    )
    activations = _activations(node, kind, len(directions))
    sequences: list[Any] = []
    last: list[list[Any]] = [[] for _ in range(kind.states)]
    for row, backwards in enumerate(directions):
        layer = _layer(node, kind, row, batch, activations[row], batch_first)
        outputs = _run(kind, layer, x, steps, backwards)
        sequences.append(node.ops.stack(outputs, axis=0))
        for states, state in zip(last, layer.states, strict=True):
            states.append(state)
    axis = 2 if batch_first else 1
    result = node.ops.stack(sequences, axis=1)  # steps, directions, batch, hidden
    if batch_first:
        result = node.permute(result, [2, 0, 1, 3])
    final = [node.ops.stack(states, axis=axis - 1) for states in last]
    return [result, *final]


def _activations(node: Node, kind: _Kind, directions: int) -> list[list[Activation]]:
    names = node.attr("activations") or list(kind.activations) * directions
    alphas = list(node.attr("activation_alpha") or [])
    betas = list(node.attr("activation_beta") or [])
    made: list[Activation] = []
    for name in names:
        key = name.lower()
        if key not in _ACTIVATIONS:
            node.refuse(f"the activation '{name}' is not known")
        # Only activations with parameters take their turn in the lists.
        alpha = alphas.pop(0) if alphas and key in _WITH_ALPHA else None
        beta = betas.pop(0) if betas and key in _WITH_BETA else None
        made.append(_ACTIVATIONS[key](alpha, beta))
    width = len(kind.activations)
    return [made[i * width : (i + 1) * width] for i in range(directions)]


_WITH_ALPHA = ("affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "thresholdedrelu")
_WITH_BETA = ("affine", "hardsigmoid", "scaledtanh")


def _layer(
    node: Node, kind: _Kind, row: int, batch: Any, activations: list[Activation], batch_first: bool
) -> _Layer:
    def pick(index: int, axis: int = 0) -> Any:
        value = node.optional(index)
        return None if value is None else node.slice(value, axis, row, row + 1, squeeze=True)

    w, r, bias = pick(1), pick(2), pick(3)
    hidden = node.static_shape(r)[1]
    input_bias, hidden_bias = [None, None] if bias is None else node.split(bias, 2, axis=0)
    states = []
    for i in range(kind.states):
        state = pick(5 + i, 1 if batch_first else 0)
        if state is None:
            state = node.ops.zeros(node.importer.shape_expr([batch, hidden]), node.dtype(w))
        states.append(state)
    peepholes = pick(7) if kind.states == 2 else None
    return _Layer(node, hidden, w, r, input_bias, hidden_bias, peepholes, activations, states)


def _run(kind: _Kind, layer: _Layer, x: Any, steps: int, backwards: bool) -> list[Any]:
    """The outputs of one direction in the order of the input; leaves the last states in place.

    Rows shorter than the longest (`sequence_lens`) keep their state and give zeros after their end.
    """
    node, ops = layer.node, layer.node.ops
    gates = layer.gates(x, layer.w, layer.input_bias)
    lengths = node.optional(4)
    lengths = None if lengths is None else node.reshape(lengths, [node.shape(x)[1], 1])
    outputs: list[Any] = [None] * steps
    for step in reversed(range(steps)) if backwards else range(steps):
        before = layer.states
        states = kind.cell(layer, node.slice(gates, 0, step, step + 1, squeeze=True))
        output = states[0]
        if lengths is not None:
            running = ops.less(node.like(step, lengths), lengths)
            states = [ops.where(running, new, old) for new, old in zip(states, before, strict=True)]
            output = ops.where(running, output, ops.zeros_like(output))
        layer.states = states
        outputs[step] = output
    return outputs


CONVERTERS: dict[str, Row] = dict.fromkeys(_KINDS, recurrent)
"""By operator; see `node.Row`."""
