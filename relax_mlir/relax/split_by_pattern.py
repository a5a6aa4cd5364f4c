"""Parts of TensorIR functions that a library computes: TVM's SplitCallTIRByPattern."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.relax import types
from relax_mlir.errors import Error, PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.functions import (
    call_tir_operands,
    callee_of,
    entry_block,
    is_private,
    prim_functions,
    references,
    relax_functions,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.prim_func_parts import make_part, statements, used_buffers
from relax_mlir.lowering.relax.rewriting import OperatorWriter, replace
from relax_mlir.lowering.to_llvm.ffi_arguments import TensorSpec
from relax_mlir.lowering.to_llvm.ffi_signature import read_signature
from relax_mlir.mlir import ir
from relax_mlir.relax.nest_matching import NestMatcher
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.function import PrimFunc

__all__ = ["MatchResult", "split_call_tir_by_pattern"]

SOURCES = "c_source"
"""The attribute of a module with the sources of library functions."""

Codegen = Callable[[Sequence["MatchResult"]], Sequence[Any]]


@dataclass(frozen=True)
class MatchResult:
    """A loop nest that is what a pattern describes.

    symbol_values: those of the pattern's symbols, in the order in which it declares them.
    matched_buffers: the function's buffers, in the order of the pattern's parameters.
    """

    pattern: PrimFunc
    symbol_values: list[int]
    matched_buffers: list[Buffer]


def split_call_tir_by_pattern(
    mod: IRModule, patterns: Sequence[PrimFunc], codegen: Codegen
) -> IRModule:
    """Let library code compute the first loop nests of functions, as far as patterns match them.

    `codegen(matches)` returns (C++ source, how many of the nests it computes, the buffers it is
    given); in the source `{global_symbol}` stands for the name of its function, which takes the
    buffers and then the last buffer that the nests write.  What is left becomes a function of its
    own.  The source is compiled and its function registered, as those of `nn.SourceModule`; the
    module's attribute `c_source` has the sources by the names of their functions.
    """
    result = mod.clone()
    sources: dict[str, str] = {}
    with mlir.scope():
        kernels = prim_functions(result.state)
        plans: dict[str, _Plan | None] = {}
        for function in relax_functions(result.state):
            for op in list(walk(function)):
                name = callee_of(op) if op.name == "relax.call_tir" else ""
                if name in kernels and name not in plans:
                    plans[name] = _plan(result.state, kernels[name], patterns, codegen, sources)
                plan = plans.get(name)
                if plan is not None:
                    _call_parts(op, plan)
        _erase_unused(result.state, [name for name, plan in plans.items() if plan is not None])
    for name, text in sources.items():
        _module(name, text).load()
    return result.with_attr(SOURCES, sources) if sources else result


@dataclass(frozen=True)
class _Plan:
    """How a function is called in parts: the library's function, its arguments by position, what it
    gives, and the rest with its arguments (None when nothing is left)."""

    library: str
    inputs: list[int]
    between: ir.Type
    rest: str | None
    rest_inputs: list[int]


def _plan(
    state: ModuleState,
    kernel: ir.Operation,
    patterns: Sequence[PrimFunc],
    codegen: Codegen,
    sources: dict[str, str],
) -> _Plan | None:
    nests = statements(kernel)
    buffers = _buffers(kernel)
    matches: list[MatchResult] = []
    for nest in nests:
        found = _match(nest, patterns, buffers)
        if found is None:
            break
        matches.append(found)
    if not matches:
        return None
    source, count, given = codegen(matches)
    taken, left = nests[: int(count)], nests[int(count) :]
    written, later = _written(taken), _written(left)
    # The library's last buffer is the result, or one that only the function itself knows.
    if not taken or set(written) & set(later) or _is_parameter(written[-1]) == bool(left):
        return None
    name, between = symbol_name(kernel), written[-1]
    inputs = [_position(kernel, buffers, buffer, name) for buffer in given]
    # Registered names are the process's: other code under the same name would take its place.
    library = f"{name}_library_{hashlib.sha256(str(source).encode()).hexdigest()[:8]}"
    sources[library] = str(source).replace("{global_symbol}", library)
    if not left:
        return _Plan(library, inputs, _tensor_type(kernel, between, name), None, [])
    parameters = list(entry_block(kernel).arguments)
    used = [value for value in parameters if value in set(used_buffers(left)) and value != between]
    rest = make_part(state, kernel, f"{name}_epilogue", left, [between, *used])
    kind = _tensor_type(rest, entry_block(rest).arguments[0], name)
    return _Plan(library, inputs, kind, symbol_name(rest), [v.arg_number for v in used[:-1]])


def _is_parameter(buffer: ir.Value) -> bool:
    return isinstance(buffer, ir.BlockArgument)


def _match(
    nest: ir.Operation, patterns: Sequence[PrimFunc], buffers: dict[ir.Value, Buffer]
) -> MatchResult | None:
    if nest.name != "tir.for":
        return None
    for pattern in patterns:
        values = _symbol_values(pattern, nest)
        if values is None:
            continue
        special = pattern.specialize(values) if values else pattern
        matched = NestMatcher(special.operation).match(nest)
        if matched is not None and all(buffer in buffers for buffer in matched):
            own = [buffers[buffer] for buffer in matched]
            return MatchResult(pattern, list(values.values()), own)
    return None


def _symbol_values(pattern: PrimFunc, nest: ir.Operation) -> dict[str, int] | None:
    """The pattern's symbols by the constant extents of the loops that run over them; None when the
    loops are others."""
    described = [op for s in statements(pattern.operation) for op in _loops(s)]
    found = _loops(nest)
    if len(described) != len(found):
        return None
    values: dict[str, int] = {}
    for one, other in zip(described, found, strict=True):
        extent, size = one.opview.extent, other.opview.extent
        if not isinstance(size, int):
            return None
        if isinstance(extent, int):
            if extent != size:
                return None
        elif not name_of(extent) or values.setdefault(str(name_of(extent)), size) != size:
            return None
    return values


def _loops(statement: ir.Operation) -> list[ir.Operation]:
    return [op for op in (statement, *walk(statement)) if op.name == "tir.for"]


def _buffers(kernel: ir.Operation) -> dict[ir.Value, Buffer]:
    """The function's buffers as Python values."""
    values = [v for v in entry_block(kernel).arguments if isinstance(v.type, ir.MemRefType)]
    values += [op.results[0] for op in walk(kernel) if op.name == "tir.alloc_buffer"]
    return {value: _buffer(value) for value in values}


