"""Functions inside functions: the part of `FunctionBuilder` that makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.relax import types
from relax_mlir.mlir import ir
from relax_mlir.relax.expr import Var
from relax_mlir.relax.struct_info import FuncType, to_mlir_type

if TYPE_CHECKING:
    from relax_mlir.relax.blocks import LocalFunction

__all__ = ["Frame", "LocalFunctions"]


@dataclass
class Frame:
    """A block that is being filled: the function's, a dataflow block's or a branch's."""

    kind: str
    block: ir.Block
    operation: ir.Operation
    outputs: list[Var] = field(default_factory=list)
    variables: list[Var] = field(default_factory=list)


class LocalFunctions:
    """Opens and closes functions inside the function under construction."""

    if TYPE_CHECKING:
        location: ir.Location | None
        names: Any
        values: dict[Var, ir.Value]
        _frames: list[Frame]

        @property
        def _point(self) -> ir.InsertionPoint: ...
        def _name_location(self, name: str | None) -> ir.Location: ...
        def _define_symbols(self, kind: ir.Type) -> None: ...
        def _variable(self, name: str, value: ir.Value, output: bool = False) -> Var: ...
        def _leave_branch(self) -> Frame: ...
        def _yield(self, result: Any) -> None: ...
        def _fresh(self) -> str: ...
        def alias(self, var: Var, bound: Var) -> None: ...

    def begin_function(self, params: Sequence[Var], own: Var | None = None) -> None:
        """Open a function; bindings are its until `end_function`.

        `own` is the variable by which it calls itself.  Raises Error.
        """
        with mlir.scope(), self._point:
            op = ir.Operation.create(
                "relax.local_function",
                results=[types.object_type()],
                regions=1,
                loc=self._name_location(None),
            )
            variables = list(params) if own is None else [own, *params]
            for param in variables:
                self._define_symbols(param.mlir_type)
            names = [self.names.own(v.name_hint) for v in variables]
            place = self._name_location(None)
            block = op.regions[0].blocks.append(
                *[v.mlir_type for v in variables],
                arg_locs=[name_location(n, place) for n in names],
            )
            if own is not None:
                op.attributes["recursive"] = ir.UnitAttr.get()
        frame = Frame("function", block, op)
        self._frames.append(frame)
        for variable, argument in zip(variables, block.arguments, strict=True):
            self.values[variable] = argument
            frame.variables.append(variable)

    def end_function(
        self,
        result: Any,
        name: str | None = None,
        ret_type: Any = None,
        *,
        pure: bool = True,
        attrs: Mapping[str, Any] | None = None,
    ) -> Var:
        """Close the function, which gives `result`; it is bound to a variable."""
        self._yield(result)
        op = self._leave_branch().operation
        with mlir.scope():
            block = op.regions[0].blocks[0]
            given = list(block.operations)[-1].operation.operands[0].type
            inputs = [a.type for a in block.arguments]
            if "recursive" in op.attributes:
                inputs = inputs[1:]
            declared = given if ret_type is None else to_mlir_type(ret_type)
            op.results[0].set_type(ir.FunctionType.get(inputs, [declared]))
            if not pure:
                op.attributes["pure"] = ir.BoolAttr.get(False)
            if attrs:
                op.attributes["attrs"] = to_attribute(dict(attrs))
            if name is not None and "recursive" in op.attributes:
                self.names.release(name)  # the name inside is the same function's
            chosen = self._fresh() if name is None else self.names.own(name)
            op.location = self._name_location(chosen)
            return self._variable(chosen, op.results[0])

    def _bind_local_function(self, expr: LocalFunction, name: str | None) -> Var:
        self.begin_function(expr.params, expr.own)
        kind = ir.FunctionType(expr.mlir_type).results[0]
        return self.end_function(expr.body, name, kind, pure=expr.is_pure, attrs=expr.attrs)


def own_variable(name: str, params: Sequence[Var], ret: Any) -> Var:
    """The variable by which a function of this type calls itself."""
    return Var(name, FuncType([p.struct_info for p in params], ret))
