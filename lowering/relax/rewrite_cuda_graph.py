"""relax-rewrite-cuda-graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects import dims
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    attributes_of_function,
    callee_of,
    entry_block,
    functions_by_name,
    operations,
    prim_functions,
    relax_functions,
    symbol_name,
    terminator,
    unique_name,
    walk,
)
from relax_mlir.lowering.relax.fuse_ops import bound_symbols
from relax_mlir.lowering.relax.lift_transform_params import CHEAP
from relax_mlir.lowering.relax.rewriting import OperatorWriter, erase_dead, unnamed
from relax_mlir.mlir import func, ir

CAPTURED_SYMBOLS = "relax.rewrite_cuda_graph.capture_symbolic_vars"
"""The attribute of a function that names sizes for each value of which a graph may be captured."""
_STORAGE = "relax.memory_alloc_storage"
_CACHED_ALLOC = "vm.builtin.cuda_graph.get_cached_alloc"
_RUN = "vm.builtin.cuda_graph.run_or_capture"
_NO_LAUNCH = ("relax.memory_", "relax.vm_kill", "relax.builtin_")
_NO_LAUNCH_NAMES = frozenset(
    "relax.reshape relax.null_value relax.call_builtin_with_ctx relax.bind relax.tuple "
    "relax.tuple_get_item".split()
)
_EXTERNAL = ("relax.call_packed", "relax.call_pure_packed", "relax.call_inplace_packed")


@register_pass("relax-rewrite-cuda-graph")
@dataclass(frozen=True)
class RewriteCUDAGraph(Pass):
    """Move what runs the same kernels on the same memory each time into functions of its own.

    Storage of constant size that does not leave a function is allocated once for all functions, by
    `cuda_graph_alloc` through `vm.builtin.cuda_graph.get_cached_alloc`.  A run of calls that
    depend only on it, on constants and on the model's parameters (those from `num_input` on)
    becomes `<function>_cuda_graph_capture`, which `vm.builtin.cuda_graph.run_or_capture` may run as
    one graph.  Comes after `relax-static-plan-block-memory`.
    """

    def run(self, state: ModuleState) -> None:
        kernels = frozenset(prim_functions(state))
        plans = [_plan(function, kernels) for function in relax_functions(state)]
        with_storages = [plan for plan in plans if plan.storages]
        if with_storages:
            slots = [_slots(plan.storages) for plan in with_storages]
            alloc = _alloc_function(state, with_storages, slots)
            for plan, places in zip(with_storages, slots, strict=True):
                _fetch_storages(plan, alloc, places)
        number = 0
        for plan in plans:
            for region in list(plan.regions):
                _launch(state, plan, region, number)
                number += 1


@dataclass
class _Region:
    """Operations that move into one function, what they need and what is needed of them."""

    ops: list[ir.Operation] = field(default_factory=list[ir.Operation])
    inputs: dict[ir.Value, None] = field(default_factory=dict[ir.Value, None])
    outputs: dict[ir.Value, None] = field(default_factory=dict[ir.Value, None])
    symbols: dict[str, None] = field(default_factory=dict[str, None])


@dataclass
class _Plan:
    function: ir.Operation
    storages: list[ir.Operation]
    regions: list[_Region]

    def replace(self, old: ir.Value, new: ir.Value) -> None:
        """Use a value in the place of another one, in regions that are still to be moved too."""
        op, name = new.owner.operation, name_of(old)
        if name:
            op.location = name_location(name, unnamed(op.location))
        for region in self.regions:
            region.inputs = {new if value == old else value: None for value in region.inputs}
        old.replace_all_uses_with(new)


def _plan(function: ir.Operation, kernels: frozenset[str]) -> _Plan:
    planner = _Planner(function, kernels)
    planner.visit()
    return _Plan(function, planner.storages, planner.regions)


class _Planner:
    """Finds the storages and the regions of one function's body."""

    def __init__(self, function: ir.Operation, kernels: frozenset[str]) -> None:
        self.storages: list[ir.Operation] = []
        self.regions: list[_Region] = []
        self._block = entry_block(function)
        self._kernels = kernels
        self._leaving = set(_returned_storages(self._block))
        arguments = list(self._block.arguments)
        attributes = attributes_of_function(function)
        count = int(attributes.get("num_input", len(arguments)))
        self._static: set[ir.Value] = set(arguments[count:])
        named = set(map(str, attributes.get(CAPTURED_SYMBOLS, ())))
        given = {s for a in arguments[:count] for s in bound_symbols(a.type)}
        weights = {s for a in arguments[count:] for s in bound_symbols(a.type)}
        self._symbols = weights | (given & named)
        self._region: _Region | None = None
        self._lifted: dict[ir.Value, _Region] = {}

    def visit(self) -> None:
        for op in operations(self._block):
            if op.name == _STORAGE and self._is_constant_storage(op):
                self.storages.append(op)
                self._static.add(op.results[0])
            elif op.name not in (*CHEAP, _STORAGE, "relax.builtin_alloc_tensor"):
                self._visit(op)
        self._end_region()

    def _visit(self, op: ir.Operation) -> None:
        needed = list(_used(op))
        if self._is_static(op):
            if self._region is None and self._launches(op):
                self._region = _Region()
            self._static.update(op.results)
            if self._region is not None:
                self._add(self._region, op, needed)
        else:
            self._end_region()
        for value in needed:
            region = self._lifted.get(value)
            if region is not None and region is not self._region:
                region.outputs.setdefault(value)

    def _add(self, region: _Region, op: ir.Operation, needed: Sequence[ir.Value]) -> None:
        region.ops.append(op)
        for value in needed:
            if self._lifted.get(value) is not region:
                region.inputs.setdefault(value)
        for result in op.results:
            self._lifted[result] = region
        for value in (*op.operands, *op.results):
            region.symbols.update(dict.fromkeys(types.symbols_of(value.type)))

    def _end_region(self) -> None:
        if self._region is not None:
            self.regions.append(self._region)
        self._region = None

    def _is_constant_storage(self, op: ir.Operation) -> bool:
        info = types.shape_info(op.operands[0].type)
        sizes = None if info is None else info.dims
        known = sizes is not None and all(isinstance(size, int) for size in sizes)
        return known and op.results[0] not in self._leaving

    def _is_static(self, op: ir.Operation) -> bool:
        """All it reads is at fixed places, and it launches kernels or moves no data."""
        if len(op.regions) or op == terminator(self._block):
            return False
        if op.name == "relax.call" and callee_of(op) not in self._kernels:
            return False
        if op.name in _EXTERNAL and callee_of(op).startswith("vm.builtin"):
            return False
        operands_fixed = all(self._is_fixed(value) for value in op.operands)
        return operands_fixed and all(self._has_fixed_size(result.type) for result in op.results)

    def _is_fixed(self, value: ir.Value) -> bool:
        cheap = not isinstance(value, ir.BlockArgument) and value.owner.operation.name in CHEAP
        return (cheap or value in self._static) and self._has_fixed_size(value.type)

    def _has_fixed_size(self, kind: ir.Type) -> bool:
        info = types.tensor_info(kind)
        if info is not None and info.dims is None:
            return False
        return self._symbols.issuperset(types.symbols_of(kind))

    def _launches(self, op: ir.Operation) -> bool:
        return op.name not in _NO_LAUNCH_NAMES and not op.name.startswith(_NO_LAUNCH)


