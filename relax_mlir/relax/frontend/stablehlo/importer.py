"""Walking a StableHLO program: every operation becomes bindings of one Relax function.

Functions that the program calls are converted in place of the calls, and so are the branches of
`if` and `case`; `while` becomes a function that calls itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from relax_mlir.dialects.dims import Dim
from relax_mlir.errors import Error
from relax_mlir.mlir import ir
from relax_mlir.relax.frontend.fourier import Complex
from relax_mlir.relax.frontend.known import SYMBOLIC_LIMIT, Known, object_array
from relax_mlir.relax.frontend.stablehlo.attributes import resources_of
from relax_mlir.relax.frontend.stablehlo.errors import StablehloError
from relax_mlir.relax.frontend.stablehlo.operation import DESCRIPTION, Converter, Operation, key_of
from relax_mlir.relax.frontend.stablehlo.values import Spread, equal_dims, source_of
from relax_mlir.relax.frontend.values import ValueImporter

RETURNS = ("func.return", "stablehlo.return")
CALLS = ("func.call", "stablehlo.composite")
_CALLEES = ("callee", "decomposition")


class ProgramImporter(ValueImporter):
    """Builds one Relax function from a function of the program and those it calls."""

    def __init__(self, module: ir.Module, converters: Mapping[str, Converter]):
        super().__init__()
        self.module = module
        self.converters = converters
        self.functions: dict[str, ir.Operation] = {
            ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        self.env: dict[ir.Value, Any] = {}
        self.sizes: dict[Any, list[Dim]] = {}

    @cached_property
    def resources(self) -> dict[str, bytes]:
        return resources_of(self.module)

    # -- values -----------------------------------------------------------------------------

    def expr(self, value: Any) -> Any:
        if isinstance(value, Spread):
            return self.ops.broadcast_to(self.expr(value.source), self.shape_expr(value.dims))
        if isinstance(value, Complex):
            raise StablehloError(
                "a complex tensor where Relax needs a real one: return its real and imaginary part"
            )
        return super().expr(value)

    def parts(self, x: Any) -> Complex:
        """A complex tensor, of a tensor that has its parts along a last axis."""
        last = len(x.struct_info.shape) - 1
        chosen = (self.relax.const(i, "int64") for i in range(2))
        return Complex(*(self.ops.take(x, part, axis=last) for part in chosen))

    def result(self, value: Any) -> Any:
        """A value that the program returns; a complex one as `parts` takes it."""
        if not isinstance(value, Complex):
            return self.expr(value)
        return self.ops.stack([self.expr(value.real), self.expr(value.imag)], axis=-1)

    def dims_of(self, value: Any) -> list[Dim] | None:
        if isinstance(value, Spread):
            return list(value.dims)
        dims = super().dims_of(value)
        return self.sizes.get(value) if dims is None else dims

    def dtype_of(self, value: Any) -> str:
        """The name of a tensor's dtype."""
        value = source_of(value)
        return value.dtype if isinstance(value, Known) else value.struct_info.dtype

    def sized(self, expr: Any) -> Any:
        """A tensor whose type tells its dimensions, where the program's types imply them.

        Relax knows nothing of the sum of an `n` and an `m` vector; StableHLO's rules say that both
        have one size, which the program then checks as it runs.
        """
        implied = self.sizes.get(expr)
        if implied is None or expr.struct_info.dims is not None:
            return expr
        kind = self.relax.TensorStructInfo(self.shape_expr(implied), expr.struct_info.dtype)
        return self.block_builder.match_cast(expr, kind)

    def collapsed(self, value: Any) -> Any:
        """A small `Spread` of a `Known` as a `Known`; other values as they are."""
        if not isinstance(value, Spread) or not isinstance(value.source, Known):
            return value
        dims = [dim for dim in value.dims if isinstance(dim, int)]
        if len(dims) != len(value.dims) or np.prod(dims, dtype=object) > SYMBOLIC_LIMIT:
            return value
        source = value.source
        repeated = np.broadcast_to(source.array, dims)
        if source.is_symbolic:
            return Known(object_array(repeated.reshape(-1), repeated.shape), source.dtype)
        return Known(repeated)

    def reshaped(self, x: Any, dims: Sequence[Dim]) -> Any:
        """A bound reshape of an expression, or the expression when it has that shape."""
        present = self.dims_of(x)
        if present is not None and equal_dims(present, dims):
            return x
        return self.ops.reshape(x, self.shape_expr(dims))

    # -- the program ------------------------------------------------------------------------

    def block(self, block: ir.Block, arguments: Sequence[Any]) -> list[Any]:
        """Convert the operations of a block; returns what it returns."""
        self.env.update(zip(block.arguments, arguments, strict=True))
        for view in block.operations:
            operation = view.operation
            if operation.name in RETURNS:
                return [self.env[value] for value in operation.operands]
            self.convert(operation)
        raise StablehloError(f"a block of the program does not return: {block}")

    def call(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Convert the body of a function in place of a call."""
        if name not in self.functions:
            raise StablehloError(f"the program calls '{name}', which it does not define")
        return self.block(self.functions[name].regions[0].blocks[0], arguments)

    def convert(self, source: ir.Operation) -> None:
        """Convert one operation and define its results."""
        operation = Operation(self, source, [self.env[value] for value in source.operands])
        try:
            result = self._converter(operation)(operation)
        except Error as error:
            if DESCRIPTION not in str(error):
                error.message = f"{operation.describe()}: {error.message}"
            raise
        except (TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise StablehloError(f"{operation.describe()}: {reason}") from error
        results = result if len(source.results) != 1 else [result]
        for value, made in zip(source.results, results or [], strict=True):
            self.env[value] = self.bound(made)

    def _converter(self, operation: Operation) -> Converter:
        """The converter of an operation.  Refuses one that complex values reach and is none for."""
        name = operation.name
        if not any(isinstance(value, Complex) for value in operation.operands) or name in CALLS:
            return self.converters.get(key_of(operation.source)) or self.converters[name]
        converter = self.converters.get(f"complex {key_of(operation.source)}")
        if converter is None:
            operation.refuse("no converter for complex numbers, which Relax does not have")
        return converter

    def bound(self, value: Any) -> Any:
        if isinstance(value, Complex):
            return Complex(self.bound(value.real), self.bound(value.imag))
        return super().bound(value)

    def in_function(self, name: str, build: Callable[[], None]) -> Any:
        """Build functions while this one is open; returns the variable of the one of that name.

        `build` makes them with the importer's block builder, which is another one meanwhile.
        """
        outer, env, sizes = self.block_builder, self.env, self.sizes
        present = {var.name_hint for var in outer.get().get_global_vars()}
        self.block_builder, self.env, self.sizes = self.relax.BlockBuilder(outer.get()), {}, {}
        try:
            # Sizes mean the same there: `_captured` passes those that no parameter tells.
            self.env.update({k: v for k, v in env.items() if isinstance(source_of(v), Known)})
            build()
            made = self.block_builder.get()
        finally:
            self.block_builder, self.env, self.sizes = outer, env, sizes
        for var in made.get_global_vars():
            if var.name_hint not in present:
                if var.name_hint != name:  # that one was reserved before it was built
                    outer.get_unique_name(var.name_hint)
                outer.update_func(var, made[var])
        return outer.get().get_global_var(name)


def operations_in(block: ir.Block) -> Iterator[ir.Operation]:
    """The operations of a block and of the regions in it."""
    for view in block.operations:
        yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from operations_in(inner)


def callee_of(operation: ir.Operation) -> str:
    """The name of the function that an operation of `CALLS` calls."""
    found = next(name for name in _CALLEES if name in operation.attributes)
    return ir.FlatSymbolRefAttr(operation.attributes[found]).value
