"""What is wrong with a node by ONNX's own declaration of its operator.

The importer takes many models that ONNX's checker does not.  Only where a converter fails does it
ask here, so that the error says what the node lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.relax.frontend.onnx.functions import schema_of

if TYPE_CHECKING:
    from relax_mlir.relax.frontend.onnx.node import Node


def violation(node: Node) -> str | None:
    """What a node has not, or not as its operator declares it; None where nothing is known."""
    schema = schema_of(node.domain, node.op_type, node.version)
    if schema is None:
        return None
    return _wrong_attribute(node, schema) or _wrong_input(node, schema)


def _wrong_attribute(node: Node, schema: Any) -> str | None:
    given = {a.name: a for a in node.proto.attribute if not a.ref_attr_name}
    for name, declared in schema.attributes.items():
        attribute = given.get(name)
        if attribute is None:
            if declared.required and name not in node.attributes:
                return f"needs the attribute '{name}'"
        elif int(attribute.type) != declared.type.value:
            found = type(attribute).AttributeType.Name(attribute.type)
            return f"the attribute '{name}' is {declared.type.name}, not {found}"
    return None


def _wrong_input(node: Node, schema: Any) -> str | None:
    count, least, most = len(node.inputs), schema.min_input, schema.max_input
    if not least <= count <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        return f"takes {wanted} inputs, has {count}"
    for i, value in enumerate(node.inputs):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if value is None and formal.option.name != "Optional":
            return f"needs its input {i}, '{formal.name}'"
    return None


def misfit(node: Node) -> str:
    """The inputs and attributes of a node that together make no sense to its converter."""
    inputs = ", ".join("nothing" if v is None else _kind(node, v) for v in node.inputs)
    plain = {k: v for k, v in node.attributes.items() if isinstance(v, (int, float, str, list))}
    attributes = ", ".join(f"{name}={value!r}" for name, value in plain.items())
    return f"cannot be computed of ({inputs}) with ({attributes})"


def _kind(node: Node, value: Any) -> str:
    if isinstance(value, list):
        return f"a sequence of {len(value)}"
    dims = node.importer.dims_of(value)
    return f"{node.dtype(value)} {'of unknown shape' if dims is None else list(dims)}"
