"""`relax.BlockBuilder`: build functions and modules from Python, binding by binding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc, GlobalVar
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.blocks import Binding, MatchCast
from relax_mlir.relax.builder import FunctionBuilder
from relax_mlir.relax.emit_te import call_te_arguments
from relax_mlir.relax.expr import (
    Call,
    Expr,
    Tuple,
    Var,
    as_expr,
    signature_scope,
)
from relax_mlir.relax.location import user_span
from relax_mlir.relax.names import NameSupply
from relax_mlir.relax.op.special import call_tir, call_tir_with_grad
from relax_mlir.relax.struct_info import to_mlir_type


class _Scope:
    """A `with` block of a BlockBuilder."""

    def __init__(self, enter: Callable[[], None], leave: Callable[[bool], None]):
        self._enter = enter
        self._leave = leave

    def __enter__(self) -> None:
        self._enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._leave(kind is not None)


class BlockBuilder:
    """Builds the functions of a module.

    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.nn.relu(x))
            out = bb.emit_output(y)
        bb.emit_func_output(out)
    module = bb.get()
    """

    _stack: ClassVar[list[BlockBuilder]] = []

    def __init__(self, mod: IRModule | None = None):
        self._module = IRModule() if mod is None else mod.clone()
        self._builder: FunctionBuilder | None = None
        self._function: BaseFunc | None = None
        self._bindings: dict[Var, Expr] = {}
        self._names = NameSupply(var.name_hint for var in self._module.get_global_vars())
        self._known: dict[str, GlobalVar] = {}

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose function scope is open, innermost first."""
        return BlockBuilder._stack[-1] if BlockBuilder._stack else None

    # -- scopes -------------------------------------------------------------------------------

    def function(
        self,
        name: str,
        params: Var | Sequence[Var] | None = None,
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> _Scope:
        """The scope of a function; `params` may be left to `emit_func_output`."""
        if isinstance(params, Var):
            params = [params]

        signatures = signature_scope(self._signature)

        def enter() -> None:
            if self._builder is not None:
                raise Error("functions do not nest: finish the one that is open first")
            attributes = dict(attrs or {})
            symbol = attributes.pop("global_symbol", name)
            self._builder = FunctionBuilder(
                symbol, params, attrs=attributes, private=private, pure=pure
            )
            self._function = None
            self._bindings = {}
            BlockBuilder._stack.append(self)
            signatures.__enter__()

        def leave(failed: bool) -> None:
            BlockBuilder._stack.remove(self)
            signatures.__exit__(None, None, None)
            self._builder, function = None, self._function
            self._function = None
            if failed:
                return
            if function is None:
                raise Error(
                    f"emit_func_output must be called in the scope of '{name}'", span=user_span()
                )
            self._names.reserve(name)
            self._module.update_func(name, function)

        return _Scope(enter, leave)

    def dataflow(self) -> _Scope:
        """The scope of a dataflow block."""
        return _Scope(lambda: self._open.begin_dataflow(), self._end_dataflow)

    def _end_dataflow(self, failed: bool) -> None:
        if not failed:
            self._open.end_dataflow()

    @property
    def _open(self) -> FunctionBuilder:
        if self._builder is None:
            raise Error(
                "this must be called in the scope of a function: with bb.function('main', params):",
                span=user_span(),
            )
        return self._builder

    @property
    def open_function(self) -> FunctionBuilder:
        """The builder of the function whose scope is open.  Raises Error when none is."""
        return self._open

    # -- bindings -----------------------------------------------------------------------------

    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Bind an expression to a new variable."""
        return self._note(self._open.bind(self._expr(expr), name_hint or None), expr)

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Bind an expression to a variable that is visible after the dataflow block."""
        builder = self._open
        if not builder.in_dataflow:
            raise Error("emit_output must be called in a dataflow block", span=user_span())
        expr = self._expr(output)
        return self._note(builder.bind(expr, name_hint or None, output=True), expr)

    def match_cast(self, value: Any, struct_info: Any, name_hint: str = "") -> Var:
        """Bind a value whose type is checked at run time."""
        return self._note(self._open.match_cast(value, struct_info, name_hint or None), value)

    def emit_normalized(self, binding: Binding) -> None:
        """Emit a binding as it is: its own variable is bound."""
        builder, var = self._open, binding.var
        if isinstance(binding, MatchCast):
            made = builder.match_cast(binding.value, binding.struct_info, var.name_hint)
        else:
            made = builder.bind(binding.value, var.name_hint)
        builder.alias(var, made)
        self._bindings[var] = binding.value

    def emit_func_output(self, output: Any, params: Var | Sequence[Var] | None = None) -> None:
        """Return a value from the function, whose parameters are `params` unless given before.

        `output` may be a variable of a dataflow block, which then becomes one of its outputs.
        """
        if isinstance(params, Var):
            params = [params]
        if self._function is not None:
            raise Error("emit_func_output must be called once a function", span=user_span())
        self._function = self._open.finish(output, params)

    def _note(self, var: Var, value: Any) -> Var:
        self._bindings[var] = value if isinstance(value, Expr) else as_expr(value)
        return var

    def _expr(self, value: Any) -> Expr:
        if isinstance(value, Expr):
            return value
        return Tuple(value) if isinstance(value, (tuple, list)) else as_expr(value)

    def lookup_binding(self, var: Var) -> Expr | None:
        """What a variable is bound to, None for a parameter."""
        return self._bindings.get(var)

    def normalize(self, expr: Any) -> Expr:
        """The expression with nested calls bound to variables of their own."""
        expr = self._expr(expr)
        if not isinstance(expr, Call):
            return expr
        args = [self._atom(a) if isinstance(a, Expr) else a for a in expr.args]
        return Call(expr.op, args, expr.attrs, expr.type_args)

    def _atom(self, expr: Expr) -> Expr:
        if isinstance(expr, Tuple):
            return Tuple([self._atom(field) for field in expr.fields])
        return self.emit(expr) if isinstance(expr, Call) else expr

    def current_block_is_dataflow(self) -> bool:
        return self._open.in_dataflow

    # -- tensor expressions -------------------------------------------------------------------

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Expr:
        """The call of a new TensorIR function that computes what the te function `func` does.

        Tensors among the arguments become te placeholders, shapes lists of `tir` expressions.
        `primfunc_name_hint` names the function (else its Python name does), `primfunc_attrs` are
        its attributes.
        """
        hint = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
        made = call_te_arguments(func, args, kwargs)
        var = self.add_func(made.function, hint)
        return call_tir(var, made.arguments, made.outputs, made.tir_vars)

    def call_te_with_grad(
        self,
        func: Callable[..., Any],
        *args: Any,
        te_grad_name: str,
        te_grad_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Expr:
        """As `call_te`, with the gradient that is registered as `te_grad_name`
        (`relax.training.utils.register_te_gradient`)."""
        hint = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
        made = call_te_arguments(func, args, kwargs)
        if made.tir_vars:
            raise TypeError("call_te_with_grad takes tensors only, no sizes")
        var = self.add_func(made.function, hint)
        return call_tir_with_grad(var, made.arguments, made.outputs, te_grad_name, te_grad_kwargs)

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """`emit(call_te(...))`."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    # -- the module ---------------------------------------------------------------------------

    def get_unique_name(self, name_prefix: str) -> str:
        return self._names.fresh(name_prefix)

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function under a name of its own; an equal one that was added before is reused."""
        key = _structure(func)
        known = self._known.get(key)
        if known is not None:
            return known
        var = GlobalVar(self._names.fresh(func_name))
        self._module.update_func(var, func)
        self._known[key] = var
        return var

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Replace a function of the module."""
        self._known = {key: var for key, var in self._known.items() if var != gv}
        self._module.update_func(gv, updated_func)

    def get(self) -> IRModule:
        """The module as it is now, as a value."""
        return self._module.clone()

    finalize = get

    def _signature(self, name: str) -> Any:
        if name not in self._module:
            return None
        return getattr(self._module[name], "struct_info", None)


def _structure(func: BaseFunc) -> str:
    """The text of a function without its name."""
    with mlir.scope():
        copy = func.operation.clone()
        copy.attributes["sym_name"] = mlir.ir.StringAttr.get("f")
        return str(copy)


__all__ = ["BlockBuilder", "to_mlir_type"]
