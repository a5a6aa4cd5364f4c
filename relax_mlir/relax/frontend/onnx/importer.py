"""Walking an ONNX graph: every node becomes bindings of one Relax function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.onnx import fold
from relax_mlir.relax.frontend.onnx.attributes import attributes_of, tensor_value
from relax_mlir.relax.frontend.onnx.functions import (
    body_of,
    defaults_of,
    origins,
    with_attributes,
)
from relax_mlir.relax.frontend.onnx.node import Converter, Node, Row
from relax_mlir.relax.frontend.onnx.schema import misfit, violation
from relax_mlir.relax.frontend.onnx.values import ConstantNeededError, OnnxError, require_runnable
from relax_mlir.relax.frontend.values import ValueImporter

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUBGRAPH_LIMIT = 20000
"""Nodes that unrolling loops may make."""


class GraphImporter(ValueImporter):
    """Builds one Relax function; graphs nested in nodes share its bindings."""

    def __init__(self, converters: Mapping[str, Row], versions: Mapping[str, int], base_dir: str):
        super().__init__()
        self.converters = converters
        self.versions = {"" if k == "ai.onnx" else k: v for k, v in versions.items()}
        self.base_dir = base_dir
        self.functions: dict[tuple[str, str], Any] = {}
        self.scopes: list[dict[str, Any]] = [{}]
        self._unrolled = 0

    def check_dtype(self, dtype: str) -> None:
        require_runnable(dtype)

    def version_of(self, domain: str) -> int:
        return self.versions.get("" if domain == "ai.onnx" else domain, 1)

    # -- names ------------------------------------------------------------------------------

    def lookup(self, name: str) -> Any:
        """The value of a name, from the innermost graph outwards."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise OnnxError(f"the name '{name}' is used before any node, input or initializer makes it")

    def define(self, name: str, value: Any) -> None:
        self.scopes[-1][name] = value

    # -- graphs -----------------------------------------------------------------------------

    def run(self, graph: Any) -> list[Any]:
        """Convert the nodes of a graph; returns its outputs."""
        for node in graph.node:
            self.convert(node)
        return [self.lookup(output.name) for output in graph.output]

    def subgraph(self, graph: Any, inputs: Sequence[Any]) -> list[Any]:
        """Convert a graph that is an attribute of a node, its inputs bound to `inputs`."""
        with self.scope():
            for tensor in graph.initializer:
                self.define(tensor.name, Known(tensor_value(tensor, self.base_dir)))
            for formal, value in zip(graph.input, inputs, strict=False):
                self.define(formal.name, value)
            self._unrolled += len(graph.node)
            if self._unrolled > _SUBGRAPH_LIMIT:
                raise OnnxError(f"unrolling loops makes more than {_SUBGRAPH_LIMIT} nodes")
            try:
                return self.run(graph)
            except ConstantNeededError as error:
                error.names = origins(graph.node, error.names)
                raise

    def call(self, node: Node, body: Any) -> list[Any]:
        """Convert the body of a function in place of the node that calls it."""
        attributes = defaults_of(node)
        versions = self.versions
        self.versions = {**versions, **{e.domain: e.version for e in body.opset_import}}
        try:
            with self.scope():
                for i, formal in enumerate(body.input):
                    self.define(formal, node.value(i))
                for inner in body.node:
                    self.convert(with_attributes(inner, attributes))
                wanted = [name for i, name in enumerate(body.output) if node.wants(i)]
                made = {name: self.lookup(name) for name in wanted}
        except ConstantNeededError as error:
            actual = dict(zip(body.input, node.proto.input, strict=False))
            error.names = [actual.get(name, name) for name in origins(body.node, error.names)]
            raise
        finally:
            self.versions = versions
        return [made.get(name) for name in body.output]

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    # -- nodes ------------------------------------------------------------------------------

    def convert(self, proto: Any) -> None:
        """Convert one node and define its outputs."""
        inputs = [self.lookup(name) if name else None for name in proto.input]
        attributes = attributes_of(proto, self.base_dir)
        node = Node(self, proto, attributes, inputs)
        with _named(node, "its constants do not fit: "):
            results = fold.fold(node)
        with _named(node):
            body = None if results is not None else self._body_of(node)
        if body is not None:
            results = self.call(node, body)
        elif results is None:
            results = self._converted(node)
        if len(results) < len(proto.output) and any(proto.output[len(results) :]):
            node.refuse(f"only {len(results)} of its {len(proto.output)} outputs can be computed")
        for name, value in zip(proto.output, results, strict=False):
            if name:
                self.define(name, value)

    def _body_of(self, node: Node) -> Any:
        """The function that stands for an operator without a converter; None where there is one."""
        if converter_for(self.converters, node.domain, node.op_type, node.version) is not None:
            return None
        body = body_of(node)
        if body is None:
            node.refuse(f"has no converter for operator set version {node.version}")
        return body

    def _converted(self, node: Node) -> list[Any]:
        converter = converter_for(self.converters, node.domain, node.op_type, node.version)
        assert converter is not None
        with _named(node):
            result = converter(node)
        outputs = result if isinstance(result, list) else [result]
        return [self.bound(value) for value in outputs]


@contextmanager
def _named(node: Node, why: str = "") -> Iterator[None]:
    """Errors raised inside say which node it was, and what it lacks if that is why; otherwise, if
    so, `why` in front of what was raised, which is numpy's to say then."""
    try:
        yield
    except Error as error:
        if node.op_type not in str(error):
            error.message = f"{node.describe()}: {error.message}"
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        reason = violation(node)
        if reason is not None:
            raise OnnxError(f"{node.describe()}: {reason}") from None
        if why:
            raise OnnxError(f"{node.describe()}: {why}{error}") from None
        raise OnnxError(
            f"{node.describe()}: {misfit(node)} ({type(error).__name__}: {error})"
        ) from error


def key_of(domain: str, op_type: str) -> str:
    """The key of an operator in the tables: its name, after its domain unless that is ONNX's."""
    return op_type if domain in ("", "ai.onnx") else f"{domain}.{op_type}"


def converter_for(
    converters: Mapping[str, Row], domain: str, op_type: str, version: int
) -> Converter | None:
    """The converter of the newest version that is not newer than the model's."""
    row = converters.get(key_of(domain, op_type))
    if row is None or callable(row):
        return row
    fitting = [first for first in row if first <= version]
    return row[max(fitting)] if fitting else None
