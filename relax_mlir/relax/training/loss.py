"""Losses as Relax functions: `MSELoss()(predictions, targets)` for types or variables."""

from __future__ import annotations

from typing import Any, ClassVar

from relax_mlir.relax import op
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.expr import Expr, Var
from relax_mlir.relax.function import Function

REDUCTIONS = ("mean", "sum", "none")


class Loss:
    """Base of losses.  `reduction` is "mean", "sum" or "none".

    Calling one with the types (or variables) of its operands gives a function that returns the
    loss: a scalar, or with "none" one value an element.
    """

    name: ClassVar[str] = ""
    parameters: ClassVar[tuple[str, ...]] = ("predictions", "targets")
    num_backbone_outputs: ClassVar[int] = 1
    """How many results of a model the loss takes, see `relax.training.AppendLoss`."""

    def __init__(self, reduction: str = "mean"):
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, not {reduction!r}")
        self.reduction = reduction

    def __call__(self, *operands: Any) -> Function:
        """The loss for operands of these types; raises TypeError for a wrong number of them."""
        names = self.parameters[: len(operands)]
        if not 2 <= len(operands) <= len(self.parameters):
            raise TypeError(f"{self.name} takes {', '.join(self.parameters)}")
        params = [
            Var(name, given.struct_info if isinstance(given, Expr) else given)
            for name, given in zip(names, operands, strict=True)
        ]
        builder = BlockBuilder()
        with builder.function(self.name, params):
            with builder.dataflow():
                result = builder.emit_output(self.compute(*params))
            builder.emit_func_output(result)
        made = builder.get()[self.name]
        assert isinstance(made, Function)
        return made

    def compute(self, *operands: Any, **named: Any) -> Expr:
        """The loss as an expression; subclasses say, and name their operands."""
        raise TypeError(f"{type(self).__name__} does not define compute")

    def reduce(self, value: Expr) -> Expr:
        """The mean, the sum, or the value itself."""
        if self.reduction == "none":
            return value
        return op.mean(value) if self.reduction == "mean" else op.sum(value)


class L1Loss(Loss):
    """|predictions - targets|."""

    name = "l1_loss"

    def compute(self, predictions: Expr, targets: Expr) -> Expr:
        return self.reduce(op.abs(op.subtract(predictions, targets)))


class MSELoss(Loss):
    """(predictions - targets) squared."""

    name = "mse_loss"

    def compute(self, predictions: Expr, targets: Expr) -> Expr:
        difference = op.subtract(predictions, targets)
        return self.reduce(op.multiply(difference, difference))


class CrossEntropyLoss(Loss):
    """The cross entropy of logits (N, C) with class indices (N,); classes may be weighted.

    Targets equal to `ignore_index` do not count.
    """

    name = "cross_entropy_loss"
    parameters = ("predictions", "targets", "weights")

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def compute(self, predictions: Expr, targets: Expr, weights: Expr | None = None) -> Expr:
        logits = op.nn.log_softmax(predictions)
        return op.nn.nll_loss(logits, targets, weights, self.reduction, self.ignore_index)


class CategoricalCrossEntropyLoss(Loss):
    """The cross entropy of logits (N, C) with probabilities (N, C), or with one-hot integers;
    classes may be weighted.

    With `ignore_index` not negative, rows whose largest target is that class do not count.
    """

    name = "categorical_cross_entropy_loss"
    parameters = ("predictions", "targets", "weights")

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def compute(self, predictions: Expr, targets: Expr, weights: Expr | None = None) -> Expr:
        logits = op.nn.log_softmax(predictions)
        if self.ignore_index >= 0:
            labels = op.argmax(targets, axis=1)
            return op.nn.nll_loss(logits, labels, weights, self.reduction, self.ignore_index)
        if targets.dtype != predictions.dtype:
            targets = op.astype(targets, predictions.dtype)
        weighted = targets if weights is None else op.multiply(targets, weights)
        each = op.negative(op.sum(op.multiply(logits, weighted), axis=-1))
        return self.reduce(each)
