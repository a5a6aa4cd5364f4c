"""`nn.Module.export_tvm`: every method of a spec becomes a Relax function."""

from __future__ import annotations

from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.relax import expr as rx
from relax_mlir.relax import symbols
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.frontend.nn import spec as specs
from relax_mlir.relax.frontend.nn.core import Module, Object, Parameter, Tensor, unwrap
from relax_mlir.relax.struct_info import ObjectType, ShapeType, TensorType, TupleType


def export(module: Module, raw: Any) -> tuple[IRModule, list[tuple[str, Parameter]]]:
    """The module with the functions, and the named parameters in the order they are passed."""
    spec = specs.ModuleSpec.from_raw(raw, module)
    params = list(module.named_parameters())
    builder = BlockBuilder()
    for name, method in zip(spec.method_names, spec.method_specs, strict=True):
        _export_method(builder, name, method, params)
    return builder.get(), params


def _export_method(
    builder: BlockBuilder, name: str, method: specs.MethodSpec, params: list[tuple[str, Parameter]]
) -> None:
    inputs: list[rx.Var] = []
    arguments = [
        _argument(arg_name, arg_spec, inputs)
        for arg_name, arg_spec in zip(method.arg_names, method.arg_specs, strict=True)
    ]
    weights = _weights(method, params)
    attrs = {"num_input": len(inputs)}
    saved = [(param, param.expr) for _, param in params]
    try:
        with builder.function(name, [*inputs, *weights], attrs=attrs):
            with builder.dataflow():
                _place_weights(builder, method, params, weights)
                result = method.method(*arguments)
                output = builder.emit_output(_result(result))
            builder.emit_func_output(output)
    finally:
        for param, expr in saved:
            param.expr = expr


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
