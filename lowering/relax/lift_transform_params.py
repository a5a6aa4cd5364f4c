"""relax-lift-transform-params."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.canonicalize_bindings import drop_unused_outputs
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    argument_attributes,
    attributes_of_function,
    binding_blocks,
    entry_block,
    functions_by_name,
    is_pure,
    operations,
    purity,
    relax_functions,
    symbol_name,
    unique_name,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, erase_dead
from relax_mlir.lowering.relax.substitute import remove_arguments, returned_types, set_function_type
from relax_mlir.mlir import func, ir

CALLS = frozenset("relax.call_packed relax.call_pure_packed relax.call_dps_packed".split())
"""Calls of registered functions stay where they are: they may look at more than their arguments."""


@register_pass("relax-lift-transform-params")
@dataclass(frozen=True)
class LiftTransformParams(Pass):
    """Compute what only depends on a model's parameters once, in a function of its own.

    Parameters from position `num_input` on are the model's.  For a function `main` with that
    attribute, `main_transform_params` takes them as one tuple and returns a tuple of what `main`
    needs of them, which then are `main`'s parameters: those it uses as they are first, then those
    that were computed.  Symbols that no model parameter gives the value of keep a binding in
    `main`; `relax.builtin.stop_lift_params` does so too.

    With `shared_transform` one function, `transform_params`, does so for all functions (or those
    named in `shared_functions`), which must have the same model parameters; each then takes all
    its results.
    """

    shared_transform: bool = False
    shared_functions: tuple[str, ...] = ()

    def run(self, state: ModuleState) -> None:
        pure = purity(state)
        chosen = [f for f in relax_functions(state) if "num_input" in attributes_of_function(f)]
        shared = self.shared_transform or bool(self.shared_functions)
        if shared and self.shared_functions:
            chosen = [f for f in chosen if symbol_name(f) in self.shared_functions]
        lifts = [_Lift(function, _movable(function, pure)) for function in chosen]
        if not shared:
            for lift in lifts:
                _separate(state, [lift], f"{symbol_name(lift.function)}_transform_params")
        elif lifts:
            _check_same_parameters(lifts)
            _separate(state, lifts, "transform_params")


@dataclass
class _Lift:
    """A function, and its bindings that depend on the model's parameters only."""

    function: ir.Operation
    movable: list[ir.Operation]

    @property
    def inputs(self) -> int:
        return int(attributes_of_function(self.function)["num_input"])

    @property
    def parameters(self) -> list[ir.Value]:
        return list(entry_block(self.function).arguments)[self.inputs :]

    def results(self) -> list[ir.Value]:
        """What the rest of the function needs: parameters first, then computed values."""
        inside = set(self.movable)
        used = [p for p in self.parameters if _needed_outside(p, inside)]
        made = [op.results[0] for op in self.movable if _needed_outside(op.results[0], inside)]
        return [*used, *(value for value in made if not _is_cheap(value))]

    def trim(self) -> None:
        """Leave constants and shapes that the function needs itself where they are."""
        inside = set(self.movable)
        self.movable = [
            op
            for op in self.movable
            if not (_is_cheap(op.results[0]) and not _used_inside(op, inside))
        ]


def _needed_outside(value: ir.Value, inside: set[ir.Operation]) -> bool:
    return any(use.owner.operation not in inside for use in value.uses)


def _used_inside(op: ir.Operation, inside: set[ir.Operation]) -> bool:
    return any(use.owner.operation in inside for use in op.results[0].uses)


CHEAP = frozenset(
    "relax.constant relax.shape_expr relax.prim_value relax.string relax.data_type "
    "relax.function_ref".split()
)


def _is_cheap(value: ir.Value) -> bool:
    return value.owner.operation.name in CHEAP


def _movable(function: ir.Operation, pure: Callable[[str], bool]) -> list[ir.Operation]:
    """The bindings, outside branches, that depend on model parameters and constants only."""
    count = int(attributes_of_function(function)["num_input"])
    arguments = list(entry_block(function).arguments)
    if not 0 <= count <= len(arguments):
        raise PassError(
            f"'{symbol_name(function)}' has {len(arguments)} parameters, num_input is {count}"
        )
    given = {s for a in arguments[:count] for s in types.symbols_of(a.type)}
    model = {s for a in arguments[count:] for s in types.symbols_of(a.type)}
    run_time = given - model
    known: set[ir.Value] = set(arguments[count:])
    found: list[ir.Operation] = []
    for block in _straight_blocks(function):
        for op in operations(block):
            if len(op.results) != 1 or len(op.regions) or op.name in CALLS:
                continue
            symbols = set(types.symbols_of(op.results[0].type))
            if not is_pure(op, pure) or symbols & run_time:
                continue
            if op.name == "relax.builtin_stop_lift_params":
                continue
            if all(value in known for value in op.operands):
                known.add(op.results[0])
                found.append(op)
    return _reaching_parameters(found, set(arguments[count:]))


def _straight_blocks(function: ir.Operation) -> list[ir.Block]:
    """The body and its dataflow blocks, in order of the program; branches are left out."""
    body = entry_block(function)
    blocks = [body]
    for op in operations(body):
        if op.name == "relax.dataflow":
            blocks.append(op.regions[0].blocks[0])
    return blocks


