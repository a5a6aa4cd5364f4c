"""Fusion of what patterns match (TVM's FuseOpsByPattern)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import mlir
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    dataflow_blocks,
    functions_by_name,
    operations,
)
from relax_mlir.lowering.relax.fuse_ops import FusedFunctions, Fuser
from relax_mlir.lowering.relax.merge_composite_functions import MergeCompositeFunctions
from relax_mlir.mlir import ir
from relax_mlir.relax.dpl import pattern as patterns
from relax_mlir.relax.dpl.matcher import State, match
from relax_mlir.relax.dpl.pattern import DFPattern
from relax_mlir.relax.expr import Constant, Expr, Var
from relax_mlir.relax.function import Function
from relax_mlir.relax.lowering import post_order
from relax_mlir.relax.reader import FunctionReader

_STRUCTURAL = (patterns.CallPattern, patterns.TuplePattern, patterns.TupleGetItemPattern)


@dataclass(frozen=True)
class PatternCheckContext:
    """What a pattern's `check` is told of a match.

    `matched_expr` is the whole, `annotated_expr` the parts by the names of the annotation
    patterns, `matched_bindings` the variables of the match and their values, `var_usages` the
    users of each variable of the function.
    """

    matched_expr: Expr
    annotated_expr: dict[str, Any]
    matched_bindings: dict[Var, Expr]
    var_usages: dict[Var, list[Var]]
    value_to_bound_var: dict[Expr, Var]


@dataclass(frozen=True)
class FusionPattern:
    """A pattern with the name `backend.operators` of the composite functions it makes.

    `annotation_patterns` names parts for `check(PatternCheckContext) -> bool`, which may refuse a
    match, and for `attrs_getter(parts) -> dict`, which gives the function attributes.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(default_factory=dict)
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None

    @classmethod
    def of(cls, given: Any) -> FusionPattern:
        """From a FusionPattern or a tuple of its fields, as TVM takes them."""
        if isinstance(given, FusionPattern):
            return given
        if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= 5:
            raise TypeError(f"expected a FusionPattern or (name, pattern, ...), got {given!r}")
        name, pattern, *rest = given
        annotations, check, getter = [*rest, None, None, None][:3]
        return cls(name, pattern, dict(annotations or {}), check, getter)


@dataclass
class _Group:
    """Operations to become a function, in order."""

    members: list[ir.Operation]
    attributes: dict[str, Any]


