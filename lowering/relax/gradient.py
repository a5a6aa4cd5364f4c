"""relax-gradient."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.names import name_location, name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import outputs_of
from relax_mlir.dialects.relax.spec import spec_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.convert_to_dataflow import gather
from relax_mlir.lowering.relax.decompositions import apply_rules, layer_norm
from relax_mlir.lowering.relax.functions import (
    RELAX_ATTRS,
    argument_attributes,
    entry_block,
    functions_by_name,
    operations,
    terminator,
    walk,
)
from relax_mlir.lowering.relax.gradients.rules import CONSTANT, RULES, Step
from relax_mlir.lowering.relax.gradients.te_gradients import te_gradient
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.lowering.relax.to_non_dataflow import dissolve
from relax_mlir.mlir import ir

FAMILIES = ("elementwise", "reduction", "manipulate", "nn")
_SILENT = frozenset("relax.constant relax.shape_expr relax.prim_value".split())


@cache
def rules() -> dict[str, Any]:
    """All rules; the files of the families add theirs when they are imported."""
    for family in FAMILIES:
        importlib.import_module(f"relax_mlir.lowering.relax.gradients.{family}")
    return RULES


@register_pass("relax-gradient")
@dataclass(frozen=True)
class Gradient(Pass):
    """Add `<func_name>_adjoint`, which also returns the gradients of a function.

    The function must return a scalar, or a tuple whose field `target_index` is one, and consist of
    operators (and `call_tir_with_grad`) without branches and other calls.  The new one returns
    (what the function returns, the gradients of its parameters); `require_grads` names the
    parameters, all float ones by default.  Reverse mode; gradients of parameters that do not matter
    are zeros.
    """

    func_name: str = "main"
    require_grads: tuple[str, ...] = ()
    target_index: int = 0

    def run(self, state: ModuleState) -> None:
        functions = functions_by_name(state)
        original = functions.get(self.func_name)
        if original is None or RELAX_ATTRS not in original.attributes:
            raise PassError(f"there is no Relax function '{self.func_name}'")
        name = f"{self.func_name}_adjoint"
        if name in functions:
            functions[name].erase()
        with ir.InsertionPoint(original):
            adjoint = original.clone()
        try:
            adjoint.attributes["sym_name"] = ir.StringAttr.get(name)
            self._differentiate(adjoint, state)
        except PassError:
            adjoint.erase()
            raise

    def _differentiate(self, function: ir.Operation, state: ModuleState) -> None:
        for op in [op for op in walk(function) if op.name == "relax.dataflow"]:
            dissolve(op)
        apply_rules(function, state, {"relax.nn_layer_norm": layer_norm})
        block = entry_block(function)
        parameters = self._parameters(function)
        end = terminator(block)
        write = OperatorWriter(end, state.constants)
        target = self._target(write, end.operands[0])
        backward = _Backward(write, parameters, end, state)
        backward.run(block, target)
        gradients = [backward.of_parameter(p, name) for p, name in parameters.items()]
        result = write.tuple([end.operands[0], write.tuple(gradients)])
        end.operands[0] = result
        set_function_type(function, returned_types(function))
        gather(operations(block)[:-1])

    def _parameters(self, function: ir.Operation) -> dict[ir.Value, str]:
        """The parameters to differentiate by, and their names."""
        named = {
            ir.StringAttr(entry["relax.name"]).value: argument
            for argument, entry in zip(
                entry_block(function).arguments, argument_attributes(function), strict=True
            )
        }
        unknown = [name for name in self.require_grads if name not in named]
        if unknown:
            raise PassError(
                f"'{self.func_name}' has no parameter '{unknown[0]}'",
                hint=f"its parameters are {', '.join(named)}",
            )
        chosen = self.require_grads or [n for n, a in named.items() if _is_float(a)]
        for name in chosen:
            if not _is_float(named[name]):
                kind = types.describe(named[name].type)
                raise PassError(f"there is no gradient of '{name}': it is {kind}")
        return {named[name]: name for name in chosen}

    def _target(self, write: OperatorWriter, returned: ir.Value) -> ir.Value:
        fields = types.tuple_fields(returned.type)
        target = returned
        if fields is not None:
            if not 0 <= self.target_index < len(fields):
                raise PassError(f"'{self.func_name}' returns no field {self.target_index}")
            target = write.field(returned, self.target_index)
        elif self.target_index:
            raise PassError(f"'{self.func_name}' returns one tensor, not field {self.target_index}")
        if dims_of(target) != () or not _is_float(target):
            raise PassError(
                f"a gradient is that of a float scalar, '{self.func_name}' returns "
                f"{types.describe(target.type)}"
            )
        return target


def _is_float(value: ir.Value) -> bool:
    dtype = dtype_of(value)
    return dtype is not None and dtypes.is_float(dtype)


class _Backward:
    """Goes through a function from its result to its parameters."""

    def __init__(
        self,
        write: OperatorWriter,
        parameters: dict[ir.Value, str],
        end: ir.Operation,
        state: ModuleState,
    ):
        self._write = write
        self._end = end
        self._state = state
        self._active: set[ir.Value] = set(parameters)
        # A gradient, or for tuples those of their fields.
        self._gradients: dict[ir.Value, Any] = {}

    def run(self, block: ir.Block, target: ir.Value) -> None:
        ops = operations(block)[:-1]
        for op in ops:
            if any(value in self._active for value in op.operands):
                self._active.update(op.results)
        if target not in self._active:
            return
        self._gradients[target] = self._write.constant(1.0, dtype_of(target) or "float32")
        for op in reversed(ops):
            result = op.results[0] if len(op.results) == 1 else None
            if result is not None and result in self._gradients and result in self._active:
                self._step(op, self._gradients[result])

    def of_parameter(self, parameter: ir.Value, name: str) -> ir.Value:
        """The gradient of a parameter; zeros when the result does not depend on it."""
        made = self._gradients.get(parameter)
        if made is None:
            made = self._write.op("zeros_like", parameter)
        elif isinstance(made, ir.BlockArgument) or name_of(made) is not None:
            return made
        made.owner.operation.location = name_location(f"{name}_adjoint")
        return made

    def _step(self, op: ir.Operation, grad: Any) -> None:
        if op.name == "relax.bind":
            self._add(op.operands[0], grad)
        elif op.name == "relax.tuple":
            for value, part in zip(op.operands, grad, strict=True):
                self._add(value, part)
        elif op.name == "relax.tuple_get_item":
            index = ir.IntegerAttr(op.attributes["index"]).value
            count = len(types.tuple_fields(op.operands[0].type) or [])
            self._add(op.operands[0], [grad if i == index else None for i in range(count)])
        elif op.name == "relax.call_tir_with_grad":
            grads = grad if isinstance(grad, list) else [grad]
            kinds = outputs_of(op.results[0].type)
            given = [
                self._zeros(kind) if one is None else one
                for one, kind in zip(grads, kinds, strict=True)
            ]
            found = te_gradient(op, given, self._end, self._state)
            for value, part in zip(op.operands, found, strict=True):
                self._add(value, part)
        elif op.name not in _SILENT:
            self._operator(op, grad)

    def _zeros(self, kind: ir.Type) -> ir.Value:
        info = types.tensor_info(kind)
        assert info is not None and info.dims is not None
        return self._write.op("zeros", self._write.shape(info.dims), dtype=info.dtype)

    def _operator(self, op: ir.Operation, grad: Any) -> None:
        spec = spec_of(op)
        rule = rules().get(spec.name) if spec is not None else None
        if rule is None:
            if spec is not None and spec.name in CONSTANT:
                return
            raise PassError(
                f"there is no gradient of {op.name}",
                hint=f"at {op.location}; R.grad.no_grad(x) stops gradients",
            )
        step = Step(self._write, op)
        flat = list(op.operands)
        found = list(rule(step, grad))
        if len(found) < len(flat):
            found += [None] * (len(flat) - len(found))
        for value, part in zip(flat, found, strict=False):
            self._add(value, part)

    def _add(self, value: ir.Value, grad: Any) -> None:
        if grad is None or value not in self._active:
            return
        known = self._gradients.get(value)
        if isinstance(grad, list):
            before = known or [None] * len(grad)
            self._gradients[value] = [
                b if a is None else a if b is None else self._write.op("add", a, b)
                for a, b in zip(before, grad, strict=True)
            ]
            return
        if not _is_float(value):
            return
        grad = self._fitted(grad, value)
        self._gradients[value] = grad if known is None else self._write.op("add", known, grad)

    def _fitted(self, grad: ir.Value, value: ir.Value) -> ir.Value:
        """The gradient in the shape of the value: summed where that was broadcast, or spread."""
        dims, given = dims_of(value), dims_of(grad)
        if dims is None or dims == given:
            return grad
        shape = self._write.shape(dims)
        if given is not None and len(given) < len(dims):
            return self._write.op("broadcast_to", grad, shape)
        return self._write.op("collapse_sum_to", grad, shape)
