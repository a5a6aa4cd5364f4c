"""relax-fuse-ops."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    SEGMENTS,
    attributes_of_function,
    callee_of,
    dataflow_blocks,
    functions_by_name,
    operations,
    prim_functions,
    relax_functions,
    symbol_name,
    unique_name,
)
from relax_mlir.lowering.relax.graph_partition import Group, Node, partition
from relax_mlir.lowering.relax.op_pattern import OpPatternKind
from relax_mlir.mlir import func, ir

_LONGEST_NAME = 80


@register_pass("relax-fuse-ops")
@dataclass(frozen=True)
class FuseOps(Pass):
    """Group calls to TensorIR functions by their `op_pattern` into private Relax functions.

    Works on dataflow blocks.  The new functions have the attribute `Primitive` and a name made of
    their parts, `fused_matmul_add_relu`; `relax-fuse-tir` turns each into one TensorIR function.
    """

    fuse_opt_level: int = -1
    max_fuse_depth: int = 256

    def run(self, state: ModuleState) -> None:
        patterns = {
            name: OpPatternKind(attributes_of_function(op).get("op_pattern", OpPatternKind.OPAQUE))
            for name, op in prim_functions(state).items()
        }
        made = FusedFunctions()
        for function in relax_functions(state):
            attributes = attributes_of_function(function)
            if "Primitive" in attributes or "Codegen" in attributes:
                continue
            fuser = Fuser(state, function, made)
            for block in dataflow_blocks(function):
                ops = operations(block)[:-1]
                nodes = _graph(ops, operations(block)[-1], patterns)
                groups = partition(nodes, self.max_fuse_depth, self.fuse_opt_level != 0)
                for members in _members(ops, groups):
                    fuser.fuse(members)


def _graph(
    ops: list[ir.Operation], output: ir.Operation, patterns: dict[str, OpPatternKind]
) -> list[Node]:
    """One node an operation, edges from producers to consumers inside the block."""
    index = {op: i for i, op in enumerate(ops)}
    nodes = [Node(i, _pattern(op, patterns)) for i, op in enumerate(ops)]
    for i, op in enumerate(ops):
        edge = OpPatternKind.INJECTIVE if op.name in _GLUE else nodes[i].pattern
        for value in _operands_inside(op):
            producer = _producer(value, index)
            if producer is not None:
                nodes[producer].outputs.append((i, edge))
    for value in output.operands:
        producer = _producer(value, index)
        if producer is not None:
            nodes[producer].external = True
    return nodes


_GLUE = {
    "relax.tuple": OpPatternKind.TUPLE,
    "relax.tuple_get_item": OpPatternKind.INJECTIVE,
}


def _pattern(op: ir.Operation, patterns: dict[str, OpPatternKind]) -> OpPatternKind:
    if op.name == "relax.call_tir":
        return patterns.get(callee_of(op), OpPatternKind.OPAQUE)
    return _GLUE.get(op.name, OpPatternKind.OPAQUE)


def _producer(value: ir.Value, index: dict[ir.Operation, int]) -> int | None:
    return None if isinstance(value, ir.BlockArgument) else index.get(value.owner.operation)


def _operands_inside(op: ir.Operation) -> Iterable[ir.Value]:
    """What an operation uses, inside its regions as well."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                yield from _operands_inside(child.operation)


def _members(ops: list[ir.Operation], groups: list[Group]) -> list[list[ir.Operation]]:
    """The groups that hold more than one TensorIR call, in order of their last member."""
    found: dict[int, list[ir.Operation]] = {}
    for op, group in zip(ops, groups, strict=True):
        found.setdefault(group.root().index, []).append(op)
    order = {op: i for i, op in enumerate(ops)}
    fusable = [
        members
        for members in found.values()
        if sum(op.name == "relax.call_tir" for op in members) > 1
    ]
    return sorted(fusable, key=lambda members: order[members[-1]])


@dataclass
class FusedFunctions:
    """What was made so far: function names by structure, and how many results of each prefix."""

    functions: dict[Hashable, str] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)

    def result_name(self, prefix: str) -> str:
        """lv, lv1, lv2, ... or gv, gv1, ..."""
        number = self.results.get(prefix, 0)
        self.results[prefix] = number + 1
        return f"{prefix}{number}" if number else prefix


