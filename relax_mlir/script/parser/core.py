"""The parser core: contexts, the base class of dialect parsers, and how a dialect plugs in.

A dialect plugs in with three things:

1. A namespace module (`relax_mlir/script/tir.py`, `.../relax.py`) with a decorator

       prim_func = FunctionDecorator(
           "T.prim_func", "relax_mlir.script.parser.prim_func:TirParser", {"private": False}
       )

   The dictionary names the decorator's options and their defaults; anything else is refused.

2. A subclass of `DialectParser`.  The core makes one per function,
   `TirParser(FunctionContext)`, calls `declare()` on every function of a module and then `parse()`,
   functions of dialects with a lower `order` first.  `parse()` returns the function as a `BaseFunc`
   (`PrimFunc`, `relax.Function`), named `self.context.name`.

3. `visit_<statement>` methods (`visit_assign`, `visit_with`, ... the class name of the `ast` node
   in lower case).  `self.visit_body(statements)` dispatches; a statement without a method is an
   error at its place.  `at(node)` is called before each statement: set the builder's location.

Inside, a dialect parser has
- `self.evaluate(expr)`: the Python value of an `ast` expression (`Evaluator`); what `and`, `or`,
  `not`, `x if c else y` mean is in `self.semantics` (class attribute `semantics_class`);
- `self.names`: the `VariableTable` (`with self.names.scope()`, `define`, `assign`, `is_local`);
- `self.error(message, node)`: the ParseError to raise; any `relax_mlir.errors.Error` or Python
  exception that a statement raises is turned into one at that statement by itself;
- `self.span(node)`: the place of a node, for locations;
- `self.context`: the `FunctionContext` (`node`, `options`, `module`, `name`);
- `self.context.module`: the `ModuleContext` or None.  Its functions are found by bare name
  (`linear0`) and through the class (`cls = Module`, `Module.linear0`), both as `GlobalVar`;
  `module.signature(name)` is what that function's `declare()` returned, `module.parsed[name]` the
  function once it is parsed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from relax_mlir.errors import Error, ParseError, Span
from relax_mlir.ir.function import BaseFunc, GlobalVar
from relax_mlir.script.parser.environment import Environment, VariableTable
from relax_mlir.script.parser.evaluator import Evaluator, Semantics
from relax_mlir.script.parser.source import Source


@dataclass
class ModuleContext:
    """The module being parsed, as its functions see it."""

    name: str
    functions: list[str] = field(default_factory=list)
    signatures: dict[str, Any] = field(default_factory=dict)
    parsed: dict[str, BaseFunc] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    global_infos: dict[str, Any] = field(default_factory=dict)
    pyfuncs: dict[str, Any] = field(default_factory=dict)
    check_well_formed: bool = True

    def names(self) -> dict[str, Any]:
        """What the module adds to the names that its functions see."""
        return {self.name: ModuleReference(self), **{n: GlobalVar(n) for n in self.functions}}

    def signature(self, name: str) -> Any:
        """What the function's parser declared, or None when it declares nothing."""
        return self.signatures.get(name)


class ModuleReference:
    """The module's class inside its own functions: `cls = Module`, then `cls.relu`."""

    def __init__(self, module: ModuleContext):
        self._module = module

    def __getattr__(self, name: str) -> GlobalVar:
        module = self._module
        if name not in module.functions:
            known = ", ".join(module.functions) or "none"
            raise AttributeError(f"'{module.name}' has no function '{name}'; it has {known}")
        return GlobalVar(name)

    def get_global_var(self, name: str) -> GlobalVar:
        return getattr(self, name)


@dataclass
class FunctionContext:
    """One function to parse."""

    node: ast.FunctionDef
    source: Source
    environment: Environment
    options: Mapping[str, Any]
    module: ModuleContext | None = None

    @property
    def name(self) -> str:
        return self.node.name


class DialectParser:
    """Base of the parsers of T and R functions; see the module's docstring."""

    order: ClassVar[int] = 0
    """Functions of a lower order are parsed first: TensorIR before Relax, which calls it."""

    semantics_class: ClassVar[type[Semantics]] = Semantics

    def __init__(self, context: FunctionContext):
        self.context = context
        environment = context.environment
        if context.module is not None:
            environment = environment.with_names(context.module.names())
        self.names = VariableTable(environment)
        self.semantics = self.semantics_class()
        self.semantics.parser = self
        self.evaluate = Evaluator(context.source, self.names, self.semantics)

    def declare(self) -> Any:
        """The function's signature for its callers, before any body is parsed."""
        return None

    def parse(self) -> BaseFunc:
        """Parse the function.  Raises ParseError."""
        raise TypeError(f"{type(self).__name__} does not parse functions")

    # -- statements -----------------------------------------------------------------------------

    def visit_body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit(self, node: ast.stmt) -> None:
        """Parse one statement.  Raises ParseError at the statement, or deeper."""
        method = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(f"{_describe(node)} is not supported here", node)
        self.at(node)
        self.guard(node, method, node)

    def guard(self, node: ast.AST, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function; whatever fails becomes a ParseError at `node`."""
        try:
            return function(*args)
        except ParseError as error:
            if error.span is None:
                raise self.error(error.message, node, hint=error.hint) from error
            raise
        except Error as error:
            raise self.error(error.message, node, hint=error.hint) from error
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            raise self.error(str(error) or type(error).__name__, node) from error

    def at(self, node: ast.stmt) -> None:
        """Called before each statement; dialects set their builder's location."""

    def visit_pass(self, node: ast.Pass) -> None:
        """`pass` does nothing."""

    def visit_nonlocal(self, node: ast.Nonlocal) -> None:
        """Tells Python whose a name is; names are found so anyway."""

    def visit_global(self, node: ast.Global) -> None:
        """As `nonlocal`."""

    # -- services -------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        return self.context.source.span(node)

    def error(self, message: str, node: ast.AST, *, hint: str | None = None) -> ParseError:
        """A ParseError at a node; raise it."""
        return self.context.source.error(message, node, hint=hint)

    def option(self, name: str) -> Any:
        """The value of a decorator option."""
        return self.context.options[name]


def is_docstring(node: ast.stmt) -> bool:
    """True for a statement that is a string or `...`: it says nothing to the parser."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and (isinstance(node.value.value, str) or node.value.value is ...)
    )


_STATEMENTS = {
    "FunctionDef": "a nested function",
    "AsyncFunctionDef": "an async function",
    "ClassDef": "a nested class",
    "Delete": "'del'",
    "With": "'with'",
    "AsyncFor": "'async for'",
    "AsyncWith": "'async with'",
    "Import": "'import'",
    "ImportFrom": "'import'",
    "Global": "'global'",
    "Nonlocal": "'nonlocal'",
    "Try": "'try'",
    "AugAssign": "an augmented assignment",
    "AnnAssign": "an annotated assignment",
    "Assign": "an assignment",
}


def _describe(node: ast.stmt) -> str:
    kind = type(node).__name__
    return _STATEMENTS.get(kind, f"'{kind.lower()}'")
