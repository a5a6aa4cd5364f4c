"""The parser of `@T.prim_func` functions: Python statements to calls of `PrimFuncBuilder`.

What a statement does depends on the form its expression gives (`relax_mlir.script.forms`); the
tables of `tir_forms` have a row for each.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.errors import ParseError, Span, VerificationError
from relax_mlir.ir.function import BaseFunc, GlobalVar
from relax_mlir.script.forms.blocks import BlockForm
from relax_mlir.script.forms.loops import LoopForm
from relax_mlir.script.forms.statements import MetaForm, StoreForm
from relax_mlir.script.forms.types import (
    BufferForm,
    DType,
    LetType,
    MatchBufferForm,
)
from relax_mlir.script.forms.views import BufferView
from relax_mlir.script.parser import memory_forms, tir_forms
from relax_mlir.script.parser.core import FunctionContext, is_docstring
from relax_mlir.script.parser.evaluator import BINARY, Semantics, unpack
from relax_mlir.script.parser.loop_targets import define_targets, loop_targets
from relax_mlir.script.parser.prim_func_signature import SignatureParser
from relax_mlir.tir import operators
from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.expr import (
    BufferLoad,
    Call,
    IntImm,
    IterVar,
    PrimExpr,
    Ramp,
    StringImm,
    Var,
    as_expr,
    lanes_of,
    post_order,
)


class TirSemantics(Semantics):
    """Python's truth operators on scalar expressions."""

    parser: TirParser

    def is_symbolic(self, value: Any) -> bool:
        return isinstance(value, (PrimExpr, IterVar))

    def both(self, left: Any, right: Any) -> PrimExpr:
        return operators.logical_and(*map(tir_forms.as_condition, (left, right)))

    def either(self, left: Any, right: Any) -> PrimExpr:
        return operators.logical_or(*map(tir_forms.as_condition, (left, right)))

    def attribute(self, value: Any, name: str) -> Any:
        return memory_forms.attribute(value, name)

    def subscript(self, value: Any, index: Any) -> Any:
        return memory_forms.indexed(memory_forms.indexable(self.parser, value), index)

    def invert(self, value: Any) -> PrimExpr:
        return operators.logical_not(tir_forms.as_condition(value))

    def choose(self, condition: Any, then: Any, otherwise: Any) -> PrimExpr:
        a, b = operators.promote(then, otherwise)
        return Call(a.dtype, "if_then_else", [tir_forms.as_condition(condition), a, b])

    def binary(self, function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        memory = isinstance(left, _MEMORY) or isinstance(right, _MEMORY)
        if memory and function not in _IDENTITY:
            left, right = memory_forms.as_vector(left), memory_forms.as_vector(right)
        if any(isinstance(side, _MEMORY) for side in (left, right)) and memory:
            if function in _IDENTITY:
                return function(left, right)
            raise TypeError("arithmetic on a whole buffer or a region; index an element")
        # Python would turn `0 <= i` into `i >= 0`.
        if function in _COMPARISONS and isinstance(right, PrimExpr):
            return _COMPARISONS[function](left, right)
        return function(left, right)

    def unary(self, function: Callable[[Any], Any], value: Any) -> Any:
        return function(memory_forms.as_vector(value))

    def call(self, function: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(function, GlobalVar):
            return memory_forms.call_function(self.parser, function, positional, keywords)
        if isinstance(function, memory_forms.FlatAccess):
            return memory_forms.flat_access(self.parser, function, positional)
        if memory_forms.is_users(function):
            with memory_forms.shown_layout([*positional, *keywords.values()]):
                return function(*positional, **keywords)
        return function(*positional, **keywords)


_MEMORY = (Buffer, BufferRegion, BufferView)
_IDENTITY = (operator.is_, operator.is_not)
_COMPARISONS = {
    operator.lt: operators.less,
    operator.le: operators.less_equal,
    operator.gt: operators.greater,
    operator.ge: operators.greater_equal,
    operator.eq: operators.equal,
    operator.ne: operators.not_equal,
}


class TirParser(SignatureParser):
    """Parses one TensorIR function.

    In 0.27's spelling a shape may mention `TypeVar`s and strings ("n * 2"); such a symbol is int64
    unless the body declares it (`n = T.int32()`).
    """

    order = 0
    semantics_class = TirSemantics

    def __init__(self, context: FunctionContext):
        super().__init__(context)
        self.names.environment = tir_forms.with_range(self.names.environment)
        self.attributes: dict[str, Any] = {}
        self.root_annotations: dict[str, Any] = {}
        self.blocks: list[Any] = []
        self.loops: dict[Var, tuple[Any, Any]] = {}
        self.threads: dict[Var, str] = {}  # launched threads and their tags
        self.waiting: dict[Var, list[Buffer]] = {}  # buffers whose address is bound later
        self.storage: set[Buffer] = set()
        """What `T.allocate` makes, without a buffer that lies in it."""
        self._rest: list[ExitStack] = []

    def parse(self) -> BaseFunc:
        node = self.context.node
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
            raise self.error("a primitive function has plain parameters only", node)
        return self.guard(node, self._parse, node)

    def _parse(self, node: ast.FunctionDef) -> BaseFunc:
        self.signature(node)
        self.visit_body(node.body)
        if "global_symbol" in self.attributes and self.option("private"):
            raise self.error("a private function cannot have a global_symbol", node)
        self.builder.set_attrs(self.attributes)
        self.builder.location = self.span(node)
        try:
            face = self.builder.finish()
        except VerificationError as error:
            raise self._located(error, node) from None
        with mlir.scope():
            if self.root_annotations:
                face.operation.attributes["annotations"] = to_attribute(self.root_annotations)
        return face

    def _located(self, error: VerificationError, node: ast.AST) -> ParseError:
        """MLIR's message at the place it names, or at the function."""
        found = _LOCATED.search(error.message)
        lines = self.context.source.lines
        if found is None or found.group(1) != self.context.source.file:
            return self.error(error.message, node)
        line, column = int(found.group(2)), int(found.group(3))
        text = lines[line - 1] if line <= len(lines) else None
        span = Span(self.context.source.file, line, column, text)
        return ParseError(found.group(4), span=span)

    # -- statements -------------------------------------------------------------------------------

    def at(self, node: ast.stmt) -> None:
        self.builder.location = self.span(node)

    def visit_body(self, statements: Sequence[ast.stmt]) -> None:
        """A statement such as `T.launch_thread` opens a scope that ends with the body."""
        with ExitStack() as rest:
            self._rest.append(rest)
            try:
                for statement in statements:
                    if not is_docstring(statement) and statement not in self.done:
                        self.visit(statement)
            finally:
                self._rest.pop()

    def enter_rest(self, manager: Any) -> Any:
        """Enter a context manager for the rest of the current body."""
        return self._rest[-1].enter_context(manager)

    def visit_expr(self, node: ast.Expr) -> None:
        store = self._vector_store(node.value)
        value = self.evaluate(node.value) if store is None else store
        handler = tir_forms.STATEMENTS.get(type(value))
        if handler is not None:
            handler(self, value, node)
        elif isinstance(value, PrimExpr):
            self.builder.evaluate(value)
        elif isinstance(value, (BufferForm, MatchBufferForm)):
            raise self.error("the buffer needs a name: assign it to one", node)
        elif value is not None:
            raise self.error(f"this statement has no effect: {ast.unparse(node)}", node)

    def _vector_store(self, node: ast.expr) -> StoreForm | None:
        """`A.vstore(begin, value)`, which no method of a buffer could carry out."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return None
        if node.func.attr != "vstore":
            return None
        buffer = self.evaluate(node.func.value)
        (begin, value), keywords = self.evaluate.arguments(node)
        predicate = keywords.pop("predicate", None)
        if keywords:
            raise self.error(f"vstore takes no argument '{next(iter(keywords))}'", node)
        indices = list(begin) if isinstance(begin, (list, tuple)) else [begin]
        lanes = lanes_of(as_expr(value).dtype)
        if lanes > 1 and not isinstance(indices[-1], Ramp):
            indices[-1] = Ramp(indices[-1], 1, lanes)
        return StoreForm(buffer, value, indices, predicate)

    def visit_assign(self, node: ast.Assign) -> None:
        if any(isinstance(t, ast.Name) and t.id in self.early for t in node.targets):
            return
        value = self.evaluate(node.value)
        for target in node.targets:
            self._assign(target, value, node)

    def _assign(self, target: ast.expr, value: Any, node: ast.stmt) -> None:
        if isinstance(target, ast.Subscript):
            self._store(target, value)
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            is_meta = isinstance(value, MetaForm)
            parts = tir_forms.parts(value.value if is_meta else value)
            is_meta = is_meta or tir_forms.unpacks_users(self, node)
            for element, part in _pairs(self, target, parts):
                if isinstance(element, ast.Name) and isinstance(part, list):  # starred
                    self._bind_several(element.id, part, is_meta, node)
                    continue
                self._assign(element, MetaForm(part) if is_meta else part, node)
            return
        if not isinstance(target, ast.Name):
            raise self.error("cannot assign to this expression", target)
        self.bind(target.id, value, node)

    def _bind_several(self, name: str, parts: list[Any], is_meta: bool, node: ast.AST) -> None:
        """`vi, *vs = T.axis.remap("SSS", [i, *js])`: the name is that of several variables."""
        bound: list[Any] = []
        for i, part in enumerate(parts):
            if not is_meta:
                self.bind(f"{name}_{i}", part, node)
            bound.append(part if is_meta else self.names.lookup(f"{name}_{i}"))
        self.names.define(name, bound)

    def bind(self, name: str, value: Any, node: ast.AST) -> None:
        """Give a value a name: a form is carried out, an expression becomes a variable."""
        handler = tir_forms.ASSIGNMENTS.get(type(value))
        if handler is not None:
            self.names.define(name, handler(self, name, value, node))
        elif isinstance(value, Var):
            if not value.name:
                value.name = name
            self.names.define(name, value)
        elif isinstance(value, PrimExpr) and not _is_written_out(value):
            self.names.define(name, self.let(name, value))
        else:
            self.names.define(name, value)

    def let(self, name: str, value: PrimExpr, var: Var | None = None) -> Var:
        """A variable of the program with a value."""
        variable = Var(name, value.dtype) if var is None else var
        variable.name = variable.name or name
        self.builder.let(variable, value)
        for buffer in self.waiting.pop(variable, ()):
            self.builder.decl_buffer(buffer, variable)
        return variable

    def is_unbound(self, var: Var) -> bool:
        """True for a variable that no statement has given a value yet."""
        return var not in self.builder.emitter.values

    def _store(self, target: ast.Subscript, value: Any) -> None:
        memory, indices = self.evaluate(target.value), self.evaluate(target.slice)
        if memory_forms.is_flat(self, memory, indices):
            memory_forms.flat_access(self, memory_forms.store, [memory, indices, value])
            return
        buffer = memory_forms.indexable(self, memory)
        if not isinstance(buffer, (Buffer, BufferView)):
            kind = type(buffer).__name__
            raise self.error(f"only elements of buffers can be assigned, not of a {kind}", target)
        self.store(buffer, indices, value, target)

    def store(
        self,
        buffer: Buffer | BufferView,
        indices: Any,
        value: Any,
        node: ast.AST,
        predicate: Any = None,
    ) -> None:
        """`buffer[indices] = value`, the value converted to the buffer's dtype."""
        value = memory_forms.as_vector(value)
        if isinstance(value, _MEMORY):
            raise self.error("an element is assigned a scalar, not a region", node)
        access = memory_forms.as_vector(memory_forms.indexed(buffer, indices))
        if not isinstance(access, BufferLoad):
            raise self.error("a store names one element, or a vector with a step", node)
        if isinstance(value, (bool, int, float)):
            value = operators.const(value, access.dtype)
        converted = operators.cast(access.dtype, as_expr(value))
        self.builder.store(access.buffer, converted, list(access.indices), predicate)

    def visit_augassign(self, node: ast.AugAssign) -> None:
        operation = BINARY[type(node.op)]
        value = self.evaluate(node.value)
        if isinstance(node.target, ast.Subscript):
            old = self.evaluate(node.target)
            self._store(node.target, self.semantics.binary(operation, old, value))
            return
        assert isinstance(node.target, ast.Name)
        old = self.names.lookup(node.target.id)
        if isinstance(old, PrimExpr) or isinstance(value, PrimExpr):
            raise self.error(
                "a variable is assigned once; what changes is an element of a buffer",
                node,
                hint='allocate one: x = T.alloc_buffer((1,), "float32", scope="local")',
            )
        self.names.assign(node.target.id, operation(old, value))

    def visit_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.error("a variable needs a value", node)
        if not isinstance(node.target, ast.Name):
            raise self.error("only a name can have a type here", node.target)
        kind = self.evaluate(node.annotation)
        value = self.evaluate(node.value)
        if isinstance(kind, LetType):
            kind = kind.dtype
        if not isinstance(kind, DType):
            self.bind(node.target.id, value, node)
            return
        typed = operators.const(value, kind.dtype) if _is_number(value) else as_expr(value)
        if typed.dtype != kind.dtype:
            name = node.target.id
            raise self.error(f"'{name}' is {kind.dtype}, its value is {typed.dtype}", node)
        self.names.define(node.target.id, self.let(node.target.id, typed))

    def visit_for(self, node: ast.For) -> None:
        form = self.evaluate(node.iter)
        if not isinstance(form, LoopForm):
            raise self.error(
                f"a for statement runs over a loop, not over a {type(form).__name__}",
                node.iter,
                hint="use range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll or "
                "T.thread_binding",
            )
        if node.orelse:
            raise self.error("a for statement has no else here", node.orelse[0])
        targets = loop_targets(self, node.target, len(form.bounds))
        with self.names.scope(), ExitStack() as nest:
            variables = [
                nest.enter_context(tir_forms.loop(self, form, i, name))
                for i, name in enumerate(targets)
            ]
            define_targets(self, node.target, variables)
            self.visit_body(node.body)

    def visit_while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.error("a while statement has no else here", node.orelse[0])
        condition = self.evaluate(node.test)
        with self.builder.while_(tir_forms.as_condition(condition)), self.names.scope():
            self.visit_body(node.body)

    def visit_if(self, node: ast.If) -> None:
        condition = self.evaluate(node.test)
        if not self.semantics.is_symbolic(condition):
            self.visit_body(node.body if condition else node.orelse)
            return
        with self.builder.if_(tir_forms.as_condition(condition)), self.names.scope():
            self.visit_body(node.body)
        if node.orelse:
            with self.builder.else_(), self.names.scope():
                self.visit_body(node.orelse)

    def visit_with(self, node: ast.With) -> None:
        is_block = False
        with self.names.scope(), ExitStack() as opened:
            for item in node.items:
                value = self.evaluate(item.context_expr)
                handler = tir_forms.SCOPES.get(type(value))
                if handler is None:
                    kind = type(value).__name__
                    raise self.error(f"a {kind} opens no scope", item.context_expr)
                result = opened.enter_context(handler(self, value, item))
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, result, node)
                is_block = is_block or isinstance(value, BlockForm)
            self.visit_body(tir_forms.header_first(self, node.body) if is_block else node.body)

    def visit_assert(self, node: ast.Assert) -> None:
        message = "assertion failed" if node.msg is None else self.evaluate(node.msg)
        tir_forms.assertion(self, self.evaluate(node.test), message)

    def visit_return(self, node: ast.Return) -> None:
        """A value is returned by the intrinsic `T.ret`; buffers are parameters."""
        value = node.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return
        self.builder.evaluate(memory_forms.returned(self.evaluate(value)))

    def visit_break(self, node: ast.Break) -> None:
        self.builder.evaluate(Call("int32", "break_loop", []))

    def visit_continue(self, node: ast.Continue) -> None:
        self.builder.evaluate(Call("int32", "continue_loop", []))

    def visit_functiondef(self, node: ast.FunctionDef) -> None:
        self.names.define(node.name, tir_forms.local_macro(self, node))


_LOCATED = re.compile(r'"([^"\n]+)":(\d+):(\d+)\)?: (.*)')
"""MLIR's diagnostics: file, line, column, message."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def _is_written_out(value: PrimExpr) -> bool:
    """Whether a name stands for the expression itself: constants, and the indices of a vector
    access, unless they are read from memory or computed by a call."""
    if isinstance(value, Ramp):
        return not any(isinstance(part, (BufferLoad, Call)) for part in post_order(value))
    return isinstance(value, (IntImm, StringImm))


def _pairs(parser: TirParser, target: ast.Tuple | ast.List, values: Any) -> list[Any]:
    if any(isinstance(element, ast.Starred) for element in target.elts):
        return [(name, part) for name, part in unpack(parser.context.source, target, values)]
    try:
        parts = list(values)
    except TypeError:
        kind = type(values).__name__
        raise parser.error(f"a {kind} cannot be unpacked", target) from None
    if len(parts) != len(target.elts):
        message = f"{len(target.elts)} names on the left, {len(parts)} values on the right"
        raise parser.error(message, target)
    return list(zip(target.elts, parts, strict=True))
