"""Questions about whole modules and TensorIR functions (part of `relax.analysis`)."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import mlir
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.ir.function import GlobalVar
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import find_pass
from relax_mlir.lowering.relax.functions import (
    functions_by_name,
    references,
    relax_functions,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.reshape_pattern import is_reshape
from relax_mlir.lowering.relax.static_plan_block_memory import PLACES, PLAN
from relax_mlir.mlir import ir
from relax_mlir.relax.expr import Expr, ExternFunc, If, Var
from relax_mlir.relax.function import Function
from relax_mlir.relax.lowering import post_order
from relax_mlir.tir.function import PrimFunc


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """The groups of functions that call each other in a circle, or themselves; by name."""
    with mlir.scope():
        functions = functions_by_name(mod.state)
        calls = {name: references(op) & set(functions) for name, op in functions.items()}
    reached = {name: _reachable(name, calls) for name in calls}
    groups: list[list[GlobalVar]] = []
    seen: set[str] = set()
    for name in sorted(calls):
        if name in seen or name not in reached[name]:
            continue
        circle = sorted(n for n in reached[name] if name in reached[n])
        seen.update(circle)
        groups.append([GlobalVar(n) for n in circle])
    return groups


def _reachable(name: str, calls: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        for callee in calls[pending.pop()] - found:
            found.add(callee)
            pending.append(callee)
    return found


def estimate_memory_usage(mod: IRModule | Function) -> str:
    """How much memory the intermediate tensors of each Relax function take, as text.

    For sizes known at compile time the number of tensors and their bytes, without and with the plan
    that lets tensors share memory; for sizes that depend on symbols the expressions of the plan.
    """
    module = mod if isinstance(mod, IRModule) else IRModule({mod.name: mod})
    copy = module.clone()
    lines = ["Memory usage estimation:"]
    with mlir.scope():
        for name in ("relax-legalize-ops", "relax-static-plan-block-memory"):
            chosen = find_pass(name)
            assert chosen is not None  # both are passes of this package
            chosen().run(copy.state)
        for function in relax_functions(copy.state):
            lines.extend(_usage(function))
    return "\n".join(lines)


def _usage(function: ir.Operation) -> list[str]:
    lines = [f"- Function {symbol_name(function)}:"]
    if PLAN not in function.attributes:
        return [*lines, " * There are no intermediate tensors."]
    plan = from_attribute(function.attributes[PLAN])
    places = [
        place
        for op in walk(function)
        if PLACES in op.attributes
        for place in ir.ArrayAttr(op.attributes[PLACES])
        if not isinstance(place, ir.UnitAttr)
    ]
    fixed = [place for place in places if isinstance(place, ir.IntegerAttr)]
    before, after = plan["unshared_bytes"], plan["static_bytes"]
    lines.append(f" * Without memory planning, {len(places)} tensors take {before} bytes.")
    lines.append(
        f" * With memory planning, {len(fixed)} tensors of constant size take {after} bytes."
    )
    if str(before).isdigit() and int(before):
        lines.append(f" * Memory planning reduces memory to {100 * after / int(before):.1f}%.")
    if plan["tokens"]:
        sizes = ", ".join(map(str, plan["tokens"]))
        lines.append(f" * Tensors of sizes that depend on symbols share blocks of {sizes} bytes.")
    return lines


def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables that depend on a model's parameters only, those from `num_input` on first.

    Empty for a function without the attribute `num_input`.
    """
    if "num_input" not in func.attrs:
        return []
    known = list(func.params[int(func.attrs["num_input"]) :])
    seen = set(known)
    for binding in func.body.bindings:
        if isinstance(binding.value, If):
            continue  # its branches use what no one sees from here
        parts = post_order(binding.value)
        used = [part for part in parts if isinstance(part, Var)]
        if used and all(var in seen for var in used) and not _has_effect(parts):
            seen.add(binding.var)
            known.append(binding.var)
    return known


def _has_effect(parts: Sequence[Expr]) -> bool:
    return any(isinstance(getattr(part, "op", None), ExternFunc) for part in parts)


# -- reshapes ---------------------------------------------------------------------------------


def has_reshape_pattern(func: PrimFunc) -> bool:
    """True when a TensorIR function only copies a buffer to one of another shape, in order.

    With constant sizes the two places of every element are compared, with others their expressions.
    """
    with mlir.scope():
        return is_reshape(func.operation)


__all__ = [
    "computable_at_compile_time",
    "detect_recursion",
    "estimate_memory_usage",
    "has_reshape_pattern",
]
