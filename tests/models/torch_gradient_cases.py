"""Small PyTorch programs for gradients, and for operators on bags, blocks, groups of rows and
complex numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from tests.models.torch_cases import Case, real, whole

_ATEN = torch.ops.aten
_IMAGE = real(2, 4, 9, 8)
_ALL = [True, True, True]


def _convolution(transposed: bool, groups: int, stride: int, padding: int, dilation: int) -> Case:
    """The gradients of a convolution of two dimensions, of the size its forward pass gives."""
    weight = real(4, 6 // groups, 3, 2) if transposed else real(6, 4 // groups, 3, 2)
    options: Any = ([stride] * 2, [padding] * 2, [dilation] * 2, transposed, [0, 0], groups)
    result = _ATEN.convolution(_IMAGE, weight, None, *options)

    def backward(gradient: Any, x: Any, kernel: Any) -> Any:
        return _ATEN.convolution_backward(gradient, x, kernel, [6], *options, _ALL)

    return backward, (real(*result.shape), _IMAGE, weight)


def _pooled(kernel: Any, stride: Any, padding: Any, dilation: Any) -> Case:
    window = (kernel, stride, padding, dilation, False)
    values, indices = _ATEN.max_pool2d_with_indices(_IMAGE, *window)

    def backward(gradient: Any, x: Any, places: Any) -> Any:
        return _ATEN.max_pool2d_with_indices_backward(gradient, x, *window, places)

    return backward, (real(*values.shape), _IMAGE, indices)


def _averaged(*window: Any) -> Case:
    result = _ATEN.avg_pool2d(_IMAGE, *window)
    return lambda g, x: _ATEN.avg_pool2d_backward(g, x, *window), (real(*result.shape), _IMAGE)


def _layer_norm() -> Case:
    x, weight, bias = real(3, 4, 5), real(5), real(5)

    def backward(gradient: Any, x: Any, weight: Any, bias: Any) -> Any:
        _, mean, deviation = _ATEN.native_layer_norm(x, [5], weight, bias, 1e-5)
        return _ATEN.native_layer_norm_backward(
            gradient, x, [5], mean, deviation, weight, bias, _ALL
        )

    return backward, (real(3, 4, 5), x, weight, bias)


def _group_norm() -> Case:
    def backward(gradient: Any, x: Any, weight: Any, bias: Any) -> Any:
        _, mean, deviation = _ATEN.native_group_norm(x, weight, bias, 2, 4, 72, 2, 1e-5)
        return _ATEN.native_group_norm_backward(
            gradient, x, mean, deviation, weight, 2, 4, 72, 2, _ALL
        )

    return backward, (real(2, 4, 9, 8), _IMAGE, real(4), real(4))


GRADIENT: dict[str, Case] = {
    **{
        f"convolution_backward {case}": _convolution(*case)
        for case in [
            (False, 1, 1, 0, 1),
            (False, 2, 2, 1, 1),
            (False, 1, 2, 2, 2),
            (True, 1, 1, 0, 1),
            (True, 2, 2, 1, 1),
        ]
    },
    "max_pool2d_backward": _pooled([3, 2], [2, 2], [1, 0], [1, 1]),
    "max_pool2d_backward, apart": _pooled([2, 2], [2, 3], [0, 0], [2, 1]),
    "avg_pool2d_backward": _averaged([3, 2], [2, 2], [1, 0], False, True, None),
    "avg_pool2d_backward without padding": _averaged([3, 2], [2, 1], [1, 1], True, False, None),
    "avg_pool2d_backward, divided": _averaged([3, 2], [2, 2], [1, 0], False, True, 5),
    "adaptive_avg_pool2d_backward": (
        _ATEN._adaptive_avg_pool2d_backward,
        (real(2, 4, 4, 3), _IMAGE),
    ),
    "layer_norm_backward": _layer_norm(),
    "group_norm_backward": _group_norm(),
    "embedding_backward": (
        lambda g, i: (
            _ATEN.embedding_dense_backward(g, i, 5, -1, False),
            _ATEN.embedding_dense_backward(g, i, 5, 2, True),
        ),
        (real(3, 4, 6), whole(5, 3, 4)),
    ),
}

_OFFSETS = torch.tensor([0, 3, 3, 7])


def _bag(mode: str, **options: Any) -> Case:
    given = (real(9, 5), whole(9, 10), _OFFSETS)
    return partial(_bagged, mode, options), given


def _bagged(mode: str, options: dict[str, Any], weight: Any, indices: Any, offsets: Any) -> Any:
    return F.embedding_bag(indices, weight, offsets, mode=mode, **options)


BLOCKS: dict[str, Case] = {
    **{f"embedding_bag {mode}": _bag(mode) for mode in ("sum", "mean", "max")},
    "embedding_bag with padding": _bag("mean", padding_idx=3),
    "embedding_bag, weighted": (
        lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        (real(9, 5), whole(9, 10), _OFFSETS, real(10)),
    ),
    "embedding_bag with its end": (
        lambda w, i, o: F.embedding_bag(i, w, o, mode="sum", include_last_offset=True),
        (real(9, 5), whole(9, 10), torch.tensor([0, 3, 3, 10])),
    ),
    "col2im": (
        lambda x, y: (
            F.fold(x, (5, 6), 2),
            F.fold(y, (7, 6), (3, 2), dilation=(1, 2), padding=1, stride=2),
        ),
        (real(2, 12, 20), real(1, 12, 12)),
    ),
    "places of maxima": (
        lambda x, y: (
            F.max_pool2d(x, (3, 2), 2, (1, 0), return_indices=True),
            F.max_pool1d(y, 3, 2, dilation=2, return_indices=True),
            F.adaptive_max_pool2d(x, (3, 4), return_indices=True),
        ),
        (_IMAGE, real(2, 3, 11)),
    ),
    "avg_pool2d, divided": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), (_IMAGE,)),
}


GROUPS: dict[str, Case] = {
    "grouped_mm": (
        lambda x, w, ends: F.grouped_mm(x.bfloat16(), w.bfloat16(), offs=ends).float(),
        (
            whole(3, 7, 16).float(),
            whole(3, 3, 16, 16).float(),
            torch.tensor([2, 2, 7], dtype=torch.int32),
        ),
    ),
    "histc": (
        lambda x, y: (torch.histc(x, 5, -1.0, 1.0), torch.histc(y, 4, 0, 3)),
        (torch.cat([real(30), torch.tensor([-1.0, 1.0, 1.5])]), whole(6, 20).float()),
    ),
    "attention of shared heads": (
        lambda q, k, v: (
            F.scaled_dot_product_attention(q, k, v),
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ),
        (real(2, 4, 5, 8), real(2, 1, 5, 8), real(1, 1, 5, 8)),
    ),
}

_SIGNAL = real(2, 6, 8)


def _rotated(x: Any) -> Any:
    """Rotary embeddings as Llama's first code had them."""
    turns = torch.polar(
        torch.ones(6, 4), torch.outer(torch.arange(6.0), torch.tensor([1, 0.1, 3, 2]))
    )
    pairs = torch.view_as_complex(x.reshape(2, 6, 4, 2))
    return torch.view_as_real(pairs * turns).flatten(2)


