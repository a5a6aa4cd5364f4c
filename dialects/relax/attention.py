"""Scaled dot-product attention on (batch, sequence, heads, head size) tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

MASKS = (None, "TopLeft", "BottomRight")


def _attention(kinds: Sequence[Any], attributes: Mapping[str, Any]) -> ir.Type:
    names = ("query", "key", "value")
    infos = [infer.tensor(kind, what) for kind, what in zip(kinds[:3], names, strict=True)]
    for info, kind, what in zip(infos, kinds, names, strict=False):
        infer.require_rank(info, 4, kind, what)
    dtype = infer.same_dtype(infos, kinds[:3])
    if attributes["causal_mask"] not in MASKS:
        raise InferError(
            f"causal_mask '{attributes['causal_mask']}' is none of TopLeft, BottomRight"
        )
    bias = None if len(kinds) < 4 or kinds[3] is None else kinds[3]
    query, key, value = (info.dims for info in infos)
    if query is None or key is None or value is None:
        return TensorInfo(None, dtype, 4).to_type()
    for axis, a, b, i, j in (
        (0, query, key, 0, 1),
        (0, query, value, 0, 2),
        (1, key, value, 1, 2),
        (2, query, key, 0, 1),
        (2, query, value, 0, 2),
        (3, query, key, 0, 1),
    ):
        if dim_algebra.differ(a[axis], b[axis]):
            raise InferError(
                f"dimension {axis} of {names[i]} and {names[j]} differs: "
                f"{types.describe(kinds[i])} and {types.describe(kinds[j])}"
            )
    if bias is not None:
        _check_bias((query[0], query[2], query[1], key[1]), bias, dtype)
    return TensorInfo((query[0], query[1], query[2], value[3]), dtype).to_type()


def _check_bias(scores: Sequence[Any], kind: ir.Type, dtype: str | None) -> None:
    info = infer.tensor(kind, "bias")
    if None not in (dtype, info.dtype) and info.dtype != dtype:
        raise InferError(f"bias {types.describe(kind)} must be {dtype}")
    shape = types.tensor_type(scores, dtype or "float32")
    infer.require_rank(info, 4, kind, "bias")
    if info.dims is not None:
        infer.broadcast_dims(tuple(scores), info.dims, [shape, kind])
        for size, given in zip(scores, info.dims, strict=True):
            if given != 1:
                dim_algebra.differ(size, given)


_ATTRIBUTES = {"scale": None, "causal_mask": None, "window_size": None}

define(
    "nn.attention",
    ["query", "key", "value", "bias?"],
    _attention,
    _ATTRIBUTES,
    doc="softmax(query key^T * scale + bias) value; scale is 1/sqrt(head size) unless given.",
)
define(
    "nn.attention_bias",
    ["query", "key", "value", "bias"],
    _attention,
    _ATTRIBUTES,
    doc="nn.attention with a bias.",
)


def _var_len(kinds: Sequence[Any], attributes: Mapping[str, Any]) -> ir.Type:
    names = ("seqstart_q", "max_seqlen_q", "seqstart_k", "max_seqlen_k")
    for kind, what in zip(kinds[3:], names, strict=True):
        if kind is None:
            continue
        info = infer.tensor(kind, what)
        if info.dtype not in (None, "int32", "int64"):
            raise InferError(f"{what} {types.describe(kind)} must hold integers")
        if what.startswith("seqstart"):
            infer.require_rank(info, 1, kind, what)
    query = infer.tensor(kinds[0], "queries")
    if query.dims is not None and len(query.dims) == 4 and dim_algebra.differ(query.dims[0], 1):
        raise InferError(
            f"queries {types.describe(kinds[0])} hold sequences one after another: their first "
            "size is one"
        )
    return _attention([*kinds[:3], None], attributes)


define(
    "nn.attention_var_len",
    [
        "queries",
        "keys",
        "values",
        "seqstart_q",
        "max_seqlen_q",
        "seqstart_k?",
        "max_seqlen_k?",
    ],
    _var_len,
    _ATTRIBUTES,
    doc="nn.attention within each of several sequences that lie one after another; sequence i of "
    "the queries starts at seqstart_q[i] and ends before seqstart_q[i + 1].",
)
