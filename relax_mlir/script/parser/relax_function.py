"""Parses Relax functions: statements of TVMScript to bindings of a FunctionBuilder."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.ir.function import BaseFunc, GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax import op
from relax_mlir.relax.builder import FunctionBuilder
from relax_mlir.relax.expr import (
    Constant,
    DataTypeImm,
    Expr,
    Tuple,
    TupleGetItem,
    Var,
    as_expr,
    signature_scope,
)
from relax_mlir.relax.local_functions import own_variable
from relax_mlir.relax.struct_info import (
    FuncType,
    ObjectType,
    StructInfo,
    TupleType,
    from_mlir_type,
    to_mlir_type,
)
from relax_mlir.relax.symbols import symbol
from relax_mlir.script import relax as namespace
from relax_mlir.script.forms.relax import (
    DataflowForm,
    FuncAttrForm,
    MatchCastForm,
    OutputForm,
    TEForm,
    TupleForm,
)
from relax_mlir.script.parser.core import DialectParser, FunctionContext, is_docstring
from relax_mlir.script.parser.evaluator import Evaluator, Semantics
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.expr import Var as Symbol


class TensorSizes:
    """`x.strides` in a program, and `x.shape` where it is not known; `x.strides[0]` is an
    operator."""

    def __init__(self, tensor: Expr, operator_name: str):
        self.tensor = tensor
        self.read = getattr(op.inspect, operator_name)

    def __getitem__(self, axis: Any) -> Expr:
        return self.read(self.tensor, axis)


_DTYPE_PARTS = {"type_code": "code", "bits": "bits", "lanes": "lanes"}


class RelaxSemantics(Semantics):
    """Python's truth operators on tensors are the logical operators."""

    parser: RelaxParser

    def call(self, function: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        result = function(*positional, **keywords)
        return self.parser.te_call(result) if isinstance(result, TEForm) else result

    def attribute(self, value: Any, name: str) -> Any:
        """What a program reads of a tensor at run time is an operator."""
        if isinstance(value, Expr) and name in ("byte_offset", "elem_offset"):
            return getattr(op.inspect, f"tensor_{name}")(value)
        if isinstance(value, Expr) and name == "strides":
            return TensorSizes(value, "tensor_stride_i")
        known = getattr(value, name)
        is_unknown = known is None and name == "shape" and isinstance(value, Expr)
        return TensorSizes(value, "tensor_shape_i") if is_unknown else known

    def subscript(self, value: Any, index: Any) -> Any:
        """An entry; an array of the metadata is one constant wherever a statement mentions it."""
        result = value[index]
        return self.parser.constant(result) if isinstance(result, np.ndarray) else result

    def is_symbolic(self, value: Any) -> bool:
        return isinstance(value, Expr)

    def both(self, left: Any, right: Any) -> Any:
        return op.logical_and(left, right)

    def either(self, left: Any, right: Any) -> Any:
        return op.logical_or(left, right)

    def invert(self, value: Any) -> Any:
        return op.logical_not(value)


_COMPARISONS: dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Eq: (operator.eq, "equal"),
    ast.NotEq: (operator.ne, "not_equal"),
}


class RelaxEvaluator(Evaluator):
    """Expressions; `==` and `!=` on tensors are operators, where Python compares identity, and a
    `TypeVar`, TVM 0.27's way to declare one, is a symbol."""

    def _name(self, node: ast.Name) -> Any:
        value = super()._name(node)
        return symbol(value.__name__) if isinstance(value, TypeVar) else value

    def _attribute(self, node: ast.Attribute) -> Any:
        inner = node.value
        if node.attr in _DTYPE_PARTS and isinstance(inner, ast.Attribute) and inner.attr == "dtype":
            owner = self(inner.value)  # `x.dtype.bits`
            if isinstance(owner, Expr):
                return getattr(op.inspect, f"tensor_dtype_{_DTYPE_PARTS[node.attr]}")(owner)
        return super()._attribute(node)

    def _compare(self, node: ast.Compare) -> Any:
        known = _COMPARISONS.get(type(node.ops[0]))
        if known is None or len(node.ops) > 1:
            return super()._compare(node)
        left, right = self(node.left), self(node.comparators[0])
        if isinstance(left, Expr) or isinstance(right, Expr):
            return getattr(op, known[1])(left, right)
        return known[0](left, right)


