"""Walking and rebuilding Relax functions in Python (TVM's `relax.expr_functor`).

A function is read into expressions, `visit_*_` methods see each of them, and a mutator emits what
they return into a new function.  The methods are TVM's, by the kind of expression.
"""

from __future__ import annotations

from typing import Any, TypeVar

from relax_mlir.ir.function import GlobalVar
from relax_mlir.ir.module import IRModule
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.blocks import (
    Binding,
    BindingBlock,
    DataflowBlock,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from relax_mlir.relax.expr import Expr, Var
from relax_mlir.relax.function import Function

__all__ = ["ExprFunctor", "PyExprMutator", "PyExprVisitor", "mutator", "visitor"]

# The most special class first: a DataflowVar is a Var.
_METHODS: tuple[tuple[type, str], ...] = (
    (Function, "visit_function_"),
    (SeqExpr, "visit_seq_expr_"),
    (nodes.Call, "visit_call_"),
    (nodes.DataflowVar, "visit_dataflow_var_"),
    (nodes.Var, "visit_var_"),
    (nodes.Constant, "visit_constant_"),
    (nodes.Tuple, "visit_tuple_"),
    (nodes.TupleGetItem, "visit_tuple_getitem_"),
    (nodes.If, "visit_if_"),
    (nodes.ShapeExpr, "visit_shape_expr_"),
    (nodes.PrimValue, "visit_prim_value_"),
    (nodes.StringImm, "visit_string_imm_"),
    (nodes.DataTypeImm, "visit_data_type_imm_"),
    (nodes.ExternFunc, "visit_extern_func_"),
    (nodes.FunctionRef, "visit_global_var_"),
    (GlobalVar, "visit_global_var_"),
    (nodes.Op, "visit_op_"),
)

_LEAVES = (
    "constant_ var_ dataflow_var_ shape_expr_ prim_value_ string_imm_ data_type_imm_ extern_func_ "
    "global_var_ op_"
).split()


class ExprFunctor:
    """Calls the method for the kind of an expression: `visit_call_`, `visit_var_`, ..."""

    def visit_expr(self, expr: Any) -> Any:
        """What the method for this kind of expression returns.  Raises TypeError for others."""
        for kind, method in _METHODS:
            if isinstance(expr, kind):
                return getattr(self, method)(expr)
        return self.visit_unknown_(expr)

    def visit_unknown_(self, expr: Any) -> Any:
        raise TypeError(f"{type(self).__name__} cannot visit a {type(expr).__name__}")

    def visit_binding(self, binding: Binding) -> None:
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        elif isinstance(binding, VarBinding):
            self.visit_var_binding_(binding)
        else:
            raise TypeError(f"a {type(binding).__name__} is no binding")

    def visit_binding_block(self, block: BindingBlock) -> Any:
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block_(block)
        return self.visit_binding_block_(block)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        raise TypeError(f"{type(self).__name__} does not define visit_match_cast_")

    def visit_var_binding_(self, binding: VarBinding) -> None:
        raise TypeError(f"{type(self).__name__} does not define visit_var_binding_")

    def visit_binding_block_(self, block: BindingBlock) -> Any:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:
        for binding in block.bindings:
            self.visit_binding(binding)


class PyExprVisitor(ExprFunctor):
    """Visits every expression of a function; override the methods of interest.

    An overriding method calls `super()`'s to go on into the parts.
    """

    def visit_function_(self, func: Function) -> None:
        for param in func.params:
            self.visit_var_def(param)
        self.visit_expr(func.body)

    def visit_seq_expr_(self, seq: SeqExpr) -> None:
        for block in seq.blocks:
            self.visit_binding_block(block)
        self.visit_expr(seq.body)

    def visit_call_(self, call: nodes.Call) -> None:
        self.visit_expr(call.op)
        for arg in call.args:
            if arg is not None:
                self.visit_expr(arg)

    def visit_tuple_(self, tup: nodes.Tuple) -> None:
        for field in tup.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, item: nodes.TupleGetItem) -> None:
        self.visit_expr(item.tuple_value)

    def visit_if_(self, branch: nodes.If) -> None:
        for part in (branch.cond, branch.true_branch, branch.false_branch):
            self.visit_expr(part)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_var_def(self, var: Var) -> None:
        """Called where a variable is bound."""

    def visit_unknown_(self, expr: Any) -> None:
        """Expressions without parts of a kind of their own."""


