"""Rewriting rules as values: applied to functions and modules, joined by `|`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.blocks import VarBinding
from relax_mlir.relax.dpl.matcher import extract_matched_expr
from relax_mlir.relax.dpl.pattern import (
    DFPattern,
    is_const,
    is_op,
    is_tuple,
    is_tuple_get_item,
    wildcard,
)
from relax_mlir.relax.dpl.rewrite import remove_all_unused
from relax_mlir.relax.expr import Expr, Var
from relax_mlir.relax.expr_functor import PyExprMutator
from relax_mlir.relax.function import Function

__all__ = ["ExprPatternRewriter", "OrRewriter", "PatternMatchingRewriter", "rewrite_call"]

CallRewriter = Callable[[Expr, dict[DFPattern, Any]], Expr]


@dataclass(frozen=True)
class _Rule:
    """A pattern, and what stands for an expression that matches it."""

    pattern: DFPattern
    replace: Callable[[_Rewriting, Expr, dict[DFPattern, Any]], Expr]


class PatternMatchingRewriter:
    """Rules of which the first that matches a bound expression replaces it.

    Made by `from_pattern` or `from_module` (or the decorator `R.rewriter`).  A call takes a Relax
    function or a module, all of whose Relax functions it rewrites, and returns a new one.
    """

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules = tuple(rules)

    @staticmethod
    def from_pattern(pattern: DFPattern, func: CallRewriter) -> PatternMatchingRewriter:
        """The rule of `rewrite_call`: `func(expr, matchings)` returns what stands for `expr`."""
        return PatternMatchingRewriter(
            [_Rule(pattern, lambda _, expr, found: nodes.as_expr(func(expr, found)))]
        )

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """The rule of a module with Relax functions `pattern` and `replacement`, which take and
        return the same types.

        Raises KeyError when one is missing, TypeError when it is no Relax function, ValueError for
        different signatures.
        """
        pattern, replacement = _function(mod, "pattern"), _function(mod, "replacement")
        kinds = [[var.struct_info for var in f.params] for f in (pattern, replacement)]
        if kinds[0] != kinds[1] or pattern.ret_struct_info != replacement.ret_struct_info:
            raise ValueError(
                "pattern and replacement must have the same signature: "
                f"{pattern.struct_info} and {replacement.struct_info}"
            )
        parameters = [wildcard().has_struct_info(var.struct_info) for var in pattern.params]
        described = _describe(pattern, parameters)

        def instantiate(rewriting: _Rewriting, _: Expr, found: dict[DFPattern, Any]) -> Expr:
            given = [found[parameter] for parameter in parameters]
            return rewriting.instantiate(replacement, given)

        return PatternMatchingRewriter([_Rule(described, instantiate)])

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        """The rules of both; those of the first are tried first."""
        return PatternMatchingRewriter([*self._rules, *other._rules])

    def __call__(self, obj: Any) -> Any:
        """A function or module that is rewritten.  Raises TypeError for something else."""
        if isinstance(obj, Function):
            return remove_all_unused(_Rewriting(self._rules).visit_expr(obj))
        if not isinstance(obj, IRModule):
            raise TypeError(f"a rewriter takes Relax functions and modules, not {obj!r}")
        result = obj.clone()
        for var, function in obj.functions.items():
            if isinstance(function, Function):
                result.update_func(var, self(function))
        return result


ExprPatternRewriter = PatternMatchingRewriter.from_pattern


def OrRewriter(
    lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter
) -> PatternMatchingRewriter:
    """`lhs | rhs`."""
    return lhs | rhs


def rewrite_call(pattern: DFPattern, rewriter: CallRewriter, func: Function) -> Function:
    """A function in which each bound expression that matches is what `rewriter` makes of it.

    `rewriter(expr, matchings)` gets the expression and what each part of the pattern matched; it
    returns a new expression, or `expr` to leave it.  What becomes unused is removed.
    """
    return PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)


class _Rewriting(PyExprMutator):
    """One function on its way through some rules."""

    def __init__(self, rules: Sequence[_Rule]) -> None:
        super().__init__()
        self._rules = rules
        self._values: dict[Var, Expr] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if isinstance(binding.value, nodes.If):
            super().visit_var_binding_(binding)
            return
        value = self.visit_expr(binding.value)
        for rule in self._rules:
            found = extract_matched_expr(rule.pattern, value, self._values)
            if found is not None:
                value = rule.replace(self, value, found)
                break
        self._values[self.reemit_binding(binding, value)] = value

    def instantiate(self, function: Function, given: Sequence[Expr]) -> Expr:
        """The result of a function's body, whose bindings are emitted, for these arguments."""
        for parameter, value in zip(function.params, given, strict=True):
            self.set_var_remap(parameter, value)
        result = function.body.body
        for binding in (b for block in function.body.blocks for b in block.bindings):
            if not isinstance(binding, VarBinding) or isinstance(binding.value, nodes.If):
                raise Error("the replacement of a rule has no branches and no match_cast")
            value = self.visit_expr(binding.value)
            if binding.var is result:
                return value  # what is replaced gives it its name
            self.set_var_remap(binding.var, self.builder_.emit(value))
        return self.visit_expr(result)


def _function(mod: IRModule, name: str) -> Function:
    names = {var.name_hint: function for var, function in mod.functions.items()}
    if name not in names:
        raise KeyError(f"a rewriter has a function '{name}'; this one has {', '.join(names)}")
    function = names[name]
    if not isinstance(function, Function):
        raise TypeError(f"the rewriter's '{name}' must be a Relax function")
    return function


def _describe(function: Function, parameters: Sequence[DFPattern]) -> DFPattern:
    """What a function of operators returns, as a pattern."""
    known: dict[Var, DFPattern] = dict(zip(function.params, parameters, strict=True))

    def describe(expr: Any) -> DFPattern:
        if isinstance(expr, Var):
            return known[expr]
        if isinstance(expr, nodes.Tuple):
            return is_tuple([describe(field) for field in expr.fields])
        if isinstance(expr, nodes.TupleGetItem):
            return is_tuple_get_item(describe(expr.tuple_value), expr.index)
        if isinstance(expr, nodes.Constant):
            return is_const()
        if isinstance(expr, nodes.Call) and isinstance(expr.op, nodes.Op):
            pattern = is_op(expr.op.name)(*[describe(arg) for arg in expr.args])
            return pattern.has_attr(expr.attrs) if expr.attrs else pattern
        if isinstance(expr, (nodes.ShapeExpr, nodes.PrimValue, nodes.StringImm)):
            return wildcard()
        raise Error(f"the pattern of a rule is made of operators and tuples, not of {expr}")

    for block in function.body.blocks:
        for binding in block.bindings:
            if not isinstance(binding, VarBinding):
                raise Error("the pattern of a rule has no match_cast")
            known[binding.var] = describe(binding.value)
    with mlir.scope():
        return describe(function.body.body)
