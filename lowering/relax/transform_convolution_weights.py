"""relax-transform-convolution-weights."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir import te, topi
from relax_mlir.cores import compile_threads
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import is_channels_last
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of, replace
from relax_mlir.lowering.relax_to_tir.convolution import all_sides
from relax_mlir.lowering.relax_to_tir.operands import call_tensors
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from relax_mlir.lowering.linalg_to_vector.convolution.forms import ConvolutionShape, Form
    from relax_mlir.topi.nn.winograd import Bilinear


@register_pass("relax-transform-convolution-weights")
@dataclass(frozen=True)
class TransformConvolutionWeights(Pass):
    """Choose the form of convolutions, and transform and pack constant weights.

    A convolution of float32 images with their channels last, one group, becomes a call of a
    TensorIR function: the transforms and products of a Winograd algorithm along both axes or one,
    or a direct convolution, each with a constant weight in panels as its kernel reads them.  One of
    lines (`conv1d`) does where the algorithm pays; one of images of any size has algorithms of
    stride one whose weight is transformed once.  Winograd's transform of the weight is done here
    or, where that is faster or the weight is an argument, in every call.  The cost model is in
    `lowering/linalg_to_vector/convolution/forms.py`; where the convolutions of a function would
    together have too much error (`accuracy.py` there), those become more exact that lose least time
    by it.

    accuracy: "exact" for no more error than a direct convolution has, "default" for the fastest
    forms; if empty, the target's `convolution-accuracy`, else the default.
    """

    accuracy: str = ""

    def run(self, state: ModuleState) -> None:
        attributes = getattr(state.target, "attrs", {})
        accuracy = self.accuracy or attributes.get("convolution-accuracy", "default")
        values, made = ConstantValues(state), PrimFuncs(state)
        callees: dict[Any, ir.Attribute] = {}
        for function in relax_functions(state):
            found, others = _convolutions(function, values)
            if not found:
                continue
            forms = _chosen_forms(found, others, accuracy)
            # Weights are transformed while the functions that take them are written.
            with ThreadPoolExecutor(compile_threads()) as pool:
                plans = [_plan(*pair, pool) for pair in zip(found, forms, strict=True)]
                for plan in plans:
                    if plan is not None:
                        _rewrite(plan, state, made, callees)


@dataclass(frozen=True)
class _Convolution:
    """An operator that has forms; `weight` is None where it is no constant."""

    op: ir.Operation
    shape: ConvolutionShape
    weight: np.ndarray | None


@dataclass(frozen=True)
class _Plan:
    """What a convolution becomes.

    function: the name of the function of its form, and what it computes.  weight: the weight as
    that reads it, None for one that is no constant.
    """

    convolution: _Convolution
    form: Form
    function: tuple[str, Callable[..., te.Tensor]]
    weight: Future[np.ndarray] | None


# Operators with forms, and their axes.
_CONVOLUTIONS = {"nn.conv1d": 1, "nn.conv2d": 2}
# Rows and columns of an image whose sizes only run time knows, by up to how many channels it has.
_TYPICAL_SIZES = ((64, 56), (128, 28), (256, 14))
_SMALLEST_TYPICAL_SIZE = 7
# Operators that sum as many products as convolutions do, and have one form.
_OTHER_SUMS = (*_CONVOLUTIONS, "matmul", "einsum")


def _convolutions(function: ir.Operation, values: ConstantValues) -> tuple[list[_Convolution], int]:
    """The convolutions of a function to choose forms for, and how many other sums it has."""
    found: list[_Convolution] = []
    others = 0
    for op in list(walk(function)):
        spec = spec_of(op)
        if spec is None or spec.name not in _OTHER_SUMS:
            continue
        ndim = _CONVOLUTIONS.get(spec.name)
        convolution = None if ndim is None else _convolution(op, ndim, values)
        others += convolution is None
        if convolution is not None:
            found.append(convolution)
    return found, others


def _convolution(op: ir.Operation, ndim: int, values: ConstantValues) -> _Convolution | None:
    """None for an operator that has one form."""
    shape = _shape(op, ndim)
    if shape is not None:
        return _Convolution(op, shape, values.of(op.operands[1]))
    weight, data = values.of(op.operands[1]), dims_of(op.operands[0])
    if weight is None or data is None or not isinstance(data[-1], int):
        return None
    typical = next(
        (size for most, size in _TYPICAL_SIZES if data[-1] <= most), _SMALLEST_TYPICAL_SIZE
    )
    shape = _shape(op, ndim, typical)
    return None if shape is None else _Convolution(op, shape, weight)


def _chosen_forms(found: list[_Convolution], others: int, accuracy: str) -> list[Form]:
    from relax_mlir.lowering.linalg_to_vector.convolution.forms import choose_forms

    known = [(c.shape, c.weight is not None) for c in found]
    return choose_forms(known, host_cpu(), accuracy, others=others)


def _plan(convolution: _Convolution, form: Form, pool: Executor) -> _Plan | None:
    """None for an operator that stays."""
    function = _function(convolution.op, convolution.shape, form)
    if function is None:
        return None
    weight = convolution.weight
    arranged = None if weight is None else pool.submit(_arranged, weight, form)
    return _Plan(convolution, form, function, arranged)


def _rewrite(
    plan: _Plan, state: ModuleState, made: PrimFuncs, callees: dict[Any, ir.Attribute]
) -> None:
    """Replace a convolution by a call of the function of its form.  callees: the functions made
    already."""
    op, form = plan.convolution.op, plan.form
    write = OperatorWriter(op, state.constants)
    operands = list(op.operands)
    if plan.weight is not None:
        operands[1] = write.constant(plan.weight.result(), "float32")
    kind = op.results[0].type
    tiles = [axis and axis.output for axis in (form.rows, form.columns)]
    form_key = (*tiles, form.in_call, str(attributes_of(op)["padding"]))
    key = (plan.convolution.shape, *form_key, str(kind), str(operands[1].type))
    # Calls of functions for any size name their sizes, too.
    if key in callees and not plan.convolution.shape.is_typical:
        callee = {"callee": callees[key]}
        replace(op, write.raw("relax.call_tir", kind, operands, callee))
        return
    value = call_tensors(op, *plan.function, operands, kind, state, made)
    callees[key] = value.owner.operation.attributes["callee"]
    replace(op, value)


def _shape(op: ir.Operation, ndim: int, typical: int = 0) -> ConvolutionShape | None:
    """The sizes of a convolution, if all but the number of images are known and the rest is as the
    forms need it; one without rows has one.  typical: what is taken for sizes of the image that are
    symbols, 0 if there may be none."""
    from relax_mlir.lowering.linalg_to_vector.convolution.forms import ConvolutionShape

    attributes = attributes_of(op)
    data, weight, out = (dims_of(v) for v in (*op.operands, op.results[0]))
    plain = is_channels_last(attributes, ndim) and all(
        dtype_of(v) == "float32" for v in (*op.operands, op.results[0])
    )
    if not plain or data is None or weight is None or out is None:
        return None
    image_of = [data[1:-1], out[1:-1]]
    if typical:
        image_of = [[d if isinstance(d, int) else typical for d in dims] for dims in image_of]
    dims = (*image_of[0], data[-1], *weight, *image_of[1], out[-1])
    sizes = [dim for dim in dims if isinstance(dim, int)]
    if len(sizes) != 3 * ndim + 4 or 0 in sizes:
        return None
    lines = [1] * (2 - ndim)
    image, kernel, output = (
        (*lines, *sizes[start : start + ndim]) for start in (0, ndim + 1, 2 * ndim + 3)
    )
    strides, dilation = (
        (*lines, *layouts.per_dimension(attributes[name], ndim, name))
        for name in ("strides", "dilation")
    )
    padding = (*[0] * len(lines), *all_sides(attributes["padding"], ndim)[:ndim])
    return ConvolutionShape(
        _pair(image), _pair(output), sizes[ndim], sizes[-1], _pair(kernel), _pair(strides),
        _pair(dilation), _pair(padding), bool(typical),
    )  # fmt: skip


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[1]


def _function(
    op: ir.Operation, shape: ConvolutionShape, form: Form
) -> tuple[str, Callable[..., te.Tensor]] | None:
    """The name of the function of a form and what it computes; None if the operator stays."""
    if form.rows is not None and form.columns is not None:
        return "conv2d_winograd", partial(_winograd, shape=shape, form=form)
    is_line = op.name == "relax.nn_conv1d"
    if form.columns is not None and is_line:
        return "conv1d_winograd", partial(_line, shape=shape, algorithm=form.columns)
    if form.rows is not None or form.columns is not None:
        return "conv2d_winograd_1d", partial(_winograd_1d, shape=shape, form=form)
    if form.panel and not is_line:
        sides = all_sides(attributes_of(op)["padding"], 2)
        return "conv2d_panels", partial(_direct, shape=shape, padding=sides)
    return None


def _arranged(weight: np.ndarray, form: Form) -> np.ndarray:
    """A constant weight as the function of a form reads it."""
    algorithm = form.rows or form.columns
    if algorithm is None:
        return topi.nn.weight_panels(weight, form.panel)
    if form.rows is None or form.columns is None:
        taps = weight[None] if weight.ndim == 3 else weight
        made = topi.nn.transform_weight_1d(taps, algorithm, _direction(form), form.panel)
        return made if weight.ndim == 4 else made.squeeze(-3)
    if not form.in_call:
        return topi.nn.transform_weight(weight, form.rows, form.columns, form.panel)
    return topi.nn.channel_panels(weight, form.panel) if form.panel else weight


def _winograd(
    data: te.Tensor, weight: te.Tensor, sizes: list[Any], *, shape: ConvolutionShape, form: Form
) -> te.Tensor:
    assert form.rows is not None and form.columns is not None
    return topi.nn.conv2d_winograd_nhwc(
        data,
        weight,
        shape.padding,
        form.rows,
        form.columns,
        sizes[1:3],
        transform=form.in_call,
    )


def _direction(form: Form) -> int:
    """The axis of a form along one: 0 for rows, 1 for columns."""
    return 0 if form.columns is None else 1


def _winograd_1d(
    data: te.Tensor, weight: te.Tensor, sizes: list[Any], *, shape: ConvolutionShape, form: Form
) -> te.Tensor:
    algorithm, direction = form.rows or form.columns, _direction(form)
    assert algorithm is not None
    return topi.nn.conv2d_winograd_1d_nhwc(
        data,
        weight,
        shape.padding,
        algorithm,
        direction,
        shape.strides[1 - direction],
        sizes[1:3],
    )


def _line(
    data: te.Tensor,
    weight: te.Tensor,
    sizes: list[Any],
    *,
    shape: ConvolutionShape,
    algorithm: Bilinear,
) -> te.Tensor:
    return topi.nn.conv1d_winograd_nwc(data, weight, shape.padding[1], algorithm, sizes[1])


def _direct(
    data: te.Tensor,
    weight: te.Tensor,
    sizes: list[Any],
    *,
    shape: ConvolutionShape,
    padding: list[int],
) -> te.Tensor:
    return topi.nn.conv2d_nhwc_panels(
        data, weight, shape.strides, padding, shape.dilation, sizes[1:3]
    )


__all__ = ["TransformConvolutionWeights"]
