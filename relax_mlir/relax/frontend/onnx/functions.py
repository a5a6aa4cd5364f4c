"""Operators that are functions: of the model, or of ONNX's operator sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.relax.frontend.onnx.node import Node


def schema_of(domain: str, op_type: str, version: int) -> Any:
    """ONNX's declaration of an operator, None when it has none."""
    import onnx

    try:
        return onnx.defs.get_schema(op_type, version, "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        return None


def is_schema_function(domain: str, op_type: str, version: int) -> bool:
    """Whether ONNX defines an operator by a body of simpler ones."""
    schema = schema_of(domain, op_type, version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def body_of(node: Node) -> Any:
    """The FunctionProto of a node's operator, None when it is no function."""
    import onnx

    local = node.importer.functions.get((node.domain, node.op_type))
    if local is not None:
        return local
    schema = schema_of(node.domain, node.op_type, node.version)
    if schema is None:
        return None
    if schema.has_function:
        fitting = [v for v in schema.function_opset_versions if v <= node.version]
        if not fitting:
            return None
        body = schema.get_function_with_opset_version(max(fitting))
        if isinstance(body, onnx.FunctionProto):
            return body
        return onnx.FunctionProto.FromString(body)
    if not schema.has_context_dependent_function:
        return None
    fitting = [v for v in schema.context_dependent_function_opset_versions if v <= node.version]
    if not fitting:
        return None
    types = [_type_of(node, value) for value in node.inputs]
    data = schema.get_context_dependent_function_with_opset_version(
        max(fitting), node.proto.SerializeToString(), types
    )
    return onnx.FunctionProto.FromString(data) if data else None


def _type_of(node: Node, value: Any) -> bytes:
    """A value's type as ONNX writes it, empty for an input that is left out."""
    import onnx

    if value is None:
        return onnx.TypeProto().SerializeToString()
    if isinstance(value, list):
        element = _type_of(node, value[0]) if value else _float_type()
        kind = onnx.TypeProto()
        kind.sequence_type.elem_type.ParseFromString(element)
        return kind.SerializeToString()
    import numpy as np

    from relax_mlir.dialects.relax.constants import numpy_dtype

    dims = node.importer.dims_of(value)
    array_dtype = np.dtype(numpy_dtype(node.dtype(value)))
    element_type = onnx.helper.np_dtype_to_tensor_dtype(array_dtype)
    return onnx.helper.make_tensor_type_proto(element_type, dims).SerializeToString()


def _float_type() -> bytes:
    import onnx

    return onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None).SerializeToString()


def defaults_of(node: Node) -> dict[str, Any]:
    """The attributes of a function's node, those that are left out at their defaults."""
    local = node.importer.functions.get((node.domain, node.op_type))
    if local is not None:
        given: Iterable[Any] = local.attribute_proto
    else:
        schema = schema_of(node.domain, node.op_type, node.version)
        given = [a.default_value for a in schema.attributes.values() if a.default_value.name]
    chosen = {attribute.name: attribute for attribute in given}
    chosen.update({attribute.name: attribute for attribute in node.proto.attribute})
    return chosen


def with_attributes(node: Any, attributes: dict[str, Any]) -> Any:
    """A node of a body with references to the function's attributes replaced by their values."""
    import onnx

    if not _refers(node):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            made = copy.attribute.add()
            made.CopyFrom(attribute)
            for inner in (made.g, *made.graphs):
                _replace_in_graph(inner, attributes)
        elif attribute.ref_attr_name in attributes:
            made = copy.attribute.add()
            made.CopyFrom(attributes[attribute.ref_attr_name])
            made.name = attribute.name
    return copy


def _refers(node: Any) -> bool:
    return any(
        a.ref_attr_name or any(_refers(n) for g in (a.g, *a.graphs) for n in g.node)
        for a in node.attribute
    )


def _replace_in_graph(graph: Any, attributes: dict[str, Any]) -> None:
    for node in graph.node:
        node.CopyFrom(with_attributes(node, attributes))


# -- where a value comes from ----------------------------------------------------------------


def origins(nodes: Sequence[Any], names: Iterable[str]) -> list[str]:
    """The names, not made by `nodes`, whose elements the given names depend on.

    Shape and Size end the search: they ask for no elements.
    """
    makers = {output: node for node in nodes for output in node.output if output}
    found: dict[str, None] = {}
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        maker = makers.get(name)
        if maker is None:
            found[name] = None
        elif maker.op_type not in ("Shape", "Size"):
            waiting += [i for i in maker.input if i]
            for attribute in maker.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    waiting += _free_names(graph)
    return list(found)


def _free_names(graph: Any) -> list[str]:
    """The names that the nodes of a nested graph take from outside."""
    own = {output for node in graph.node for output in node.output}
    own |= {info.name for info in (*graph.input, *graph.initializer)}
    return [name for node in graph.node for name in node.input if name and name not in own]
