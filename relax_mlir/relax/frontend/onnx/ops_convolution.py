"""Converters for convolution and pooling over any number of spatial axes up to three."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.onnx.node import Node, Row


def spatial(node: Node, name: str, count: int, default: int = 1) -> list[int]:
    """An attribute with one number a spatial axis."""
    given = node.attr(name)
    if given and len(given) != count:
        node.refuse(f"{name} has {len(given)} numbers for {count} spatial axes")
    return [default] * count if not given else [int(v) for v in given]


def padding(
    node: Node, sizes: Sequence[Dim], kernel: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:  # fmt: skip
    """The begins of all axes, then the ends; `auto_pad` makes outputs of ceil(size / stride)."""
    count = len(kernel)
    mode = node.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = [int(p) for p in node.attr("pads") or [0] * (2 * count)]
        if len(pads) != 2 * count:
            node.refuse(f"pads has {len(pads)} numbers for {count} spatial axes")
        return pads
    if mode == "VALID":
        return [0] * (2 * count)
    begins, ends = [], []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        extent = (width - 1) * dilation + 1
        if stride == 1:
            total = extent - 1
        elif isinstance(size, int):
            total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        else:
            node.refuse(f"auto_pad={mode} with a stride along the symbolic size {size}")
        small, large = total // 2, total - total // 2
        begins.append(large if mode == "SAME_LOWER" else small)
        ends.append(small if mode == "SAME_LOWER" else large)
    return [*begins, *ends]


def _layouts(node: Node, count: int) -> tuple[str, str]:
    if count not in (1, 2, 3):
        node.refuse(f"{count} spatial axes")
    return {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}[count]


def conv(node: Node) -> Any:
    x, weight = node.tensor(0), node.tensor(1)
    return with_bias(node, convolve(node, x, weight), node.optional(2))


def convolve(node: Node, x: Any, weight: Any) -> Any:
    """The convolution the node's attributes describe."""
    kernel = node.static_shape(weight)[2:]
    count = len(kernel)
    data_layout, kernel_layout = _layouts(node, count)
    strides = spatial(node, "strides", count)
    dilations = spatial(node, "dilations", count)
    function = getattr(node.ops.nn, f"conv{count}d")
    return function(
        x,
        weight,
        strides=strides,
        padding=padding(node, node.shape(x)[2:], kernel, strides, dilations),
        dilation=dilations,
        groups=node.attr("group", 1),
        data_layout=data_layout,
        kernel_layout=kernel_layout,
    )


def with_bias(node: Node, x: Any, bias: Any) -> Any:
    """The bias of the channels added."""
    if bias is None:
        return x
    return node.ops.add(x, node.reshape(bias, [1, node.shape(bias)[0], *[1] * (node.rank(x) - 2)]))


def conv_transpose(node: Node) -> Any:
    x, weight = node.tensor(0), node.tensor(1)
    kernel = node.static_shape(weight)[2:]
    count = len(kernel)
    data_layout, kernel_layout = _layouts(node, count)
    strides = spatial(node, "strides", count)
    dilations = spatial(node, "dilations", count)
    extra = spatial(node, "output_padding", count, 0)
    pads, extra = _transposed_padding(node, x, kernel, strides, dilations, extra)
    # Padding beyond the kernel, or output padding beyond the stride, is done by hand.
    fits = all(e < max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True))
    function = getattr(node.ops.nn, f"conv{count}d_transpose")
    result = function(
        x,
        weight,
        strides=strides,
        padding=pads if fits and min(pads) >= 0 else [0] * (2 * count),
        output_padding=extra if fits and min(pads) >= 0 else [0] * count,
        dilation=dilations,
        groups=node.attr("group", 1),
        data_layout=data_layout,
        kernel_layout=kernel_layout.replace("OI", "IO"),
    )
    if not (fits and min(pads) >= 0):
        result = _cropped(node, result, pads, extra)
    return with_bias(node, result, node.optional(2))


