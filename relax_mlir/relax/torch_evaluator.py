"""Relax functions run by PyTorch: every operation of a function's body as it stands, in order.

What a Relax function means does not depend on this package's compiler then, so that results before
and after a pass, or of compiled code, can be compared with what PyTorch computes.  TensorIR
functions that the program calls are compiled; there is no other way to run them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import read_constant
from relax_mlir.dialects.relax.spec import attributes_of, operand_groups, spec_of
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import (
    call_tir_operands,
    callee_of,
    entry_block,
    functions_by_name,
    operations,
    prim_functions,
    walk,
)
from relax_mlir.lowering.relax.index_maps import evaluate
from relax_mlir.mlir import ir
from relax_mlir.relax.array_exchange import as_torch, to_tensor
from relax_mlir.relax.base_py_module import BasePyModule
from relax_mlir.relax.torch_functions import TorchFunction
from relax_mlir.relax.torch_functions.dtypes import torch_dtype

__all__ = ["TorchEvaluator", "unknown_operators"]

Op = ir.Operation
Handler = Callable[["Frame", Op], Any]
_HANDLERS: dict[str, Handler] = {}
ENDS = ("func.return", "relax.output", "relax.yield")


def unknown_operators(function: Op, table: Mapping[str, TorchFunction]) -> list[str]:
    """The operators in a function that neither the table nor this file knows."""
    found: set[str] = set()
    for op in walk(function):
        spec = spec_of(op)
        known = spec.name in table or op.name in _HANDLERS if spec else op.name in _HANDLERS
        if not known and op.name not in ENDS:
            found.add(op.name.removeprefix("relax.") if spec is None else spec.name)
    return sorted(found)


class TorchEvaluator:
    """Runs the functions of a module, with one torch function an operator.

    `python_functions` are those that `R.call_py_func` names; their `self` is `host`, the module's
    `BasePyModule`, first.
    """

    def __init__(
        self,
        module: IRModule,
        table: Mapping[str, TorchFunction],
        python_functions: Mapping[str, Callable[..., Any]],
    ):
        self.module = module
        self.table = table
        self.host = BasePyModule(module, python_functions=python_functions)
        with mlir.scope():
            self.functions = functions_by_name(module.state)
            self.kernels = prim_functions(module.state)

    def run(self, name: str, args: Sequence[Any]) -> Any:
        """The result of a Relax function on torch tensors, tuples of sizes and numbers."""
        with mlir.scope():
            return Frame(self).enter(entry_block(self.functions[name]), name, args)

    def call(self, name: str, args: Sequence[Any]) -> Any:
        """A function of the module, called as the program calls it."""
        if name in self.kernels:
            self.host.tir_function(name)(*[to_tensor(arg) for arg in args])
            return ()
        return self.run(name, args)


class Frame:
    """The values and the sizes of one call.  A closure starts from those around it."""

    def __init__(self, evaluator: TorchEvaluator, outer: Frame | None = None):
        self.evaluator = evaluator
        self.values: dict[ir.Value, Any] = {} if outer is None else dict(outer.values)
        self.sizes: dict[str, Any] = {} if outer is None else dict(outer.sizes)

    def enter(self, block: ir.Block, what: str, args: Sequence[Any]) -> Any:
        """The value of a block with parameters.  Raises Error for arguments that do not fit."""
        wanted = len(block.arguments)
        if len(args) != wanted:
            raise Error(f"{what} takes {wanted} arguments, {len(args)} given")
        for argument, value in zip(block.arguments, args, strict=True):
            self.bind_sizes(argument.type, value, what)
            self.values[argument] = value
        return self.block(block)[0]

    def block(self, block: ir.Block) -> list[Any]:
        """Runs a block; what its last operation gives."""
        *body, end = operations(block)
        for op in body:
            self.run(op)
        return [self.values[value] for value in end.operands]

    def run(self, op: Op) -> None:
        if op.name == "relax.dataflow":
            outputs = self.block(op.regions[0].blocks[0])
            self.values.update(zip(op.results, outputs, strict=True))
            return
        spec = spec_of(op)
        known = spec is not None and spec.name in self.evaluator.table
        made = _operator(self, op) if known else _HANDLERS[op.name](self, op)
        self.values[op.results[0]] = _as_declared(made, op.results[0].type)

    def operands(self, op: Op) -> list[Any]:
        return [self.values[value] for value in op.operands]

    def size(self, dim: dim_algebra.Dim) -> int:
        found = dim_algebra.substitute(dim, self.sizes)
        if not isinstance(found, int):
            raise Error(f"the size {dim} is not known; {self.sizes} are")
        return found

    def bind_sizes(self, kind: ir.Type, value: Any, what: str) -> None:
        """Symbols of a type are the sizes of the value; other sizes must agree."""
        fields = types.tuple_fields(kind)
        if fields is not None:
            for field, part in zip(fields, value, strict=True):
                self.bind_sizes(field, part, what)
            return
        wanted, given = _sizes_of(kind, value)
        if wanted is None:
            return
        if len(wanted) != len(given):
            raise Error(f"{what}: {types.describe(kind)} has another rank than the sizes {given}")
        later: list[tuple[dim_algebra.Dim, int]] = []
        for dim, size in zip(wanted, given, strict=True):
            if dim_algebra.is_symbol(dim) and str(dim) not in self.sizes:
                self.sizes[str(dim)] = size
            else:
                later.append((dim, size))
        for dim, size in later:
            found = dim_algebra.substitute(dim, self.sizes)
            if isinstance(found, int) and found != size:
                raise Error(f"{what}: {types.describe(kind)} has {dim} = {found}, not {size}")


def _sizes_of(kind: ir.Type, value: Any) -> tuple[Sequence[dim_algebra.Dim] | None, Sequence[int]]:
    """The sizes that a type says, and those of a value."""
    tensor, shape, prim = types.tensor_info(kind), types.shape_info(kind), types.prim_info(kind)
    if tensor is not None:
        return tensor.dims, tuple(value.shape)
    if shape is not None:
        return shape.dims, tuple(value)
    if prim is not None and prim[1] is not None:
        return (prim[1],), (value,)
    return None, ()


def _as_declared(value: Any, kind: ir.Type) -> Any:
    """A value in the dtype that the program says, which torch may have chosen differently."""
    fields = types.tuple_fields(kind)
    if fields is not None:
        return tuple(_as_declared(v, field) for v, field in zip(value, fields, strict=True))
    info = types.tensor_info(kind)
    if info is None or info.dtype is None or not hasattr(value, "to"):
        return value
    return value.to(torch_dtype(info.dtype))


def _operator(frame: Frame, op: Op) -> Any:
    """An operator of the table, as its row says."""
    spec = spec_of(op)
    assert spec is not None  # `run` asked
    given = [
        [frame.values[v] for v in group]
        if isinstance(group, list)
        else None
        if group is None
        else frame.values[group]
        for group in operand_groups(op)
    ]
    try:
        return frame.evaluator.table[spec.name](*given, **attributes_of(op))
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise Error(f"relax.{spec.name}, run by PyTorch: {error}") from error


def evaluates(*names: str) -> Callable[[Handler], Handler]:
    """Files the handler of some operations, named without `relax.`."""

    def file(handler: Handler) -> Handler:
        _HANDLERS.update({f"relax.{name}": handler for name in names})
        return handler

    return file


# -- values -------------------------------------------------------------------------------------


@evaluates("bind", "dataflow")
def _bind(frame: Frame, op: Op) -> Any:
    return frame.values[op.operands[0]]


@evaluates("match_cast")
def _match_cast(frame: Frame, op: Op) -> Any:
    value = frame.values[op.operands[0]]
    frame.bind_sizes(op.results[0].type, value, "match_cast")
    return value


@evaluates("constant")
def _constant(frame: Frame, op: Op) -> Any:
    from relax_mlir.runtime.tensor import tensor

    array = read_constant(op, frame.evaluator.module.state.constants)
    if array is None:
        raise Error("a constant of the function is not in the module's table")
    return as_torch(tensor(array))


@evaluates("shape_expr")
def _shape_expr(frame: Frame, op: Op) -> Any:
    info = types.shape_info(op.results[0].type)
    assert info is not None and info.dims is not None  # the verifier asks for it
    return tuple(frame.size(dim) for dim in info.dims)


@evaluates("prim_value")
def _prim_value(frame: Frame, op: Op) -> Any:
    if "value" in op.attributes:
        return from_attribute(op.attributes["value"])
    info = types.prim_info(op.results[0].type)
    assert info is not None and info[1] is not None  # the verifier asks for one of both
    return frame.size(info[1])


@evaluates("string")
def _string(frame: Frame, op: Op) -> str:
    return ir.StringAttr(op.attributes["value"]).value


@evaluates("data_type")
def _data_type(frame: Frame, op: Op) -> str:
    return dtypes.from_mlir(ir.TypeAttr(op.attributes["value"]).value)


@evaluates("tuple")
def _tuple(frame: Frame, op: Op) -> Any:
    return tuple(frame.operands(op))


@evaluates("tuple_get_item")
def _tuple_get_item(frame: Frame, op: Op) -> Any:
    return frame.values[op.operands[0]][ir.IntegerAttr(op.attributes["index"]).value]


@evaluates("if")
def _if(frame: Frame, op: Op) -> Any:
    chosen = op.regions[0 if bool(frame.values[op.operands[0]]) else 1]
    return frame.block(chosen.blocks[0])[0]


@evaluates("layout_transform")
def _layout_transform(frame: Frame, op: Op) -> Any:
    """What no element becomes is filled with `pad_value`."""
    import torch

    (x,) = frame.operands(op)
    attributes = attributes_of(op)
    info = types.tensor_info(op.results[0].type)
    assert info is not None and info.dims is not None  # inferred from the map
    fill = attributes["pad_value"] or 0
    out = torch.full([frame.size(dim) for dim in info.dims], fill, dtype=x.dtype)
    grid = list(np.indices(tuple(x.shape)))
    places = [evaluate(expr, grid) for expr in attributes["index_map"].value.results]
    out[tuple(torch.as_tensor(np.broadcast_to(p, x.shape).copy()) for p in places)] = x
    return out


# -- functions ----------------------------------------------------------------------------------


@evaluates("function_ref")
def _function_ref(frame: Frame, op: Op) -> Callable[..., Any]:
    name, evaluator = callee_of(op), frame.evaluator
    return lambda *args: evaluator.call(name, args)


@evaluates("extern_func")
def _extern_func(frame: Frame, op: Op) -> Callable[..., Any]:
    name = callee_of(op)
    return lambda *args: _registered(name, args)


@evaluates("local_function")
def _local_function(frame: Frame, op: Op) -> Callable[..., Any]:
    block = op.regions[0].blocks[0]

    def call(*args: Any) -> Any:
        own = [call] if "recursive" in op.attributes else []
        return Frame(frame.evaluator, frame).enter(block, "a local function", [*own, *args])

    return call


@dataclass(frozen=True)
class _Closure:
    function: Callable[..., Any]
    captured: tuple[Any, ...]

    def __call__(self, *args: Any) -> Any:
        return self.function(*self.captured, *args)


@evaluates("make_closure")
def _make_closure(frame: Frame, op: Op) -> _Closure:
    return _Closure(_function_ref(frame, op), tuple(frame.operands(op)))


@evaluates("call_value", "invoke_closure", "invoke_pure_closure")
def _call_value(frame: Frame, op: Op) -> Any:
    function, *args = frame.operands(op)
    return function(*args)


@evaluates("call")
def _call(frame: Frame, op: Op) -> Any:
    return frame.evaluator.call(callee_of(op), frame.operands(op))


@evaluates("vm_call_tir_dyn")
def _call_tir_dyn(frame: Frame, op: Op) -> Any:
    *args, last = frame.operands(op)
    sizes = list(last) if isinstance(last, tuple) else [last]
    return frame.evaluator.call(callee_of(op), [*args, *sizes])


@evaluates("call_tir", "call_tir_inplace")
def _call_tir(frame: Frame, op: Op) -> Any:
    arguments, symbols = call_tir_operands(op)
    given = [frame.values[value] for value in arguments]
    reused = [-1] * len(_outputs(op))
    if "inplace_indices" in op.attributes:
        reused = list(from_attribute(op.attributes["inplace_indices"]))
    fresh, results = _result_tensors(frame, op, given, reused)
    sizes = [] if symbols is None else list(frame.values[symbols])
    frame.evaluator.call(callee_of(op), [*given, *fresh, *sizes])
    return _one_or_all(op, results)


@evaluates("call_tir_with_grad")
def _call_tir_with_grad(frame: Frame, op: Op) -> Any:
    fresh, results = _result_tensors(frame, op, [], [-1] * len(_outputs(op)))
    frame.evaluator.call(callee_of(op), [*frame.operands(op), *fresh])
    return _one_or_all(op, results)


@evaluates("call_dps_packed")
def _call_dps_packed(frame: Frame, op: Op) -> Any:
    fresh, results = _result_tensors(frame, op, [], [-1] * len(_outputs(op)))
    _registered(callee_of(op), [*frame.operands(op), *fresh])
    return _one_or_all(op, results)


@evaluates("call_packed", "call_pure_packed", "call_inplace_packed", "call_builtin_with_ctx")
def _call_packed(frame: Frame, op: Op) -> Any:
    return _registered(callee_of(op), frame.operands(op))


@evaluates("call_py_func")
def _call_py_func(frame: Frame, op: Op) -> Any:
    return frame.evaluator.host.call_py_func(callee_of(op), frame.operands(op))


@evaluates("print")
def _print(frame: Frame, op: Op) -> Any:
    text = from_attribute(op.attributes["format"]) if "format" in op.attributes else ""
    given = frame.operands(op)
    sys.stdout.write((text.format(*given) if text else " ".join(map(str, given))) + "\n")
    return ()


@evaluates("assert_op")
def _assert(frame: Frame, op: Op) -> Any:
    condition, *given = frame.operands(op)
    if not bool(condition):
        text = from_attribute(op.attributes["format"]) if "format" in op.attributes else ""
        raise AssertionError(text.format(*given))
    return ()


def _outputs(op: Op) -> list[ir.Type]:
    fields = types.tuple_fields(op.results[0].type)
    return [op.results[0].type] if fields is None else fields


def _one_or_all(op: Op, results: list[Any]) -> Any:
    return results[0] if types.tuple_fields(op.results[0].type) is None else tuple(results)


def _result_tensors(
    frame: Frame, op: Op, given: Sequence[Any], reused: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    """(the outputs that are new, all outputs): an output is new, or the argument it reuses."""
    import torch

    fresh: list[Any] = []
    results: list[Any] = []
    for kind, index in zip(_outputs(op), reused, strict=True):
        info = types.tensor_info(kind)
        assert info is not None and info.dims is not None and info.dtype is not None  # verified
        if index < 0:
            shape = [frame.size(dim) for dim in info.dims]
            fresh.append(torch.empty(shape, dtype=torch_dtype(info.dtype)))
        results.append(fresh[-1] if index < 0 else given[index])
    return fresh, results


def _registered(name: str, args: Sequence[Any]) -> Any:
    """A function of the registry, called with runtime tensors."""
    from relax_mlir.runtime.registry import get_global_func

    result = get_global_func(name)(*[to_tensor(arg) for arg in args])
    several = isinstance(result, (list, tuple)) or type(result).__name__ == "Array"
    return tuple(as_torch(part) for part in result) if several else as_torch(result)
