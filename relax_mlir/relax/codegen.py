"""Back ends of users for parts of a program (TVM's RunCodegen and `relax.ext.*`).

A back end is a Python function that gets the Relax functions meant for it and returns, for each, a
function in destination-passing style; the program then calls that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.variadic import create
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.dead_code_elimination import DeadCodeElimination
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    callee_of,
    functions_by_name,
    relax_functions,
    set_function_attributes,
    walk,
)
from relax_mlir.lowering.relax.inline_private_functions import InlinePrivateFunctions
from relax_mlir.mlir import ir
from relax_mlir.relax.function import Function

Codegen = Callable[[list[Function], dict[str, Any]], Mapping[str, Callable[..., Any]]]

_CODEGENS: dict[str, Codegen] = {}


def register_codegen(name: str, override: bool = False) -> Callable[[Codegen], Codegen]:
    """Decorator: file a back end under the name that `Codegen` attributes give it.

    `codegen(functions, options)` returns, by the name of each function, what computes it: a
    callable that gets the tensors of the arguments, then those of the outputs to write.  The
    functions hold operators only; their attribute `Composites` names the patterns they matched.

    Raises ValueError when there is one of that name already, unless `override`.
    """
    if name in _CODEGENS and not override:
        raise ValueError(f"there is a back end '{name}' already; give override=True to replace it")

    def register(codegen: Codegen) -> Codegen:
        _CODEGENS[name] = codegen
        return codegen

    return register


def run_codegen(
    mod: IRModule,
    target_options: Mapping[str, Mapping[str, Any]] | None = None,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """Let back ends compile the functions with the attribute `Codegen`.

    Their calls become `R.call_dps_packed` of registered functions.  Functions that are not reached
    from `entry_functions` (or a public one) are removed first.  Raises PassError for a back end
    that is not registered, or that leaves out a function.
    """
    options = {name: dict(given) for name, given in (target_options or {}).items()}
    result = mod.clone()
    with mlir.scope():
        if entry_functions:
            DeadCodeElimination(tuple(entry_functions)).run(result.state)
    groups: dict[str, list[Function]] = {}
    for function in result.functions.values():
        if isinstance(function, Function) and "Codegen" in function.attrs:
            groups.setdefault(str(function.attrs["Codegen"]), []).append(function)
    made: dict[str, str] = {}
    for backend, functions in groups.items():
        kernels = _codegen(backend)(
            [_alone(f, result) for f in functions], options.get(backend, {})
        )
        for function in functions:
            if function.name not in kernels:
                raise PassError(f"the back end '{backend}' gave nothing for '{function.name}'")
            made[function.name] = _publish(backend, function.name, kernels[function.name])
    if not made:
        return result
    with mlir.scope():
        for op in relax_functions(result.state):
            for call in [c for c in walk(op) if c.name == "relax.call" and callee_of(c) in made]:
                _replace(call, made[callee_of(call)])
        DeadCodeElimination(tuple(entry_functions or ())).run(result.state)
    return result.verify()


def _codegen(backend: str) -> Codegen:
    if backend in _CODEGENS:
        return _CODEGENS[backend]
    from relax_mlir.runtime import get_global_func

    found = get_global_func(f"relax.ext.{backend}", allow_missing=True)
    if found is None:
        raise PassError(
            f"there is no back end '{backend}'",
            hint=f"register it: @relax.register_codegen({backend!r}); there are "
            f"{', '.join(sorted(_CODEGENS)) or 'none'}",
        )
    return found


def _alone(function: Function, mod: IRModule) -> Function:
    """A function that calls composite functions, with their bodies in place of the calls.

    Its attribute `Composites` lists what they were, in order.
    """
    part = mod.clone()
    with mlir.scope():
        functions = functions_by_name(part.state)
        op = functions[function.name]
        called = [callee_of(call) for call in walk(op) if call.name == "relax.call"]
        names = [attributes_of_function(functions[name]).get("Composite", "") for name in called]
        set_function_attributes(op, {**attributes_of_function(op), "Composites": names})
        if "sym_visibility" in op.attributes:
            del op.attributes["sym_visibility"]
        InlinePrivateFunctions(primitive=True).run(part.state)
    made = part[function.name]
    assert isinstance(made, Function)
    return made


_published: dict[str, Any] = {}


def _publish(backend: str, name: str, kernel: Callable[..., Any]) -> str:
    """Register a kernel under a name of its own, which the program calls it by."""
    from relax_mlir.runtime import register_global_func

    symbol, number = f"{backend}.{name}", 0
    while symbol in _published and _published[symbol] is not kernel:
        number += 1
        symbol = f"{backend}.{name}.{number}"
    _published[symbol] = kernel
    register_global_func(symbol, kernel, override=True)
    return symbol


def _replace(call: ir.Operation, symbol: str) -> None:
    with ir.InsertionPoint(call):
        new = create(
            "relax.call_dps_packed",
            [call.results[0].type],
            list(call.operands),
            {"callee": ir.StringAttr.get(symbol)},
            loc=call.location,
        )
    call.results[0].replace_all_uses_with(new.result)
    call.erase()
