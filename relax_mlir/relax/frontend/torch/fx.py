"""`from_fx`: a graph traced by `torch.fx` becomes an IRModule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.relax.frontend.common import attach_params
from relax_mlir.relax.frontend.torch.importer import (
    Converter,
    Importer,
    refuse_missing,
    to_numpy,
)
from relax_mlir.relax.frontend.torch.modules import MODULES
from relax_mlir.relax.frontend.torch.tables import CONVERTERS

if TYPE_CHECKING:
    from torch import fx

    from relax_mlir.ir import IRModule


def from_fx(
    model: fx.GraphModule,
    input_info: Sequence[tuple[Sequence[int], str]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[Any, Converter] | None = None,
) -> IRModule:
    """Import a traced model as a module with one function `main`.

    `input_info` gives (shape, dtype) of each input; entries of a shape may be TensorIR variables.
    The other options are those of `from_exported_program`; `custom_convert_map` is keyed by
    function, method name or layer class.  Raises UnsupportedOperatorError.
    """
    importer = _FxImporter(model, custom_convert_map, keep_params_as_input)
    return importer.run(input_info, unwrap_unit_return_tuple, no_bind_return_tuple)


class _FxImporter(Importer):
    def __init__(self, model: Any, custom: Mapping[Any, Converter] | None, keep_params: bool):
        super().__init__({**CONVERTERS, getattr: _getattr}, custom)
        self.model = model
        self.custom = dict(custom or {})
        self.keep_params = keep_params
        self.modules = dict(model.named_modules())
        self.parameters: dict[int, Any] = {}
        self.values: list[Any] = []

    def parameter(self, tensor: Any) -> Any:
        """The expression of a weight: a parameter of the function or a constant."""
        found = self.parameters.get(id(tensor))
        return self.constant(tensor) if found is None else found

    def run(self, input_info: Sequence[Any], unwrap: bool, no_bind: bool) -> IRModule:
        nodes = list(self.model.graph.nodes)
        refuse_missing(self._unknown(nodes))
        placeholders = [node for node in nodes if node.op == "placeholder"]
        inputs = []
        for node, (shape, dtype) in zip(placeholders, input_info, strict=True):
            info = self.relax.TensorStructInfo(list(shape), dtype)
            self.env[node] = self.relax.Var(node.name, info)
            inputs.append(self.env[node])
        weights = self._declare_parameters() if self.keep_params else []
        attrs = {"num_input": len(inputs)} if self.keep_params else None
        builder = self.block_builder
        with builder.function("main", [*inputs, *weights], attrs=attrs):
            with builder.dataflow():
                for node in nodes:
                    self._convert(node)
                value = self.retrieve(nodes[-1].args[0])
                if isinstance(value, (list, tuple)):
                    single = unwrap and len(value) == 1
                    value = value[0] if single else self.relax.Tuple(list(value))
                output = builder.emit_output(value)
            builder.emit_func_output(output)
        module = builder.get()
        if self.keep_params:
            attach_params(module, "main", self.values)
        return module

    def _declare_parameters(self) -> list[Any]:
        weights = []
        for name, tensor in self.model.named_parameters():
            array = to_numpy(tensor)
            info = self.relax.TensorStructInfo(list(array.shape), array.dtype.name)
            self.parameters[id(tensor)] = self.relax.Var(name.replace(".", "_"), info)
            weights.append(self.parameters[id(tensor)])
            self.values.append(array)
        return weights

    def _convert(self, node: Any) -> None:
        if node.op == "get_attr":
            self.env[node] = self.parameter(_attribute(self.model, node.target))
        elif node.op == "call_module":
            layer = self.modules[node.target]
            converter = self._module_converter(layer)
            assert converter is not None  # `run` refuses layers without one
            args = [self.retrieve(a) for a in node.args]
            self.env[node] = self.bind(converter(self, layer, *args))
        elif node.op in ("call_function", "call_method"):
            self.env[node] = self.call(self.key_of(node.target), node)

    def key_of(self, target: Any) -> Any:
        """The table's key for a called function or method name."""
        if target in self.converters:
            return target
        name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        stripped = name.rstrip("_")
        return name if name in self.converters else stripped

    def _module_converter(self, layer: Any) -> Converter | None:
        return self.custom.get(type(layer)) or MODULES.get(type(layer).__name__)

    def _unknown(self, nodes: list[Any]) -> list[tuple[str, Any]]:
        calls = [n for n in nodes if n.op in ("call_function", "call_method")]
        layers = [(self.modules[n.target], n) for n in nodes if n.op == "call_module"]
        unknown = [(type(m).__name__, n) for m, n in layers if self._module_converter(m) is None]
        return [*self.missing((self.key_of(n.target), n) for n in calls), *unknown]


def _getattr(imp: Importer, x: Any, name: str) -> Any:
    """Attributes of tensors that a traced program reads."""
    if name == "shape":
        return imp.shape_of(x)
    if name == "dtype":
        import torch

        return getattr(torch, x.struct_info.dtype)
    if name in ("T", "mT"):
        return imp.permute(
            x, [*range(imp.ndim(x) - 2), -1, -2] if name == "mT" else _reversed(imp, x)
        )
    return getattr(x, name)


def _reversed(imp: Importer, x: Any) -> list[int]:
    return list(range(imp.ndim(x)))[::-1]


def _attribute(model: Any, path: str) -> Any:
    """An attribute by dotted path; raises AttributeError naming the missing part."""
    value = model
    for part in path.split("."):
        value = getattr(value, part)
    return value
