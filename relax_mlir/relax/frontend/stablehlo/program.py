"""`from_stablehlo`: a StableHLO program becomes an IRModule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.common import listed_operators
from relax_mlir.relax.frontend.stablehlo.attributes import dtype_of, part_of
from relax_mlir.relax.frontend.stablehlo.errors import (
    StablehloError,
    UnsupportedStablehloOperatorError,
)
from relax_mlir.relax.frontend.stablehlo.importer import (
    CALLS,
    RETURNS,
    ProgramImporter,
    callee_of,
    operations_in,
)
from relax_mlir.relax.frontend.stablehlo.operation import Converter, key_of, location_of
from relax_mlir.relax.frontend.stablehlo.tables import CONTROL_FLOW, CONVERTERS

if TYPE_CHECKING:
    from relax_mlir.ir import IRModule

InputInfo = Sequence[tuple[Sequence[int | str], str]]


def from_stablehlo(
    stablehlo_module: str | bytes | Any,
    input_info: InputInfo | None = None,
    custom_convert_map: Mapping[str, Converter] | None = None,
) -> IRModule:
    """Import a program as a module with one function `main`, whose parameters are arg0, arg1 ...

    `stablehlo_module` is the program's text, a portable artifact (bytes, what `jax.export` calls
    `mlir_module_serialized`), or a module of MLIR's Python bindings, this package's or JAX's.
    Sizes that the program leaves open are symbols n_0, n_1 ...; `input_info`, a shape and a dtype
    for each parameter, gives them numbers or names of symbols (equal names are equal sizes).
    A complex parameter or result is its parts along one more axis: an array `x` of numpy's is given
    as `np.stack([x.real, x.imag], -1)`.
    `custom_convert_map` maps an operation ("stablehlo.add", "stablehlo.custom_call", or the target
    of a custom call) to a function `(operation) -> expression`, see
    `relax_mlir.relax.frontend.stablehlo.operation.Operation`.

    Raises StablehloError for a program that cannot be read or does not fit `input_info`, and
    UnsupportedStablehloOperatorError naming all operations without a converter with their counts.
    """
    module = parse(stablehlo_module)
    converters = {**CONVERTERS, **(custom_convert_map or {})}
    with module.context, ir.Location.unknown(module.context):
        importer = ProgramImporter(module, converters)
        entry = _entry(importer.functions)
        refuse_missing(importer, entry)
        return _imported(importer, entry, input_info)


def _imported(
    importer: ProgramImporter, entry: ir.Operation, input_info: InputInfo | None
) -> IRModule:
    block, builder = entry.regions[0].blocks[0], importer.block_builder
    parameters = _parameters(importer, block, input_info)
    controlled = any(op.name in CONTROL_FLOW for op in _reached(importer, block))

    def returned(output: Callable[[Any], Any]) -> Any:
        given = [
            importer.parts(value) if _part_type(argument) is not None else value
            for value, argument in zip(parameters, block.arguments, strict=True)
        ]
        values = [importer.result(value) for value in importer.block(block, given)]
        return output(values[0] if len(values) == 1 else importer.relax.Tuple(values))

    with builder.function("main", parameters):
        if controlled:
            result = returned(builder.emit)
        else:
            with builder.dataflow():
                result = returned(builder.emit_output)
        builder.emit_func_output(result)
    module = builder.get()
    if controlled:
        module = importer.relax.transform.ConvertToDataflow()(module)
    return importer.relax.transform.DeadCodeElimination()(module)


# -- reading ---------------------------------------------------------------------------------


def parse(program: str | bytes | Any) -> ir.Module:
    """The program as a module of our bindings.  Raises StablehloError when it cannot be read."""
    if isinstance(program, ir.Module):
        return program
    context = mlir.stablehlo_context()
    try:
        if isinstance(program, bytes):
            return mlir.stablehlo().deserialize_portable_artifact(context, program)
        if isinstance(program, str):
            return ir.Module.parse(_generic_chlo(program), context)
        other = program.operation.get_asm(print_generic_op_form=True)  # another build's module
        return ir.Module.parse(other, context)
    except (ir.MLIRError, ValueError, AttributeError) as error:
        raise StablehloError(
            f"the StableHLO program cannot be read: {error}",
            hint="give the text, a portable artifact (bytes), or a module of MLIR's bindings",
        ) from error


_CHLO = re.compile(
    r"chlo\.(?P<name>\w+)(?: |\()(?P<operands>%[\w#]+(?:, %[\w#]+)*)"
    r"(?:, k = (?P<k>\d+))?\)? : (?P<types>[^\n]*?) -> (?P<result>\([^)\n]*\)|tensor<[^>\n]*>)"
)


def _generic_chlo(text: str) -> str:
    """Operations of CHLO, whose own syntax the bindings do not have, in MLIR's generic syntax."""

    def generic(found: re.Match[str]) -> str:
        types = found["types"]
        types = types if types.startswith("(") else f"({types})"
        attributes = f" {{k = {found['k']} : i64}}" if found["k"] else ""
        return (
            f'"chlo.{found["name"]}"({found["operands"]}){attributes} : {types} -> '
            f"{found['result']}"
        )

    return _CHLO.sub(generic, text)


