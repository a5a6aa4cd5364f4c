"""Rewriting what patterns match (TVM's `rewrite_bindings`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.lowering.relax.dead_code_elimination import remove_dead_bindings
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.blocks import Binding, DataflowBlock, MatchCast, VarBinding
from relax_mlir.relax.dpl.context import PatternContext
from relax_mlir.relax.dpl.pattern import DFPattern
from relax_mlir.relax.expr import Expr, Var
from relax_mlir.relax.expr_functor import PyExprMutator
from relax_mlir.relax.function import Function
from relax_mlir.relax.lowering import post_order

BindingRewriter = Callable[[dict[DFPattern, Var], dict[Var, Expr]], Mapping[Var, Any]]


def rewrite_bindings(ctx: PatternContext, rewriter: BindingRewriter, func: Function) -> Function:
    """A function in whose dataflow blocks the variables that `ctx` matches are bound anew.

    `rewriter(matchings, bindings)` gets a variable for each pattern, and what the variables of the
    block are bound to; it returns new expressions for some of them.  It is asked again until
    nothing is left to match; a variable is changed once.  What becomes unused is removed.

    Raises Error when new expressions need each other.
    """
    return remove_all_unused(_BindingRewriter(ctx, rewriter).visit_expr(func))


class _BindingRewriter(PyExprMutator):
    def __init__(self, ctx: PatternContext, rewriter: BindingRewriter):
        super().__init__()
        self._ctx = ctx
        self._rewriter = rewriter
        self._root: Expr | None = None
        self._emitted: dict[int, Var] = {}

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        bindings = {binding.var: binding for binding in self._changed(block)}
        done: set[Var] = set()
        with self.builder_.dataflow():
            for var in bindings:
                self._emit(var, bindings, done, [])

    def _changed(self, block: DataflowBlock) -> list[Binding]:
        """The bindings of the block after all matches are rewritten."""
        bindings = list(block.bindings)
        settled: list[Var] = []
        while True:
            matched = self._ctx.match_dfb(DataflowBlock(bindings, block.outputs), settled)
            if matched is None:
                return bindings
            changes = dict(self._rewriter(matched, {b.var: b.value for b in bindings}))
            unknown = [var for var in changes if all(b.var is not var for b in bindings)]
            if unknown:
                raise Error(f"'{unknown[0]}' is no variable of the dataflow block")
            inner = {b.var for b in bindings}
            settled.extend(changes or [v for v in matched.values() if v in inner])
            bindings = [
                VarBinding(b.var, nodes.as_expr(changes[b.var])) if b.var in changes else b
                for b in bindings
            ]

    def _emit(
        self, var: Var, bindings: Mapping[Var, Binding], done: set[Var], path: list[Var]
    ) -> None:
        """Emit a binding after those it needs."""
        if var in done or var not in bindings:
            return
        if var in path:
            raise Error(f"the new values of '{path[-1]}' and '{var}' need each other")
        binding = bindings[var]
        for part in post_order(binding.value):
            if isinstance(part, Var):
                self._emit(part, bindings, done, [*path, var])
        done.add(var)
        self._root = binding.value
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(VarBinding(var, binding.value))

    def visit_call_(self, call: nodes.Call) -> Expr:
        return self._shared(call)

    def visit_tuple_getitem_(self, item: nodes.TupleGetItem) -> Expr:
        return self._shared(item)

    def _shared(self, expr: Expr) -> Expr:
        """Nested expressions are bound once, however many of the new values they are part of."""
        if expr is self._root:
            self._root = None
            return self.visit_expr_post_order(expr)
        known = self._emitted.get(id(expr))
        if known is None:
            known = self._emitted[id(expr)] = self.builder_.emit(self.visit_expr_post_order(expr))
            self._kept.append(expr)
        return known


def remove_all_unused(func: Function) -> Function:
    """A function without bindings that nothing needs."""
    copy = func.clone()
    assert isinstance(copy, Function)
    with mlir.scope():
        remove_dead_bindings(copy.operation, lambda _: False)
    return copy
