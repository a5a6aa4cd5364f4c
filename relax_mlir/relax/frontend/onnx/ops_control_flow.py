"""Converters for If, Loop and Scan: branches stay, loops of a known length are unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.onnx.node import Node, Row
from relax_mlir.relax.frontend.onnx.values import BranchError


def _decided(value: Any) -> bool | None:
    """The value of a known condition."""
    if isinstance(value, Known) and value.numbers() is not None:
        return bool(value.array.reshape(-1)[0])
    return None


def if_(node: Node) -> Any:
    """A known condition chooses while importing, else the branch is one of the program."""
    chosen = _decided(node.value(0))
    if chosen is not None:
        branch = node.attr("then_branch" if chosen else "else_branch")
        return node.importer.subgraph(branch, [])
    importer, builder = node.importer, node.importer.block_builder
    if builder.current_block_is_dataflow():
        raise BranchError
    condition = node.reshape(node.tensor(0), [])
    result = importer.conditional(
        condition, lambda: _branch(node, "then_branch"), lambda: _branch(node, "else_branch")
    )
    if node.output_count == 1:
        return result
    return [importer.emit(importer.relax.TupleGetItem(result, i)) for i in range(node.output_count)]


def _branch(node: Node, name: str) -> Any:
    importer = node.importer
    values = importer.subgraph(node.attr(name), [])
    if any(value is None or isinstance(value, list) for value in values):
        node.known(0, "the condition of branches that give a sequence or an optional")
    results = [importer.expr(value) for value in values]
    return results[0] if len(results) == 1 else importer.relax.Tuple(results)


# -- loops -----------------------------------------------------------------------------------


def loop(node: Node) -> Any:
    """Written out, step by step, while the condition is known; a condition that only the program
    knows keeps the carried values from then on, which needs the number of trips."""
    importer = node.importer
    body = node.attr("body")
    trips = None if node.value(0) is None else int(node.array(0, "the trip count").reshape(-1)[0])
    condition = node.value(1)
    carried = [node.value(i) for i in range(2, len(node.inputs))]
    running: Any = None
    if condition is not None and _decided(condition) is None:
        node.known(1, "the condition")
    rows: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    step = 0
    while (trips is None or step < trips) and (
        condition is None or _decided(condition) is not False
    ):
        if _decided(condition) is None and condition is not None:
            if trips is None or rows:
                node.known(1, "the condition of a loop with scan outputs or without a trip count")
            running = condition if running is None else node.ops.logical_and(running, condition)
        going = Known(np.asarray(True)) if condition is None else condition
        formal = [Known(np.asarray(step, "int64")), going, *carried]
        condition, *results = importer.subgraph(body, formal)
        after = results[: len(carried)]
        if running is not None:
            after = [_kept(node, running, a, b) for a, b in zip(after, carried, strict=True)]
        carried = after
        for row, value in zip(rows, results[len(carried) :], strict=True):
            row.append(value)
        step += 1
        if trips is None and condition is not None and _decided(condition) is None:
            node.refuse("neither the trip count nor the condition is known while importing")
    return [
        *carried,
        *(_stacked(node, row, body, len(carried) + 1 + i) for i, row in enumerate(rows)),
    ]


def _kept(node: Node, running: Any, new: Any, old: Any) -> Any:
    """The new value while the loop runs, then the old one."""
    if new is None or isinstance(new, list) or node.shape(new) != node.shape(old):
        node.refuse("a carried value changes its shape under a condition that is not known")
    return node.ops.where(running, node.importer.expr(new), node.importer.expr(old))


def _stacked(node: Node, row: list[Any], body: Any, output: int) -> Any:
    """The values of all steps as one tensor."""
    if not row:
        kind = body.output[output].type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        from relax_mlir.relax.frontend.onnx.attributes import dtype_name

        return Known(np.zeros([0, *shape], dtype_name(kind.elem_type)))
    return stack(node, row, 0)


def stack(node: Node, values: list[Any], axis: int) -> Any:
    """Values along a new axis; known ones stay known."""
    if all(isinstance(v, Known) and v.numbers() is not None for v in values):
        return Known(np.stack([v.array for v in values], axis))
    return node.ops.stack([node.importer.expr(v) for v in values], axis=axis)


def scan(node: Node) -> Any:
    """Over slices of its last inputs; before version 9 the first axis is a batch."""
    if node.version < 9:
        return _scan_batched(node)
    body = node.attr("body")
    count = node.attr("num_scan_inputs")
    states = [node.value(i) for i in range(len(node.inputs) - count)]
    given = [node.value(i) for i in range(len(states), len(node.inputs))]
    axes = node.attr("scan_input_axes") or [0] * count
    directions = node.attr("scan_input_directions") or [0] * count
    outputs = len(body.output) - len(states)
    out_axes = node.attr("scan_output_axes") or [0] * outputs
    backwards = node.attr("scan_output_directions") or [0] * outputs
    return _scan(node, states, given, axes, directions, out_axes, backwards)


def _scan(
    node: Node, states: list[Any], given: list[Any], axes: list[int], directions: list[int],
    out_axes: list[int], backwards: list[int],
) -> list[Any]:  # fmt: skip
    axes = [node.axis(a, node.rank(v)) for a, v in zip(axes, given, strict=True)]
    lengths = {node.shape(v)[a] for a, v in zip(axes, given, strict=True)}
    length = next(iter(lengths))
    if len(lengths) != 1 or not isinstance(length, int):
        node.refuse(f"{sorted(map(str, lengths))} steps; one known number can be written out")
    rows: list[list[Any]] = [[] for _ in out_axes]
    for step in range(length):
        slices = []
        for value, axis, backward in zip(given, axes, directions, strict=True):
            place = length - 1 - step if backward else step
            tensor = node.importer.expr(value)
            slices.append(node.slice(tensor, axis, place, place + 1, squeeze=True))
        results = node.importer.subgraph(node.attr("body"), [*states, *slices])
        states = results[: len(states)]
        for row, value in zip(rows, results[len(states) :], strict=True):
            row.append(value)
    stacked = []
    for row, axis, backward in zip(rows, out_axes, backwards, strict=True):
        rank = node.rank(row[0]) + 1
        stacked.append(stack(node, row[::-1] if backward else row, node.axis(axis, rank)))
    return [*states, *stacked]


def _scan_batched(node: Node) -> list[Any]:
    """Version 8: a scan for every row of the batch."""
    if node.value(0) is not None:
        node.refuse("sequence lengths of their own for the rows of the batch")
    body = node.attr("body")
    count = node.attr("num_scan_inputs")
    given = [node.tensor(i) for i in range(1, len(node.inputs))]
    split = len(given) - count
    batch = node.static_shape(given[0])[0]
    directions = node.attr("directions") or [0] * count
    outputs = len(body.output) - split
    rows = []
    for row in range(batch):
        parts = [node.slice(v, 0, row, row + 1, squeeze=True) for v in given]
        axes, out = [0] * count, [0] * outputs
        rows.append(_scan(node, parts[:split], parts[split:], axes, directions, out, out))
    return [stack(node, list(values), 0) for values in zip(*rows, strict=True)]


CONVERTERS: dict[str, Row] = {"If": if_, "Loop": loop, "Scan": scan}
"""By operator; see `node.Row`."""
