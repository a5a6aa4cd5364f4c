"""Patterns that use one another: graphs instead of trees (TVM's `PatternContext`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar

from relax_mlir.relax import expr as nodes
from relax_mlir.relax.blocks import DataflowBlock
from relax_mlir.relax.dpl.matcher import State, match, resolve
from relax_mlir.relax.dpl.pattern import (
    CallPattern,
    DFConstraint,
    DFPattern,
    SameShapeConstraint,
    TupleGetItemPattern,
    TuplePattern,
)
from relax_mlir.relax.expr import Expr, Var
from relax_mlir.relax.lowering import post_order


@dataclass(frozen=True)
class _Edge:
    """`right` uses `left`, as argument `index` (-1: any), perhaps it alone."""

    left: DFPattern
    right: DFPattern
    index: int
    only: bool


class PatternContext:
    """Collects the patterns and uses written inside `with PatternContext() as ctx:`.

    `ctx.match_dfb(block)` finds variables of a dataflow block for all of them at once.
    """

    _stack: ClassVar[list[PatternContext]] = []

    def __init__(self, incremental: bool = False):
        outer = PatternContext.current() if incremental else None
        self._patterns: list[DFPattern] = list(outer._patterns) if outer else []
        self._edges: list[_Edge] = list(outer._edges) if outer else []
        self._constraints: list[DFConstraint] = list(outer._constraints) if outer else []

    def __enter__(self) -> PatternContext:
        PatternContext._stack.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        PatternContext._stack.pop()

    @staticmethod
    def current() -> PatternContext | None:
        """The context whose `with` is open, innermost first."""
        return PatternContext._stack[-1] if PatternContext._stack else None

    def add_pattern(self, pattern: DFPattern) -> None:
        self._patterns.append(pattern)

    def add_edge(self, left: DFPattern, right: DFPattern, index: int, only: bool) -> None:
        self._edges.append(_Edge(left, right, index, only))

    def add_constraint(self, constraint: DFConstraint) -> None:
        self._constraints.append(constraint)

    def match_dfb(
        self, dfb: DataflowBlock, excluded: Sequence[Var] = ()
    ) -> dict[DFPattern, Var] | None:
        """A variable for each pattern, or None when the block does not match.

        No two calls stand for one variable; `excluded` variables stand for none.
        """
        graph = _Graph(dfb)
        barred = {id(var) for var in excluded}
        for state in self._assign(self._roots(), graph, State(), barred):
            if self._holds(state, graph):
                return state.variables
        return None

    def _roots(self) -> list[DFPattern]:
        """Patterns that are no part of another one."""
        parts = {id(child) for pattern in self._patterns for child in pattern.children()}
        return [
            pattern
            for pattern in self._patterns
            if id(pattern) not in parts
            and (
                isinstance(pattern, (CallPattern, TuplePattern, TupleGetItemPattern))
                or pattern.children()
                or any(pattern in (edge.left, edge.right) for edge in self._edges)
            )
        ]

    def _assign(
        self, roots: Sequence[DFPattern], graph: _Graph, state: State, barred: set[int]
    ) -> Iterator[State]:
        if not roots:
            yield state
            return
        for var in graph.variables:
            if id(var) in barred:
                continue
            for found in match(roots[0], var, graph.values, state):
                if _is_injective(found):
                    yield from self._assign(roots[1:], graph, found, barred)

    def _holds(self, state: State, graph: _Graph) -> bool:
        return all(graph.has_edge(edge, state) for edge in self._edges) and all(
            _same_shape([state.variables.get(p) for p in constraint.args])
            for constraint in self._constraints
            if isinstance(constraint, SameShapeConstraint)
        )


def _is_injective(state: State) -> bool:
    """True when different calls, tuples and fields are different variables."""
    shaped = [
        id(var)
        for pattern, var in state.variables.items()
        if isinstance(pattern, (CallPattern, TuplePattern, TupleGetItemPattern))
    ]
    return len(shaped) == len(set(shaped))


def _same_shape(variables: Sequence[Var | None]) -> bool:
    shapes = [None if var is None else var.shape for var in variables]
    return None not in shapes and all(shape == shapes[0] for shape in shapes)


class _Graph:
    """A dataflow block: its variables, their values and uses."""

    def __init__(self, block: DataflowBlock):
        self.values: dict[Var, Expr] = {b.var: b.value for b in block.bindings}
        self.uses: dict[Var, list[Var]] = {}
        for binding in block.bindings:
            for part in post_order(binding.value):
                if isinstance(part, Var):
                    self.uses.setdefault(part, []).append(binding.var)
        inputs = [var for var in self.uses if var not in self.values]
        self.variables: list[Var] = [*self.values, *inputs]
        self.outputs = set(map(id, block.outputs))

    def has_edge(self, edge: _Edge, state: State) -> bool:
        left, right = state.variables.get(edge.left), state.variables.get(edge.right)
        if left is None or right is None:
            return False
        users = self._users(left)
        if right not in users:
            return False
        if edge.only and (len(users) > 1 or id(left) in self.outputs):
            return False
        return edge.index < 0 or self._is_argument(left, right, edge.index)

    def _users(self, var: Var) -> set[Var]:
        """The variables whose values use `var`, under another name too."""
        found: set[Var] = set()
        for user in self.uses.get(var, []):
            if isinstance(self.values[user], Var):
                found |= self._users(user)
            else:
                found.add(user)
        return found

    def _is_argument(self, left: Var, right: Var, index: int) -> bool:
        call = self.values.get(right)
        if not isinstance(call, nodes.Call):
            return False
        args: Sequence[Any] = call.args
        if getattr(call.op, "name", "") in ("relax.call_tir", "relax.call_dps_packed"):
            args = getattr(args[1], "fields", ())
        if index >= len(args):
            return False
        wanted = resolve(left, self.values)
        return args[index] is left or resolve(args[index], self.values) == wanted
