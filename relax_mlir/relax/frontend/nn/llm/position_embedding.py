"""Rotary position embeddings as tensor expressions.

The functions `rope_freq_*` give (cosine, sine, {}) of the angle at position `s` for element `d` of
`d_range`; the empty dictionary is where TVM names parts of the expressions.  What runs on caches is
`relax_mlir.runtime.rotary`, by the same formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from relax_mlir import te, tir
from relax_mlir.relax.frontend.nn.core import Tensor
from relax_mlir.relax.frontend.nn.op import tensor_expr_op

__all__ = [
    "llama_rope",
    "rope_freq_default",
    "rope_freq_gptj",
    "rope_freq_llama3",
    "rope_freq_llama4",
    "rope_freq_longrope",
    "rope_freq_yarn",
    "switch_rope_freq_func",
]

_Angles = tuple[Any, Any, dict[Any, Any]]


def _f32(value: Any) -> Any:
    return tir.const(float(value), "float32")


def _float(value: Any) -> Any:
    return tir.Cast("float32", value) if not isinstance(value, (int, float)) else _f32(value)


def _turned(angle: Any, dtype: str, strength: float = 1.0) -> _Angles:
    factor = _f32(strength)
    return (tir.cos(angle) * factor).astype(dtype), (tir.sin(angle) * factor).astype(dtype), {}


def _half_frequency(d: Any, d_range: int, theta: float) -> Any:
    """The frequency of element d where the two halves of a head are rotated."""
    exponent = _float(d * 2 % d_range) / _f32(d_range)
    return _f32(1.0) / tir.power(_f32(theta), exponent)


def _pair_frequency(d: Any, d_range: int, theta: float) -> Any:
    """The frequency of element d where neighbouring elements are rotated."""
    exponent = _float(d // 2 * 2) / _f32(d_range)
    return _f32(1.0) / tir.power(_f32(theta), exponent)


def rope_freq_default(s: Any, d: Any, d_range: int, theta: float, dtype: str) -> _Angles:
    """Frequencies `theta ** (-2 i / d_range)`."""
    return _turned(_float(s) * _half_frequency(d, d_range, theta), dtype)


def rope_freq_gptj(s: Any, d: Any, d_range: int, theta: float, dtype: str) -> _Angles:
    """The same for pairs of neighbours, as GPT-J has them."""
    return _turned(_float(s) * _pair_frequency(d, d_range, theta), dtype)


def _stretched(frequency: Any, factor: float, low: float, high: float, original: float) -> Any:
    """Low frequencies divided by `factor`, high ones kept, those between blended."""
    turns = frequency * _f32(original / (2 * math.pi))
    if high == low:
        return tir.Select(turns < _f32(low), frequency / _f32(factor), frequency)
    blend = (turns - _f32(low)) / _f32(high - low)
    kept = tir.max(_f32(0.0), tir.min(_f32(1.0), blend))
    return (_f32(1.0) - kept) * frequency * _f32(1 / factor) + kept * frequency


def rope_freq_llama3(
    s: Any,
    d: Any,
    d_range: int,
    theta: float,
    dtype: str,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: float,
) -> _Angles:
    """Frequencies stretched as Llama 3.1 does it."""
    limits = (factor, low_freq_factor, high_freq_factor, original_max_position_embeddings)
    frequency = _stretched(_half_frequency(d, d_range, theta), *limits)
    return _turned(_float(s) * frequency, dtype)


def rope_freq_llama4(
    s: Any,
    d: Any,
    d_range: int,
    theta: float,
    dtype: str,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: float,
) -> _Angles:
    """The same for pairs of neighbours."""
    limits = (factor, low_freq_factor, high_freq_factor, original_max_position_embeddings)
    frequency = _stretched(_pair_frequency(d, d_range, theta), *limits)
    return _turned(_float(s) * frequency, dtype)


def rope_freq_longrope(
    s: Any,
    d: Any,
    d_range: int,
    theta: float,
    dtype: str,
    max_position_embeddings: int,
    original_max_position_embeddings: int,
    ext_factors: Any = None,
) -> _Angles:
    """Frequencies divided by `ext_factors`, a buffer or tensor of `d_range // 2` factors."""
    stretch = max_position_embeddings / original_max_position_embeddings
    strength = 1.0
    if stretch > 1:
        strength = math.sqrt(1 + math.log(stretch) / math.log(original_max_position_embeddings))
    frequency = _half_frequency(d, d_range, theta)
    if ext_factors is not None:
        frequency = frequency / ext_factors[d % (d_range // 2)]
    return _turned(_float(s) * frequency, dtype, strength)


def rope_freq_yarn(
    s: Any,
    d: Any,
    d_range: int,
    theta: float,
    dtype: str,
    original_max_position_embeddings: int,
    scaling_factor: float,
    beta_fast: float,
    beta_slow: float,
    inv_theta_log_scale: float | None = None,
) -> _Angles:
    """Interpolated and original frequencies, blended by how often they turn (YaRN)."""
    inverse = 1 / (2 * math.log(theta)) if inv_theta_log_scale is None else inv_theta_log_scale

    def dimension(rotations: float) -> float:
        turns = original_max_position_embeddings / (rotations * 2 * math.pi)
        return d_range * math.log(turns) * inverse

    low, high = max(dimension(beta_fast), 0.0), min(dimension(beta_slow), d_range - 1.0)
    high = high + 0.001 if low == high else high
    ramp = (_float(d % (d_range // 2)) - _f32(low)) / _f32(high - low)
    blend = tir.max(_f32(0.0), tir.min(_f32(1.0), ramp))
    frequency = _half_frequency(d, d_range, theta)
    mixed = frequency * _f32(1 / scaling_factor) * blend + frequency * (_f32(1.0) - blend)
    return _turned(_float(s) * mixed, dtype)


_KINDS: dict[str, tuple[Callable[..., _Angles], dict[str, str]]] = {
    "default": (rope_freq_default, {}),
    "gptj": (rope_freq_gptj, {}),
    **{
        kind: (
            function,
            {
                key: key
                for key in (
                    "factor",
                    "low_freq_factor",
                    "high_freq_factor",
                    "original_max_position_embeddings",
                )
            },
        )
        for kind, function in (("llama3", rope_freq_llama3), ("llama4", rope_freq_llama4))
    },
    "longrope": (
        rope_freq_longrope,
        {key: key for key in ("max_position_embeddings", "original_max_position_embeddings")},
    ),
    "yarn": (
        rope_freq_yarn,
        {
            "original_max_position_embeddings": "original_max_position_embeddings",
            "scaling_factor": "factor",
            "beta_fast": "beta_fast",
            "beta_slow": "beta_slow",
        },
    ),
}
"""The function of each `rope_type`, and which entries of the dictionary its options come from."""


def switch_rope_freq_func(rope_scaling: Mapping[str, Any]) -> Callable[..., _Angles]:
    """The function `(s, d, d_range, theta, dtype)` of a model's `rope_scaling`.

    Raises ValueError for a `rope_type` that is not known.
    """
    kind = str(rope_scaling.get("rope_type", "default"))
    if kind not in _KINDS:
        raise ValueError(f"rope_type is one of {', '.join(_KINDS)}, not '{kind}'")
    function, options = _KINDS[kind]
    return partial(function, **{name: rope_scaling[key] for name, key in options.items()})


def llama_rope(
    qkv: Tensor,
    total_seq_len: Any,
    theta: float,
    scale: float,
    num_q_heads: int,
    num_kv_heads: int,
    rope_scaling: Mapping[str, Any] | None = None,
    rotary_dim: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys rotated by their positions, and values, of a fused tensor.

    qkv: (batch, seq_len, num_q_heads + 2 * num_kv_heads, head size); its last token is at position
    `total_seq_len - 1`.  `rotary_dim` leading elements of a head are rotated, all by default.
    """
    batch, length, heads, size = qkv.shape
    if heads != num_q_heads + 2 * num_kv_heads:
        raise ValueError(f"{heads} heads are not {num_q_heads} + 2 * {num_kv_heads}")
    scaling = dict(rope_scaling or {})
    angles, rotated = switch_rope_freq_func(scaling), rotary_dim or size
    neighbours = scaling.get("rope_type") in ("gptj", "llama4")

    def turned(x: Any, b: Any, s: Any, h: Any, d: Any, offset: Any) -> Any:
        position = _float(s + offset) * _f32(scale)
        cosine, sine, _ = angles(position, d, rotated, theta, x.dtype)
        half = rotated // 2
        first = d % 2 == 0 if neighbours else d < half
        step = 1 if neighbours else half
        other = tir.if_then_else(first, -x[b, s, h, d + step], x[b, s, h, d - step])
        whole = cosine * x[b, s, h, d] + sine * other
        return whole if rotated == size else tir.if_then_else(d < rotated, whole, x[b, s, h, d])

    def compute(x: te.Tensor, total: Any) -> list[te.Tensor]:
        offset = total - length

        def part(first: int, count: int, name: str, rotates: bool) -> te.Tensor:
            def element(b: Any, s: Any, h: Any, d: Any) -> Any:
                if not rotates:
                    return x[b, s, h + first, d]
                return turned(x, b, s, h + first, d, offset)

            return te.compute((batch, length, count, size), element, name)

        return [
            part(0, num_q_heads, "q", True),
            part(num_q_heads, num_kv_heads, "k", True),
            part(num_q_heads + num_kv_heads, num_kv_heads, "v", False),
        ]

    q, k, v = tensor_expr_op(compute, "llama_rope", [qkv, total_seq_len])
    return q, k, v