class RelaxParser(DialectParser):
    """Parses one Relax function."""

    order = 1
    semantics_class = RelaxSemantics

    def __init__(self, context: FunctionContext):
        super().__init__(context)
        # `Tensor(...)` alone is the first Relax's spelling; whatever the user calls Tensor wins.
        self.names.environment.tables = [
            *self.names.environment.tables,
            {"Tensor": namespace.Tensor},
        ]
        self.evaluate = RelaxEvaluator(context.source, self.names, self.semantics)
        self.builder: FunctionBuilder
        self.ret_type: StructInfo | None = None
        self.gives_tuple = False  # declared as `-> R.Tuple`, of whatever fields
        self.params: list[Var] = []
        self.finished: BaseFunc | None = None
        self.symbol: str | None = None  # of `R.func_attr`: what a function by itself is called
        self.outputs: Sequence[Var] | None = None
        self._results: list[Any] = []  # of the open local functions
        self._constants: dict[int, Constant] = {}

    # -- the signature ------------------------------------------------------------------------

    def declare(self) -> FuncType:
        """The type of the function; its result is any object when it is not annotated."""
        self._signature()
        return FuncType([p.struct_info for p in self.params], self.ret_type or ObjectType())

    def _signature(self) -> None:
        if self.params or self.ret_type is not None:
            return
        node = self.context.node
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            raise self.error("a Relax function has plain parameters only", node)
        for argument in (*arguments.posonlyargs, *arguments.args):
            kind = self._annotation(argument)
            self.params.append(self.guard(argument, Var, argument.arg, kind))
        if node.returns is not None and not _is_none(node.returns):
            self.gives_tuple = isinstance(self.evaluate(node.returns), TupleForm)
            self.ret_type = None if self.gives_tuple else self._type(node.returns)

    def _type(self, node: ast.expr) -> StructInfo:
        """The type an annotation names."""
        value = self.evaluate(node)
        if isinstance(value, str):
            value = self.evaluate(ast.parse(value, mode="eval").body)

        def convert() -> StructInfo:
            with mlir.scope():
                return from_mlir_type(to_mlir_type(value))

        return self.guard(node, convert)

    def _lookup(self, name: str) -> Any:
        module = self.context.module
        if module is None:
            return None
        parsed = module.parsed.get(name)
        return getattr(parsed, "struct_info", None) or module.signature(name)

    # -- the function -------------------------------------------------------------------------

    def parse(self) -> BaseFunc:
        node = self.context.node
        self._signature()
        self.builder = FunctionBuilder(
            self.context.name, private=bool(self.option("private")), pure=bool(self.option("pure"))
        )
        self.builder.names.promise(_assigned_names(node))
        self._locate(node)
        self.guard(node, self.builder.set_params, self.params)
        for param in self.params:
            self.names.define(param.name_hint, param)
        with signature_scope(self._lookup):
            self.visit_body(node.body)
        if self.finished is None:
            raise self.error(f"the function '{node.name}' returns nothing", node)
        alone = self.context.module is None
        if self.symbol is not None and alone and self.symbol != self.finished.name:
            return self.finished.with_attr("global_symbol", self.symbol)
        return self.finished

    def _locate(self, node: ast.AST) -> None:
        span = self.span(node)
        with mlir.scope():
            self.builder.location = ir.Location.file(span.file, span.line, span.column)

    def at(self, node: ast.stmt) -> None:
        if self.finished is not None:
            raise self.error("nothing may follow the return", node)
        self._locate(node)

    def constant(self, array: np.ndarray) -> Constant:
        """The constant that stands for an array."""
        return self._constants.setdefault(id(array), Constant(array))

    def te_call(self, form: TEForm) -> Expr:
        """The call of a kernel made from a te function, which joins the module."""
        module = self.context.module
        if module is None:
            raise TypeError("R.emit_te makes a kernel of the module: write the function in one")
        from relax_mlir.relax.emit_te import call_te_arguments

        made = call_te_arguments(form.function, form.args, form.keywords)
        base = name = form.name or getattr(form.function, "__name__", "te_function").strip("<>")
        while name in module.functions:
            base, _, number = name.partition("_te")
            name = f"{base}_te{int(number or 0) + 1}"
        module.functions.append(name)
        module.parsed[name] = made.function
        return op.call_tir(GlobalVar(name), made.arguments, made.outputs, made.tir_vars)

    # -- bindings -----------------------------------------------------------------------------

    def visit_assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.error("a variable needs a value", node)
        declared = self._type(node.annotation)
        if not isinstance(node.target, ast.Name):
            raise self.error("only a name can be assigned with a type", node.target)
        self._bind(node.target.id, self.evaluate(node.value), declared)

    def visit_augassign(self, node: ast.AugAssign) -> None:
        load = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        if not isinstance(node.target, ast.Name):
            raise self.error("only a name can be assigned", node.target)
        load.left = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        self._bind(node.target.id, self.evaluate(load))

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.error("only names can be assigned", target)
        parts = self.guard(target, self._parts, value)
        if len(parts) != len(target.elts):
            message = f"{len(target.elts)} names on the left, {len(parts)} values on the right"
            raise self.error(message, target)
        for element, part in zip(target.elts, parts, strict=True):
            self._assign(element, part)

    def _parts(self, value: Any) -> list[Any]:
        """The values that are assigned to several names."""
        if isinstance(value, Tuple):
            return list(value.fields)
        if not isinstance(value, Expr):
            return list(value)
        fields = types.tuple_fields(value.mlir_type)
        if fields is None:
            raise TypeError(f"only a tuple can be unpacked, this is {value.struct_info}")
        whole = value if isinstance(value, Var) else self.builder.bind(value)
        return [TupleGetItem(whole, i) for i in range(len(fields))]

    def _bind(self, name: str, value: Any, declared: StructInfo | None = None) -> None:
        """Give a value a name: an expression becomes a variable of the function."""
        if isinstance(value, Symbol) and not value.name:
            value.name = name
        if isinstance(value, MatchCastForm):
            var = self.builder.match_cast(value.value, value.struct_info, name)
            if declared is not None and declared != var.struct_info:
                raise TypeError(f"'{name}' is {var.struct_info}, declared as {declared}")
            self.names.define(name, var)
        elif _is_value(value):
            var = self.builder.bind(as_expr(value), name, declared)
            if isinstance(value, DataTypeImm):
                var.known = value
            self.names.define(name, var)
        elif declared is not None:
            raise TypeError(f"'{name}' is no expression, it cannot have the type {declared}")
        else:
            self.names.define(name, value)

    # -- other statements ---------------------------------------------------------------------

    def visit_expr(self, node: ast.Expr) -> None:
        if is_docstring(node):
            return
        value = self.evaluate(node.value)
        if isinstance(value, FuncAttrForm):
            self._attributes(value)
        elif isinstance(value, OutputForm):
            self._output(value, node)
        elif isinstance(value, (Expr, MatchCastForm)):
            self._bind("_", value)
        else:
            raise self.error("this statement has no effect", node)

    def _attributes(self, form: FuncAttrForm) -> None:
        attributes = dict(form.attributes)
        symbol = attributes.pop("global_symbol", None)
        if symbol is not None and not self._results:
            self.builder.private = False
            self.symbol = str(_plain(symbol))
        self.builder.attrs.update({k: _plain(v) for k, v in attributes.items()})

    def _output(self, form: OutputForm, node: ast.AST) -> None:
        if not self.builder.in_dataflow:
            raise self.error("R.output stands at the end of a dataflow block", node)
        if self.outputs is not None:
            raise self.error("a dataflow block has one R.output", node)
        self.builder.add_outputs(form.variables)
        self.outputs = form.variables

    def visit_with(self, node: ast.With) -> None:
        items = [self.evaluate(item.context_expr) for item in node.items]
        if len(items) != 1 or not isinstance(items[0], DataflowForm):
            raise self.error("only R.dataflow() can stand in a 'with' of a Relax function", node)
        self.builder.begin_dataflow()
        with self.names.scope():
            self.visit_body(node.body)
            inside = dict(self.names.snapshot()[-1])
        visible = self.builder.end_dataflow()
        self.outputs = None
        for name, value in inside.items():
            if not isinstance(value, Var) or any(value is var for var in visible):
                self.names.define(name, value)

    def visit_return(self, node: ast.Return) -> None:
        if node.value is None:
            raise self.error("a Relax function returns a value", node)
        value = self.evaluate(node.value)
        if self._results:
            self._results[-1] = value
            return
        self.finished = self.builder.finish(value, ret_type=self.ret_type)
        if self.gives_tuple and not isinstance(self.finished.ret_struct_info, TupleType):
            raise self.error(
                f"the function '{self.context.name}' is declared to return a tuple, but returns "
                f"{self.finished.ret_struct_info}",
                node,
            )

    def visit_functiondef(self, node: ast.FunctionDef) -> None:
        """A function inside the function: a value that may use the variables around it."""
        options = local_options(self, node)
        params = [Var(a.arg, self._annotation(a)) for a in node.args.args]
        ret = None if node.returns is None or _is_none(node.returns) else self._type(node.returns)
        own = own_variable(node.name, params, ret) if _calls_itself(node) else None
        attributes, self.builder.attrs = self.builder.attrs, {}
        self.builder.begin_function(params, own)
        self._results.append(None)
        with self.names.scope():
            for variable in params if own is None else [own, *params]:
                self.names.define(variable.name_hint, variable)
            self.visit_body(node.body)
        result = self._results.pop()
        self._locate(node)
        if result is None:
            raise self.error(f"the function '{node.name}' returns nothing", node)
        inner, self.builder.attrs = self.builder.attrs, attributes
        made = self.builder.end_function(
            result, node.name, ret, pure=bool(options["pure"]), attrs=inner
        )
        self.names.define(node.name, made)

    def _annotation(self, argument: ast.arg) -> StructInfo:
        if argument.annotation is None:
            raise self.error(f"parameter '{argument.arg}' has no type", argument)
        return self._type(argument.annotation)

    def visit_if(self, node: ast.If) -> None:
        condition = self.evaluate(node.test)
        if not isinstance(condition, Expr):
            self.visit_body(node.body if condition else node.orelse)
            return
        name = _last_name(node.body)
        if name is None or not node.orelse or _last_name(node.orelse) != name:
            raise self.error(
                "both branches of an 'if' must end by assigning the same variable", node
            )
        self.builder.begin_if(condition)
        self.builder.begin_else(self._branch(node.body, name))
        result = self._branch(node.orelse, name)
        self._locate(node)
        self.names.define(name, self.builder.end_if(result, name))

    def _branch(self, body: list[ast.stmt], name: str) -> Var:
        with self.names.scope():
            self.visit_body(body)
            return self.names.lookup(name)


