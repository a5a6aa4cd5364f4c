"""`from_onnx`: an ONNX model becomes an IRModule."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.relax.frontend.common import attach_params
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.onnx.attributes import dtype_name, tensor_value
from relax_mlir.relax.frontend.onnx.functions import is_schema_function, origins
from relax_mlir.relax.frontend.onnx.importer import GraphImporter, converter_for, key_of
from relax_mlir.relax.frontend.onnx.node import Converter
from relax_mlir.relax.frontend.onnx.tables import CONVERTERS
from relax_mlir.relax.frontend.onnx.values import (
    BranchError,
    ConstantNeededError,
    OnnxError,
    UnsupportedOnnxOperatorError,
    require_runnable,
)
from relax_mlir.relax.names import NameSupply

if TYPE_CHECKING:
    import onnx

    from relax_mlir.ir import IRModule


def from_onnx(
    model: onnx.ModelProto | str | os.PathLike[str],
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: str | Mapping[str, str] | None = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
    custom_convert_map: Mapping[str, Converter] | None = None,
) -> IRModule:
    """Import a model as a module with one function `main`.

    `model` is a ModelProto or the path of a file, beside which external data is looked for.
    `shape_dict` gives inputs other shapes than the model's (for a sequence a list of shapes: so
    many tensors; None for an optional that is empty), `dtype_dict` other dtypes (a string is
    ignored where the model names one), `opset` another operator set version.  Named dimensions
    become symbols.  With `keep_params_in_input` the initializers are parameters after the inputs
    (their values stay with the module, see `detach_params`), else constants.
    `sanitize_input_names` makes names Python identifiers.  `custom_convert_map` maps an operator
    ("Relu", "my.domain.Op") to a function `(node) -> expression`, see
    `relax_mlir.relax.frontend.onnx.node.Node`.

    Raises UnsupportedOnnxOperatorError naming all operators without a converter with their counts,
    and ConstantNeededError for a use that depends on a value only known when the program runs.
    """
    proto, base_dir = _loaded(model)
    if proto.ir_version < 3:
        raise OnnxError(f"IR version {proto.ir_version} is not supported, at least 3 is needed")
    _check(proto)
    versions = {entry.domain: entry.version for entry in proto.opset_import} or {"": 1}
    if opset is not None:
        if opset < versions.get("", versions.get("ai.onnx", 1)):
            warnings.warn(f"operator set {opset} is older than the model's", stacklevel=2)
        versions["ai.onnx" if "ai.onnx" in versions else ""] = opset
    converters = {**CONVERTERS, **(custom_convert_map or {})}
    _refuse_dtypes(proto)
    _refuse_missing(proto, GraphImporter(converters, versions, base_dir))

    def run(branches: bool) -> IRModule:
        importer = GraphImporter(converters, versions, base_dir)
        importer.functions = {(f.domain, f.name): f for f in proto.functions}
        shapes, keep, sanitize = shape_dict or {}, keep_params_in_input, sanitize_input_names
        return _ModelImporter(proto, importer, shapes, dtype_dict, keep, sanitize).run(branches)

    try:
        try:
            return run(branches=False)
        except BranchError:  # an If that the program decides: no dataflow block then
            return run(branches=True)
    except ConstantNeededError as error:
        raise _at_inputs(error, proto.graph) from None


def _at_inputs(error: ConstantNeededError, graph: Any) -> ConstantNeededError:
    """The error with the inputs of the model it comes from."""
    stored = {tensor.name for tensor in graph.initializer}
    error.names = [name for name in origins(graph.node, error.names) if name not in stored]
    listed = ", ".join(f"'{name}'" for name in error.names)
    error.hint = f"make these inputs of the model initializers: {listed}"
    return error


def _loaded(model: Any) -> tuple[Any, str]:
    import onnx

    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        return onnx.load(path, load_external_data=False), os.path.dirname(path)
    if not isinstance(model, onnx.ModelProto):
        raise OnnxError(f"expected an onnx.ModelProto or a path, got {type(model).__name__}")
    return model, ""


def _check(model: Any) -> None:
    """Warn of what ONNX's checker finds: it is stricter than need be."""
    import onnx

    try:
        onnx.checker.check_model(model)
    except Exception as error:
        warnings.warn(str(error), stacklevel=3)


