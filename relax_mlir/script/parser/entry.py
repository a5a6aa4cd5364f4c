"""The ways in: the decorators of functions and modules, and programs given as text."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from relax_mlir.errors import Error, ParseError, Span
from relax_mlir.script.parser import source as sources
from relax_mlir.script.parser.environment import Environment, VariableTable, calling_frame
from relax_mlir.script.parser.evaluator import Evaluator, bind
from relax_mlir.script.parser.source import Source

if TYPE_CHECKING:
    from relax_mlir.ir.function import BaseFunc
    from relax_mlir.ir.module import IRModule
    from relax_mlir.script.parser.core import DialectParser, ModuleContext


def _parse_for_user(parse: Callable[[], Any]) -> Any:
    """Parse, and leave the parser's own frames out of an error's traceback: the message has the
    place."""
    try:
        return parse()
    except ParseError as error:
        cause = error.__cause__
        shown = None if isinstance(cause, Error) else cause
        raise error.with_traceback(None) from shown


class FunctionDecorator:
    """`@T.prim_func` and its like, plain or with options.

    `parser` is "module:class" of the DialectParser, imported on first use; `options` are the
    keyword options with their defaults.
    """

    def __init__(self, name: str, parser: str, options: Mapping[str, Any]):
        self.name = name
        self.__name__ = name.rpartition(".")[2]
        self._parser = parser
        self.defaults = dict(options)

    def parser_class(self) -> type[DialectParser]:
        module, _, name = self._parser.partition(":")
        return getattr(importlib.import_module(module), name)

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults with the given options.  Raises TypeError for an unknown one."""
        unknown = [key for key in given if key not in self.defaults]
        if unknown:
            known = ", ".join(self.defaults)
            raise TypeError(f"{self.name} has no option '{unknown[0]}'; it has {known}")
        return {**self.defaults, **given}

    def __call__(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        chosen = self.options(options)
        if function is None:
            return lambda f: self._decorate(f, chosen, calling_frame())
        return self._decorate(function, chosen, calling_frame())

    def _decorate(
        self, function: Callable[..., Any], options: dict[str, Any], frame: FrameType
    ) -> Any:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@{self.name} decorates a function, not a {type(function).__name__}")
        if _in_module_class(frame):
            return function  # ir_module parses it with its class
        from relax_mlir.script.parser.core import FunctionContext

        source, node = sources.of_function(function)
        environment = Environment.of_function(function, frame)
        context = FunctionContext(node, source, environment, options)
        return _parse_for_user(lambda: self.parser_class()(context).parse())

    def __repr__(self) -> str:
        return f"<decorator {self.name}>"


class ModuleDecorator:
    """`@I.ir_module`, plain or called with TVM's options: `check_well_formed=False` lets TensorIR
    functions use variables that nothing defines; `s_tir` changes nothing here."""

    __name__ = "ir_module"
    defaults = {"check_well_formed": True, "s_tir": True}

    def __call__(self, cls: type | None = None, **options: Any) -> Any:
        unknown = [key for key in options if key not in self.defaults]
        if unknown:
            raise TypeError(f"ir_module has no option '{unknown[0]}'")
        if cls is None:
            return lambda c: self.decorate(c, calling_frame())
        return self.decorate(cls, calling_frame())

    def decorate(self, cls: type, frame: FrameType) -> IRModule:
        """The module of a class that `frame` is decorating."""
        if not isinstance(cls, type):
            raise TypeError(f"@ir_module decorates a class, not a {type(cls).__name__}")
        source, node = sources.of_class(cls, frame)
        environment = Environment.of_frame(frame)
        return _parse_for_user(lambda: parse_class(source, node, environment, cls))

    def __repr__(self) -> str:
        return "<decorator I.ir_module>"


class PyFuncDecorator:
    """`@I.pyfunc`: a Python function kept beside the functions of a module."""

    __name__ = "pyfunc"

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


class RewriterDecorator(ModuleDecorator):
    """`@R.rewriter`: a rule from the Relax functions `pattern` and `replacement` of a class."""

    __name__ = "rewriter"

    def decorate(self, cls: type, frame: FrameType) -> Any:
        """The rewriter of a class that `frame` is decorating."""
        from relax_mlir.relax.dpl.rewriter import PatternMatchingRewriter

        return PatternMatchingRewriter.from_module(super().decorate(cls, frame))

    def __repr__(self) -> str:
        return "<decorator R.rewriter>"


ir_module = ModuleDecorator()
pyfunc = PyFuncDecorator()
rewriter = RewriterDecorator()

_modules: list[ModuleContext] = []


def current_module() -> ModuleContext | None:
    """The module whose class body is being parsed, for `I.module_attrs` and its like."""
    return _modules[-1] if _modules else None


def _in_module_class(frame: FrameType) -> bool:
    """True when `frame` executes the body of a class that becomes a module."""
    if "__qualname__" not in frame.f_locals or "__module__" not in frame.f_locals:
        return False
    found = sources.enclosing_class(frame)
    if found is None:
        return True
    texts = [ast.unparse(decorator) for decorator in found[1].decorator_list]
    return any(name in text for text in texts for name in ("ir_module", "rewriter"))


# -- modules ------------------------------------------------------------------------------------


def _is_unchecked(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """True below `@I.ir_module(check_well_formed=False)`."""
    return any(
        isinstance(decorator, ast.Call)
        and any(
            k.arg == "check_well_formed" and isinstance(k.value, ast.Constant) and not k.value.value
            for k in decorator.keywords
        )
        for decorator in node.decorator_list
    )


def parse_class(
    source: Source,
    node: ast.ClassDef,
    environment: Environment,
    cls: type | None = None,
    check: bool = True,
) -> IRModule:
    """The module of a class.  Raises ParseError."""
    from relax_mlir.ir.module import IRModule
    from relax_mlir.script.parser.core import ModuleContext

    module = ModuleContext(node.name, check_well_formed=check and not _is_unchecked(node))
    _modules.append(module)
    try:
        parsers = _class_body(source, node, environment, cls, module)
        _parse_functions(module, parsers)
    finally:
        _modules.pop()
    result = IRModule(None, module.attrs, module.global_infos)
    for name in module.functions:
        result.update_func(name, module.parsed[name])
    result.__dict__["pyfuncs"] = module.pyfuncs
    return result


def _class_body(
    source: Source,
    node: ast.ClassDef,
    environment: Environment,
    cls: type | None,
    module: ModuleContext,
) -> dict[str, DialectParser]:
    """The parsers of a class's functions; its other statements are carried out."""
    from relax_mlir.script.parser.core import FunctionContext, is_docstring

    values = {} if cls is None else dict(vars(cls))
    names = VariableTable(environment)
    evaluate = Evaluator(source, names)
    old = _old_names(evaluate, node)
    if old:
        environment = environment.with_names(old)
    default = old["tir"].prim_func if old else None
    found: list[tuple[FunctionContext, FunctionDecorator]] = []
    for statement in node.body:
        if is_docstring(statement) or isinstance(statement, ast.Pass):
            continue
        if isinstance(statement, ast.FunctionDef):
            decorator, options = _decorator(evaluate, statement, default)
            if decorator is None:
                module.pyfuncs[statement.name] = values.get(statement.name, statement)
                continue
            if statement.name in module.functions:
                raise source.error(f"'{statement.name}' is defined twice", statement)
            module.functions.append(statement.name)
            seen = environment
            function = values.get(statement.name)
            if isinstance(function, FunctionType):
                closure = _closure(function)
                seen = environment.with_names(closure) if closure else environment
            found.append((FunctionContext(statement, source, seen, options, module), decorator))
        else:
            _class_statement(evaluate, statement)
    local = names.snapshot()[0]
    for context, _ in found:
        if local:
            context.environment = context.environment.with_names(local)
    return {c.name: decorator.parser_class()(c) for c, decorator in found}


def _closure(function: FunctionType) -> dict[str, Any]:
    names = function.__code__.co_freevars
    cells = function.__closure__ or ()
    closure: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=True):
        try:
            closure[name] = cell.cell_contents
        except ValueError:
            continue
    return closure


def _class_statement(evaluate: Evaluator, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Expr):
        evaluate(statement.value)
    elif isinstance(statement, ast.Assign):
        value = evaluate(statement.value)
        for target in statement.targets:
            bind(evaluate, target, value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        bind(evaluate, statement.target, evaluate(statement.value))
    elif not isinstance(statement, ast.AnnAssign):
        raise evaluate.source.error(
            f"'{type(statement).__name__.lower()}' is not supported in a module", statement
        )


def _decorator(
    evaluate: Evaluator, node: ast.FunctionDef, default: FunctionDecorator | None = None
) -> tuple[FunctionDecorator | None, dict[str, Any]]:
    """The decorator that says how to parse a function, with its options; None for a pyfunc.

    `default` is that of a function without one.
    """
    for expression in node.decorator_list:
        call = expression if isinstance(expression, ast.Call) else None
        value = evaluate(expression if call is None else call.func)
        if isinstance(value, PyFuncDecorator):
            return None, {}
        if _is_namespace(value):
            value = value.prim_func
        if not isinstance(value, FunctionDecorator):
            continue
        given = {} if call is None else evaluate.arguments(call)[1]
        try:
            return value, value.options(given)
        except TypeError as error:
            raise evaluate.source.error(str(error), expression) from None
    if default is not None:
        return default, default.options({})
    raise evaluate.source.error(
        f"function '{node.name}' has no decorator that says what it is",
        node,
        hint="decorate it with @T.prim_func, @R.function or @I.pyfunc",
    )


def _is_namespace(value: Any) -> bool:
    """True for the module `T`, which the first TVMScript used as a decorator."""
    return getattr(value, "__name__", "") == "relax_mlir.script.tir"


def _old_names(evaluate: Evaluator, node: ast.ClassDef | ast.FunctionDef) -> dict[str, Any]:
    """What the first TVMScript calls `T` inside `@tvm.script.tir`: `tir` and `ty`."""
    for expression in node.decorator_list:
        callee = expression.func if isinstance(expression, ast.Call) else expression
        value = evaluate(callee)
        if _is_namespace(value):
            return {"tir": value, "ty": value}
    return {}


def _parse_functions(module: ModuleContext, parsers: Mapping[str, DialectParser]) -> None:
    ordered = sorted(parsers.items(), key=lambda item: item[1].order)
    for name, parser in ordered:
        module.signatures[name] = parser.guard(parser.context.node, parser.declare)
    for name, parser in ordered:
        module.parsed[name] = parser.parse()


# -- text -----------------------------------------------------------------------------------------


def from_source(
    program: str | type,
    extra_vars: Mapping[str, Any] | None = None,
    check_well_formed: bool = True,
    *,
    file: str = "<str>",
    s_tir: bool = True,
) -> IRModule | BaseFunc:
    """The module or function of a program given as text (or as a class).

    `extra_vars` are names the program uses besides `T`, `R` and `I`.  The text may import from
    `tvm` or `relax_mlir` under any name, and define constants.  Several functions without a class
    make a module.  `check_well_formed=False` lets TensorIR functions use variables that nothing
    defines; everything else is always checked.  `s_tir` is TVM's and changes nothing.  Raises
    ParseError with the place in the text.
    """
    if isinstance(program, type):
        return ir_module.decorate(program, calling_frame())
    environment = Environment(dict(extra_vars or {}), StandardNames())
    source = Source.from_text(program, file)
    return _parse_for_user(lambda: _parse_text(source, environment, check_well_formed))


parse = from_source


class StandardNames(dict[str, Any]):
    """The names a program text may use without importing them, found when they are used."""

    MODULES = {
        "tvm": "relax_mlir",
        "relax_mlir": "relax_mlir",
        "I": "relax_mlir.script.ir",
        "T": "relax_mlir.script.tir",
        "R": "relax_mlir.script.relax",
    }

    def __init__(self) -> None:
        # TVM 0.27 declares symbols with TypeVar, and prints its import as a comment.
        super().__init__(dict.fromkeys(self.MODULES), ir_module=ir_module, TypeVar=TypeVar)

    def __getitem__(self, name: str) -> Any:
        if name in self.MODULES:
            return importlib.import_module(self.MODULES[name])
        return super().__getitem__(name)


def _parse_text(source: Source, environment: Environment, check: bool) -> IRModule | BaseFunc:
    names = VariableTable(environment)
    evaluate = Evaluator(source, names)
    functions: list[ast.FunctionDef] = []
    module: IRModule | None = None
    for statement in source.tree.body:
        if isinstance(statement, ast.FunctionDef):
            functions.append(statement)
        elif isinstance(statement, ast.ClassDef):
            seen = environment.with_names(names.snapshot()[0])
            module = parse_class(source, statement, seen, check=check)
            names.define(statement.name, module)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            import_names(source, names, statement)
        else:
            _class_statement(evaluate, statement)
    seen = environment.with_names(names.snapshot()[0])
    parsed = [_parse_function(source, node, seen, check) for node in functions]
    if module is None and not parsed:
        place = Span(source.file, 1, 1, source.lines[0] if source.lines else None)
        raise ParseError("the program defines no function and no module", span=place)
    if module is None and len(parsed) == 1:
        return parsed[0]
    from relax_mlir.ir.module import IRModule

    result = module or IRModule()
    for function in parsed:
        result.update_func(function.name, function)
    return result


def _parse_function(
    source: Source, node: ast.FunctionDef, environment: Environment, check: bool
) -> BaseFunc:
    from relax_mlir.script.parser.core import FunctionContext

    evaluate = Evaluator(source, VariableTable(environment))
    environment = environment.with_names(_old_names(evaluate, node))
    decorator, options = _decorator(evaluate, node)
    if decorator is None:
        raise source.error("a Python function belongs into a module", node)
    options["check_well_formed"] = check and options["check_well_formed"]
    context = FunctionContext(node, source, environment, options)
    return decorator.parser_class()(context).parse()


def import_names(source: Source, names: VariableTable, node: ast.Import | ast.ImportFrom) -> None:
    """Carry out an import; whatever comes from `tvm` is taken from relax_mlir."""
    try:
        if isinstance(node, ast.Import):
            for alias in node.names:
                module = importlib.import_module(_ours(alias.name))
                top = importlib.import_module(_ours(alias.name.partition(".")[0]))
                names.define(
                    alias.asname or alias.name.partition(".")[0], module if alias.asname else top
                )
            return
        if node.module == "__future__":
            return
        module_name = _ours(node.module or "")
        module = importlib.import_module(module_name)
        for alias in node.names:
            value = getattr(module, alias.name, None)
            if value is None:
                value = importlib.import_module(f"{module_name}.{alias.name}")
            names.define(alias.asname or alias.name, value)
    except (ImportError, Error) as error:
        raise source.error(str(error), node) from None


def _ours(name: str) -> str:
    for other in ("tvm.script.parser", "tvm.script._parser", "tvm.script.ir_builder"):
        if name == other or name.startswith(f"{other}."):
            name = "tvm.script" + name.removeprefix(other)
    top, dot, rest = name.partition(".")
    return f"relax_mlir{dot}{rest}" if top == "tvm" else name