def _used(op: ir.Operation) -> Iterator[ir.Value]:
    """What an operation reads from around it that is not made again in a function of its own."""
    for inner in (op, *walk(op)):
        for value in inner.operands:
            if isinstance(value, ir.BlockArgument) or value.owner.operation.name not in CHEAP:
                yield value


def _returned_storages(block: ir.Block) -> Iterator[ir.Value]:
    """Storage in which a tensor lies that the function returns."""
    pending = list(terminator(block).operands)
    while pending:
        value = pending.pop()
        if isinstance(value, ir.BlockArgument):
            continue
        op = value.owner.operation
        if op.name in ("relax.bind", "relax.tuple", "relax.tuple_get_item"):
            pending.extend(op.operands)
        elif op.name == "relax.memory_alloc_tensor":
            yield op.operands[0]


# -- storage ----------------------------------------------------------------------------------


def _size(op: ir.Operation) -> int:
    info = types.shape_info(op.operands[0].type)
    assert info is not None and info.dims is not None
    return int(dims.product(info.dims))


def _slots(storages: Sequence[ir.Operation]) -> dict[ir.Operation, int]:
    """The place of each storage of a function among those of all functions: the largest of each
    share the first place, and so on, as only one function runs at a time."""
    by_size = sorted(range(len(storages)), key=lambda i: -_size(storages[i]))
    return {storages[i]: place for place, i in enumerate(by_size)}


def _alloc_function(
    state: ModuleState, plans: Sequence[_Plan], slots: Sequence[dict[ir.Operation, int]]
) -> ir.Operation:
    """`cuda_graph_alloc`: returns a tuple of storages, each as large as any function needs it."""
    largest: dict[int, ir.Operation] = {}
    for places in slots:
        for op, place in places.items():
            if place not in largest or _size(op) > _size(largest[place]):
                largest[place] = op
    chosen = [largest[place] for place in sorted(largest)]
    outputs = dict.fromkeys(op.results[0] for op in chosen)
    region = _Region(chosen, outputs=outputs)
    name = unique_name(functions_by_name(state), "cuda_graph_alloc")
    return _make_function(plans[0].function, name, region)


