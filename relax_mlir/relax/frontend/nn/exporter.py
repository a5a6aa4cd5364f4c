"""`nn.Module.export_tvm`: every method of a spec becomes a Relax function."""

from __future__ import annotations

from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.relax import expr as rx
from relax_mlir.relax import symbols
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.frontend.nn import spec as specs
from relax_mlir.relax.frontend.nn.core import (
    Module,
    Object,
    Parameter,
    Tensor,
    unwrap,
    value_attributes,
)
from relax_mlir.relax.frontend.nn.effects import Effect, IOEffect
from relax_mlir.relax.struct_info import ObjectType, ShapeType, TensorType, TupleType

_CURRENT: list[Exporter] = []


class Exporter:
    """One export: the builder, and the effects of the module that are going through it.

    With `debug` there is an effect for what the program prints (`nn.op.print_`).
    """

    def __init__(self, module: Module, debug: bool = False) -> None:
        self.builder = BlockBuilder()
        self.module = module
        self.io_effect = IOEffect() if debug else None
        named = [] if self.io_effect is None else [("_io", self.io_effect)]
        self.effects: list[tuple[str, Effect]] = [*named, *_effects(module)]
        self.params = list(module.named_parameters())

    @staticmethod
    def current() -> Exporter | None:
        """The export that is under way, or None."""
        return _CURRENT[-1] if _CURRENT else None

    def run(self, spec: specs.ModuleSpec) -> IRModule:
        """The module with a function for each method of the spec."""
        _CURRENT.append(self)
        try:
            if self.effects:
                self._initialize_effects()
            for name, method in zip(spec.method_names, spec.method_specs, strict=True):
                self._export_method(name, method)
        finally:
            _CURRENT.pop()
        return self.builder.get()

    def _initialize_effects(self) -> None:
        builder = self.builder
        with builder.function("_initialize_effect", []):
            with builder.dataflow():
                states = [
                    state
                    for name, effect in self.effects
                    for state in effect.emit_init(_identifier(name), builder)
                ]
                output = builder.emit_output(rx.Tuple(states))
            builder.emit_func_output(output)

    def _export_method(self, name: str, method: specs.MethodSpec) -> None:
        builder = self.builder
        inputs: list[rx.Var] = []
        arguments = [
            _argument(arg_name, arg_spec, inputs)
            for arg_name, arg_spec in zip(method.arg_names, method.arg_specs, strict=True)
        ]
        states, given = self._states(method)
        weights = _weights(method, self.params)
        attrs = {"num_input": len(inputs) + len(given)}
        saved = [(param, param.expr) for _, param in self.params]
        try:
            with builder.function(name, [*inputs, *given, *weights], attrs=attrs):
                with builder.dataflow():
                    self._place_states(method, states, given)
                    _place_weights(builder, method, self.params, weights)
                    result = _result(method.method(*arguments))
                    output = builder.emit_output(self._with_states(method, result))
                builder.emit_func_output(output)
        finally:
            for param, expr in saved:
                param.expr = expr

    # -- effects ------------------------------------------------------------------------------
    def _states(self, method: specs.MethodSpec) -> tuple[list[list[rx.Var]], list[rx.Var]]:
        """The variables of each effect, and the parameters they come in."""
        states = [effect.create(_identifier(name)) for name, effect in self.effects]
        flat = [state for group in states for state in group]
        if method.effect_mode == "none" or not flat:
            return states, []
        if method.effect_mode == "plain":
            return states, flat
        kind = TupleType([state.struct_info for state in flat])
        return states, [rx.Var("packed_effects", kind)]

    def _place_states(
        self, method: specs.MethodSpec, states: list[list[rx.Var]], given: list[rx.Var]
    ) -> None:
        if method.effect_mode == "none":
            return
        position = 0
        for (_, effect), group in zip(self.effects, states, strict=True):
            values: list[rx.Expr] = list(group)
            if method.effect_mode == "packed":
                fields = range(position, position + len(group))
                values = [self.builder.emit(rx.TupleGetItem(given[0], i)) for i in fields]
            effect.set_state(values)
            position += len(group)

    def _with_states(self, method: specs.MethodSpec, result: rx.Expr) -> rx.Expr:
        if not self.effects or method.effect_mode == "none":
            return result
        states = [state for _, effect in self.effects for state in effect.finalize()]
        return rx.Tuple([result, rx.Tuple(states)])


def export(
    module: Module, raw: Any, debug: bool = False
) -> tuple[IRModule, list[tuple[str, Parameter]]]:
    """The module with the functions, and the named parameters in the order they are passed."""
    spec = specs.ModuleSpec.from_raw(raw, module)
    exporter = Exporter(module, debug)
    return exporter.run(spec), exporter.params


def _effects(module: Module) -> list[tuple[str, Effect]]:
    """The effects of a module and those inside it, by name."""
    return list(value_attributes(module, "", Effect))


def _weights(method: specs.MethodSpec, params: list[tuple[str, Parameter]]) -> list[rx.Var]:
    """The variables the parameters are passed in."""
    if method.param_mode == "none":
        return []
    types = [param.expr.struct_info for _, param in params]
    if method.param_mode == "packed":
        return [rx.Var("packed_params", TupleType(types))]
    return [rx.Var(_identifier(name), kind) for (name, _), kind in zip(params, types, strict=True)]


def _place_weights(
    builder: BlockBuilder,
    method: specs.MethodSpec,
    params: list[tuple[str, Parameter]],
    weights: list[rx.Var],
) -> None:
    """Let the parameters stand for the variables of this function."""
    if method.param_mode == "none":
        return
    for i, (name, param) in enumerate(params):
        if method.param_mode == "packed":
            param.expr = builder.emit(rx.TupleGetItem(weights[0], i), _identifier(name))
        else:
            param.expr = weights[i]


def _identifier(name: str) -> str:
    return name.replace(".", "_")


def _argument(name: str, spec: Any, inputs: list[rx.Var]) -> Any:
    """What the method is given for an argument; its variable is added to `inputs`."""
    if isinstance(spec, specs.Tuple):
        return _tuple_argument(name, spec, inputs)
    if isinstance(spec, specs.Int):
        size = symbols.symbol(name)
        inputs.append(rx.Var(name, ShapeType([size])))
        return size
    if isinstance(spec, specs.Tensor):
        inputs.append(rx.Var(name, TensorType(spec.shape, spec.dtype)))
        return Tensor(_expr=inputs[-1])
    inputs.append(rx.Var(name, ObjectType()))
    return spec.object_type(_expr=inputs[-1], _name=name)


def _tuple_argument(name: str, spec: specs.Tuple, inputs: list[rx.Var]) -> Any:
    inner: list[rx.Var] = []
    values = [_argument(f"{name}_{i}", item, inner) for i, item in enumerate(spec.elements)]
    whole = rx.Var(name, TupleType([var.struct_info for var in inner]))
    inputs.append(whole)
    for i, value in enumerate(values):
        if isinstance(value, (Tensor, Object)):
            value.expr = rx.TupleGetItem(whole, i)
    return list(values) if isinstance(spec.elements, list) else tuple(values)


def _result(value: Any) -> rx.Expr:
    """What a method returns as an expression."""
    inner = unwrap(value)
    if isinstance(inner, (list, tuple)):
        return rx.Tuple([_result(item) for item in value])
    if not isinstance(inner, rx.Expr):
        raise TypeError(f"a method returns tensors or tuples of them, not {value!r}")
    return inner
