"""What the parser does with each form: tables by the kind of statement the form stands in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import Reference
from relax_mlir.script.forms.blocks import (
    AccessForm,
    AxisBindingForm,
    AxisForm,
    BlockAttrForm,
    BlockForm,
    InitForm,
    WhereForm,
)
from relax_mlir.script.forms.loops import LoopForm, builtin_range, difference
from relax_mlir.script.forms.macros import Macro, MacroCall, MacroDecorator
from relax_mlir.script.forms.statements import (
    AssertForm,
    AttrForm,
    EvaluateForm,
    FuncAttrForm,
    LaunchForm,
    LetForm,
    MetaForm,
    StoreForm,
    ThreadForm,
)
from relax_mlir.script.forms.types import BufferForm, HandleType, MatchBufferForm
from relax_mlir.script.forms.views import (
    AllocateForm,
    BufferView,
    ConstantForm,
    PreflattenedForm,
    RealizeForm,
)
from relax_mlir.script.parser import memory_forms, old_blocks
from relax_mlir.script.parser.environment import Environment, VariableTable
from relax_mlir.script.parser.evaluator import Evaluator
from relax_mlir.script.parser.handles import Handle
from relax_mlir.tir import operators
from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.expr import (
    BufferLoad,
    BufferRef,
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    as_expr,
    scalar_dtype,
)

if TYPE_CHECKING:
    from relax_mlir.script.parser.prim_func import TirParser


# -- loops ----------------------------------------------------------------------------------------


@contextmanager
def loop(parser: TirParser, form: LoopForm, index: int, name: str) -> Iterator[PrimExpr]:
    """Open loop `index` of a form; gives the loop variable (an expression if there is a step)."""
    builder = parser.builder
    first, extent = form.extents()[index]
    start, known = first, _constant(form.step)
    annotations = python_value(form.annotations)
    if (known is None and not isinstance(form.step, PrimExpr)) or (known or 1) < 1:
        raise ValueError(f"the step of a loop must be positive, not {form.step}")
    step = form.step if known is None else known
    if known != 1:
        start, extent = 0, operators.ceildiv(extent, step)
    with builder.for_(
        form.kind,
        start,
        extent,
        name,
        dtype=form.dtype,
        thread=form.thread,
        annotations=annotations or None,
    ) as variable:
        if known != 1:
            yield operators.add(first, operators.multiply(variable, step))
            return
        parser.loops[variable] = (start, extent)
        yield variable


def _constant(value: Any) -> int | None:
    if isinstance(value, IntImm):
        return value.value
    return value if isinstance(value, int) else None


# -- blocks ---------------------------------------------------------------------------------------


@contextmanager
def _block(parser: TirParser, form: BlockForm, node: ast.AST) -> Iterator[Any]:
    if form.name == "root" and not parser.blocks and not parser.loops:
        # The function's body is the root block.
        parser.blocks.append(None)
        try:
            yield None
        finally:
            parser.blocks.pop()
        return
    with ExitStack() as around:
        values = old_blocks.axis_values(parser, form, node, around)
        frame = around.enter_context(parser.builder.block(form.name))
        parser.blocks.append(frame)
        try:
            target = getattr(node, "optional_vars", None)
            old = form.axes is not None or isinstance(target, (ast.Tuple, ast.List))
            if values:
                opened = old_blocks.open_axes(form, target)
                axes = opened if isinstance(opened, list) else [opened]
                made = [
                    _axis(parser, a.name, AxisForm([a.kind], [a.domain], [v]), node)
                    for a, v in zip(axes, values, strict=True)
                ]
                yield made if isinstance(opened, list) else made[0]
            else:
                yield old_blocks.open_axes(form, target) if old else frame
        finally:
            parser.blocks.pop()


def _bind_axis(parser: TirParser, form: AxisBindingForm, node: ast.AST) -> None:
    axis = form.axis
    made = _axis(parser, axis.name, AxisForm([axis.kind], [axis.domain], [form.value]), node)
    parser.names.assign(axis.name, made)


@contextmanager
def _init(parser: TirParser, form: InitForm, node: ast.AST) -> Iterator[None]:
    with _frame(parser, "T.init").init():
        yield


def _frame(parser: TirParser, what: str) -> Any:
    if not parser.blocks or parser.blocks[-1] is None:
        raise ValueError(f"{what} stands in a block")
    return parser.blocks[-1]


def _axis(parser: TirParser, name: str, form: AxisForm, node: ast.AST) -> Var:
    frame = _frame(parser, "T.axis")
    if len(form.kinds) != 1:
        raise ValueError(f"{len(form.kinds)} iteration variables need as many names")
    domain, binding = form.domains[0], as_expr(form.bindings[0])
    if domain is None:
        if not isinstance(binding, Var) or binding not in parser.loops:
            raise ValueError(f"T.axis.remap takes loop variables, not {binding}")
        domain = parser.loops[binding]
    elif isinstance(domain, (tuple, list)):
        begin, end = domain
        domain = (begin, difference(end, begin))
    else:
        domain = (0, domain)
    return frame.iter_var(form.kinds[0], domain, binding, name, form.dtype)


def _access(parser: TirParser, form: AccessForm, node: ast.AST) -> None:
    regions = [region_of(region) for region in form.regions]
    if parser.blocks and parser.blocks[-1] is None:
        return  # the root block's are those of its blocks
    frame = _frame(parser, "T.writes" if form.writes else "T.reads")
    (frame.writes if form.writes else frame.reads)(regions)


def region_of(access: Any) -> BufferRegion:
    """The region that an access, a buffer or a view covers."""
    return access.full_region() if isinstance(access, BufferView) else BufferRegion.of(access)


def region_shape(region: BufferRegion) -> list[Any]:
    """The sizes of a region."""
    return [one.extent for one in region.region]


def as_condition(value: Any) -> PrimExpr:
    """A value as a bool: an integer is true unless it is zero.  Raises TypeError for others."""
    expr = as_expr(value)
    if scalar_dtype(expr.dtype) == "bool":
        return expr
    if not expr.dtype.startswith(("int", "uint")):
        raise TypeError(f"a condition is a bool or an integer, not {expr.dtype}")
    return operators.not_equal(expr, operators.const(0, expr.dtype))


def _where(parser: TirParser, form: WhereForm, node: ast.AST) -> None:
    _frame(parser, "T.where").where(as_condition(form.predicate))


def _block_attr(parser: TirParser, form: BlockAttrForm, node: ast.AST) -> None:
    annotations = python_value(form.annotations)
    if parser.blocks and parser.blocks[-1] is None:
        parser.root_annotations.update(annotations)
        return
    _frame(parser, "T.block_attr").annotate(annotations)


def header_first(parser: TirParser, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A block's statements with those that describe it in front: TVM lets them stand after
    allocations, the builder wants them first."""
    header = [s for s in statements if _describes_block(s) or unpacks_users(parser, s)]
    if header == list(statements[: len(header)]):
        return list(statements)
    return [*header, *(s for s in statements if s not in header)]