# -- operators -------------------------------------------------------------------------------


def _nodes(graph: Any) -> list[Any]:
    """All nodes of a graph and of the graphs in their attributes."""
    found: list[Any] = []
    for node in graph.node:
        found.append(node)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                found += _nodes(inner)
    return found


def _refuse_dtypes(model: Any) -> None:
    """Refuse inputs and outputs of dtypes that programs do not compute with."""
    for info in (*model.graph.input, *model.graph.output):
        kind = info.type
        if kind.HasField("optional_type"):
            kind = kind.optional_type.elem_type
        if kind.HasField("sequence_type"):
            kind = kind.sequence_type.elem_type
        if kind.HasField("tensor_type") and kind.tensor_type.elem_type:
            _dtype_of(info.name, kind.tensor_type)


def _dtype_of(name: str, kind: Any) -> str:
    """The dtype of an input or output that programs compute with; raises an error of its name."""
    try:
        dtype = dtype_name(kind.elem_type)
        require_runnable(dtype)
    except UnsupportedOnnxOperatorError as error:
        raise type(error)(f"'{name}': {error.message}") from None
    return dtype


def _refuse_missing(model: Any, importer: GraphImporter) -> None:
    """One error for every operator that cannot be imported."""
    counts: Counter[str] = Counter()
    places: dict[str, str] = {}
    local = {(f.domain, f.name) for f in model.functions}
    functions = [node for f in model.functions for node in _nodes(f)]
    for node in (*_nodes(model.graph), *functions):
        version = importer.version_of(node.domain)
        if (node.domain, node.op_type) in local or is_schema_function(
            node.domain, node.op_type, version
        ):
            continue
        if converter_for(importer.converters, node.domain, node.op_type, version) is None:
            key = key_of(node.domain, node.op_type)
            counts[key] += 1
            places.setdefault(key, node.name or (node.output[0] if node.output else "?"))
    if not counts:
        return
    listed = ", ".join(
        f"{key} ({count} times, first at '{places[key]}')" for key, count in sorted(counts.items())
    )
    raise UnsupportedOnnxOperatorError(
        f"{len(counts)} ONNX operators have no converter for operator set version "
        f"{importer.version_of('')}: {listed}",
        hint="give converters in custom_convert_map",
    )


# -- the graph -------------------------------------------------------------------------------