def _entry(functions: Mapping[str, ir.Operation]) -> ir.Operation:
    """The function `main`, else the only one that is public, else the first."""
    if not functions:
        raise StablehloError("the program has no function")
    if "main" in functions:
        return functions["main"]
    public = [op for op in functions.values() if "sym_visibility" not in op.attributes]
    return public[0] if public else next(iter(functions.values()))


def _parameters(
    importer: ProgramImporter, block: ir.Block, input_info: InputInfo | None
) -> list[Any]:
    """A variable for each parameter of the function."""
    count = len(block.arguments)
    if input_info is not None and len(input_info) != count:
        raise StablehloError(f"input_info has {len(input_info)} entries for {count} parameters")
    unnamed = (f"n_{i}" for i in range(1 << 30))
    variables = []
    for index, argument in enumerate(block.arguments):
        if not isinstance(argument.type, ir.RankedTensorType):
            raise UnsupportedStablehloOperatorError(
                f"parameter {index} is {argument.type}; tensors of known rank can be imported"
            )
        kind, part = ir.RankedTensorType(argument.type), _part_type(argument)
        given = None if input_info is None else input_info[index]
        dims = _parameter_dims(kind, index, given, unnamed)
        if part is not None:
            dims.append(2)
        dtype = dtype_of(kind.element_type if part is None else part)
        info = importer.relax.TensorStructInfo(importer.shape_expr(dims), dtype)
        variables.append(importer.relax.Var(f"arg{index}", info))
    return variables


def _part_type(argument: ir.Value) -> ir.Type | None:
    return part_of(ir.RankedTensorType(argument.type).element_type)


def _declared_dtype(element: ir.Type) -> str:
    """The dtype by which `input_info` names an element type: of complex ones numpy's."""
    part = part_of(element)
    return dtype_of(element) if part is None else f"complex{2 * ir.FloatType(part).width}"


def _parameter_dims(
    kind: ir.RankedTensorType,
    index: int,
    given: tuple[Sequence[int | str], str] | None,
    unnamed: Iterator[str],
) -> list[int | str]:
    dims = [next(unnamed) if kind.is_dynamic_dim(i) else kind.shape[i] for i in range(kind.rank)]
    if given is None:
        return dims
    shape, dtype = given
    fits = len(shape) == kind.rank and all(
        kind.is_dynamic_dim(i) or size == kind.shape[i] for i, size in enumerate(shape)
    )
    if not fits or str(dtype) != _declared_dtype(kind.element_type):
        raise StablehloError(
            f"input_info gives parameter {index} {dtype}{list(shape)}, but the program has {kind}"
        )
    return list(shape)


# -- what is missing ---------------------------------------------------------------------------


def _reached(importer: ProgramImporter, block: ir.Block) -> Iterator[ir.Operation]:
    """The operations of a block, and once those of each function that they call."""
    seen: set[str] = set()
    waiting = [block]
    while waiting:
        for operation in operations_in(waiting.pop()):
            yield operation
            known = key_of(operation) in importer.converters
            if operation.name not in CALLS or (known and operation.name != "func.call"):
                continue
            name = callee_of(operation)
            if name not in seen and name in importer.functions:
                seen.add(name)
                waiting += importer.functions[name].regions[0].blocks


def refuse_missing(importer: ProgramImporter, entry: ir.Operation) -> None:
    """One error for every operation that cannot be imported: how often, and where first."""
    missing = [
        (key, location_of(operation))
        for operation in _reached(importer, entry.regions[0].blocks[0])
        for key in [key_of(operation)]
        if operation.name not in RETURNS
        and key not in importer.converters
        and operation.name not in importer.converters
    ]
    if missing:
        raise UnsupportedStablehloOperatorError(
            f"StableHLO operations without a converter:{listed_operators(missing)}",
            hint="give converters in custom_convert_map={name: function(operation)}",
        )
