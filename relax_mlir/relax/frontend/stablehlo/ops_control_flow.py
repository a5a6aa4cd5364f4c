"""Converters for calls, branches, loops and tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.stablehlo.errors import StablehloError
from relax_mlir.relax.frontend.stablehlo.importer import callee_of, operations_in
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.relax.frontend.stablehlo.values import Spread, source_of


def _single(operation: Operation, values: list[Any]) -> Any:
    return values[0] if len(operation.source.results) == 1 else values


def call(operation: Operation) -> Any:
    """In place of the call; a composite that has no converter is its decomposition."""
    results = operation.importer.call(callee_of(operation.source), operation.operands)
    return _single(operation, results)


# -- branches -----------------------------------------------------------------------------------


def if_(operation: Operation) -> Any:
    known = operation.scalar(0)
    if known is not None:
        return _single(operation, operation.apply(0 if known else 1, []))
    importer = operation.importer
    return _fields(
        operation,
        importer.conditional(
            operation.tensor(0), lambda: _branch(operation, 0), lambda: _branch(operation, 1)
        ),
    )


def case(operation: Operation) -> Any:
    """The branch of that number, the last one for a number that no branch has."""
    count = len(operation.source.regions)
    known = operation.scalar(0)
    if known is not None:
        chosen = int(known) if 0 <= known < count else count - 1
        return _single(operation, operation.apply(chosen, []))
    importer, index = operation.importer, operation.tensor(0)

    def choose(number: int) -> Any:
        if number == count - 1:
            return _branch(operation, number)
        hit = importer.ops.equal(index, importer.scalar_like(number, index))
        return importer.conditional(
            hit, lambda: _branch(operation, number), lambda: choose(number + 1)
        )

    return _fields(operation, choose(0))


def _branch(operation: Operation, index: int) -> Any:
    importer = operation.importer
    values = [importer.expr(value) for value in operation.apply(index, [])]
    return values[0] if len(values) == 1 else importer.relax.Tuple(values)


def _fields(operation: Operation, result: Any) -> Any:
    count, importer = len(operation.source.results), operation.importer
    if count == 1:
        return result
    return [importer.emit(importer.relax.TupleGetItem(result, i)) for i in range(count)]


# -- loops --------------------------------------------------------------------------------------


def while_(operation: Operation) -> Any:
    """A function of what is carried and what the regions use from outside, which calls itself."""
    importer = operation.importer
    relax, outer = importer.relax, importer.block_builder
    carried = operation.tensors()
    outside = _captured(operation)
    captured = [importer.sized(importer.expr(importer.env[value])) for value in outside]
    name = outer.get_unique_name("while_loop")

    def variables() -> list[Any]:
        values = [("carried", value) for value in carried] + [("outer", v) for v in captured]
        return [
            relax.Var(f"{kind}_{i}", value.struct_info) for i, (kind, value) in enumerate(values)
        ]

    def build() -> None:
        builder, count = importer.block_builder, len(carried)
        # Known by its type before it is defined, since it calls itself.
        parameters = variables()
        with builder.function(name, parameters, private=True):
            builder.emit_func_output(builder.emit(relax.Tuple(parameters[:count])))
        whole = builder.get().get_global_var(name)
        parameters = variables()
        state, rest = parameters[:count], parameters[count:]
        importer.env.update(zip(outside, rest, strict=True))

        def again() -> Any:
            values = [importer.expr(value) for value in operation.apply(1, state)]
            return builder.emit(relax.Call(whole, [*values, *rest]))

        with builder.function(name, parameters, private=True):
            going_on = importer.expr(operation.apply(0, state)[0])
            end = importer.conditional(going_on, again, lambda: relax.Tuple(state))
            builder.emit_func_output(end)

    whole = importer.in_function(name, build)
    result = importer.emit(relax.Call(whole, [*carried, *captured]))
    fields = [importer.emit(relax.TupleGetItem(result, i)) for i in range(len(carried))]
    return _single(operation, fields)


def _captured(operation: Operation) -> list[ir.Value]:
    """The values from outside that the regions use, but for what is known in every function:
    numbers, and sizes over the symbols of what is carried."""
    importer = operation.importer
    symbols = {
        symbol
        for index in range(len(operation.operands))
        for dim in operation.dims(index)
        for symbol in dim_algebra.symbols(dim)
    }
    blocks = [operation.region(i) for i in range(len(operation.source.regions))]
    inner = [source for block in blocks for source in operations_in(block)]
    made = {value for source in inner for value in source.results}
    for block in [*blocks, *_blocks_of(inner)]:
        made.update(block.arguments)
    used = {value: None for source in inner for value in source.operands if value not in made}
    return [v for v in used if not symbols.issuperset(_symbols_of(importer.env[v]))]


_UNKNOWN = frozenset(("",))
"""Of what only the running program knows; no symbol has this name."""


def _symbols_of(value: Any) -> frozenset[str]:
    """The symbols of sizes that are known while importing."""
    source = source_of(value)
    if not isinstance(source, Known):
        return _UNKNOWN
    dims = [*source.elements()] if source.is_symbolic else []
    dims += value.dims if isinstance(value, Spread) else []
    return frozenset(symbol for dim in dims for symbol in dim_algebra.symbols(dim))


def _blocks_of(operations: Sequence[ir.Operation]) -> list[ir.Block]:
    return [block for op in operations for region in op.regions for block in region.blocks]


# -- tuples and checks --------------------------------------------------------------------------


def tuple_(operation: Operation) -> Any:
    return list(operation.operands)


def get_tuple_element(operation: Operation) -> Any:
    return operation.operands[0][operation.attr("index")]


def shape_assertion(operation: Operation) -> Any:
    """A check on sizes, decided while importing or left to Relax's checks of shapes.

    Raises StablehloError with the program's message when the check fails.
    """
    if operation.scalar(0) is not None and not operation.scalar(0):
        raise StablehloError(str(operation.attr("error_message")))
    return []


def passed_on(operation: Operation) -> Any:
    """Calls that say how a tensor is laid out over devices."""
    return _single(operation, operation.operands)


CONVERTERS: dict[str, Converter] = {
    "func.call": call,
    "stablehlo.composite": call,
    "stablehlo.if": if_,
    "stablehlo.case": case,
    "stablehlo.while": while_,
    "stablehlo.tuple": tuple_,
    "stablehlo.get_tuple_element": get_tuple_element,
    "shape_assertion": shape_assertion,
    "Sharding": passed_on,
    "SPMDFullToShardShape": passed_on,
    "SPMDShardToFullShape": passed_on,
}
"""By operation, or by the target of a custom call; see `operation.Converter`."""
