"""Rules of layers in other forms: transposed convolutions, channels last, padded pooling, norms of
groups, losses, attention with a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.exec.test_ops_nn import adaptive, attend, convolve, pool, transposed
from tests.exec.test_ops_reduction import group_norm, log_softmax, nll_loss
from tests.fuzz.graphs import FLOATS, Graph, rule
from tests.fuzz.rules_nn import image

LAYOUTS = {1: ("NWC", "WIO"), 2: ("NHWC", "HWIO"), 3: ("NDHWC", "DHWIO")}


@rule()
def transposed_convolutions(graph: Graph) -> None:
    dims, groups = graph.choice([1, 2, 2, 3]), graph.choice([1, 1, 2])
    x = image(graph, dims, groups)
    kernel = [graph.number(1, 3) for _ in range(dims)]
    strides = [graph.number(1, 2) for _ in range(dims)]
    dilation = [graph.choice([1, 1, 2]) for _ in range(dims)]
    padding = [graph.number(0, 1) for _ in range(dims)]
    extra = [graph.number(0, s - 1) for s in strides]
    sizes = zip(x.array.shape[2:], kernel, strides, dilation, padding, extra, strict=True)
    if any((n - 1) * s + (k - 1) * d + 1 + e <= 2 * p for n, k, s, d, p, e in sizes):
        return
    weight = graph.parameter((x.array.shape[1], graph.number(1, 3), *kernel), "float32", -1, 1)
    result = transposed(x.array, weight.array, strides, padding, extra, dilation, groups)
    graph.add(f"nn.conv{dims}d_transpose", [x, weight], result, strides=strides, padding=padding,
              output_padding=extra, dilation=dilation, groups=groups)  # fmt: skip


@rule()
def channels_last(graph: Graph) -> None:
    """Convolutions of NHWC data with HWIO kernels, padded unevenly."""
    dims = graph.choice([1, 2, 2, 3])
    layout, kernel_layout = LAYOUTS[dims]
    x = image(graph, dims)
    kernel = [graph.number(1, 3) for _ in range(dims)]
    strides = [graph.number(1, 2) for _ in range(dims)]
    pads = [graph.number(0, 2) for _ in range(2 * dims)]
    sizes = zip(x.array.shape[2:], kernel, pads[:dims], pads[dims:], strict=True)
    if any(n + a + b < k for n, k, a, b in sizes):
        return
    inner, outer = x.array.shape[1], graph.choice([1, 2, 3, 16])
    last = [0, *range(2, 2 + dims), 1]
    moved = graph.add("permute_dims", [x], x.array.transpose(last).copy(), axes=last)
    weight = graph.parameter((*kernel, inner, outer), "float32", -1, 1)
    plain = weight.array.transpose(dims + 1, dims, *range(dims))
    result = convolve(x.array, plain, strides, pads, [1] * dims)
    graph.add(f"nn.conv{dims}d", [moved, weight], result.transpose(last).copy(), strides=strides,
              padding=pads, data_layout=layout, kernel_layout=kernel_layout)  # fmt: skip


@rule()
def padded_pooling(graph: Graph) -> None:
    dims = graph.choice([1, 2, 2, 3])
    x = image(graph, dims)
    size = [graph.number(1, 3) for _ in range(dims)]
    strides = [graph.number(1, 2) for _ in range(dims)]
    padding = [graph.number(0, k // 2) for k in size] * 2
    ceil, counted = graph.chance(0.5), graph.chance(0.5)
    kind = graph.choice(["max", "avg"])
    result = pool(x.array, kind, size, strides, padding, [1] * dims, ceil, counted)
    more: dict[str, Any] = {"count_include_pad": counted} if kind == "avg" else {}
    graph.add(f"nn.{kind}_pool{dims}d", [x], result, exact=kind == "max", pool_size=size,
              strides=strides, padding=padding, ceil_mode=ceil, **more)  # fmt: skip


@rule(0.7)
def adaptive_pooling(graph: Graph) -> None:
    dims = graph.choice([1, 3])
    x = image(graph, dims)
    sizes = [graph.number(1, n) for n in x.array.shape[2:]]
    graph.add(f"nn.adaptive_avg_pool{dims}d", [x], adaptive(x.array, sizes), output_size=sizes)


@rule()
def norms_of_groups(graph: Graph) -> None:
    groups = graph.choice([1, 2, 3])
    x = image(graph, graph.choice([1, 2, 3]), groups)
    channels = x.array.shape[1]
    gamma, beta = (graph.parameter((channels,), "float32") for _ in range(2))
    axes = list(range(2, x.rank))
    whole = groups if graph.chance(0.6) else channels
    result = group_norm(x.array, gamma.array, beta.array, whole)
    # The variance of few equal numbers is nothing but rounding, which its root makes large.
    if x.array.size // (x.array.shape[0] * whole) < 4:
        return
    if whole == groups:
        graph.add("nn.group_norm", [x, gamma, beta], result, num_groups=groups, channel_axis=1,
                  axes=axes)  # fmt: skip
    else:
        graph.add("nn.instance_norm", [x, gamma, beta], result, channel_axis=1, axes=axes)


@rule()
def losses(graph: Graph) -> None:
    rows, classes = graph.number(1, 6), graph.number(2, 5)
    x = graph.parameter((rows, classes), "float32")
    if graph.chance(0.4):
        y = graph.parameter((rows, classes), "float32")
        result = np.float32(-(x.array * y.array).sum() / rows)
        graph.add("nn.cross_entropy_with_logits", [x, y], result)
        return
    targets = graph.parameter((rows,), "int64", 0, classes - 1)
    weights = graph.parameter((classes,), "float32", 0.5, 2)
    reduction = graph.choice(["mean", "sum", "none"])
    ignored = graph.choice([-100, 0])
    if reduction == "mean" and np.all(targets.array == ignored):
        return
    logs = graph.add("nn.log_softmax", [x], log_softmax(x.array), x.dims)
    result = nll_loss(logs.array, targets.array, weights.array, reduction, ignored)
    graph.add("nn.nll_loss", [logs, targets, weights], result, reduction=reduction,
              ignore_index=ignored)  # fmt: skip


@rule(0.7)
def dropped(graph: Graph) -> None:
    x = graph.tensor(FLOATS)
    graph.add_tuple("nn.dropout", [x], [x.array, np.ones_like(x.array)])
    node = graph.last()
    for value in node.results:
        value.dims = x.dims


@rule(0.7)
def rearranged_images(graph: Graph) -> None:
    x = image(graph, 2, 4)
    n, c, h, w = x.array.shape
    if graph.chance(0.5):
        blocks = x.array.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3)
        result = blocks.reshape(n, c // 4, 2 * h, 2 * w).copy()
        graph.add("nn.pixel_shuffle", [x], result, exact=True, upscale_factor=2)
    else:
        graph.add("nn.batch_flatten", [x], x.array.reshape(n, -1), exact=True)


@rule()
def biased_attention(graph: Graph) -> None:
    batch, heads, width = graph.number(1, 2), graph.number(1, 3), graph.choice([1, 4, 16])
    length, others = graph.number(1, 9), graph.number(1, 9)
    q = graph.parameter((batch, length, heads, width), "float32")
    k = graph.parameter((batch, others, heads, width), "float32")
    v = graph.parameter((batch, others, heads, graph.choice([1, 8])), "float32")
    shape = (graph.choice([1, batch]), graph.choice([1, heads]), length, others)
    bias = graph.parameter(shape, "float32")
    scale = graph.choice([None, 0.5])
    result = attend(q.array, k.array, v.array, bias.array, scale)
    graph.add("nn.attention_bias", [q, k, v, bias], result, scale=scale)