def _reaching_parameters(
    found: list[ir.Operation], parameters: set[ir.Value]
) -> list[ir.Operation]:
    """Those that depend on a parameter, and the constants those need."""
    dependent: set[ir.Value] = set(parameters)
    for op in found:
        if any(value in dependent for value in op.operands):
            dependent.add(op.results[0])
    computed = [op for op in found if op.results[0] in dependent]
    needed: set[ir.Operation] = set(computed)
    for op in reversed(found):
        if any(use.owner.operation in needed for use in op.results[0].uses):
            needed.add(op)
    return [op for op in found if op in needed]


def _check_same_parameters(lifts: Sequence[_Lift]) -> None:
    first = lifts[0]
    for lift in lifts[1:]:
        if [p.type for p in lift.parameters] != [p.type for p in first.parameters]:
            raise PassError(
                f"'{symbol_name(lift.function)}' and '{symbol_name(first.function)}' cannot share "
                "a transformation: their model parameters differ",
                hint="all functions need the same parameters from position num_input on",
            )


def _separate(state: ModuleState, lifts: Sequence[_Lift], base: str) -> None:
    for lift in lifts:
        lift.trim()
    first = lifts[0]
    name = unique_name(functions_by_name(state), base)
    transform, fields, output = _empty_transform(first, name)
    results: dict[ir.Value, None] = {}
    slots: list[dict[ir.Value, ir.Value]] = []
    for lift in lifts:
        values = dict(zip(lift.parameters, fields, strict=True))
        for op in lift.movable:
            with ir.InsertionPoint(output):
                copy = op.clone()
            for i, operand in enumerate(op.operands):
                copy.operands[i] = values[operand]
            values[op.results[0]] = copy.results[0]
        own = {values[value]: value for value in lift.results()}
        slots.append(own)
        results |= dict.fromkeys(own)
    made = list(results)
    _finish_transform(transform, output, made)
    for lift, own in zip(lifts, slots, strict=True):
        _rebuild(lift, made, own)


def _empty_transform(lift: _Lift, name: str) -> tuple[ir.Operation, list[ir.Value], ir.Operation]:
    """(the function, the fields of its parameter, the end of its dataflow block)."""
    kinds = [value.type for value in lift.parameters]
    whole = types.tuple_type(kinds)
    with ir.InsertionPoint(lift.function):
        made = func.FuncOp(name, ([whole], [whole])).operation
    made.attributes[RELAX_ATTRS] = to_attribute({"num_input": 0})
    parameter = ir.StringAttr.get("model_params")
    made.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({"relax.name": parameter})])
    body = ir.Block.create_at_start(made.regions[0], [whole])
    with ir.InsertionPoint(body):
        dataflow = create("relax.dataflow", [], regions=1)
    inner = ir.Block.create_at_start(dataflow.regions[0])
    with ir.InsertionPoint(inner):
        output = create("relax.output")
    write = OperatorWriter(output)
    fields = [write.field(body.arguments[0], i) for i in range(len(kinds))]
    for field, entry in zip(fields, argument_attributes(lift.function)[lift.inputs :], strict=True):
        if "relax.name" in entry:
            field.owner.operation.location = name_location(ir.StringAttr(entry["relax.name"]).value)
    return made, fields, output


def _finish_transform(
    transform: ir.Operation, output: ir.Operation, results: Sequence[ir.Value]
) -> None:
    body = entry_block(transform)
    old = operations(body)[0]
    inner = old.regions[0].blocks[0]
    value = OperatorWriter(output).tuple(results)
    value.owner.operation.location = name_location("output_tuple")
    with ir.InsertionPoint(output):
        create("relax.output", operands=[value])
    output.erase()
    with ir.InsertionPoint(old), old.location:
        new = create("relax.dataflow", [value.type], regions=1)
    new.location = name_location("gv")
    inner.append_to(new.regions[0])
    old.erase()
    with ir.InsertionPoint(body):
        func.ReturnOp([new.results[0]])
    erase_dead(operations(new.regions[0].blocks[0])[:-1])
    set_function_type(transform, returned_types(transform))


def _rebuild(lift: _Lift, results: list[ir.Value], own: dict[ir.Value, ir.Value]) -> None:
    """Give the function the transformed values as parameters in place of the model's."""
    function = lift.function
    block = entry_block(function)
    count = len(block.arguments)
    taken = {
        ir.StringAttr(entry["relax.name"]).value
        for entry in argument_attributes(function)[: lift.inputs]
        if "relax.name" in entry
    }
    names = [ir.DictAttr.get(entry) for entry in argument_attributes(function)]
    for i, result in enumerate(results):
        old = own.get(result)
        name = _parameter_name(function, old, i, taken)
        taken.add(name)
        argument = block.add_argument(result.type, name_location(name))
        names.append(ir.DictAttr.get({"relax.name": ir.StringAttr.get(name)}))
        if old is not None:
            inside = set(lift.movable)
            for use in list(old.uses):
                if use.owner.operation not in inside:
                    use.owner.operation.operands[use.operand_number] = argument
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(names)
    erase_dead(lift.movable)
    for blocks in list(binding_blocks(function)):
        for op in operations(blocks):
            if op.name == "relax.dataflow":
                drop_unused_outputs(op)
    remove_arguments(function, range(lift.inputs, count))
    set_function_type(function, returned_types(function))


def _parameter_name(
    function: ir.Operation, old: ir.Value | None, index: int, taken: set[str]
) -> str:
    base = None
    if isinstance(old, ir.BlockArgument):
        entry = argument_attributes(function)[old.arg_number]
        base = ir.StringAttr(entry["relax.name"]).value if "relax.name" in entry else None
    elif old is not None:
        base = name_of(old)
    return unique_name(taken, base or f"transformed_param_{index}")
