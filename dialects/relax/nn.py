"""Neural-network operators: activations, softmax, normalisation, dropout, losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.attributes import integers
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, Infer, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[Any]
Attributes = Mapping[str, Any]


def _same(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return infer.tensor(kinds[0], "data").to_type()


def _float(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "data")
    infer.require_float(info, kinds[0])
    return info.to_type()


def _softmax(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "data")
    if info.ndim >= 0:
        infer.normalize_axis(attributes["axis"], info.ndim)
    return _float(kinds, attributes)


def _prelu(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, alpha = infer.tensor(kinds[0], "data"), infer.tensor(kinds[1], "alpha")
    infer.same_dtype([data, alpha], kinds)
    infer.require_rank(alpha, 1, kinds[1], "alpha")
    if alpha.dims != (1,):  # one for all channels
        _check_along(data, kinds[0], [alpha], kinds[1:], [attributes["axis"]])
    return data.to_type()


def _check_along(
    data: TensorInfo,
    data_kind: ir.Type,
    parameters: Sequence[TensorInfo],
    kinds: Sequence[ir.Type],
    axes: Sequence[int],
) -> None:
    """Every parameter has the sizes of `data` along `axes`."""
    if data.ndim < 0:
        return
    resolved = infer.normalize_axes(axes, data.ndim)
    for info, kind in zip(parameters, kinds, strict=True):
        infer.require_rank(info, len(resolved), kind, "parameter")
        if info.dims is None or data.dims is None:
            continue
        infer.require_same_dims([data.dims[a] for a in resolved], info.dims, [data_kind, kind])


def _normalized(kinds: Kinds, axes: object, names: Sequence[str]) -> ir.Type:
    infos = [infer.tensor(kind, what) for kind, what in zip(kinds, names, strict=True)]
    infer.require_float(infos[0], kinds[0])
    infer.same_dtype(infos, kinds)
    _check_along(infos[0], kinds[0], infos[1:], kinds[1:], integers(axes))
    return infos[0].to_type()


def _layer_norm(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return _normalized(kinds, attributes["axes"], ("data", "gamma", "beta"))


def _rms_norm(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return _normalized(kinds, attributes["axes"], ("data", "weight"))


def _instance_norm(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return _normalized(kinds, attributes["channel_axis"], ("data", "gamma", "beta"))


def _group_norm(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data = infer.tensor(kinds[0], "data")
    if data.dims is not None:
        channels = data.dims[infer.normalize_axis(attributes["channel_axis"], data.ndim)]
        if attributes["num_groups"] < 1:
            raise InferError(f"needs at least one group, got {attributes['num_groups']}")
        if isinstance(channels, int) and channels % attributes["num_groups"]:
            raise InferError(
                f"{channels} channels do not divide into {attributes['num_groups']} groups: "
                f"{types.describe(kinds[0])}"
            )
        axes = infer.normalize_axes(attributes["axes"], data.ndim)
        if infer.normalize_axis(attributes["channel_axis"], data.ndim) in axes:
            raise InferError("axes must not name the channel axis")
    return _normalized(kinds, attributes["channel_axis"], ("data", "gamma", "beta"))


def _batch_norm(kinds: Kinds, attributes: Attributes) -> ir.Type:
    names = ("data", "gamma", "beta", "moving_mean", "moving_var")
    normalized = _normalized(kinds, attributes["axis"], names)
    return types.tuple_type([normalized, kinds[3], kinds[4]])


def _dropout(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "data").to_type()
    return types.tuple_type([info, info])


def _cross_entropy(kinds: Kinds, attributes: Attributes) -> ir.Type:
    predictions, labels = infer.tensor(kinds[0], "predictions"), infer.tensor(kinds[1], "labels")
    dtype = infer.same_dtype([predictions, labels], kinds)
    for info, kind in ((predictions, kinds[0]), (labels, kinds[1])):
        if info.ndim == 0 or info.ndim > 2:
            raise InferError(f"needs rank one or two, got {types.describe(kind)}")
    if predictions.dims is not None and labels.dims is not None:
        infer.require_same_dims(predictions.dims, labels.dims, kinds)
    return TensorInfo((), dtype).to_type()


def _check_weights(predictions: TensorInfo, predictions_kind: ir.Type, kind: ir.Type) -> None:
    """Weights have one entry a class."""
    weights = infer.tensor(kind, "weights")
    infer.same_dtype([predictions, weights], [predictions_kind, kind])
    infer.require_rank(weights, 1, kind, "weights")
    if predictions.dims is not None and weights.dims is not None:
        classes = [predictions.dims[0 if predictions.ndim == 1 else 1]]
        infer.require_same_dims(classes, weights.dims, [predictions_kind, kind])


def _nll_loss(kinds: Kinds, attributes: Attributes) -> ir.Type:
    predictions, targets = infer.tensor(kinds[0], "predictions"), infer.tensor(kinds[1], "targets")
    infer.require_integer(targets, kinds[1], "targets")
    if attributes["reduction"] not in ("mean", "sum", "none"):
        raise InferError(f"reduction '{attributes['reduction']}' is none of mean, sum, none")
    if predictions.dims is not None:
        channels = 0 if predictions.ndim == 1 else 1
        rest = predictions.dims[:channels] + predictions.dims[channels + 1 :]
        if targets.dims is not None:
            infer.require_same_dims(rest, targets.dims, kinds[:2])
    if kinds[2] is not None:
        _check_weights(predictions, kinds[0], kinds[2])
    if attributes["reduction"] != "none":
        return TensorInfo((), predictions.dtype).to_type()
    return targets.with_dtype(predictions.dtype).to_type()


ACTIVATIONS: tuple[tuple[str, Infer, dict[str, Any], str], ...] = (
    ("relu", _same, {}, "max(x, 0)"),
    ("relu6", _same, {}, "min(max(x, 0), 6)"),
    ("leakyrelu", _float, {"alpha": 0.01}, "x where positive, alpha x elsewhere"),
    ("gelu", _float, {}, "x Phi(x), with the error function"),
    ("gelu_tanh", _float, {}, "x Phi(x), approximated with tanh"),
    ("selu", _float, {}, "scaled exponential linear unit"),
    ("silu", _float, {}, "x sigmoid(x)"),
    (
        "softplus",
        _float,
        {"beta": 1.0, "threshold": 20.0},
        "log(1 + exp(beta x)) / beta, x where beta x is above threshold",
    ),
)

for _name, _infer, _attributes, _doc in ACTIVATIONS:
    define(f"nn.{_name}", ["data"], _infer, _attributes, doc=f"Elementwise {_doc}.")

define("nn.prelu", ["data", "alpha"], _prelu, {"axis": 1}, doc="leakyrelu with an alpha a channel.")
for _name in ("softmax", "log_softmax"):
    define(f"nn.{_name}", ["data"], _softmax, {"axis": -1}, doc=f"{_name} along a dimension.")

_NORM = {"epsilon": 1e-05, "center": True, "scale": True}

define(
    "nn.layer_norm",
    ["data", "gamma", "beta"],
    _layer_norm,
    {"axes": REQUIRED, **_NORM},
    doc="Normalise over `axes`, then scale by gamma and shift by beta.",
)
define(
    "nn.rms_norm",
    ["data", "weight"],
    _rms_norm,
    {"axes": -1, "epsilon": 1e-05},
    doc="Divide by the root mean square over `axes`, then scale by weight.",
)
define(
    "nn.instance_norm",
    ["data", "gamma", "beta"],
    _instance_norm,
    {"channel_axis": REQUIRED, "axes": REQUIRED, **_NORM},
    doc="Normalise over `axes`, with gamma and beta a channel.",
)
define(
    "nn.group_norm",
    ["data", "gamma", "beta"],
    _group_norm,
    {"num_groups": REQUIRED, "channel_axis": REQUIRED, "axes": REQUIRED, **_NORM},
    doc="Normalise every group of channels over it and `axes`, with gamma and beta a channel.",
)
define(
    "nn.batch_norm",
    ["data", "gamma", "beta", "moving_mean", "moving_var"],
    _batch_norm,
    {"axis": REQUIRED, **_NORM, "momentum": 0.1, "training": True},
    doc="Normalise a channel by its batch's statistics (training) or by the moving ones.",
)
define("nn.dropout", ["data"], _dropout, {"rate": 0.5}, doc="(data, mask); inference keeps all.")
define(
    "nn.cross_entropy_with_logits",
    ["predictions", "labels"],
    _cross_entropy,
    doc="-sum(predictions * labels), averaged over a batch.",
)
define(
    "nn.nll_loss",
    ["predictions", "targets", "weights?"],
    _nll_loss,
    {"reduction": "mean", "ignore_index": -100},
    doc="Negative log-likelihood of the target classes.",
)
