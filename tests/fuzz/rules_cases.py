"""A rule that takes an operator from the cases of tests/exec, with other numbers: images, boxes,
gradients, losses, attention, everything that has a kernel."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from relax_mlir import relax
from relax_mlir.dialects.relax.spec import SPECS
from relax_mlir.relax.op.generate import operator_function
from tests.exec.operator_cases import TOLERANCE, Case
from tests.exec.operator_programs import CASES
from tests.fuzz.graphs import Graph, Node, Value, is_tame, rule

LARGEST = 5000
"""Elements of the operands of a case; larger ones cost time that many small ones use better."""

FIXED = ("multinomial_from_uniform", "unique", "full")
"""Operators whose cases have references that know the numbers."""

UNKNOWN_SIZES = ("dynamic_strided_slice", "nonzero", "unique")
"""Operators whose result has sizes that are unknown while the program is built."""


@cache
def cases() -> list[Case]:
    return [case for case in CASES if _size(case) <= LARGEST]


def _size(case: Case) -> int:
    return sum(o.size for o in case.operands if isinstance(o, np.ndarray))


@rule(6)
def known_case(graph: Graph) -> None:
    case = graph.choice(cases())
    given = graph.choice([case.operands, *case.calls])
    operands = _other_numbers(graph, case, given)
    wanted = case.reference(*operands)
    several = isinstance(wanted, (tuple, list))
    arrays = [np.asarray(array) for array in (wanted if several else [wanted])]
    values = [Value(array, tuple(array.shape), False) for array in arrays]
    for value in values:
        value.tolerance = max(case.tolerance or 0.0, TOLERANCE.get(value.dtype, 0.0)) * 4
    inputs = _as_inputs(graph, case, operands)
    function = operator_function(SPECS[case.name])

    def emit(_: Any, given: list[Any]) -> Any:
        return function(*given, **case.attributes)

    graph.nodes.append(Node(case.name, inputs, {}, values, several, emit))
    if not case.dims and case.name not in UNKNOWN_SIZES:
        graph.values.extend(v for v in values if is_tame(v.array) and v.dtype in TOLERANCE)


def _other_numbers(graph: Graph, case: Case, operands: Any) -> list[Any]:
    """The operands, those of floats scaled: order, signs and ties stay as they are."""
    factor = 1.0 if case.name in FIXED else 0.5 + graph.rng.random() / 2
    return [
        _scaled(operand, factor) if position not in case.constants else operand
        for position, operand in enumerate(operands)
    ]


def _scaled(operand: Any, factor: float) -> Any:
    if isinstance(operand, list):
        return [_scaled(item, factor) for item in operand]
    if not isinstance(operand, np.ndarray) or not operand.ndim or "float" not in operand.dtype.name:
        return operand
    return np.asarray(operand * operand.dtype.type(factor)).astype(operand.dtype)


def _as_inputs(graph: Graph, case: Case, operands: list[Any]) -> list[Any]:
    """The operands as values of the graph: arrays are parameters, of the case's symbolic sizes."""
    symbols: dict[str, str] = {}
    position = -1

    def value(operand: Any) -> Any:
        nonlocal position
        if isinstance(operand, list):
            return [value(item) for item in operand]
        position += 1
        if isinstance(operand, tuple):  # a shape
            return tuple(symbols[d] if isinstance(d, str) else d for d in operand)
        if not isinstance(operand, np.ndarray):
            return operand if operand is None else relax.PrimValue(operand)
        if position in case.constants:
            return relax.const(operand)
        shape: tuple[Any, ...] = operand.shape
        dims = list(case.dims.get(position, shape))
        for axis, dim in enumerate(dims):
            if isinstance(dim, str):
                if dim not in symbols:
                    symbols[dim] = graph.symbol(operand.shape[axis])
                dims[axis] = symbols[dim]
        return graph.private(operand, dims)

    return [value(operand) for operand in operands]