def _filtered(x: Any) -> Any:
    """A filter in the domain of frequencies."""
    spectrum = torch.fft.rfft(x)
    kept = spectrum * torch.arange(spectrum.shape[-1]).lt(3)
    return torch.fft.irfft(kept, n=x.shape[-1])


def _transform(name: str, norm: str) -> Case:
    def transformed(x: Any) -> Any:
        return torch.view_as_real(getattr(torch.fft, name)(x, norm=norm).resolve_conj())

    return transformed, (_SIGNAL,)


COMPLEX: dict[str, Case] = {
    **{
        f"{name}, {norm}": _transform(name, norm)
        for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "rfft", "rfft2")
        for norm in ("backward", "ortho", "forward")
    },
    "fft along another axis": (lambda x: torch.fft.fft(x, dim=1).abs(), (_SIGNAL,)),
    "rfft2 and back": (lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), (_SIGNAL,)),
    "irfft of odd lengths": (
        lambda x: torch.fft.irfft(torch.fft.rfft(x, norm="forward"), n=7, norm="forward"),
        (real(3, 7),),
    ),
    "filter": (_filtered, (_SIGNAL,)),
    "rotary": (_rotated, (_SIGNAL,)),
    "parts": (
        lambda x, y: (
            torch.complex(x, y).abs(),
            torch.complex(x, y).angle(),
            (torch.complex(x, y) * torch.complex(y, x) + 2).real,
            (torch.complex(x, y).conj() - x).imag,
            torch.view_as_real(torch.complex(x, y).transpose(0, 1).sum(1) / 3),
        ),
        (real(3, 4), real(3, 4)),
    ),
}

CASES = {
    "gradients": GRADIENT,
    "bags and blocks": BLOCKS,
    "groups": GROUPS,
    "complex": COMPLEX,
}
