"""Questions about whole modules and TensorIR functions (part of `relax.analysis`)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

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

_LARGEST = 1 << 22
"""Elements that are looked at one by one."""


def has_reshape_pattern(func: PrimFunc) -> bool:
    """True when a TensorIR function only copies a buffer to one of another shape, in order.

    Decided for constant sizes, by comparing the two places of every element.
    """
    with mlir.scope():
        blocks = [op for op in walk(func.operation) if op.name == "tir.block"]
        inner = [op for op in blocks if not any(o.name == "tir.block" for o in walk(op))]
        if len(inner) != 1:
            return False
        return _copies_in_order(inner[0])


def _copies_in_order(block: ir.Operation) -> bool:
    stores = [op for op in walk(block) if op.name == "memref.store"]
    if len(stores) != 1:
        return False
    store = stores[0]
    value, target, *to = list(store.operands)
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "memref.load":
        return False
    source, *at = list(value.owner.operation.operands)
    shapes = [ir.MemRefType(buffer.type) for buffer in (source, target)]
    if not all(shape.has_static_shape for shape in shapes):
        return False
    sizes = [list(shape.shape) for shape in shapes]
    domains = from_attribute(block.attributes["domains"])
    extents = list(itertools.islice(domains, 1, None, 2))
    starts = list(itertools.islice(domains, 0, None, 2))
    count = int(np.prod(sizes[0], dtype=np.int64))
    if count != int(np.prod(sizes[1], dtype=np.int64)) or not 0 < count <= _LARGEST:
        return False
    if int(np.prod(extents, dtype=np.int64)) != count:
        return False
    grid = np.meshgrid(*map(np.arange, extents), indexing="ij") if extents else []
    arguments = list(block.regions[0].blocks[0].arguments)
    known: dict[ir.Value, Any] = {
        arg: axis + start for arg, axis, start in zip(arguments, grid, starts, strict=True)
    }
    read, written = (
        _flat(indices, size, known) for indices, size in zip((at, to), sizes, strict=True)
    )
    return read is not None and written is not None and bool(np.array_equal(read, written))


def _flat(indices: list[ir.Value], sizes: list[int], known: dict[ir.Value, Any]) -> Any:
    """The position in memory for every iteration, or None when it cannot be told."""
    flat: Any = np.int64(0)
    for index, size in zip(indices, sizes, strict=True):
        value = _evaluate(index, known)
        if value is None:
            return None
        flat = flat * size + value
    return flat


def _evaluate(value: ir.Value, known: dict[ir.Value, Any]) -> Any:
    if value in known:
        return known[value]
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name == "arith.constant":
        return int(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name != "affine.apply":
        return None
    operands = [_evaluate(operand, known) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    chosen = ir.AffineMapAttr(op.attributes["map"]).value
    return _affine(chosen.results[0], operands, chosen.n_dims)


_BINARY = (
    (ir.AffineAddExpr, np.add),
    (ir.AffineMulExpr, np.multiply),
    (ir.AffineModExpr, np.mod),
    (ir.AffineFloorDivExpr, np.floor_divide),
    (ir.AffineCeilDivExpr, lambda a, b: -(-a // b)),
)


def _affine(expression: ir.AffineExpr, operands: list[Any], dims: int) -> Any:
    if isinstance(expression, ir.AffineDimExpr):
        return operands[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return operands[dims + expression.position]
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    for kind, function in _BINARY:
        if isinstance(expression, kind):
            left, right = (_affine(e, operands, dims) for e in (expression.lhs, expression.rhs))
            return function(left, right)
    raise TypeError(f"not an affine expression: {expression}")


__all__ = [
    "computable_at_compile_time",
    "detect_recursion",
    "estimate_memory_usage",
    "has_reshape_pattern",
]