def _fetch_storages(plan: _Plan, alloc: ir.Operation, places: dict[ir.Operation, int]) -> None:
    """Take the function's storages from the result of `cuda_graph_alloc`."""
    writer = OperatorWriter(plan.storages[0])
    kinds = _result_of(alloc)
    given = [_reference(writer, alloc), _number(writer, 0)]
    all_storages = _builtin(writer, _CACHED_ALLOC, kinds, given)
    for op in plan.storages:
        plan.replace(op.results[0], OperatorWriter(op).field(all_storages, places[op]))
        shape = op.operands[0].owner.operation
        op.erase()
        erase_dead([shape])


# -- regions ----------------------------------------------------------------------------------


def _launch(state: ModuleState, plan: _Plan, region: _Region, number: int) -> None:
    """Call a region's function in the place of its operations."""
    base = f"{symbol_name(plan.function)}_cuda_graph_capture"
    made = _make_function(plan.function, unique_name(functions_by_name(state), base), region)
    plan.regions.remove(region)
    at = region.ops[0]
    for value in region.inputs:
        if not isinstance(value, ir.BlockArgument):
            own = value.owner.operation
            if own.block == at.block and at.is_before_in_block(own):
                own.move_before(at)  # a storage, of which the region is the first to know
    writer = OperatorWriter(at)
    sizes = [writer.shape(list(region.symbols))] if region.symbols else []
    inputs = [*region.inputs, *sizes]
    given = [_reference(writer, made), writer.tuple(inputs), _number(writer, number), *sizes]
    result = _builtin(writer, _RUN, _result_of(made), given)
    places = {value: index for index, value in enumerate(region.outputs)}
    for value in [value for op in region.ops for value in op.results if value in places]:
        plan.replace(value, writer.field(result, places[value]))
    cheap = [v.owner.operation for op in region.ops for v in op.operands if _is_cheap(v)]
    for op in reversed(region.ops):
        op.erase()
    erase_dead(list({id(op): op for op in cheap}.values()))


def _is_cheap(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.operation.name in CHEAP


def _make_function(near: ir.Operation, name: str, region: _Region) -> ir.Operation:
    """A private function of copies of the region's operations, which returns a tuple."""
    kinds = [value.type for value in region.inputs]
    names = [name_of(value) or f"arg{i}" for i, value in enumerate(region.inputs)]
    if region.symbols:
        kinds.append(types.shape_type(list(region.symbols)))
        names.append("shape_expr")
    result = types.tuple_type([value.type for value in region.outputs])
    with ir.InsertionPoint(near), near.location:
        made = func.FuncOp(name, (kinds, [result]), visibility="private").operation
    made.attributes[RELAX_ATTRS] = to_attribute({"relax.force_pure": True})
    made.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({"relax.name": ir.StringAttr.get(n)}) for n in names]
    )
    block = ir.Block.create_at_start(made.regions[0], kinds, [name_location(n) for n in names])
    known = dict(zip(region.inputs, block.arguments, strict=False))
    with ir.InsertionPoint(block):
        for op in region.ops:
            _copy(op, known)
        outputs = [known[value] for value in region.outputs]
        returned = create("relax.tuple", [result], outputs, loc=unnamed(near.location)).result
        func.ReturnOp([returned])
    return made


def _copy(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> None:
    """A copy of an operation, and of the constants and shapes it reads, at the insertion point."""
    for value in op.operands:
        if _is_cheap(value) and value not in known:
            known[value] = value.owner.operation.clone().results[0]
    copy = op.clone()
    for index, value in enumerate(op.operands):
        copy.operands[index] = known[value]
    known.update(zip(op.results, copy.results, strict=True))


# -- calls of the runtime ---------------------------------------------------------------------


def _result_of(function: ir.Operation) -> ir.Type:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results[0]


def _reference(writer: OperatorWriter, function: ir.Operation) -> ir.Value:
    callee = {"callee": ir.FlatSymbolRefAttr.get(symbol_name(function))}
    return writer.raw("relax.function_ref", types.callable_type(), [], callee)


def _number(writer: OperatorWriter, value: int) -> ir.Value:
    return writer.raw("relax.prim_value", types.prim_type("int64", value))


def _builtin(
    writer: OperatorWriter, name: str, kind: ir.Type, operands: Sequence[ir.Value]
) -> ir.Value:
    callee = {"callee": ir.StringAttr.get(name)}
    return writer.raw("relax.call_builtin_with_ctx", kind, operands, callee)