class Fuser:
    """Moves groups of operations of one function into functions of their own."""

    def __init__(
        self,
        state: ModuleState,
        function: ir.Operation,
        made: FusedFunctions,
        attributes: Mapping[str, Any] | None = None,
        suffix: str = "",
    ) -> None:
        """`attributes` and the `suffix` of the name are those of the functions that are made."""
        self.state = state
        self.function = function
        self.made = made
        self.attributes = {"Primitive": True} if attributes is None else dict(attributes)
        self.suffix = suffix
        # Results of fused calls, and what the values they stand for were called before.
        self.old_names: dict[ir.Value, str | None] = {}

    def fuse(self, members: list[ir.Operation]) -> None:
        inside = set(members)
        outputs = [op.results[0] for op in members if _used_outside(op, inside)]
        if not outputs or _is_used_before_end(outputs, inside, members[-1]):
            return
        # Shapes are written down again inside instead of being passed.
        used = _inputs(members, inside)
        shapes = [value for value in used if _is_shape_expr(value)]
        inputs = [value for value in used if not _is_shape_expr(value)]
        symbols = _unbound_symbols(inputs, shapes, members)
        members = [*(value.owner.operation for value in shapes), *members]
        structure = (_structure(members, inputs, outputs), str(self.attributes))
        name = self.made.functions.get(structure)
        if name is None:
            name = symbol_name(self._function(members, inputs, outputs, symbols))
            self.made.functions[structure] = name
        self._call(name, members, inputs, outputs, symbols)

    def _function(
        self,
        members: list[ir.Operation],
        inputs: list[ir.Value],
        outputs: list[ir.Value],
        symbols: list[str],
    ) -> ir.Operation:
        kinds = [value.type for value in inputs]
        if symbols:
            kinds.append(types.shape_type(symbols))
        result = _result_type(outputs)
        name = unique_name(functions_by_name(self.state), _fused_name(members) + self.suffix)
        with ir.InsertionPoint(self.function):
            made = func.FuncOp(name, (kinds, [result]), visibility="private")
        made.operation.attributes[RELAX_ATTRS] = to_attribute(self.attributes)
        given = [self.old_names.get(value) or name_of(value) for value in inputs]
        names = _parameter_names(given, len(kinds))
        made.operation.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get({"relax.name": ir.StringAttr.get(n)}) for n in names]
        )
        body = ir.Block.create_at_start(
            made.operation.regions[0], kinds, [name_location(n) for n in names]
        )
        self._fill(body, members, inputs, outputs)
        return made.operation

    def _fill(
        self,
        body: ir.Block,
        members: list[ir.Operation],
        inputs: list[ir.Value],
        outputs: list[ir.Value],
    ) -> None:
        with ir.InsertionPoint(body):
            dataflow = create("relax.dataflow", results=[v.type for v in outputs], regions=1)
        values: dict[ir.Value, ir.Value] = dict(zip(inputs, body.arguments, strict=False))
        inner = ir.Block.create_at_start(dataflow.regions[0])
        with ir.InsertionPoint(inner):
            for op in members:
                copy = op.clone()
                for i, operand in enumerate(op.operands):
                    if operand in values:
                        copy.operands[i] = values[operand]
                values[op.results[0]] = copy.results[0]
                if op.results[0] in outputs:
                    copy.location = name_location("gv", op.location)
            create("relax.output", operands=[values[v] for v in outputs])
        dataflow.location = name_location("gv")
        with ir.InsertionPoint(body):
            returned = dataflow.results[0]
            if len(outputs) > 1:
                returned = create(
                    "relax.tuple", results=[_result_type(outputs)], operands=list(dataflow.results)
                ).result
            func.ReturnOp([returned])

    def _call(
        self,
        fused: str,
        members: list[ir.Operation],
        inputs: list[ir.Value],
        outputs: list[ir.Value],
        symbols: list[str],
    ) -> None:
        last = members[-1]
        leaves = any(u.owner.operation.name == "relax.output" for v in outputs for u in v.uses)
        label = self.made.result_name("gv" if leaves else "lv")
        place = name_location(label, last.location)
        arguments = list(inputs)
        with ir.InsertionPoint(last):
            if symbols:
                arguments.append(create("relax.shape_expr", [types.shape_type(symbols)]).result)
            call = create(
                "relax.call",
                results=[_result_type(outputs)],
                operands=arguments,
                attributes={"callee": ir.FlatSymbolRefAttr.get(fused)},
                loc=place,
            )
            results = [call.result] if len(outputs) == 1 else _fields(call.result, outputs)
        for old, new in zip(outputs, results, strict=True):
            self.old_names[new] = name_of(old)
            old.replace_all_uses_with(new)
        for op in reversed(members):
            if op.name != "relax.shape_expr" or not any(True for _ in op.results[0].uses):
                op.erase()


