"""`@T.macro` (TVM 0.27: `T.inline`): a piece of a program, parsed anew at every call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from relax_mlir.script.parser.environment import Environment, calling_frame
from relax_mlir.script.parser.source import Source, of_function


@dataclass
class MacroCall:
    """A macro with its arguments: the parser inlines it."""

    macro: Macro
    arguments: dict[str, Any]


@dataclass
class Macro:
    """A macro: where it is written and what its names mean there.

    A hygienic macro sees the names of its definition, another those of its caller.
    """

    source: Source
    node: ast.FunctionDef
    environment: Environment
    hygienic: bool = True

    def __call__(self, *args: Any, **keywords: Any) -> MacroCall:
        """The call.  Raises TypeError when the arguments do not fit."""
        bound = signature(self.node).bind(*args, **keywords)
        arguments = dict(bound.arguments)
        for name, parameter in bound.signature.parameters.items():
            if name in arguments:
                continue
            if parameter.default is not inspect.Parameter.empty:
                arguments[name] = ast.literal_eval(parameter.default)
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                arguments[name] = ()
            else:
                arguments[name] = {}
        return MacroCall(self, arguments)


def signature(node: ast.FunctionDef) -> inspect.Signature:
    """The signature of a definition; defaults are left as syntax."""
    kinds = inspect.Parameter
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults: list[Any] = [kinds.empty] * (len(positional) - len(args.defaults)) + args.defaults
    parameters = [
        inspect.Parameter(argument.arg, kinds.POSITIONAL_OR_KEYWORD, default=default)
        for argument, default in zip(positional, defaults, strict=True)
    ]
    if args.vararg is not None:
        parameters.append(inspect.Parameter(args.vararg.arg, kinds.VAR_POSITIONAL))
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        given: Any = kinds.empty if default is None else default
        parameters.append(inspect.Parameter(argument.arg, kinds.KEYWORD_ONLY, default=given))
    if args.kwarg is not None:
        parameters.append(inspect.Parameter(args.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


class MacroDecorator:
    """`@T.macro`, plain or with `hygienic=`."""

    __name__ = "macro"

    def __call__(self, function: Callable[..., Any] | None = None, *, hygienic: bool = True) -> Any:
        if function is None:
            return lambda f: self._decorate(
                f, hygienic, Environment.of_function(f, calling_frame())
            )
        return self._decorate(
            function, hygienic, Environment.of_function(function, calling_frame())
        )

    @staticmethod
    def _decorate(function: Callable[..., Any], hygienic: bool, environment: Environment) -> Macro:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@T.macro decorates a function, not a {type(function).__name__}")
        source, node = of_function(function)
        return Macro(source, node, environment, hygienic)
