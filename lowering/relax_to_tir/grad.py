"""Legalisation of the gradients of operators."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.convolution import all_sides
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize


@legalize("grad.max_pool2d_backward")
def _max_pool2d(
    output_grad: te.Tensor,
    data: te.Tensor,
    *,
    pool_size: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    layout: str,
    **_: Any,
) -> te.Tensor:
    sides = all_sides(padding, 2)
    return topi.nn.max_pool2d_backward(
        output_grad, data, pool_size, strides, sides, dilation, layout
    )


@legalize("grad.avg_pool2d_backward")
def _avg_pool2d(
    output_grad: te.Tensor,
    data: te.Tensor,
    *,
    pool_size: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    count_include_pad: bool,
    layout: str,
    **_: Any,
) -> te.Tensor:
    sides = all_sides(padding, 2)
    return topi.nn.avg_pool2d_backward(
        output_grad, data, pool_size, strides, sides, dilation, count_include_pad, layout
    )


ROWS["grad.nll_loss_backward"] = Row("nll_loss_backward", topi.nn.nll_loss_backward)
ROWS["grad.take_backward"] = Row("take_backward", topi.take_backward)