def local_options(parser: RelaxParser, node: ast.FunctionDef) -> dict[str, Any]:
    """The options of a local function's decorator."""
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if parser.evaluate(decorator if call is None else call.func) is namespace.function:
            given = {} if call is None else parser.evaluate.arguments(call)[1]
            return namespace.function.options(given)
    raise parser.error("a function inside a Relax function is decorated with @R.function", node)


def _calls_itself(node: ast.FunctionDef) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == node.name and isinstance(n.ctx, ast.Load)
        for statement in node.body
        for n in ast.walk(statement)
    )


def _assigned_names(node: ast.FunctionDef) -> set[str]:
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)
    }


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_value(value: Any) -> bool:
    """True for what becomes a binding; other Python values only get a name."""
    if isinstance(value, (tuple, list)):
        return bool(value) and any(isinstance(item, Expr) or _is_value(item) for item in value)
    if isinstance(value, PrimExpr):
        return False
    return isinstance(value, (Expr, np.ndarray, bool, int, float))


def _plain(value: Any) -> Any:
    """A function attribute as a Python value: `T.bool(True)` is True."""
    if isinstance(value, PrimExpr):
        plain = getattr(value, "value", None)
        if plain is None:
            raise TypeError(f"an attribute is a constant, not {value}")
        return bool(plain) if value.dtype == "bool" else plain
    return value


def _last_name(body: list[ast.stmt]) -> str | None:
    """The variable that the last binding of a branch assigns."""
    statements = [s for s in body if not _is_output(s)]
    last = statements[-1] if statements else None
    if isinstance(last, ast.Assign) and isinstance(last.targets[-1], ast.Name):
        return last.targets[-1].id
    if isinstance(last, ast.AnnAssign) and isinstance(last.target, ast.Name):
        return last.target.id
    if isinstance(last, (ast.If, ast.With)):
        return _last_name(last.body)
    return None


def _is_output(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    return isinstance(function, ast.Attribute) and function.attr == "output"
