"""ONNX models with something changed: attributes, sizes, dtypes, inputs, operators, versions.

The models are those of ONNX's own node tests.  A changed one is refused by an error that names the
node, or imported, and then compiled and run like any other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.onnx import from_onnx
from relax_mlir.testing.onnx_backend import cases
from tests.fuzz.diagnostics import Fault, check_cause, run_imported

__all__ = ["check_model", "model_mutant"]

LARGEST = 200_000
"""Bytes of a model with its data."""

NUMBERS = (-(1 << 40), -7, -1, 0, 1, 2, 3, 8, 1 << 40)
FLOATS = (float("nan"), float("inf"), -1.0, 0.0, 0.5, 1e30)
WORDS = (b"", b"bogus", b"constant", b"linear", b"SAME_UPPER", b"VALID", b"mean", b"Tanh", b"NHWC")
SIZES = (0, 1, 2, 5, 64)
Change = Callable[[onnx.ModelProto, np.random.Generator], None]


@cache
def node_cases() -> list[Any]:
    return [case for case in cases() if case.model.ByteSize() < LARGEST]


def _pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    return options[int(rng.integers(len(options)))] if len(options) else None


def _node_of_another(rng: np.random.Generator) -> Any:
    return _pick(rng, _pick(rng, node_cases()).model.graph.node)


def other_attribute(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    attribute = _pick(rng, [a for node in model.graph.node for a in node.attribute])
    if attribute is None:
        return
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = _pick(rng, NUMBERS)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = _pick(rng, FLOATS)
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = _pick(rng, WORDS)
    elif attribute.type == onnx.AttributeProto.INTS:
        _other_numbers(attribute.ints, rng)


def _other_numbers(numbers: Any, rng: np.random.Generator) -> None:
    kind = _pick(rng, ("change", "drop", "add"))
    if kind == "add" or not numbers:
        numbers.append(_pick(rng, NUMBERS))
    elif kind == "drop":
        numbers.pop()
    else:
        numbers[int(rng.integers(len(numbers)))] = _pick(rng, NUMBERS)


def without_attribute(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    node = _pick(rng, model.graph.node)
    if node is not None and node.attribute:
        del node.attribute[int(rng.integers(len(node.attribute)))]


def attribute_of_another(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    node, other = _pick(rng, model.graph.node), _node_of_another(rng)
    attribute = None if other is None else _pick(rng, other.attribute)
    if node is not None and attribute is not None:
        node.attribute.append(attribute)


def other_inputs(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    node = _pick(rng, model.graph.node)
    if node is None or not node.input:
        return
    at = int(rng.integers(len(node.input)))
    kind = _pick(rng, ("drop", "empty", "unknown", "other", "twice"))
    if kind == "drop":
        del node.input[at]
    elif kind == "twice":
        node.input.append(node.input[at])
    else:
        other = _pick(rng, node.input)
        node.input[at] = {"empty": "", "unknown": "nowhere", "other": other}[kind]


def other_type(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Another size, rank or dtype of an input."""
    info = _pick(rng, model.graph.input)
    if info is None or not info.type.HasField("tensor_type"):
        return
    tensor = info.type.tensor_type
    kind = _pick(rng, ("size", "symbol", "rank", "dtype", "unknown"))
    if kind == "dtype":
        tensor.elem_type = _pick(rng, (1, 2, 3, 6, 7, 9, 10, 11, 16, 0, 99))
    elif kind == "rank":
        tensor.shape.dim.add().dim_value = 2
    elif kind == "unknown":
        tensor.ClearField("shape")
    elif tensor.shape.dim:
        dim = _pick(rng, tensor.shape.dim)
        if kind == "size":
            dim.dim_value = _pick(rng, SIZES)
        else:
            dim.dim_param = "N"


def other_operator(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    node, other = _pick(rng, model.graph.node), _node_of_another(rng)
    if node is not None and other is not None:
        node.op_type = other.op_type


def other_version(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    model.opset_import[0].version = _pick(rng, (0, 1, 7, 11, 13, 18, 22, 99))


def other_outputs(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    node = _pick(rng, model.graph.node)
    if node is not None:
        node.output.append("more")
    if rng.random() < 0.5:
        model.graph.output.add().name = "more"


CHANGES: tuple[Change, ...] = (
    other_attribute, other_attribute, other_attribute, without_attribute, attribute_of_another,
    other_inputs, other_inputs, other_type, other_type, other_operator, other_version,
    other_outputs,
)  # fmt: skip


def model_mutant(seed: int) -> tuple[onnx.ModelProto, list[Any]]:
    """A changed model of the node tests, and inputs for the model as it was."""
    rng = np.random.default_rng(seed)
    case = _pick(rng, node_cases())
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for _ in range(int(rng.integers(1, 3))):
        _pick(rng, CHANGES)(model, rng)
    inputs = next(iter(case.data_sets or []), ([], []))[0]
    return model, list(inputs)


def check_model(seed: int) -> str:
    """What became of a changed model: "refused" by the importer, "uncompiled", "raised" when it
    ran, or "accepted".  Raises whatever is no error for the user."""
    model, inputs = model_mutant(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = from_onnx(model)
        except Error as error:
            _check_place(error, model)
            return "refused"
    outcome, _ = run_imported(module, inputs)
    return outcome


def _check_place(error: Error, model: onnx.ModelProto) -> None:
    """Raise Fault unless the error names an operator or a value of the model, or its version.  One
    that shows the node's inputs and attributes is for the user, whatever was raised behind it."""
    if "cannot be computed of (" not in str(error):
        check_cause(error)
    names = [name for node in model.graph.node for name in (node.op_type, *node.input)]
    names += [info.name for info in (*model.graph.input, *model.graph.output)]
    text = str(error)
    if not any(name and name in text for name in [*names, "(node '", "version", "more"]):
        raise Fault(f"the error names nothing of the model: {text[:300]}") from error
