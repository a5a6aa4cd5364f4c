"""Signatures of `@T.prim_func` functions: parameters, and what the body declares for them.

Buffers behind handles and symbols are declared by statements of the body; they are found before
anything is built.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from relax_mlir.script.forms.statements import MetaForm, meta_var
from relax_mlir.script.forms.types import (
    BufferForm,
    DType,
    HandleType,
    MatchBufferForm,
    ScalarType,
    match_buffer,
    var,
)
from relax_mlir.script.parser import memory_forms
from relax_mlir.script.parser.core import DialectParser, FunctionContext
from relax_mlir.script.parser.evaluator import unpack
from relax_mlir.script.parser.handles import Handle
from relax_mlir.te.operation import var as te_var
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr, SizeVar, Var

_DEFINED_EARLY = (meta_var, te_var)
"""Calls whose value declarations may use, besides the symbols'."""


def _makes_symbol(callee: Any, node: ast.expr) -> bool:
    """True for `T.int64()`, `T.var("int32")` and `T.SizeVar("n", "int32")`."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(callee, DType):
        return type(callee) is not HandleType and not node.args
    return callee is var or callee is SizeVar


class _Everything:
    """Contains whatever is asked for."""

    def __contains__(self, value: object) -> bool:
        return True


class SignatureParser(DialectParser):
    """The part of the parser that makes parameters.

    `done` are the statements of the body that it has carried out, `early` the names of Python
    variables that it has defined; their statements do nothing when they are parsed.
    """

    def __init__(self, context: FunctionContext):
        super().__init__(context)
        self.builder = PrimFuncBuilder(context.name, private=bool(self.option("private")))
        self.symbols: dict[str, Var] = {}
        self.parameters: set[Var] = set()
        self.parameter_names: set[str] = set()  # of variables and buffers
        self.done: set[ast.stmt] = set()
        self.early: set[str] = set()
        self._declared: set[Var] = set()
        self._views = 0
        module = context.module
        checked = self.option("check_well_formed") and (module is None or module.check_well_formed)
        self.builder.free_variables = self._declared if checked else _Everything()

    def declare(self) -> str | None:
        """The dtype of the value that the function returns, for those who call it."""
        returns = self.context.node.returns
        if returns is None or (isinstance(returns, ast.Constant) and returns.value is None):
            return None
        value = self.evaluate(returns)
        return value.dtype if isinstance(value, DType) else None

    def signature(self, node: ast.FunctionDef) -> None:
        """Make the parameters, in order; the buffers of handles are declared in the body."""
        arguments = [*node.args.posonlyargs, *node.args.args]
        annotations = {a.arg: self._annotation(a) for a in arguments}
        handles = [n for n, a in annotations.items() if type(a) is HandleType]
        for name, annotation in annotations.items():
            if isinstance(annotation, ScalarType):
                self.names.define(name, Var(name, annotation.dtype))
        matched = self._declarations(node, handles)
        for argument in arguments:
            self.guard(argument, self._parameter, argument, annotations[argument.arg], matched)

    def _annotation(self, argument: ast.arg) -> Any:
        if argument.annotation is None:
            raise self.error(f"parameter '{argument.arg}' has no type", argument)
        value = self.evaluate(argument.annotation)
        if callable(value) and not isinstance(value, (DType, BufferForm)):
            with suppress(TypeError):  # what needs arguments is no annotation
                value = value()
        if isinstance(value, BufferForm):
            return value
        if isinstance(value, DType):
            return value
        if isinstance(value, Var):
            return HandleType() if value.dtype == "handle" else ScalarType(value.dtype)
        raise self.error(
            f"parameter '{argument.arg}' is a buffer, a scalar or a handle, "
            f"not {type(value).__name__}",
            argument.annotation,
            hint='write T.Buffer((8,), "float32"), T.int32 or T.handle',
        )

    def _declarations(
        self, node: ast.FunctionDef, handles: Sequence[str]
    ) -> dict[str, tuple[str, BufferForm]]:
        """The symbols that the body declares, and the buffers behind the handles."""
        for name in handles:
            self.names.define(name, Handle(name))
        matched: dict[str, tuple[str, BufferForm]] = {}
        for statement in node.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._declaration(statement, matched)
        return matched

    def _declaration(
        self, statement: ast.Assign, matched: dict[str, tuple[str, BufferForm]]
    ) -> None:
        target, value = statement.targets[0], statement.value
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        callees = [self._callee(part) for part in parts]
        if all(_makes_symbol(c, part) for c, part in zip(callees, parts, strict=True)):
            for name, symbol in unpack(self.context.source, target, self.evaluate(value)):
                self._define_symbol(name.id, symbol)
                if callees[0] is var:  # the first TVMScript's, which checked nothing
                    self._declared.add(symbol)
            self.done.add(statement)
        elif all(c in _DEFINED_EARLY for c in callees):
            self._define_early(target, value)
        elif callees[0] is match_buffer and isinstance(target, ast.Name):
            self._match_handle(target.id, statement, matched)
        elif not any(isinstance(n, ast.Call) for n in ast.walk(value)):
            self._try_define(target, value)

    def _match_handle(
        self, name: str, statement: ast.Assign, matched: dict[str, tuple[str, BufferForm]]
    ) -> None:
        """Note the buffer of a handle; a region of a buffer is matched where it stands."""
        call = statement.value
        assert isinstance(call, ast.Call)
        sources = [*call.args, *(k.value for k in call.keywords if k.arg == "param")]
        if not sources or not isinstance(sources[0], ast.Name):
            return
        if not self.names.is_local(sources[0].id):
            return
        form = self.evaluate(call)
        if not isinstance(form, MatchBufferForm) or not isinstance(form.source, Handle):
            return
        if form.source.name in matched:  # another name, or another shape, of the same memory
            return
        matched[form.source.name] = (name, form.buffer)
        self.done.add(statement)

    def _callee(self, node: ast.expr) -> Any:
        """What a call calls, or None."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return None
        try:
            return self.evaluate(node.func)
        except SyntaxError:
            return None

    def _define_early(self, target: ast.expr, value: ast.expr) -> None:
        """`n = T.meta_var(100)`, which the declarations of buffers may use; the statement then
        finds the name defined."""
        try:
            given = self.evaluate(value)
        except SyntaxError:
            return  # reported when the statement is parsed in its turn
        given = given.value if isinstance(given, MetaForm) else given
        for name, part in unpack(self.context.source, target, given):
            if isinstance(part, Var):
                self._define_symbol(name.id, part)
                self.early.add(name.id)
            else:
                self.names.define(name.id, part)

    def _try_define(self, target: ast.expr, value: ast.expr) -> None:
        """Define a Python value that later declarations may use (`m = n * 2`)."""
        try:
            for name, part in unpack(self.context.source, target, self.evaluate(value)):
                self.names.define(name.id, part)
        except SyntaxError:
            return  # reported when the statement is parsed in its turn

    def _define_symbol(self, name: str, symbol: Var) -> None:
        symbol.name = symbol.name or name
        self.symbols[name] = symbol
        self.names.define(name, symbol)

    def _parameter(
        self, argument: ast.arg, annotation: Any, matched: dict[str, tuple[str, BufferForm]]
    ) -> None:
        name = argument.arg
        self.parameter_names.add(matched[name][0] if name in matched else name)
        self.builder.location = self.span(argument)
        if type(annotation) is HandleType and name in matched:
            buffer_name, form = matched[name]
            buffer = self._buffer_parameter(buffer_name, form)
            self.names.lookup(name).buffer = buffer
            self.names.define(buffer_name, buffer)
        elif isinstance(annotation, BufferForm):
            self.names.define(name, self._buffer_parameter(name, annotation))
        elif isinstance(annotation, ScalarType):
            self.parameters.add(self.builder.scalar_param(self.names.lookup(name)))
        else:
            var = self.builder.scalar_param(name, annotation.dtype)
            self.parameters.add(var)
            self.names.define(name, var)

    def _buffer_parameter(self, name: str, form: BufferForm) -> Buffer:
        shape = [self.dimension(size) for size in form.shape]
        properties = self.properties(form)
        begins_anywhere = properties.get("offset_factor") and "elem_offset" not in properties
        if begins_anywhere and memory_forms.asks_for_offset(self, name):
            # The function asks its caller where.
            properties["elem_offset"] = Var(f"{name}_offset")
        return self.builder.buffer_param(name, shape, form.dtype, **properties)

    def properties(self, form: BufferForm) -> dict[str, Any]:
        """The properties of a buffer, with symbols in strides and offset made variables."""
        result = dict(form.properties)
        first = form.shape[0] if form.shape else 0
        dtype = first.dtype if isinstance(first, PrimExpr) else "int32"
        if "strides" in result:
            result["strides"] = [self.dimension(s, dtype) for s in result["strides"]]
        if "elem_offset" in result:
            result["elem_offset"] = self.dimension(result["elem_offset"], dtype)
        return result

    def dimension(self, size: Any, dtype: str = "int64") -> Any:
        """A size that may be given as text or as a TypeVar; a new symbol of it has the dtype."""
        if isinstance(size, TypeVar):
            return self._symbol(size.__name__, dtype)
        if not isinstance(size, str):
            return size
        tree = ast.parse(size.strip(), mode="eval").body
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and not self.names.is_local(node.id):
                self.names.define(node.id, self._symbol(node.id, dtype))
        return self.evaluate(tree)

    def _symbol(self, name: str, dtype: str) -> Var:
        if self._views:
            return Var(name)
        if name not in self.symbols:
            self._define_symbol(name, Var(name, dtype))
        return self.symbols[name]

    @contextmanager
    def own_symbols(self) -> Iterator[None]:
        """While it lasts, text in the layout of a view names symbols of the view alone."""
        self._views += 1
        try:
            yield
        finally:
            self._views -= 1