def _cropped(node: Node, x: Any, pads: list[int], extra: list[int]) -> Any:
    count = len(extra)
    ends = [e - p for e, p in zip(extra, pads[count:], strict=True)]
    begins = [-p for p in pads[:count]]
    for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        size = node.static_shape(x)[2 + i]
        x = node.slice(x, 2 + i, max(-begin, 0), size + min(end, 0))
    widths = [0, 0, 0, 0, *(max(v, 0) for pair in zip(begins, ends, strict=True) for v in pair)]
    return node.ops.nn.pad(x, pad_width=widths, pad_value=0.0) if any(widths) else x


def _transposed_padding(
    node: Node, x: Any, kernel: list[int], strides: list[int], dilations: list[int],
    extra: list[int],
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Padding and output padding; `output_shape` and `auto_pad` decide how much is cut."""
    mode = node.attr("auto_pad", "NOTSET")
    wanted = node.attr("output_shape")
    if not wanted and mode in ("NOTSET", "", "VALID"):
        return padding(node, node.shape(x)[2:], kernel, strides, dilations), extra
    sizes = node.static_shape(x)[2:]
    wanted = [int(v) for v in wanted[-len(kernel) :]] if wanted else None
    begins, ends = [], []
    for i, size in enumerate(sizes):
        target = wanted[i] if wanted else size * strides[i]
        full = strides[i] * (size - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1
        total = full - target
        small, large = total // 2, total - total // 2
        upper = mode == "SAME_UPPER"
        begins.append(small if upper else large)
        ends.append(large if upper else small)
    return [*begins, *ends], extra


# -- pooling ---------------------------------------------------------------------------------


def _window(node: Node, x: Any) -> dict[str, Any]:
    """The attributes of a pooling operator, as Relax names them."""
    kernel = [int(k) for k in node.attr("kernel_shape")]
    count = len(kernel)
    node.shape_of_rank(x, count + 2)
    strides = spatial(node, "strides", count)
    dilations = spatial(node, "dilations", count)
    return {
        "pool_size": kernel,
        "strides": strides,
        "padding": padding(node, node.shape(x)[2:], kernel, strides, dilations),
        "dilation": dilations,
        "ceil_mode": bool(node.attr("ceil_mode", 0)),
        "layout": _layouts(node, count)[0],
    }


def average_pool(node: Node) -> Any:
    x = node.tensor(0)
    window = _window(node, x)
    if window["ceil_mode"]:
        return _ceil_average(node, x, window)
    include = bool(node.attr("count_include_pad", 0))
    function = getattr(node.ops.nn, f"avg_pool{len(window['pool_size'])}d")
    return function(x, **window, count_include_pad=include)


def _output_sizes(node: Node, x: Any, window: dict[str, Any]) -> list[int]:
    """With `ceil_mode`: a window that would start in the padding at the end is left out."""
    count = len(window["pool_size"])
    pads = window["padding"]
    result = []
    for i, size in enumerate(node.static_shape(x)[2:]):
        extent = (window["pool_size"][i] - 1) * window["dilation"][i] + 1
        room = size + pads[i] + pads[count + i] - extent
        stride = window["strides"][i]
        steps = -(-room // stride) if window["ceil_mode"] else room // stride
        if window["ceil_mode"] and steps * stride >= size + pads[i]:
            steps -= 1
        result.append(steps + 1)
    return result


def _pad_for(node: Node, x: Any, window: dict[str, Any], value: float) -> tuple[Any, list[int]]:
    """The input with all that windows reach, and the numbers of windows."""
    outputs = _output_sizes(node, x, window)
    widths = [0, 0, 0, 0]
    for i, size in enumerate(node.static_shape(x)[2:]):
        extent = (window["pool_size"][i] - 1) * window["dilation"][i] + 1
        begin = window["padding"][i]
        needed = (outputs[i] - 1) * window["strides"][i] + extent - size - begin
        widths += [begin, max(needed, 0)]
    return _filled(node, x, widths, value), outputs


def _filled(node: Node, x: Any, widths: list[int], value: float) -> Any:
    if not any(widths):
        return x
    from relax_mlir.relax.frontend.onnx.ops_shape import pad_constant

    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    return pad_constant(node, x, pairs, node.like(value, x))


def _sum_pool(node: Node, x: Any, window: dict[str, Any]) -> Any:
    """The sum of every window, zeros outside."""
    padded, _ = _pad_for(node, x, window, 0)
    mean = _pool(node, "avg_pool", padded, window, count_include_pad=True)
    return node.ops.multiply(mean, node.like(math.prod(window["pool_size"]), x))


def _pool(node: Node, name: str, x: Any, window: dict[str, Any], **options: Any) -> Any:
    """A pooling operator over an input that has its padding already."""
    count = len(window["pool_size"])
    given = {**window, "padding": [0] * (2 * count), "ceil_mode": False, **options}
    return getattr(node.ops.nn, f"{name}{count}d")(x, **given)


def _window_parts(node: Node, x: Any, window: dict[str, Any], outputs: list[int]) -> list[Any]:
    """For every place in the window the tensor of the elements there."""
    import itertools

    parts: list[Any] = []
    for offsets in itertools.product(*map(range, window["pool_size"])):
        part = x
        for i, offset in enumerate(offsets):
            begin = offset * window["dilation"][i]
            stride = window["strides"][i]
            end = begin + (outputs[i] - 1) * stride + 1
            part = node.slice(part, 2 + i, begin, end, stride)
        parts.append(part)
    return parts


def _ceil_average(node: Node, x: Any, window: dict[str, Any]) -> Any:
    """With `ceil_mode` the divisor counts the input's elements, or those within the padding."""
    import numpy as np

    count = len(window["pool_size"])
    divisor = np.ones([1] * count)
    include = bool(node.attr("count_include_pad", 0))
    outputs = _output_sizes(node, x, window)
    pads = window["padding"]
    for i, size in enumerate(node.static_shape(x)[2:]):
        low = -pads[i] if include else 0
        high = size + pads[count + i] if include else size
        starts = np.arange(outputs[i]) * window["strides"][i] - pads[i]
        places = starts[:, None] + np.arange(window["pool_size"][i]) * window["dilation"][i]
        inside = ((places >= low) & (places < high)).sum(1)
        divisor = divisor * inside.reshape([-1 if j == i else 1 for j in range(count)])
    return node.ops.divide(
        _sum_pool(node, x, window), node.const(divisor[None, None], node.dtype(x))
    )


def lp_pool(node: Node) -> Any:
    """(sum |x|^p)^(1/p) of every window."""
    x, ops = node.tensor(0), node.ops
    p = node.attr("p", 2)
    powers = ops.power(ops.abs(x), node.like(p, x))
    return ops.power(_sum_pool(node, powers, _window(node, x)), node.like(1 / p, x))


def max_pool(node: Node) -> Any:
    x = node.tensor(0)
    window = _window(node, x)
    if node.wants(1):
        return _max_pool_indices(node, x, window)
    if window["ceil_mode"] or node.dtype(x) in ("int8", "uint8", "float16"):
        return _extreme_pool(node, x, window)
    return getattr(node.ops.nn, f"max_pool{len(window['pool_size'])}d")(x, **window)


def _lowest(dtype: str) -> float | int:
    import numpy as np

    return int(np.iinfo(dtype).min) if "int" in dtype else float("-inf")


def _extreme_pool(node: Node, x: Any, window: dict[str, Any]) -> Any:
    padded, outputs = _pad_for(node, x, window, _lowest(node.dtype(x)))
    if node.dtype(x) in ("float32", "float64"):
        return _pool(node, "max_pool", padded, window)
    best, *rest = _window_parts(node, padded, window, outputs)
    for part in rest:
        best = node.ops.maximum(best, part)
    return best


def _max_pool_indices(node: Node, x: Any, window: dict[str, Any]) -> Any:
    """Also the place of each maximum in the flattened input."""
    import numpy as np

    ops = node.ops
    shape = node.static_shape(x)
    padded, outputs = _pad_for(node, x, window, _lowest(node.dtype(x)))
    places = np.arange(int(np.prod(shape[2:]))).reshape(shape[2:])
    if node.attr("storage_order", 0):
        places = np.arange(places.size).reshape(shape[2:][::-1]).transpose()
    planes = np.arange(shape[0] * shape[1]).reshape([*shape[:2], *[1] * len(outputs)])
    flat = node.const(places[None, None] + planes * places.size, "int64")
    indices, _ = _pad_for(node, flat, window, 0)
    best = place = None
    parts = _window_parts(node, padded, window, outputs)
    for part, index in zip(parts, _window_parts(node, indices, window, outputs), strict=True):
        if best is None:
            best, place = part, index
            continue
        better = ops.greater(part, best)
        place = ops.where(better, index, place)
        best = ops.where(better, part, best)
    return [best, place]


def max_unpool(node: Node) -> Any:
    """Values put back at their places in a tensor of zeros."""
    import numpy as np

    x, indices, ops = node.tensor(0), node.tensor(1), node.ops
    shape = node.static_shape(x)
    kernel = [int(k) for k in node.attr("kernel_shape")]
    count = len(kernel)
    strides, pads = spatial(node, "strides", count), spatial(node, "pads", 2 * count, 0)
    natural = [
        (size - 1) * strides[i] + kernel[i] - pads[i] - pads[count + i]
        for i, size in enumerate(shape[2:])
    ]
    given = node.ints(2)
    output = [*shape[:2], *natural] if given is None else given
    total = int(np.prod(natural)) * shape[0] * shape[1]
    flat = ops.zeros(node.importer.shape_expr([total]), node.dtype(x))
    size = int(np.prod(shape))
    placed = ops.scatter_elements(
        flat, node.reshape(indices, [size]), node.reshape(x, [size]), axis=0, reduction="update"
    )
    result = node.reshape(placed, [*shape[:2], *natural])
    for i, (have, want) in enumerate(zip(natural, output[2:], strict=True)):
        if want != have:
            widths = [0] * (2 * len(output))
            widths[2 * (2 + i) + 1] = want - have
            if want < have:
                node.refuse(f"the output shape {output} is smaller than {natural}")
            result = ops.nn.pad(result, pad_width=widths, pad_value=0.0)
    return result


def global_pool(name: str) -> Any:
    def convert(node: Node) -> Any:
        x = node.tensor(0)
        return getattr(node.ops, name)(x, axis=list(range(2, node.rank(x))), keepdims=True)

    return convert


def global_lp_pool(node: Node) -> Any:
    x, ops = node.tensor(0), node.ops
    p = node.attr("p", 2)
    powers = ops.power(ops.abs(x), node.like(p, x))
    total = ops.sum(powers, axis=list(range(2, node.rank(x))), keepdims=True)
    return ops.power(total, node.like(1 / p, x))


def col2im(node: Node) -> Any:
    """Columns of patches added up into an image."""
    import numpy as np

    x, ops = node.tensor(0), node.ops
    image, block = node.ints(1, "the image's shape") or [], node.ints(2, "the block's shape") or []
    count = len(image)
    batch, columns, steps = node.static_shape(x)
    strides, dilations = spatial(node, "strides", count), spatial(node, "dilations", count)
    pads = spatial(node, "pads", 2 * count, 0)
    channels = columns // int(np.prod(block))
    padded = [image[i] + pads[i] + pads[count + i] for i in range(count)]
    grid = np.zeros([*block, *[1] * count], "int64")
    for i in range(count):
        extent = (block[i] - 1) * dilations[i] + 1
        starts = np.arange((padded[i] - extent) // strides[i] + 1) * strides[i]
        offsets = np.arange(block[i]) * dilations[i]
        shape = [1] * (2 * count)
        shape[i], shape[count + i] = len(offsets), len(starts)
        grid = grid * padded[i] + (offsets[:, None] + starts).reshape(shape)
    area = int(np.prod(padded))
    planes = np.arange(batch * channels)[:, None] * area
    index = node.const((planes + grid.reshape(1, -1)).reshape(-1), "int64")
    flat = ops.zeros(node.importer.shape_expr([batch * channels * area]), node.dtype(x))
    values = node.reshape(x, [batch * columns * steps])
    summed = ops.scatter_elements(flat, index, values, axis=0, reduction="add")
    result = node.reshape(summed, [batch, channels, *padded])
    for i in range(count):
        result = node.slice(result, 2 + i, pads[i], pads[i] + image[i])
    return result


CONVERTERS: dict[str, Row] = {
    "AveragePool": average_pool,
    "Col2Im": col2im,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "GlobalAveragePool": global_pool("mean"),
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_pool("max"),
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
"""By operator; see `node.Row`."""