class PyExprMutator(ExprFunctor):
    """Rebuilds functions: what a `visit_*_` method returns takes the place of the expression.

    `builder_` is a BlockBuilder in whose open function the result is emitted; methods may emit
    bindings of their own.  `visit_expr(function)` gives the new function and puts it into the
    builder's module under its name.
    """

    def __init__(self, mod: IRModule | None = None):
        self.builder_ = BlockBuilder(mod)
        self._remap: dict[int, Expr] = {}
        self._kept: list[Expr] = []

    # -- variables ----------------------------------------------------------------------------

    def lookup_binding(self, var: Var) -> Expr | None:
        """What a variable of the new function is bound to."""
        return self.builder_.lookup_binding(var)

    def get_var_remap(self, var: Var) -> Expr:
        """What stands for a variable of the old function in the new one."""
        return self._remap.get(id(var), var)

    def set_var_remap(self, var: Var, new: Expr) -> None:
        self._remap[id(var)] = new
        self._kept.append(var)  # an id is that of one variable while it lives

    def visit_var_def(self, var: Var) -> Var:
        """The parameter that takes the place of a parameter."""
        return var

    # -- expressions --------------------------------------------------------------------------

    def visit_function_(self, func: Function) -> Function:
        params = [self.visit_var_def(param) for param in func.params]
        for old, new in zip(func.params, params, strict=True):
            self.set_var_remap(old, new)
        name = func.name
        with self.builder_.function(name, params, func.attrs, func.is_pure, func.is_private):
            result = self._sequence(func.body)
            self.builder_.emit_func_output(result)
        made = self.builder_.get()[name]
        assert isinstance(made, Function)
        return made

    def visit_seq_expr_(self, seq: SeqExpr) -> Expr:
        return self._sequence(seq)

    def _sequence(self, seq: Expr) -> Expr:
        if not isinstance(seq, SeqExpr):
            return self.visit_expr(seq)
        for block in seq.blocks:
            self.visit_binding_block(block)
        return self.visit_expr(seq.body)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        with self.builder_.dataflow():
            self.visit_binding_block_(block)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if isinstance(binding.value, nodes.If):
            self._emit_if(binding, binding.value)
        else:
            self.reemit_binding(binding, self.visit_expr(binding.value))

    def reemit_binding(self, binding: Binding, value: Expr) -> Var:
        """Bind `value` in place of a binding's: its variable stands for the new one, also where a
        visit kept it."""
        name = binding.var.name_hint
        hidden = isinstance(binding.var, nodes.DataflowVar)
        if self.builder_.current_block_is_dataflow() and not hidden:
            made = self.builder_.emit_output(value, name)
        else:
            made = self.builder_.emit(value, name)
        self.set_var_remap(binding.var, made)
        self.builder_.open_function.alias(binding.var, made)
        return made

    def _emit_if(self, binding: VarBinding, branch: nodes.If) -> None:
        open_function = self.builder_.open_function
        open_function.begin_if(self.visit_expr(branch.cond))
        then = self._sequence(branch.true_branch)
        open_function.begin_else(then)
        otherwise = self._sequence(branch.false_branch)
        made = open_function.end_if(otherwise, binding.var.name_hint)
        self.set_var_remap(binding.var, made)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        value = self.visit_expr(binding.value)
        made = self.builder_.match_cast(value, binding.struct_info, binding.var.name_hint)
        self.set_var_remap(binding.var, made)

    def visit_expr_post_order(self, expr: Any) -> Any:
        """The expression with its parts visited, itself not."""
        if isinstance(expr, nodes.Call):
            return self._call(expr)
        if isinstance(expr, nodes.Tuple):
            return self._tuple(expr)
        if isinstance(expr, nodes.TupleGetItem):
            return self._item(expr)
        if isinstance(expr, nodes.Var):
            return self.get_var_remap(expr)
        return expr

    def _call(self, call: nodes.Call) -> Expr:
        op = self.visit_expr(call.op)
        args = [None if arg is None else self.visit_expr(arg) for arg in call.args]
        same = all(new is old for new, old in zip(args, call.args, strict=True))
        if op is call.op and same:
            return call
        return nodes.Call(op, args, call.attrs, call.type_args)

    def _tuple(self, tup: nodes.Tuple) -> Expr:
        fields = [self.visit_expr(field) for field in tup.fields]
        same = all(new is old for new, old in zip(fields, tup.fields, strict=True))
        return tup if same else nodes.Tuple(fields)

    def _item(self, item: nodes.TupleGetItem) -> Expr:
        value = self.visit_expr(item.tuple_value)
        return item if value is item.tuple_value else nodes.TupleGetItem(value, item.index)

    def visit_call_(self, call: nodes.Call) -> Expr:
        return self.visit_expr_post_order(call)

    def visit_tuple_(self, tup: nodes.Tuple) -> Expr:
        return self.visit_expr_post_order(tup)

    def visit_tuple_getitem_(self, item: nodes.TupleGetItem) -> Expr:
        return self.visit_expr_post_order(item)

    def visit_var_(self, var: Var) -> Expr:
        return self.get_var_remap(var)

    def visit_dataflow_var_(self, var: nodes.DataflowVar) -> Expr:
        return self.get_var_remap(var)

    def visit_if_(self, branch: nodes.If) -> Expr:
        raise TypeError("an If is bound to a variable: visit its binding")

    def visit_unknown_(self, expr: Any) -> Any:
        return expr


def _keep(_: Any, expr: Any) -> Any:
    return expr


def _see(_: Any, expr: Any) -> None:
    return None


for _leaf in _LEAVES:
    if not hasattr(PyExprMutator, f"visit_{_leaf}"):
        setattr(PyExprMutator, f"visit_{_leaf}", _keep)
    setattr(PyExprVisitor, f"visit_{_leaf}", _see)


Class = TypeVar("Class", bound=type)


def visitor(cls: Class) -> Class:
    """Class decorator of visitors, as TVM needs one; the class must be a PyExprVisitor."""
    return _derived(cls, PyExprVisitor)


def mutator(cls: Class) -> Class:
    """Class decorator of mutators, as TVM needs one; the class must be a PyExprMutator."""
    return _derived(cls, PyExprMutator)


def _derived(cls: Class, base: type) -> Class:
    if not issubclass(cls, base):
        raise TypeError(f"{cls.__name__} must derive from {base.__name__}")
    return cls
