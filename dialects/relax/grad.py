"""Gradients of operators with respect to their data, for those that no other operators express."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import infer
from relax_mlir.dialects.relax.spec import SPECS, InferError, define
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]


def _check_grad(forward: str, given: ir.Type, kinds: Kinds, attributes: Attributes) -> None:
    """The gradient has the type of what the forward operator gives."""
    known = {name: attributes[name] for name in SPECS[forward].attributes if name in attributes}
    result = SPECS[forward].infer(kinds, {**SPECS[forward].attributes, **known})
    grad, wanted = infer.tensor(given, "output_grad"), infer.tensor(result)
    infer.same_dtype([grad, wanted], [given, result])
    if wanted.ndim >= 0:
        infer.require_rank(grad, wanted.ndim, given, "output_grad")
    if grad.dims is not None and wanted.dims is not None:
        infer.require_same_dims(grad.dims, wanted.dims, [given, result])


def _pool(forward: str) -> Any:
    def infer_type(kinds: Kinds, attributes: Attributes) -> ir.Type:
        _check_grad(forward, kinds[0], kinds[1:], attributes)
        if attributes["out_layout"] not in (None, attributes["layout"]):
            raise InferError("the gradient of a pooling needs out_layout to be layout")
        return kinds[1]

    return infer_type


def _nll_loss(kinds: Kinds, attributes: Attributes) -> ir.Type:
    _check_grad("nn.nll_loss", kinds[0], kinds[1:], attributes)
    return kinds[1]


def _take(kinds: Kinds, attributes: Attributes) -> ir.Type:
    _check_grad("take", kinds[0], kinds[1:], attributes)
    return kinds[1]


for _kind in ("max", "avg"):
    define(
        f"grad.{_kind}_pool2d_backward",
        ["output_grad", "data"],
        _pool(f"nn.{_kind}_pool2d"),
        {
            "pool_size": [1, 1],
            "strides": [1, 1],
            "padding": [0, 0, 0, 0],
            "dilation": [1, 1],
            "ceil_mode": False,
            "count_include_pad": False,
            "layout": "NCHW",
            "out_layout": None,
        },
        doc=f"The gradient of nn.{_kind}_pool2d with respect to its data.",
    )
define(
    "grad.nll_loss_backward",
    ["output_grad", "predictions", "targets", "weights?"],
    _nll_loss,
    {"reduction": "mean", "ignore_index": -100},
    doc="The gradient of nn.nll_loss with respect to the predictions.",
)
define(
    "grad.take_backward",
    ["output_grad", "x", "indices"],
    _take,
    {"axis": None},
    doc="The gradient of take with respect to x.",
)
