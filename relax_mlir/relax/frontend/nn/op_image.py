"""Operators of `nn` that models of images and diffusion use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.relax import expr as rx
from relax_mlir.relax import op as _op
from relax_mlir.relax.frontend.nn.core import Tensor, get_default_dtype, unwrap, wrap_nested

__all__ = ["conv1d_transpose", "get_timestep_embedding", "interpolate", "pad"]


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """Transposed convolution over one dimension (NCW); the weight is (in, out / groups, size)."""
    call = _op.nn.conv1d_transpose(
        unwrap(x),
        unwrap(weight),
        strides=stride,
        padding=padding,
        output_padding=output_padding,
        dilation=dilation,
        groups=groups,
    )
    if bias is not None:
        call = _op.add(call, _op.reshape(unwrap(bias), [1, -1, 1]))
    return wrap_nested(call, name)


def pad(
    x: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float = 0.0,
    name: str = "pad",
) -> Tensor:
    """`x` with elements around: `pad` is how many before and after, axis by axis."""
    call = _op.nn.pad(unwrap(x), pad_width=list(pad), pad_mode=mode, pad_value=value)
    return wrap_nested(call, name)


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Images of another size, given as such or as a multiple.

    Modes are PyTorch's: "nearest", "bilinear", "bicubic".  Raises ValueError for what it cannot.
    """
    if recompute_scale_factor is not None or antialias is not None:
        raise ValueError("interpolate takes neither recompute_scale_factor nor antialias")
    axes = [axis for axis, letter in enumerate(data_layout) if letter not in "NC"]
    if size is None:
        if scale_factor is None:
            raise ValueError("interpolate needs size or scale_factor")
        factors = (
            list(scale_factor)
            if isinstance(scale_factor, (list, tuple))
            else [scale_factor] * len(axes)
        )
        size = [int(x.shape[a] * f) for a, f in zip(axes, factors, strict=True)]
    nearest = mode.startswith("nearest")
    method = "nearest_neighbor" if nearest else mode.removeprefix("bi")
    places = "asymmetric" if nearest else "align_corners" if align_corners else "half_pixel"
    sizes = [size] * len(axes) if isinstance(size, int) else list(size)
    call = _op.image.resize2d(
        unwrap(x),
        sizes,
        layout=data_layout,
        method=method,
        coordinate_transformation_mode=places,
        rounding_method="floor" if nearest else "round",
    )
    return wrap_nested(call, name)


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """Sines and cosines of timesteps, one row each (Ho et al. 2020, as HF diffusers has them)."""
    half = embedding_dim // 2
    steps = _op.arange(0, half, dtype="float32")
    rate = rx.const(-math.log(max_period) / (half - downscale_freq_shift), "float32")
    frequencies = _op.expand_dims(_op.exp(_op.multiply(steps, rate)), 0)
    angles = _op.multiply(_op.expand_dims(_op.astype(unwrap(x), "float32"), 1), frequencies)
    if scale != 1:
        angles = _op.multiply(angles, rx.const(float(scale), "float32"))
    parts = [_op.sin(angles), _op.cos(angles)]
    joined = _op.concat(parts[::-1] if flip_sin_to_cos else parts, axis=-1)
    if embedding_dim % 2:
        joined = _op.nn.pad(joined, [0, 0, 0, 1])
    return wrap_nested(_op.astype(joined, get_default_dtype()), name)