class _ModelImporter:
    """The main graph: parameters, initializers, outputs."""

    def __init__(
        self,
        model: Any,
        importer: GraphImporter,
        shapes: Mapping[str, Sequence[Any]],
        dtypes: str | Mapping[str, str] | None,
        keep_params: bool,
        sanitize: bool,
    ):
        self.graph = model.graph
        self.importer = importer
        self.relax = importer.relax
        self.shapes = shapes
        self.dtypes = dtypes
        self.keep_params = keep_params
        self.sanitize = sanitize
        self.names = NameSupply()
        self.symbols: dict[str, str] = {}
        self.unknown = 0
        self.weights: list[Any] = []
        self.weight_values: list[Any] = []

    def run(self, branches: bool) -> IRModule:
        importer, builder = self.importer, self.importer.block_builder
        initialized = {tensor.name for tensor in self.graph.initializer}
        given = [self._input(i) for i in self.graph.input if i.name not in initialized]
        inputs = [var for var in given if var is not None]
        self._initializers()
        with builder.function("main", [*inputs, *self.weights], attrs={"num_input": len(inputs)}):
            with ExitStack() as stack:
                if not branches:
                    stack.enter_context(builder.dataflow())
                output = self._outputs(importer.run(self.graph))
                output = output if branches else builder.emit_output(output)
            builder.emit_func_output(output)
        module = builder.get()
        if self.keep_params:
            attach_params(module, "main", self.weight_values)
        return module

    def _initializers(self) -> None:
        for tensor in self.graph.initializer:
            value = Known(tensor_value(tensor, self.importer.base_dir))
            if self.keep_params:
                name = self._name(tensor.name.removeprefix("onnx::"))
                info = self.relax.TensorStructInfo(list(value.shape), value.dtype)
                value.expr, value.is_parameter = self.relax.Var(name, info), True
                self.weights.append(value.expr)
                self.weight_values.append(value.array)
            self.importer.define(tensor.name, value)

    def _input(self, value_info: Any) -> Any:
        """The variable of an input; a sequence is one parameter, a tuple.

        None for an optional that `shape_dict` says is empty."""
        kind = value_info.type
        if kind.HasField("optional_type") and self.shapes.get(value_info.name, ()) is None:
            self.importer.define(value_info.name, None)
            return None
        name = self._name(value_info.name)
        if kind.HasField("optional_type"):
            kind = kind.optional_type.elem_type
        if kind.HasField("sequence_type"):
            return self._sequence(value_info.name, name, kind.sequence_type.elem_type)
        if not kind.HasField("tensor_type"):
            raise UnsupportedOnnxOperatorError(f"the input '{value_info.name}' is no tensor")
        var = self.relax.Var(name, self._tensor_type(value_info.name, kind.tensor_type))
        self.importer.define(value_info.name, var)
        return var

    def _sequence(self, key: str, name: str, element: Any) -> Any:
        if key not in self.shapes:
            raise UnsupportedOnnxOperatorError(
                f"the input '{key}' is a sequence of unknown length",
                hint="shape_dict gives the shapes of its tensors: {'" + key + "': [[2, 3], [4]]}",
            )
        dtype = dtype_name(element.tensor_type.elem_type)
        fields = [self.relax.TensorStructInfo(list(s), dtype) for s in self.shapes[key]]
        var = self.relax.Var(name, self.relax.TupleStructInfo(fields))
        items = [self.relax.TupleGetItem(var, i) for i in range(len(fields))]
        self.importer.define(key, items)
        return var

    def _tensor_type(self, key: str, kind: Any) -> Any:
        given = self.dtypes.get(key) if isinstance(self.dtypes, Mapping) else None
        dtype = given or _dtype_of(key, kind)
        if key in self.shapes:
            return self.relax.TensorStructInfo(list(self.shapes[key]), dtype)
        if not kind.HasField("shape"):
            warnings.warn(f"the input '{key}' has an unknown rank", stacklevel=5)
            return self.relax.TensorStructInfo(None, dtype)
        return self.relax.TensorStructInfo([self._dimension(d) for d in kind.shape.dim], dtype)

    def _dimension(self, dim: Any) -> Any:
        """A size, or the symbol of a named or nameless dimension."""
        if dim.HasField("dim_value"):
            return dim.dim_value
        text = dim.dim_param
        if not text:
            self.unknown += 1
            text = f"unknown_{self.unknown}"
        if text not in self.symbols:
            name = re.sub(r"\W", "_", text)
            if not name[:1].isalpha() or name in ("min", "max", "floordiv", "floormod"):
                name = f"n_{name}"
            while name in self.symbols.values():
                name += "_"
            self.symbols[text] = str(dim_algebra.canonical(name))
        return self.symbols[text]

    def _name(self, name: str) -> str:
        if not self.sanitize:
            return name
        clean = re.sub(r"\W", "_", name) or "empty_"
        if not (clean[0].isalpha() or clean[0] == "_"):
            clean = f"input_{clean}"
        clean = self.names.fresh(clean)
        if clean != name:
            warnings.warn(f"Renaming name {name} to {clean}", stacklevel=5)
        return clean

    def _outputs(self, values: list[Any]) -> Any:
        """The result of the function: the output, or a tuple of several; sequences are tuples."""
        results: list[Any] = []
        for output, value in zip(self.graph.output, values, strict=True):
            if value is None:
                raise UnsupportedOnnxOperatorError(
                    f"the output '{output.name}' is an empty optional"
                )
            results.append(self._result(value))
        return results[0] if len(results) == 1 else self.relax.Tuple(results)

    def _result(self, value: Any) -> Any:
        if isinstance(value, list):
            return self.relax.Tuple([self._result(item) for item in value])
        return self.importer.expr(value)