def _structure(
    members: list[ir.Operation], inputs: list[ir.Value], outputs: list[ir.Value]
) -> Hashable:
    """Equal for groups that compute the same: operations, types and how they are connected."""
    numbers = {value: i for i, value in enumerate([*inputs, *(op.results[0] for op in members)])}
    steps = tuple(
        (
            op.name,
            tuple((n, str(op.attributes[n])) for n in op.attributes if n not in SEGMENTS),
            tuple(numbers[value] for value in op.operands),
            str(op.results[0].type),
        )
        for op in members
    )
    kinds = tuple(str(value.type) for value in inputs)
    return kinds, steps, tuple(numbers[value] for value in outputs)


def _fields(value: ir.Value, outputs: list[ir.Value]) -> list[ir.Value]:
    return [
        create(
            "relax.tuple_get_item",
            results=[output.type],
            operands=[value],
            attributes={"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)},
            loc=output.location,
        ).result
        for i, output in enumerate(outputs)
    ]


def _result_type(outputs: list[ir.Value]) -> ir.Type:
    kinds = [value.type for value in outputs]
    return kinds[0] if len(kinds) == 1 else types.tuple_type(kinds)


def _used_outside(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return any(use.owner.operation not in inside for use in op.results[0].uses)


def _is_used_before_end(
    outputs: list[ir.Value], inside: set[ir.Operation], last: ir.Operation
) -> bool:
    """True when an output is needed before the whole group could have run."""
    for value in outputs:
        for use in value.uses:
            user = use.owner.operation
            if user in inside:
                continue
            while user.block != last.block:
                user = user.parent
            if user.is_before_in_block(last):
                return True
    return False


def _inputs(members: list[ir.Operation], inside: set[ir.Operation]) -> list[ir.Value]:
    """What the group takes from outside, in order of use."""
    found: dict[ir.Value, None] = {}
    for op in members:
        for value in op.operands:
            made_inside = (
                not isinstance(value, ir.BlockArgument) and value.owner.operation in inside
            )
            if not made_inside:
                found.setdefault(value)
    return list(found)


def _parameter_names(given: list[str | None], count: int) -> list[str]:
    names = [name or f"param_{i}" for i, name in enumerate(given)]
    names += ["tir_vars"] * (count - len(names))
    unique: list[str] = []
    for name in names:
        unique.append(unique_name(unique, name))
    return unique


def _is_shape_expr(value: ir.Value) -> bool:
    return (
        not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "relax.shape_expr"
    )


def _unbound_symbols(
    inputs: list[ir.Value], shapes: list[ir.Value], members: list[ir.Operation]
) -> list[str]:
    """The symbols the group mentions that no input's type gives the value of."""
    bound: set[str] = set()
    for value in inputs:
        bound |= bound_symbols(value.type)
    mentioned: dict[str, None] = {}
    for value in [*inputs, *shapes, *(op.results[0] for op in members)]:
        for symbol in types.symbols_of(value.type):
            mentioned.setdefault(symbol)
    return [symbol for symbol in mentioned if symbol not in bound]


def bound_symbols(kind: ir.Type) -> set[str]:
    """The symbols whose value a value of this type gives: plain dimensions of tensors and shapes,
    in tuples too."""
    fields = types.tuple_fields(kind)
    if fields is not None:
        found: set[str] = set()
        return found.union(*(bound_symbols(field) for field in fields))
    info = types.tensor_info(kind) or types.shape_info(kind)
    if info is None or info.dims is None:
        return set()
    return {dim for dim in info.dims if isinstance(dim, str) and dim_algebra.is_symbol(dim)}


def _fused_name(members: list[ir.Operation]) -> str:
    parts: list[str] = []
    for op in members:
        if op.name in ("relax.call_tir", "relax.call"):
            parts.append(callee_of(op).removeprefix("fused_"))
        elif spec_of(op) is not None:
            parts.append(op.name.replace(".", "_"))
    name = "_".join(["fused", *parts])
    if len(name) <= _LONGEST_NAME:
        return name
    import zlib

    return f"{name[:_LONGEST_NAME]}_{zlib.crc32(name.encode()):08x}"


__all__ = ["FuseOps", "FusedFunctions", "Fuser", "bound_symbols"]