def fuse_ops_by_pattern(
    mod: IRModule,
    given: Sequence[Any],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """Move what the patterns match, earlier ones first, into private composite functions.

    Matches are in dataflow blocks; values inside one must not be needed elsewhere.  With
    `bind_constants` constants become part of the functions.  With `annotate_codegen` each call
    goes through a function with the attribute `Codegen`.
    """
    wanted = [FusionPattern.of(item) for item in given]
    result = mod.clone()
    with mlir.scope():
        made: dict[str, FusedFunctions] = {}
        for name, op in functions_by_name(result.state).items():
            if "relax.attrs" not in op.attributes:
                continue
            attributes = attributes_of_function(op)
            if {"Primitive", "Composite", "Codegen"} & set(attributes):
                continue
            if entry_functions and name not in entry_functions:
                continue
            function = mod[name]
            assert isinstance(function, Function)
            for group in _Partitioner(result, op, function, wanted, bind_constants).groups():
                key = str(group.attributes)
                known = made.setdefault(key, FusedFunctions())
                Fuser(result.state, op, known, group.attributes).fuse(group.members)
        if annotate_codegen:
            MergeCompositeFunctions(merge=False).run(result.state)
    return result.verify()


class _Partitioner:
    """Finds the groups of one function."""

    def __init__(
        self,
        mod: IRModule,
        op: ir.Operation,
        function: Function,
        wanted: Sequence[FusionPattern],
        bind_constants: bool,
    ):
        self._op = op
        self._wanted = wanted
        self._bind_constants = bind_constants
        self._reader = FunctionReader(op, mod.state.constants)
        bindings = [b for block in self._reader.body.blocks for b in block.bindings]
        self._values: dict[Var, Expr] = {b.var: b.value for b in bindings}
        self._users: dict[Var, list[Var]] = {}
        for binding in bindings:
            for part in post_order(binding.value):
                if isinstance(part, Var):
                    self._users.setdefault(part, []).append(binding.var)

    def groups(self) -> list[_Group]:
        found: list[_Group] = []
        for block in dataflow_blocks(self._op):
            own: list[_Group] = []
            taken: set[ir.Operation] = set()
            for fusion in self._wanted:
                # The last first: what is matched there is the larger one.
                for op in reversed(operations(block)[:-1]):
                    if op in taken or len(op.results) != 1:
                        continue
                    group = self._match(fusion, op, block, taken)
                    if group is not None:
                        own.append(group)
                        taken |= set(group.members)
            order = {op: i for i, op in enumerate(operations(block))}
            own.sort(key=lambda group: order[group.members[-1]])
            if self._bind_constants:
                for group in own:
                    _take_constants(group)
            found.extend(own)
        return found

    def _match(
        self, fusion: FusionPattern, op: ir.Operation, block: ir.Block, taken: set[ir.Operation]
    ) -> _Group | None:
        root = self._reader.value(op.results[0])
        for state in match(fusion.pattern, root, self._values, State()):
            members = self._members(state, block)
            if not members or members[-1] != op or taken & set(members):
                continue
            inside = set(members)
            if any(_leaks(member, inside) for member in members[:-1]):
                continue
            parts = {
                name: state.exprs[p]
                for name, p in fusion.annotation_patterns.items()
                if p in state.exprs
            }
            if fusion.check is not None and not fusion.check(self._context(state, root, parts)):
                continue
            attributes: dict[str, Any] = {"Composite": fusion.name, "Primitive": True}
            if fusion.attrs_getter is not None:
                given = fusion.attrs_getter(parts)
                attributes |= {key: getattr(v, "value", v) for key, v in given.items()}
            return _Group(members, attributes)
        return None

    def _members(self, state: State, block: ir.Block) -> list[ir.Operation]:
        """The operations of the block that the calls, tuples and fields of the pattern match."""
        matched: set[int] = set()
        for pattern, expr in state.exprs.items():
            if isinstance(pattern, _STRUCTURAL):
                matched.add(id(expr))
                if pattern in state.variables:
                    matched.add(id(state.variables[pattern]))
        return [
            op
            for op in operations(block)[:-1]
            if len(op.results) == 1 and id(self._reader.value(op.results[0])) in matched
        ]

    def _context(self, state: State, root: Expr, parts: dict[str, Any]) -> PatternCheckContext:
        bound = {
            var: self._values[var]
            for pattern, var in state.variables.items()
            if isinstance(pattern, _STRUCTURAL) and var in self._values
        }
        whole = self._values.get(root, root) if isinstance(root, Var) else root
        return PatternCheckContext(
            whole,
            parts,
            bound,
            self._users,
            {value: var for var, value in self._values.items() if not isinstance(value, Constant)},
        )


def _leaks(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return any(use.owner.operation not in inside for use in op.results[0].uses)


def _take_constants(group: _Group) -> None:
    """Make the constants that the members use members, each a copy of its own."""
    first = group.members[0]
    copies: dict[ir.Value, ir.Operation] = {}
    for op in list(group.members):
        for i, value in enumerate(op.operands):
            if isinstance(value, ir.BlockArgument) or value.owner.operation in group.members:
                continue
            source = value.owner.operation
            if source.name != "relax.constant":
                continue
            if value not in copies:
                with ir.InsertionPoint(first):
                    copies[value] = source.clone()
            op.operands[i] = copies[value].results[0]
    group.members[:0] = copies.values()
    for value in copies:
        if not any(True for _ in value.uses):
            value.owner.operation.erase()
