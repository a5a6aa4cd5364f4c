"""relax-lambda-lift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    functions_by_name,
    operations,
    relax_functions,
    symbol_name,
    terminator,
    unique_name,
    walk,
)
from relax_mlir.lowering.relax.fuse_ops import bound_symbols
from relax_mlir.lowering.relax.lift_transform_params import CHEAP
from relax_mlir.lowering.relax.rewriting import unnamed
from relax_mlir.mlir import func, ir


@register_pass("relax-lambda-lift")
@dataclass(frozen=True)
class LambdaLift(Pass):
    """Make functions inside functions private functions of the module.

    What a local function uses from around it becomes further parameters, and the function a
    `relax.make_closure` that gives them; calls of it become `relax.invoke_pure_closure`.  A
    function that uses nothing from around it is called directly, and so is one by itself.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in list(_local_functions(function)):
                _Lift(state, function, op).run()


def _local_functions(op: ir.Operation) -> Iterator[ir.Operation]:
    """The local functions inside `op`, inner ones first."""
    for region in op.regions:
        for block in region.blocks:
            for child in operations(block):
                yield from _local_functions(child)
                if child.name == "relax.local_function":
                    yield child


class _Lift:
    """One local function on its way out."""

    def __init__(self, state: ModuleState, function: ir.Operation, op: ir.Operation):
        self.op = op
        self.function = function
        self.body = op.regions[0].blocks[0]
        self.pure = "pure" not in op.attributes or ir.BoolAttr(op.attributes["pure"]).value
        base = f"{symbol_name(function)}_{name_of(op.results[0]) or 'lambda'}"
        self.name = unique_name(functions_by_name(state), base)
        self.location = unnamed(op.location)

    def run(self) -> None:
        own = self.body.arguments[0] if "recursive" in self.op.attributes else None
        self._copy_cheap_values()
        captured = self._captured()
        symbols = self._missing_symbols(captured)
        given = [self._shape(symbol, self.op) for symbol in symbols]
        parameters = self._add_parameters(captured, symbols, given)
        if own is not None:
            self._call_itself(own, parameters)
            self.body.erase_argument(0)
        self._replace_uses([*captured, *given])
        self._make_function()
        self.op.erase()

    # -- what the body uses from around it ------------------------------------------------------
    def _outside(self) -> dict[ir.Value, list[tuple[ir.Operation, int]]]:
        """Values that the body uses and does not define, with their uses."""
        inside: set[ir.Value] = set(self.body.arguments)
        found: dict[ir.Value, list[tuple[ir.Operation, int]]] = {}
        for op in walk(self.op):
            for index, value in enumerate(op.operands):
                if value not in inside:
                    found.setdefault(value, []).append((op, index))
            inside.update(op.results)
            for region in op.regions:
                for block in region.blocks:
                    inside.update(block.arguments)
        return found

    def _copy_cheap_values(self) -> None:
        """Constants and shapes are made again inside rather than handed over."""
        for value, uses in self._outside().items():
            if isinstance(value, ir.BlockArgument) or value.owner.operation.name not in CHEAP:
                continue
            with ir.InsertionPoint.at_block_begin(self.body):
                copy = value.owner.operation.clone()
            for op, index in uses:
                op.operands[index] = copy.results[0]

    def _captured(self) -> list[ir.Value]:
        return list(self._outside())

    def _missing_symbols(self, captured: list[ir.Value]) -> list[str]:
        """Symbols that the body mentions and no parameter gives the value of."""
        values = [*self.body.arguments, *captured]
        bound = {symbol for value in values for symbol in bound_symbols(value.type)}
        mentioned = dict.fromkeys(s for value in values for s in types.symbols_of(value.type))
        for op in walk(self.op):
            for result in op.results:
                if op.name == "relax.match_cast":
                    bound |= bound_symbols(result.type)
                mentioned.update(dict.fromkeys(types.symbols_of(result.type)))
        outer = {
            s for op in walk(self.function) if op.name == "relax.match_cast"
            for s in bound_symbols(op.results[0].type)
        }  # fmt: skip
        for argument in self.function.regions[0].blocks[0].arguments:
            outer |= bound_symbols(argument.type)
        return [s for s in mentioned if s not in bound and s in outer]

    def _shape(self, symbol: str, before: ir.Operation) -> ir.Value:
        with ir.InsertionPoint(before):
            kind = types.shape_type([symbol])
            return create("relax.shape_expr", [kind], loc=self.location).result

    # -- the function ----------------------------------------------------------------------------
    def _add_parameters(
        self, captured: list[ir.Value], symbols: list[str], shapes: list[ir.Value]
    ) -> list[ir.Value]:
        taken = [name for a in self.body.arguments if (name := name_of(a))]
        outside = self._outside()
        parameters: list[ir.Value] = []
        hints = [name_of(value) or "captured" for value in captured]
        hints += [f"{symbol}_size" for symbol in symbols]
        for value, hint in zip([*captured, *shapes], hints, strict=True):
            name = unique_name(taken, hint)
            taken.append(name)
            parameter = self.body.add_argument(value.type, name_location(name, self.location))
            parameters.append(parameter)
            for op, index in outside.get(value, ()):
                op.operands[index] = parameter
        return parameters

    def _call_itself(self, own: ir.Value, parameters: list[ir.Value]) -> None:
        """Calls of itself hand the captured values on."""
        closure: ir.Value | None = None
        for use in list(own.uses):
            op = use.owner.operation
            if op.name == "relax.call_value" and use.operand_number == 0:
                self._call_directly(op, parameters)
                continue
            if closure is None:
                with ir.InsertionPoint.at_block_begin(self.body):
                    closure = self._closure(parameters)
            op.operands[use.operand_number] = closure

    def _call_directly(self, op: ir.Operation, captured: list[ir.Value]) -> None:
        operands = [*list(op.operands)[1:], *captured]
        self._replace(op, "relax.call", operands, {"callee": ir.FlatSymbolRefAttr.get(self.name)})

    def _replace(
        self,
        op: ir.Operation,
        name: str,
        operands: list[ir.Value],
        attributes: dict[str, ir.Attribute],
    ) -> None:
        with ir.InsertionPoint(op):
            made = create(name, [op.results[0].type], operands, attributes, loc=op.location)
        op.results[0].replace_all_uses_with(made.result)
        op.erase()

    def _closure(self, captured: list[ir.Value], location: ir.Location | None = None) -> ir.Value:
        """The function as a value, at the insertion point."""
        stored: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(self.name)}
        name = "relax.make_closure" if captured else "relax.function_ref"
        kind = self.op.results[0].type
        return create(name, [kind], captured, stored, loc=location or self.location).result

    def _replace_uses(self, captured: list[ir.Value]) -> None:
        """Calls of the function, and what else is done with it, in the function around it."""
        result = self.op.results[0]
        closure: ir.Value | None = None
        invoke = "relax.invoke_pure_closure" if self.pure else "relax.invoke_closure"
        for use in list(result.uses):
            op = use.owner.operation
            calls = op.name == "relax.call_value" and use.operand_number == 0
            if calls and not captured:
                self._call_directly(op, [])
                continue
            if closure is None:
                with ir.InsertionPoint(self.op):
                    closure = self._closure(captured, self.op.location)
            op.operands[use.operand_number] = closure
            if calls:
                self._replace(op, invoke, list(op.operands), {})

    def _make_function(self) -> None:
        """Move the body into a function of the module."""
        attributes = self.op.attributes
        inputs = [argument.type for argument in self.body.arguments]
        names = [name_of(a) or f"arg{i}" for i, a in enumerate(self.body.arguments)]
        end = terminator(self.body)
        returned = end.operands[0]
        declared = ir.FunctionType(self.op.results[0].type).results[0]
        if returned.type != declared:
            with ir.InsertionPoint(end):
                returned = create(
                    "relax.bind", [declared], [returned], loc=unnamed(end.location)
                ).result
        with ir.InsertionPoint(self.function), self.location:
            made = func.FuncOp(self.name, (inputs, [declared])).operation
        made.attributes["sym_visibility"] = ir.StringAttr.get("private")
        stored = attributes["attrs"] if "attrs" in attributes else to_attribute({})
        made.attributes[RELAX_ATTRS] = stored
        if not self.pure:
            made.attributes["relax.pure"] = ir.BoolAttr.get(False)
        entries = [ir.DictAttr.get({"relax.name": ir.StringAttr.get(name)}) for name in names]
        made.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
        with ir.InsertionPoint(end), end.location:
            func.ReturnOp([returned])
        end.erase()
        self.body.append_to(made.regions[0])