def unpacks_users(parser: TirParser, statement: ast.AST) -> bool:
    """True for `i, j = index_map(v0, v1)` with a Python function of the user's: the names stand
    for its expressions, which what describes a block may use."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    callee = statement.value.func
    if not isinstance(statement.targets[0], ast.Tuple) or not isinstance(callee, ast.Name):
        return False
    return memory_forms.is_users(memory_forms.known(parser, callee.id))


def _describes_block(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        value: ast.expr = statement.value
    elif isinstance(statement, ast.Expr):
        value = statement.value
    else:
        return False
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if isinstance(statement, ast.Assign):
        # A Python value makes no code, and what describes the block may use it.
        return name == "meta_var" or (name in _AXES and ".axis." in ast.unparse(value.func))
    return name in ("reads", "writes", "where", "block_attr", "sblock_attr", "bind")


_AXES = ("spatial", "reduce", "scan", "opaque", "remap", "S", "R")


# -- buffers and variables ------------------------------------------------------------------------


def _buffer(parser: TirParser, name: str, form: BufferForm, node: ast.AST) -> Any:
    shape = [parser.dimension(size) for size in form.shape]
    if form.data is not None:
        return memory_forms.on_storage(parser, name, form, shape)
    buffer = Buffer(name, shape, form.dtype, **parser.properties(form))
    here = not memory_forms.known_outside(parser, buffer)
    made = parser.builder.allocate(buffer, here=here)
    if form.annotations:
        parser.builder.annotate_buffer(made, python_value(form.annotations))
    return made


@contextmanager
def _allocate_scope(parser: TirParser, form: AllocateForm, node: ast.AST) -> Iterator[Any]:
    yield memory_forms.allocate(parser, _target_name(node), form, node)


@contextmanager
def _constant_scope(parser: TirParser, form: ConstantForm, node: ast.AST) -> Iterator[Any]:
    yield memory_forms.allocate_const(parser, _target_name(node), form, node)


def _target_name(node: ast.AST) -> str:
    target = getattr(node, "optional_vars", None)
    if not isinstance(target, ast.Name):
        raise TypeError("the storage needs a name: with ... as name")
    return target.id


def _realize(parser: TirParser, form: RealizeForm, node: ast.AST) -> None:
    """The declaration of the buffer has allocated it."""


@contextmanager
def _buffer_scope(parser: TirParser, form: BufferForm, node: ast.AST) -> Iterator[Any]:
    """`with T.decl_buffer(...) as A:`"""
    target = getattr(node, "optional_vars", None)
    if not isinstance(target, ast.Name):
        raise TypeError("the buffer needs a name: with ... as name")
    yield _buffer(parser, target.id, form, node)


def _match_buffer(parser: TirParser, name: str, form: MatchBufferForm, node: ast.AST) -> Any:
    """A handle's buffer is made with the signature; here it is a part of another buffer, or the
    same memory as the buffer that the handle has."""
    if isinstance(form.source, Handle) and form.source.buffer is not None:
        return _buffer(parser, name, replace(form.buffer, data=form.source.buffer.data), node)
    if not isinstance(form.source, (Buffer, BufferRegion, BufferLoad, BufferView)):
        raise TypeError("T.match_buffer takes a handle parameter of the function, or a region")
    region = region_of(form.source)
    sizes = form.buffer.shape if form.has_shape else region_shape(region)
    shape = [parser.dimension(size) for size in sizes]
    view = BufferView(name, region, shape, form.buffer.dtype)
    return memory_forms.match_view(parser, view, form.buffer)


def _meta(parser: TirParser, name: str, form: MetaForm, node: ast.AST) -> Any:
    return form.value


def _let(parser: TirParser, name: str, form: LetForm, node: ast.AST) -> Var:
    return parser.let(name, as_expr(form.value), form.var)


def _let_statement(parser: TirParser, form: LetForm, node: ast.AST) -> None:
    if isinstance(form.var, BufferRef):  # the address of a buffer that was declared before
        parser.builder.decl_buffer(form.var.buffer, as_expr(form.value))
        return
    name = "v" if form.var is None else form.var.name or "v"
    parser.names.assign(name, parser.let(name, as_expr(form.value), form.var))


@contextmanager
def _let_scope(parser: TirParser, form: LetForm, node: ast.AST) -> Iterator[Any]:
    value = as_expr(form.value)
    if isinstance(form.var, BufferRef):
        parser.builder.decl_buffer(form.var.buffer, value)
        yield form.var
        return
    target = node.optional_vars if isinstance(node, ast.withitem) else None
    name = target.id if isinstance(target, ast.Name) else "v"
    yield parser.let(name, value, form.var)


def _thread(parser: TirParser, name: str, form: ThreadForm, node: ast.AST) -> ThreadForm:
    form.var.name = form.var.name or name
    return form


def _launch_name(parser: TirParser, form: LaunchForm) -> tuple[str, str]:
    if isinstance(form.thread, Var):  # launched again
        return parser.threads[form.thread], form.thread.name
    if isinstance(form.thread, str):
        return form.thread, form.thread.replace(".", "_")
    return form.thread.tag, form.thread.var.name or form.thread.tag.replace(".", "_")


@contextmanager
def _launch_scope(parser: TirParser, form: LaunchForm, node: ast.AST) -> Iterator[PrimExpr]:
    tag, name = _launch_name(parser, form)
    target = getattr(node, "optional_vars", None)
    if isinstance(target, ast.Name):
        name = target.id
    threads = LoopForm("thread_binding", [(0, form.extent)], thread=tag)
    with loop(parser, threads, 0, name) as variable:
        assert isinstance(variable, Var)  # the step is one
        parser.threads[variable] = tag
        if isinstance(form.thread, (ThreadForm, Var)):
            parser.names.assign(name, variable)
        if isinstance(form.thread, ThreadForm):
            parser.builder.alias(form.thread.var, variable)
        yield variable


def _launch(parser: TirParser, form: LaunchForm, node: ast.AST) -> None:
    parser.enter_rest(_launch_scope(parser, form, node))


def _launch_assign(parser: TirParser, name: str, form: LaunchForm, node: ast.AST) -> PrimExpr:
    tag, _ = _launch_name(parser, form)
    threads = LoopForm("thread_binding", [(0, form.extent)], thread=tag)
    variable = parser.enter_rest(loop(parser, threads, 0, name))
    parser.threads[variable] = tag
    return variable


# -- other statements -----------------------------------------------------------------------------


def _func_attr(parser: TirParser, form: FuncAttrForm, node: ast.AST) -> None:
    for key, value in form.attributes.items():
        parser.attributes[canonical_key(key)] = python_value(value, parser.parameter_names)


def canonical_key(key: str) -> str:
    """An attribute's name as it is kept: TVM 0.27's "tirx.noalias" is "tir.noalias"."""
    return "tir." + key.removeprefix("tirx.") if key.startswith("tirx.") else key


def python_value(value: Any, known: Collection[str] | None = None) -> Any:
    """Constants inside attributes as Python values; parameters and buffers are references.

    `known` are the names that can be referred to, if not all can; others are plain text.
    """
    if isinstance(value, (Buffer, BufferView, Handle)):
        name = value.buffer_name if isinstance(value, Handle) else value.name
        return Reference(name) if known is None or name in known else name
    if isinstance(value, IntImm):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, (FloatImm, StringImm)):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): python_value(v, known) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [python_value(v, known) for v in value]
    if isinstance(value, PrimExpr):
        raise TypeError(f"an attribute holds constants, not {value}")
    if type(value).__name__ == "Target":
        return str(value)
    return value


def _evaluate(parser: TirParser, form: EvaluateForm, node: ast.AST) -> None:
    parser.builder.evaluate(as_expr(form.value))


def _store(parser: TirParser, form: StoreForm, node: ast.AST) -> None:
    indices = form.indices if isinstance(form.indices, (list, tuple)) else [form.indices]
    parser.store(form.buffer, tuple(indices), form.value, node, form.predicate)


def _assert(parser: TirParser, form: AssertForm, node: ast.AST) -> None:
    assertion(parser, form.condition, form.message)


@contextmanager
def _assert_scope(parser: TirParser, form: AssertForm, node: ast.AST) -> Iterator[None]:
    """`with T.Assert(condition, message):`, as TVM prints it: what follows the check."""
    _assert(parser, form, node)
    yield


def assertion(parser: TirParser, condition: Any, message: Any) -> None:
    """`assert condition, message`; TVM 0.27 writes the message as ("RuntimeError", ["text"])."""
    if isinstance(message, tuple) and len(message) == 2:
        parts = message[1] if isinstance(message[1], (list, tuple)) else [message[1]]
        message = "".join(str(part) for part in parts)
    if not parser.semantics.is_symbolic(condition):
        if condition:
            return
        condition = IntImm("bool", 0)
    parser.builder.assert_(as_condition(condition), str(message))


def _attr(parser: TirParser, form: AttrForm, node: ast.AST) -> None:
    parser.enter_rest(memory_forms.attr_scope(parser, form, node))


# -- macros ---------------------------------------------------------------------------------------


def with_range(environment: Environment) -> Environment:
    """The environment in which `range` is a loop, unless the user defined another."""
    changed = environment.with_names({})
    changed.tables = [*changed.tables[:-1], {"range": builtin_range}, changed.tables[-1]]
    return changed


def local_macro(parser: TirParser, node: ast.FunctionDef) -> Macro:
    """A macro defined inside a function; it sees the function's names."""
    decorators = [
        parser.evaluate(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list
    ]
    if not any(isinstance(d, MacroDecorator) for d in decorators):
        raise parser.error(
            "a function inside a function is a macro: decorate it with @T.macro", node
        )
    environment = parser.names.environment
    for scope in parser.names.snapshot():
        environment = environment.with_names(scope)
    return Macro(parser.context.source, node, environment)


def _inline(parser: TirParser, call: MacroCall, node: ast.AST) -> None:
    """Parse a macro's body in place, with its own names and source."""
    macro = call.macro
    saved = (parser.names, parser.evaluate, parser.context.source)
    environment = macro.environment
    if not macro.hygienic:
        environment = saved[0].environment
        for scope in saved[0].snapshot():
            environment = environment.with_names(scope)
    parser.names = VariableTable(with_range(environment))
    parser.context.source = macro.source
    parser.evaluate = Evaluator(macro.source, parser.names, parser.semantics)
    try:
        for name, value in call.arguments.items():
            parser.names.define(name, value)
        parser.visit_body(macro.node.body)
    finally:
        parser.names, parser.evaluate, parser.context.source = saved


# -- the tables -----------------------------------------------------------------------------------


def parts(value: Any) -> Any:
    """What a value is unpacked into: one axis for each variable of a remap."""
    if isinstance(value, AxisForm):
        return [
            AxisForm([kind], [domain], [binding], value.dtype)
            for kind, domain, binding in zip(
                value.kinds, value.domains, value.bindings, strict=True
            )
        ]
    return value


STATEMENTS: dict[type, Callable[[Any, Any, ast.AST], None]] = {
    AccessForm: _access,
    AxisBindingForm: _bind_axis,
    WhereForm: _where,
    BlockAttrForm: _block_attr,
    FuncAttrForm: _func_attr,
    EvaluateForm: _evaluate,
    LetForm: _let_statement,
    StoreForm: _store,
    AssertForm: _assert,
    AttrForm: _attr,
    PreflattenedForm: memory_forms.preflattened,
    RealizeForm: _realize,
    LaunchForm: _launch,
    MacroCall: _inline,
}
"""Forms that stand alone."""

ASSIGNMENTS: dict[type, Callable[[Any, str, Any, ast.AST], Any]] = {
    AxisForm: _axis,
    BufferForm: _buffer,
    MatchBufferForm: _match_buffer,
    MetaForm: _meta,
    LetForm: _let,
    ThreadForm: _thread,
    LaunchForm: _launch_assign,
    AllocateForm: memory_forms.allocate,
    ConstantForm: memory_forms.allocate_const,
    HandleType: memory_forms.handle_variable,
}
"""Forms that are given a name; the result is what the name stands for."""

SCOPES: dict[type, Callable[[Any, Any, Any], AbstractContextManager[Any]]] = {
    BlockForm: _block,
    InitForm: _init,
    AttrForm: memory_forms.attr_scope,
    AssertForm: _assert_scope,
    LetForm: _let_scope,
    LaunchForm: _launch_scope,
    BufferForm: _buffer_scope,
    AllocateForm: _allocate_scope,
    ConstantForm: _constant_scope,
    RealizeForm: memory_forms.realize,
}
"""Forms that stand in a with statement."""

__all__ = ["ASSIGNMENTS", "SCOPES", "STATEMENTS", "loop", "parts"]