def _buffer(value: ir.Value) -> Buffer:
    kind = ir.MemRefType(value.type)
    return Buffer(name_of(value) or "buffer", list(kind.shape), dtypes.from_mlir(kind.element_type))


def _written(nests: Sequence[ir.Operation]) -> list[ir.Value]:
    return [op.operands[0] for nest in nests for op in walk(nest) if op.name == "tir.write"]


def _position(
    kernel: ir.Operation, buffers: dict[ir.Value, Buffer], buffer: Buffer, name: str
) -> int:
    for value, own in buffers.items():
        if own is buffer and isinstance(value, ir.BlockArgument):
            return value.arg_number
    raise PassError(f"'{name}': the library is given parameters of the function, not {buffer}")


def _tensor_type(function: ir.Operation, buffer: ir.Value, name: str) -> ir.Type:
    if not isinstance(buffer, ir.BlockArgument):
        raise PassError(f"'{name}': what the library writes is no parameter")
    spec = read_signature(function)[buffer.arg_number]
    if isinstance(spec, TensorSpec) and spec.dims is not None:
        sizes: list[Dim] = [dim for dim in spec.dims if isinstance(dim, int)]
        if len(sizes) == len(spec.dims):
            return types.tensor_type(sizes, spec.dtype)
    raise PassError(f"'{name}': what the library writes needs constant sizes")


def _call_parts(op: ir.Operation, plan: _Plan) -> None:
    arguments, _ = call_tir_operands(op)
    writer = OperatorWriter(op)
    library = {"callee": ir.StringAttr.get(plan.library)}
    given = [arguments[position] for position in plan.inputs]
    made = writer.raw("relax.call_dps_packed", plan.between, given, library)
    if plan.rest is not None:
        rest = {"callee": ir.FlatSymbolRefAttr.get(plan.rest)}
        operands = [made, *(arguments[position] for position in plan.rest_inputs)]
        made = writer.raw("relax.call_tir", op.results[0].type, operands, rest)
    replace(op, made)


def _erase_unused(state: ModuleState, names: Sequence[str]) -> None:
    used = set[str]().union(*(references(f) for f in state.functions()))
    for name, kernel in prim_functions(state).items():
        if name in names and is_private(kernel) and name not in used:
            kernel.erase()


def _module(name: str, source: str) -> Any:
    from relax_mlir.relax.frontend.nn.extern import SourceModule

    def unknown(*_: Any) -> Any:
        raise Error(f"'{name}' is called by the functions it was made for")

    return SourceModule({name: unknown}, source if "\n" in source else f"{source}\n")
