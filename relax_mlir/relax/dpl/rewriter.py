"""Rewriting rules as values: applied to functions and modules, joined by `|`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import callee_of, references, walk
from relax_mlir.mlir import ir
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


@dataclass(frozen=True, eq=False)
class _Rule:
    """A pattern, what stands for an expression that matches it, and the functions that this may
    call, by name."""

    pattern: DFPattern
    replace: Callable[[_Rewriting, Expr, dict[DFPattern, Any]], Expr]
    functions: Mapping[str, BaseFunc] = field(default_factory=dict[str, BaseFunc])


class PatternMatchingRewriter:
    """Rules of which the first that matches a bound expression replaces it; what it becomes may
    match another one.

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
        return the same types.  Its other functions, which are private, come along where the
        replacement calls them.

        Raises KeyError when one is missing, TypeError when it is no Relax function, ValueError for
        different signatures, and for other functions that are public.
        """
        pattern, replacement = _function(mod, "pattern"), _function(mod, "replacement")
        kinds = [[var.struct_info for var in f.params] for f in (pattern, replacement)]
        if kinds[0] != kinds[1] or pattern.ret_struct_info != replacement.ret_struct_info:
            raise ValueError(
                "pattern and replacement must have the same signature: "
                f"{pattern.struct_info} and {replacement.struct_info}"
            )
        others = {
            var.name_hint: function
            for var, function in mod.functions.items()
            if var.name_hint not in ("pattern", "replacement")
        }
        for name, function in others.items():
            if not function.is_private:
                raise ValueError(f"the function '{name}' of a rewriter is publicly exposed")
        parameters = [wildcard().has_struct_info(var.struct_info) for var in pattern.params]
        described = _describe(pattern, parameters)

        def instantiate(rewriting: _Rewriting, _: Expr, found: dict[DFPattern, Any]) -> Expr:
            given = [found[parameter] for parameter in parameters]
            return rewriting.instantiate(replacement, given, rewriting.names.get(rule, {}))

        rule = _Rule(described, instantiate, others)
        return PatternMatchingRewriter([rule])

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        """The rules of both; those of the first are tried first."""
        return PatternMatchingRewriter([*self._rules, *other._rules])

    def __call__(self, obj: Any) -> Any:
        """A function or module that is rewritten.

        Raises TypeError for something else, Error when a function alone would call functions of
        the rules.
        """
        if isinstance(obj, Function):
            made, called = self._rewritten(obj, {})
            if called:
                raise Error(
                    f"the replacement calls {', '.join(sorted(called))}, which a function alone "
                    "has not: rewrite a module"
                )
            return made
        if not isinstance(obj, IRModule):
            raise TypeError(f"a rewriter takes Relax functions and modules, not {obj!r}")
        result = obj.clone()
        names = _free_names(self._rules, [var.name_hint for var in obj.get_global_vars()])
        called: set[str] = set()
        for var, function in obj.functions.items():
            if isinstance(function, Function):
                made, more = self._rewritten(function, names)
                result.update_func(var, made)
                called |= more
        _add_called(result, names, called)
        return result

    def _rewritten(self, function: Function, names: Names) -> tuple[Function, set[str]]:
        """A function that is rewritten, and the functions of the rules that it calls now."""
        rewriting = _Rewriting(self._rules, names)
        made = remove_all_unused(rewriting.visit_expr(function))
        with mlir.scope():
            used = references(made.operation)
        new = {
            names[rule][name] if names else name for rule in self._rules for name in rule.functions
        }
        with mlir.scope():
            return made, (used - references(function.operation)) & new


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


Names: TypeAlias = "Mapping[_Rule, Mapping[str, str]]"
"""What the functions of each rule are called in the module that is rewritten."""


def _free_names(rules: Sequence[_Rule], taken: Sequence[str]) -> Names:
    """Names for the functions of rules that no function of the module has."""
    used, found = set(taken), dict[_Rule, dict[str, str]]()
    for rule in rules:
        found[rule] = {}
        for name in rule.functions:
            unique, number = name, 0
            while unique in used:
                number += 1
                unique = f"{name}_{number}"
            used.add(unique)
            found[rule][name] = unique
    return found


def _add_called(module: IRModule, names: Names, called: set[str]) -> None:
    """Add the functions of rules that are called, and those that they call."""
    for rule, renamed in names.items():
        original = {new: old for old, new in renamed.items()}
        pending = [name for name in called if name in original]
        while pending:
            name = pending.pop()
            if name in module:
                continue
            function = rule.functions[original[name]].clone()
            with mlir.scope():
                for op in walk(function.operation):
                    if "callee" in op.attributes and callee_of(op) in renamed:
                        new = renamed[callee_of(op)]
                        op.attributes["callee"] = ir.FlatSymbolRefAttr.get(new)
                        pending.append(new)
            module.update_func(name, function)


class _Rewriting(PyExprMutator):
    """One function on its way through some rules."""

    def __init__(self, rules: Sequence[_Rule], names: Names) -> None:
        super().__init__()
        self._rules = rules
        self.names = names
        self._values: dict[Var, Expr] = {}
        self._renamed: Mapping[str, str] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if isinstance(binding.value, nodes.If):
            super().visit_var_binding_(binding)
            return
        value = self.visit_expr(binding.value)
        # Each rule once, so that one whose result matches it again comes to an end.
        pending = list(self._rules)
        while (applied := self._first_match(pending, value)) is not None:
            rule, value = applied
            pending.remove(rule)
        self._values[self.reemit_binding(binding, value)] = value

    def _first_match(self, rules: Sequence[_Rule], value: Expr) -> tuple[_Rule, Expr] | None:
        """The first rule that matches an expression, and what stands for that."""
        for rule in rules:
            found = extract_matched_expr(rule.pattern, value, self._values)
            if found is not None:
                return rule, rule.replace(self, value, found)
        return None

    def visit_global_var_(self, op: Any) -> Any:
        reference = isinstance(op, nodes.FunctionRef)  # a function that is a value
        renamed = self._renamed.get(op.var.name_hint if reference else op.name_hint)
        if renamed is None:
            return op
        var = nodes.GlobalVar(renamed)
        return nodes.FunctionRef(var, op.mlir_type) if reference else var

    def instantiate(
        self, function: Function, given: Sequence[Expr], renamed: Mapping[str, str]
    ) -> Expr:
        """The result of a function's body, whose bindings are emitted, for these arguments; the
        functions that it calls are those of other names."""
        before, self._renamed = self._renamed, renamed
        try:
            return self._instantiated(function, given)
        finally:
            self._renamed = before

    def _instantiated(self, function: Function, given: Sequence[Expr]) -> Expr:
        for parameter, value in zip(function.params, given, strict=True):
            self.set_var_remap(parameter, value)
        result = function.body.body
        for binding in (b for block in function.body.blocks for b in block.bindings):
            if not isinstance(binding, VarBinding) or isinstance(binding.value, nodes.If):
                raise Error("the replacement of a rule has no branches and no match_cast")
            value = self.visit_expr(binding.value)
            if binding.var is result:
                return value  # what is replaced gives it its name
            emitted = self.builder_.emit(value)
            self._values[emitted] = value
            self.set_var_remap(binding.var, emitted)
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
