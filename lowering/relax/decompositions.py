"""Composite operators as simpler ones: what the two decomposing passes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    dims_of,
    dtype_of,
    functions_named,
    replace,
)
from relax_mlir.mlir import ir

Rule = Callable[[OperatorWriter, ir.Operation, dict[str, Any]], ir.Value | None]
"""Writes what an operation of these attributes does; None when too little is known."""


def decompose(state: ModuleState, func_name: str, rules: Mapping[str, Rule]) -> None:
    """Apply rules, by MLIR name, in all Relax functions or the one named."""
    for function in functions_named(relax_functions(state), func_name):
        apply_rules(function, state, rules)


def apply_rules(function: ir.Operation, state: ModuleState, rules: Mapping[str, Rule]) -> None:
    """Apply rules, by MLIR name, in one function."""
    for op in list(walk(function)):
        rule = rules.get(op.name)
        if rule is None:
            continue
        new = rule(OperatorWriter(op, state.constants), op, attributes_of(op))
        if new is not None:
            replace(op, new)


def batch_norm_inference(
    write: OperatorWriter, op: ir.Operation, attributes: dict[str, Any]
) -> ir.Value | None:
    """(normalised by the running statistics, running mean, running variance)."""
    data, gamma, beta, mean, var = op.operands
    rank = len(dims_of(data) or ())
    if not rank:
        return None
    normalised = _normalised(write, data, gamma, beta, mean, var, attributes, rank)
    return write.tuple([normalised, mean, var])


def batch_norm_training(
    write: OperatorWriter, op: ir.Operation, attributes: dict[str, Any]
) -> ir.Value | None:
    """(normalised by the batch's statistics, new running mean, new running variance)."""
    data, gamma, beta, mean, var = op.operands
    rank = len(dims_of(data) or ())
    if not rank:
        return None
    others = _others(attributes["axis"], rank)
    batch_mean = write.op("mean", data, axis=others)
    batch_var = write.op("variance", data, axis=others)
    normalised = _normalised(write, data, gamma, beta, batch_mean, batch_var, attributes, rank)
    momentum = attributes["momentum"]

    def moved(old: ir.Value, new: ir.Value) -> ir.Value:
        dtype = dtype_of(old) or "float32"
        kept = write.op("multiply", write.constant(1 - momentum, dtype), old)
        return write.op("add", kept, write.op("multiply", write.constant(momentum, dtype), new))

    return write.tuple([normalised, moved(mean, batch_mean), moved(var, batch_var)])


def layer_norm(
    write: OperatorWriter, op: ir.Operation, attributes: dict[str, Any]
) -> ir.Value | None:
    """Layer normalisation from mean and variance."""
    data, gamma, beta = op.operands
    if dims_of(data) is None:
        return None
    axes = attributes["axes"]
    mean = write.op("mean", data, axis=axes, keepdims=True)
    centred = write.op("subtract", data, mean)
    variance = write.op("variance", data, axis=axes, keepdims=True)
    out = write.op("divide", centred, _root(write, variance, attributes["epsilon"]))
    if attributes["scale"]:
        out = write.op("multiply", out, gamma)
    return write.op("add", out, beta) if attributes["center"] else out


def _normalised(
    write: OperatorWriter,
    data: ir.Value,
    gamma: ir.Value,
    beta: ir.Value,
    mean: ir.Value,
    var: ir.Value,
    attributes: Mapping[str, Any],
    rank: int,
) -> ir.Value:
    others = _others(attributes["axis"], rank)

    def spread(value: ir.Value) -> ir.Value:
        return write.op("expand_dims", value, axis=others) if others else value

    centred = write.op("subtract", data, spread(mean))
    out = write.op("divide", centred, _root(write, spread(var), attributes["epsilon"]))
    if attributes["scale"]:
        out = write.op("multiply", out, spread(gamma))
    return write.op("add", out, spread(beta)) if attributes["center"] else out


def _root(write: OperatorWriter, variance: ir.Value, epsilon: float) -> ir.Value:
    small = write.constant(epsilon, dtype_of(variance) or "float32")
    return write.op("sqrt", write.op("add", variance, small))


def _others(axis: int, rank: int) -> Sequence[int]:
    """All axes but the given one."""
    return [i for i in range(rank) if i != axis % rank]
