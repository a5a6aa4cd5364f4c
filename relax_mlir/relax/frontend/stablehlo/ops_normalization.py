"""Converters for batch normalisation."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation


def batch_norm_inference(operation: Operation) -> Any:
    return _batch_norm(operation, operation.tensors())[0]


def batch_norm_training(operation: Operation) -> Any:
    """The batch's own statistics, which are results too."""
    x, scale, offset = operation.tensors()
    axis = operation.attr("feature_index")
    axes = [i for i in range(len(operation.dims())) if i != axis]
    mean, variance = operation.ops.mean(x, axis=axes), operation.ops.variance(x, axis=axes)
    return [_batch_norm(operation, [x, scale, offset, mean, variance])[0], mean, variance]


def _batch_norm(operation: Operation, tensors: list[Any]) -> Any:
    return operation.ops.nn.batch_norm(
        *tensors,
        axis=operation.attr("feature_index"),
        epsilon=operation.attr("epsilon"),
        training=False,
    )


CONVERTERS: dict[str, Converter] = {
    "stablehlo.batch_norm_inference": batch_norm_inference,
    "stablehlo.batch_norm_training": batch_norm_training,
}
"""By operation; see `operation.Converter`."""
