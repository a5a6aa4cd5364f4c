"""Converters for attention and what transformers put around it (ONNX and ONNX Runtime)."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.relax.frontend.onnx.node import Node, Row
from relax_mlir.relax.frontend.onnx.ops_normalization import normalized, rms


def _heads(node: Node, x: Any, count: Any) -> Any:
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    batch, length, width = node.shape(x)
    size = dim_algebra.exact_divide(width, count)
    return node.permute(node.reshape(x, [batch, length, count, size]), [0, 2, 1, 3])


def _joined(node: Node, x: Any) -> Any:
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, heads, length, size = node.shape(x)
    turned = node.permute(x, [0, 2, 1, 3])
    return node.reshape(turned, [batch, length, dim_algebra.multiply(heads, size)])


def _repeated(node: Node, x: Any, times: int) -> Any:
    """Every head `times` times, for queries that share keys."""
    if times == 1:
        return x
    batch, heads, length, size = node.shape(x)
    wide = node.broadcast(
        node.reshape(x, [batch, heads, 1, length, size]), [batch, heads, times, length, size]
    )
    return node.reshape(wide, [batch, dim_algebra.multiply(heads, times), length, size])


def _row(node: Node, count: Any, shape: list[Any], start: Any = 0) -> Any:
    """0, 1, ..., count - 1 as int64 in the given shape."""
    first, last = node.importer.shape_expr([start, dim_algebra.add(start, count)])
    return node.reshape(node.ops.arange(first, last, 1, dtype="int64"), shape)


def _scale(node: Node, q: Any, default: float | None = None) -> float:
    size = node.shape(q)[-1]
    given = node.attr("scale", default)
    if given:
        return given
    if not isinstance(size, int):
        node.refuse("the size of a head is symbolic and no scale is given")
    return size**-0.5


def attend(
    node: Node, q: Any, k: Any, v: Any, scale: float, mask: Any, softcap: float = 0.0
) -> Any:
    """softmax(scale * q k' + mask) v, over (batch, heads, length, size)."""
    ops = node.ops
    scores = ops.matmul(ops.multiply(q, node.like(scale, q)), node.permute(k, [0, 1, 3, 2]))
    if softcap:
        cap = node.like(softcap, scores)
        scores = ops.multiply(cap, ops.tanh(ops.divide(scores, cap)))
    if mask is not None:
        scores = ops.add(scores, mask)
    return ops.matmul(ops.nn.softmax(scores, axis=-1), v)


def _additive(node: Node, allowed: Any, dtype: str) -> Any:
    """0 where attention is allowed, the lowest number elsewhere."""
    low = {"float16": -65504.0}.get(dtype, -3.4028234663852886e38)
    return node.ops.where(allowed, node.const(0, dtype), node.const(low, dtype))


def _causal(node: Node, queries: Any, keys: Any, window: int = -1) -> Any:
    """Whether query i, the last ones of the keys, sees key j: (1, 1, queries, keys)."""
    ops = node.ops
    past = dim_algebra.subtract(keys, queries)
    at = _row(node, queries, [1, 1, queries, 1], past)
    key = _row(node, keys, [1, 1, 1, keys])
    allowed = ops.less_equal(key, at)
    if window > 0:
        oldest = ops.subtract(at, node.const(window, "int64"))
        allowed = ops.logical_and(allowed, ops.greater(key, oldest))
    return allowed


def _with_past(node: Node, past: Any, new: Any) -> Any:
    if past is None or node.shape(past)[2] == 0:
        return new
    return node.ops.concat([past, new], axis=2)


# -- ONNX Runtime ----------------------------------------------------------------------------


def multi_head_attention(node: Node) -> Any:
    """com.microsoft.MultiHeadAttention with separate query, key and value of three axes."""
    count = node.attr("num_heads")
    q, k, v = (node.optional(i) for i in range(3))
    if k is None or v is None:
        node.refuse("packed query, key and value")
    bias = node.optional(3)
    if bias is not None:
        parts = node.split(bias, 3, axis=0)
        q, k, v = [node.ops.add(x, b) for x, b in zip((q, k, v), parts, strict=True)]
    q = _heads(node, q, count)
    k, v = (_heads(node, x, count) if node.rank(x) == 3 else x for x in (k, v))
    k, v = (_with_past(node, node.optional(6 + i), x) for i, x in enumerate((k, v)))
    mask = _padding_mask(node, node.optional(4), q, k)
    extra = node.optional(5)
    mask = extra if mask is None else mask if extra is None else node.ops.add(mask, extra)
    if node.attr("unidirectional", 0):
        causal = _additive(node, _causal(node, node.shape(q)[2], node.shape(k)[2]), node.dtype(q))
        mask = causal if mask is None else node.ops.add(mask, causal)
    result = _joined(node, attend(node, q, k, v, _scale(node, q), mask))
    return [result, k, v]


def _padding_mask(node: Node, mask: Any, q: Any, k: Any) -> Any:
    """Added to the scores, from a mask of 1 for keys to see."""
    if mask is None:
        return None
    shape, keys = node.shape(mask), node.shape(k)[2]
    if len(shape) == 1:
        node.refuse("a mask of lengths")
    target = [shape[0], 1, 1, keys] if len(shape) == 2 else [shape[0], 1, *shape[1:]]
    seen = node.reshape(mask, target) if len(shape) < 4 else mask
    return _additive(node, node.ops.not_equal(seen, node.like(0, seen)), node.dtype(q))


def packed_attention(node: Node) -> Any:
    """com.microsoft.Attention: one product makes query, key and value."""
    x, weight, bias = node.tensor(0), node.tensor(1), node.optional(2)
    count, ops = node.attr("num_heads"), node.ops
    if node.has(4):
        node.refuse("past keys and values")
    product = ops.matmul(x, weight)
    product = product if bias is None else ops.add(product, bias)
    sizes = node.attr("qkv_hidden_sizes")
    if sizes:
        from relax_mlir.relax.frontend.onnx.ops_shape import slices

        parts = slices(node, product, 2, sizes)
    else:
        parts = node.split(product, 3, axis=2)
    q, k, v = (_heads(node, part, count) for part in parts)
    mask = _padding_mask(node, node.optional(3), q, k)
    extra = node.optional(5)
    if extra is not None:
        mask = extra if mask is None else ops.add(mask, extra)
    if node.attr("unidirectional", 0):
        causal = _additive(node, _causal(node, node.shape(q)[2], node.shape(k)[2]), node.dtype(q))
        mask = causal if mask is None else ops.add(mask, causal)
    return _joined(node, attend(node, q, k, v, _scale(node, q), mask))


def group_query_attention(node: Node) -> Any:
    """com.microsoft.GroupQueryAttention: causal, past and present without a shared buffer.

    Rows that end at different places (`seqlens_k`) need a batch, so a batch of one is required.
    """
    count, groups = node.attr("num_heads"), node.attr("kv_num_heads")
    q, k, v = (node.optional(i) for i in range(3))
    if node.shape(q)[0] != 1:
        node.refuse(
            f"a batch of {node.shape(q)[0]}, whose rows may end at different places; "
            "only a batch of one is imported"
        )
    if k is None or v is None:
        width = node.shape(q)[2]
        size = dim_algebra.exact_divide(width, count + 2 * groups)
        from relax_mlir.relax.frontend.onnx.ops_shape import slices

        widths = [dim_algebra.multiply(size, n) for n in (count, groups, groups)]
        q, k, v = slices(node, q, 2, widths)
    q, k, v = (_heads(node, x, n) for x, n in ((q, count), (k, groups), (v, groups)))
    past = node.optional(3)
    start = 0 if past is None else node.shape(past)[2]
    if node.attr("do_rotary", 0):
        length = node.shape(q)[2]
        cosine, sine = (_rows_from(node, node.tensor(7 + i), start, length) for i in range(2))
        interleaved = bool(node.attr("rotary_interleaved", 0))
        q, k = (rotate(node, x, cosine, sine, interleaved) for x in (q, k))
    k, v = (_with_past(node, node.optional(3 + i), x) for i, x in enumerate((k, v)))
    keys = node.shape(k)[2]
    window = node.attr("local_window_size", -1)
    mask = _additive(node, _causal(node, node.shape(q)[2], keys, window), node.dtype(q))
    wide_k, wide_v = (_repeated(node, x, count // groups) for x in (k, v))
    softcap = node.attr("softcap", 0.0)
    result = attend(node, q, wide_k, wide_v, _scale(node, q), mask, softcap)
    return [_joined(node, result), k, v]


def _rows_from(node: Node, table: Any, start: Any, count: Any) -> Any:
    """Rows start, start + 1, ... of a table, as (1, 1, rows, width)."""
    rows = node.slice(table, 0, start, dim_algebra.add(start, count))
    return node.reshape(rows, [1, 1, count, node.shape(table)[1]])


def rotate(node: Node, x: Any, cosine: Any, sine: Any, interleaved: bool) -> Any:
    """Pairs of elements turned by angles; what the tables do not cover stays.

    `x` is (batch, heads, length, size), the tables broadcast with half of it.
    """
    ops = node.ops
    half = node.last_size(cosine)
    size = node.last_size(x)
    turned = node.slice(x, 3, 0, 2 * half) if size > 2 * half else x
    if interleaved:
        first, second = (node.slice(turned, 3, i, 2 * half, 2) for i in (0, 1))
    else:
        first, second = (node.slice(turned, 3, i * half, (i + 1) * half) for i in (0, 1))
    real = ops.subtract(ops.multiply(first, cosine), ops.multiply(second, sine))
    imaginary = ops.add(ops.multiply(first, sine), ops.multiply(second, cosine))
    if interleaved:
        shape = node.shape(turned)
        pair = ops.stack([real, imaginary], axis=4)
        result = node.reshape(pair, shape)
    else:
        result = ops.concat([real, imaginary], axis=3)
    if size > 2 * half:
        result = ops.concat([result, node.slice(x, 3, 2 * half, size)], axis=3)
    return result


def rotary_embedding(node: Node) -> Any:
    """com.microsoft.RotaryEmbedding: positions index the tables of cosines and sines."""
    x, positions = node.tensor(0), node.tensor(1)
    ops, rank = node.ops, node.rank(x)
    tables = [node.tensor(2), node.tensor(3)]
    if rank == 3:
        half = node.last_size(tables[0])
        count = node.attr("num_heads") or None
        if not count:
            size = node.attr("rotary_embedding_dim") or 2 * half
            count = dim_algebra.exact_divide(node.shape(x)[2], size)
        heads = _heads(node, x, count)
    else:
        heads = x
    batch, _, length, _ = node.shape(heads)
    if node.rank(positions) == 1:
        offset = node.reshape(positions, [1, 1])
        positions = node.broadcast(
            ops.add(offset, _row(node, length, [1, length])), [batch, length]
        )
    cosine, sine = (
        ops.expand_dims(ops.take(t, positions, axis=0, mode="wrap"), axis=[1]) for t in tables
    )
    result = rotate(node, heads, cosine, sine, bool(node.attr("interleaved", 0)))
    return _joined(node, result) if rank == 3 else result


def skip_layer_norm(node: Node) -> Any:
    """com.microsoft.SkipLayerNormalization: the sum of input and skip, normalised."""
    x = node.ops.add(node.tensor(0), node.tensor(1))
    bias = node.optional(4)
    x = x if bias is None else node.ops.add(x, bias)
    result, mean, inverse = normalized(node, x, [node.rank(x) - 1], node.attr("epsilon", 1e-12))
    result = node.ops.multiply(result, node.tensor(2))
    beta = node.optional(3)
    return [result if beta is None else node.ops.add(result, beta), mean, inverse, x]


def skip_rms_norm(node: Node) -> Any:
    x = node.ops.add(node.tensor(0), node.tensor(1))
    bias = node.optional(3)
    x = x if bias is None else node.ops.add(x, bias)
    result = rms(node, x, [node.rank(x) - 1], node.attr("epsilon", 1e-12))
    return [node.ops.multiply(result, node.tensor(2)), None, None, x]


def embed_layer_norm(node: Node) -> Any:
    """com.microsoft.EmbedLayerNormalization: the sum of embeddings, normalised."""
    ids, ops = node.tensor(0), node.ops
    if node.has(7):
        node.refuse("a mask")
    length = node.shape(ids)[1]
    positions = node.optional(8)
    if positions is None:
        positions = _row(node, length, [1, length])
    x = ops.add(
        ops.take(node.tensor(2), ids, axis=0, mode="wrap"),
        ops.take(node.tensor(3), positions, axis=0, mode="wrap"),
    )
    if node.has(1) and node.has(4):
        x = ops.add(x, ops.take(node.tensor(4), node.tensor(1), axis=0, mode="wrap"))
    result, _, _ = normalized(node, x, [2], node.attr("epsilon", 1e-12))
    result = ops.add(ops.multiply(result, node.tensor(5)), node.tensor(6))
    batch = node.shape(ids)[0]
    return [result, ops.zeros(node.importer.shape_expr([batch]), "int32"), x]


def bias_gelu(node: Node) -> Any:
    bias = node.optional(1)
    return node.ops.nn.gelu(node.tensor(0) if bias is None else node.ops.add(node.tensor(0), bias))


def fast_gelu(node: Node) -> Any:
    bias = node.optional(1)
    x = node.tensor(0) if bias is None else node.ops.add(node.tensor(0), bias)
    return node.ops.nn.gelu_tanh(x)


def quick_gelu(node: Node) -> Any:
    x = node.tensor(0)
    return node.ops.multiply(
        x, node.ops.sigmoid(node.ops.multiply(x, node.like(node.attr("alpha", 1.702), x)))
    )


def fused_matmul(node: Node) -> Any:
    """com.microsoft.FusedMatMul: alpha * A' @ B'."""
    parts = []
    for index, name in ((0, "transA"), (1, "transB")):
        x = node.tensor(index)
        if node.attr(name.replace("trans", "transBatch"), 0):
            node.refuse("transposed batches")
        rank = node.rank(x)
        swapped = [*range(rank - 2), rank - 1, rank - 2]
        parts.append(node.permute(x, swapped) if node.attr(name, 0) else x)
    result = node.ops.matmul(*parts)
    alpha = node.attr("alpha", 1.0)
    return result if alpha == 1 else node.ops.multiply(result, node.like(alpha, result))


CONVERTERS: dict[str, Row] = {
    f"com.microsoft.{name}": converter
    for name, converter in {
        "Attention": packed_attention,
        "BiasGelu": bias_gelu,
        "EmbedLayerNormalization": embed_layer_norm,
        "FastGelu": fast_gelu,
        "FusedMatMul": fused_matmul,
        "Gelu": bias_gelu,
        "GroupQueryAttention": group_query_attention,
        "MultiHeadAttention": multi_head_attention,
        "QuickGelu": quick_gelu,
        "RotaryEmbedding": rotary_embedding,
        "SkipLayerNormalization": skip_layer_norm,
        "SkipSimplifiedLayerNormalization": skip_rms_norm,
    }.items()
}
"""By operator; see `node.Row`."""
