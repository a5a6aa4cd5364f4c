"""Modules whose calls become calls of a function: `define_subroutine = True` in the class."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from relax_mlir.errors import Error
from relax_mlir.relax import expr as rx
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.frontend.nn.core import Tensor, unwrap, wrap_nested
from relax_mlir.relax.location import user_span

__all__ = ["SubroutineMixin", "dispatching"]


def dispatching(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, or a call of the function made of it where the class asks for one."""
    if forward in _DISPATCHING:
        return forward

    @functools.wraps(forward)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.define_subroutine:
            return forward(self, *args, **kwargs)
        return _call_subroutine(self, forward, args, kwargs)

    _DISPATCHING.add(call)
    return call


_DISPATCHING: WeakSet[Callable[..., Any]] = WeakSet()
"""What `dispatching` made: classes with two bases that call it get it twice."""


class SubroutineMixin:
    """Gives any class with a `forward` what `nn.Module` has: `define_subroutine`."""

    define_subroutine = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "forward" in vars(cls):
            cls.forward = dispatching(vars(cls)["forward"])


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _call_subroutine(
    module: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    builder = BlockBuilder.current()
    if builder is None:
        raise Error(
            f"{type(module).__name__} makes a function of its own, for which it must be exported",
            span=user_span(),
        )
    bound = inspect.signature(forward).bind(module, *args, **kwargs).arguments
    named = dict(list(bound.items())[1:])
    odd = [name for name, value in named.items() if not isinstance(value, Tensor)]
    if odd:
        raise Error(f"argument '{odd[0]}' of a function must be a tensor", span=user_span())
    weights = list(dict.fromkeys(module.parameters()))
    values = [*named.values(), *weights]
    kinds = [value.expr.struct_info for value in values]
    known: dict[Any, Any] = builder.__dict__.setdefault("subroutines", {})
    key = (type(module), tuple(map(str, kinds)), _settings(module))
    if key not in known:
        known[key] = _make(builder, module, forward, named, weights)
    call = rx.Call(known[key], [value.expr for value in values])
    return wrap_nested(call, f"{known[key].name_hint}_output")


def _settings(module: Any) -> str:
    """What distinguishes modules of a class: their plain attributes, through all levels."""
    parts: list[str] = []
    for name, value in sorted(vars(module).items()):
        if isinstance(value, (int, float, str, bool, type(None), list, tuple)):
            parts.append(f"{name}={value!r}")
        elif hasattr(value, "named_parameters"):
            parts.append(f"{name}=({_settings(value)})")
    return ",".join(parts)


def _make(
    builder: BlockBuilder,
    module: Any,
    forward: Callable[..., Any],
    named: dict[str, Any],
    weights: list[Any],
) -> Any:
    """A private function of the module under construction, from `forward`."""
    paths = {id(parameter): name for name, parameter in module.named_parameters()}
    names = [*named, *[paths[id(w)].replace(".", "_") for w in weights]]
    values = [*named.values(), *weights]
    variables = [rx.Var(n, v.expr.struct_info) for n, v in zip(names, values, strict=True)]
    saved = [value.expr for value in values]
    inner = BlockBuilder()
    name = _snake(type(module).__name__)
    try:
        for value, variable in zip(values, variables, strict=True):
            value.expr = variable
        with inner.function(name, variables, private=True):
            with inner.dataflow():
                result = forward(module, *named.values())
                output = inner.emit_output(_expr(result))
            inner.emit_func_output(output)
    finally:
        for value, expr in zip(values, saved, strict=True):
            value.expr = expr
    made = inner.get()
    return _adopt(builder, made, name)


def _adopt(builder: BlockBuilder, made: Any, name: str) -> Any:
    """Add the functions of another module; the variable of the one of that name."""
    others = [var for var in made.get_global_vars() if var.name_hint != name]
    if others:
        names = ", ".join(var.name_hint for var in others)
        raise Error(
            f"a module with define_subroutine calls functions of its own ({names})",
            hint="use operators, or leave define_subroutine to the outer module",
        )
    return builder.add_func(made[name], name)


def _expr(value: Any) -> rx.Expr:
    inner = unwrap(value)
    if isinstance(inner, (list, tuple)):
        return rx.Tuple([_expr(item) for item in value])
    return inner
