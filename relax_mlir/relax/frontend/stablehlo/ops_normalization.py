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


def batch_norm_grad(operation: Operation) -> Any:
    """The gradients of `batch_norm_training` by its operand, scale and offset."""
    ops, importer = operation.ops, operation.importer
    x, scale, mean, variance, grad = operation.tensors()
    axis, dims = operation.attr("feature_index"), operation.dims()
    axes = [i for i in range(len(dims)) if i != axis]

    def along(tensor: Any) -> Any:
        """A value for each feature, beside the operand."""
        return ops.expand_dims(tensor, axes) if axes else tensor

    spread = ops.add(variance, importer.scalar_like(operation.attr("epsilon"), variance))
    factor = along(ops.rsqrt(spread))
    centred = ops.multiply(ops.subtract(x, along(mean)), factor)
    scale_grad = ops.sum(ops.multiply(grad, centred), axis=axes)
    offset_grad = ops.sum(grad, axis=axes)
    held = ops.add(
        ops.mean(grad, axis=axes, keepdims=True),
        ops.multiply(centred, ops.mean(ops.multiply(grad, centred), axis=axes, keepdims=True)),
    )
    x_grad = ops.multiply(ops.multiply(along(scale), factor), ops.subtract(grad, held))
    return [x_grad, scale_grad, offset_grad]


def _batch_norm(operation: Operation, tensors: list[Any]) -> Any:
    return operation.ops.nn.batch_norm(
        *tensors,
        axis=operation.attr("feature_index"),
        epsilon=operation.attr("epsilon"),
        training=False,
    )


CONVERTERS: dict[str, Converter] = {
    "stablehlo.batch_norm_grad": batch_norm_grad,
    "stablehlo.batch_norm_inference": batch_norm_inference,
    "stablehlo.batch_norm_training": batch_norm_training,
}
"""By operation; see `operation.Converter`."""
