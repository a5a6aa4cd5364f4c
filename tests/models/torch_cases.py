"""Small PyTorch programs, one an operator: `CASES[family][name] = (function, arguments)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Case = tuple[Callable[..., Any], tuple[Any, ...]]

_generator = torch.Generator().manual_seed(0)


def real(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return torch.randn(shape, generator=_generator) * scale


def unit(*shape: int) -> torch.Tensor:
    """Between 0.05 and 0.95."""
    return torch.rand(shape, generator=_generator) * 0.9 + 0.05


def whole(high: int, *shape: int, low: int = 0) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=_generator)


def _bytes(*shape: int) -> torch.Tensor:
    return whole(128, *shape, low=-128).to(torch.int8)


def truth(*shape: int) -> torch.Tensor:
    return torch.randint(0, 2, shape, generator=_generator).bool()


_SPECIAL = torch.tensor([0.0, -0.0, 1.5, -2.5, float("inf"), -float("inf"), float("nan"), 1e-8])
_X, _Y = real(3, 5), real(3, 5)
_I, _J = whole(9, 3, 5, low=-4), whole(5, 3, 5, low=1)
_B, _C = truth(3, 5), truth(3, 5)


def _each(names: str, *arguments: Any) -> dict[str, Case]:
    return {name: (getattr(torch, name), arguments) for name in names.split()}


ELEMENTWISE: dict[str, Case] = {
    **_each("abs neg exp erf sin cos tan sinh cosh tanh asinh atan sigmoid ceil floor trunc", _X),
    **_each("round sign square exp2 expm1 erfc frac isfinite isinf isnan isposinf", _SPECIAL),
    **_each("log log2 log10 log1p sqrt rsqrt reciprocal acos asin atanh", unit(3, 5)),
    **_each("lgamma digamma", torch.tensor([0.05, 0.5, 1.0, 2.0, 2.7, 9.5, 80.0, -0.3, -3.6])),
    "lgamma at its poles": (torch.lgamma, (torch.tensor([0.0, -2.0, float("inf"), 1e30]),)),
    "digamma at zero": (torch.digamma, (torch.tensor([0.0, 1e20]),)),
    "acosh": (torch.acosh, (unit(4) + 1,)),
    **{f"{n} of integers": (getattr(torch, n), (_J,)) for n in ("sqrt", "exp", "reciprocal")},
    **_each("add sub mul div maximum minimum atan2 fmod remainder floor_divide", _X, _Y),
    **{
        f"{name} of integers": (getattr(torch, name), (_I, _J))
        for name in "add sub mul div floor_divide remainder fmod".split()
    },
    **_each("eq ne lt le gt ge logaddexp hypot", _X, _Y.round()),
    **_each("logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor", _B, _C),
    **{
        f"{name} of integers": (getattr(torch, name), (_I, _J))
        for name in "logical_and bitwise_and bitwise_or bitwise_xor".split()
    },
    "bitwise shifts": (lambda x: (x << 2) + (x >> 1), (_J,)),
    "logical_not": (torch.logical_not, (_I,)),
    "bitwise_not": (lambda x, y: (~x, ~y), (_I, _B)),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=2), (_X, _Y)),
    "rsub": (lambda x: 3 - x, (_X,)),
    "scalars": (lambda x: (x + 1) * 2.5 / 3 - 0.5, (_X,)),
    "integer and float": (lambda i, x: (i + x, i * 0.5, i + 1, i / 2), (_I, _X)),
    "bool and number": (lambda b, x: (b * x, b + 1, b & True), (_B, _X)),
    "zero-dimensional": (lambda x, s: x * s + s, (_X, torch.tensor(2.0, dtype=torch.float64))),
    "pow": (lambda x: (x**2, x**3, x**0.5, x**1.7, 2.0**x), (unit(3, 4),)),
    "pow tensor": (torch.pow, (unit(3, 5), _Y)),
    "div floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (_X, _Y)),
    "div trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), (_X, _Y)),
    "clamp": (lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp(max=0.2)), (_X,)),
    "clamp tensor": (torch.clamp, (_X, _Y - 1, _Y + 1)),
    "clamp_min clamp_max": (lambda x: (x.clamp_min(0.1), x.clamp_max(0.1)), (_X,)),
    "round decimals": (lambda x: torch.round(x, decimals=2), (_X,)),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), (_X, _Y)),
    "addcmul": (lambda x, y: torch.addcmul(x, x, y, value=0.5), (_X, _Y)),
    "addcdiv": (lambda x, y: torch.addcdiv(x, y, y * y + 1, value=2), (_X, _Y)),
    "nan_to_num": (torch.nan_to_num, (_SPECIAL,)),
    "where": (lambda c, x, y: (torch.where(c, x, y), torch.where(c, x, 0.0)), (_B, _X, _Y)),
    "masked_fill": (lambda x, m: x.masked_fill(m, -1.0), (_X, _B)),
    "isin": (torch.isin, (_I, torch.tensor([1, 3, -2]))),
    "to": (lambda x: (x.to(torch.float64), x.int(), x.bool(), x.half(), x.to(torch.int64)), (_X,)),
    "type_as": (lambda x, i: x.type_as(i), (_X, _I)),
    "broadcast": (lambda x, y: x + y, (real(3, 1, 5), real(4, 1))),
    "float_power": (torch.float_power, (unit(3), _I[0, :3])),
}

ACTIVATION: dict[str, Case] = {
    **{
        name: (getattr(F, name), (_X * 3,))
        for name in (
            "relu relu6 silu selu gelu elu celu softplus mish logsigmoid softsign softshrink "
            "hardshrink tanhshrink hardtanh hardsigmoid hardswish leaky_relu"
        ).split()
    },
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), (_X,)),
    "elu alpha": (lambda x: F.elu(x, 0.3), (_X,)),
    "threshold": (lambda x: F.threshold(x, 0.1, 20.0), (_X,)),
    "prelu": (F.prelu, (real(2, 3, 4), real(3))),
    "glu": (F.glu, (real(3, 6),)),
    "softmax": (lambda x: (F.softmax(x, -1), F.softmax(x, 0)), (_X,)),
    "softmax dtype": (lambda x: F.softmax(x, -1, dtype=torch.float64), (_X,)),
    "softmin": (lambda x: F.softmin(x, 1), (_X,)),
    "log_softmax": (lambda x: F.log_softmax(x, 1), (_X,)),
    "dropout": (lambda x: F.dropout(x, 0.5, training=False), (_X,)),
}

LINALG: dict[str, Case] = {
    "cdist": (
        lambda x, y: tuple(torch.cdist(x, y, p) for p in (0.0, 1.0, 2.0, 2.5, float("inf"))),
        (real(2, 3, 4), real(2, 5, 4)),
    ),
    "pdist": (lambda x: (torch.pdist(x), torch.pdist(x, 1), torch.pdist(x, 3)), (real(5, 4),)),
    "mm": (torch.mm, (real(3, 4), real(4, 5))),
    "bmm": (torch.bmm, (real(2, 3, 4), real(2, 4, 5))),
    "matmul": (torch.matmul, (real(2, 3, 4), real(4, 5))),
    "matmul vectors": (lambda a, b, m: (a @ b, m @ a, a @ m.T), (real(4), real(4), real(3, 4))),
    "dot": (torch.dot, (real(4), real(4))),
    "mv": (torch.mv, (real(3, 4), real(4))),
    "linear": (F.linear, (real(2, 3, 4), real(5, 4), real(5))),
    "linear without bias": (F.linear, (real(3, 4), real(5, 4))),
    "addmm": (
        lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2.0),
        (real(5), real(3, 4), real(4, 5)),
    ),
    "addmv": (torch.addmv, (real(3), real(3, 4), real(4))),
    "baddbmm": (torch.baddbmm, (real(2, 3, 5), real(2, 3, 4), real(2, 4, 5))),
    "addbmm": (torch.addbmm, (real(3, 5), real(2, 3, 4), real(2, 4, 5))),
    "addr": (torch.addr, (real(3, 5), real(3), real(5))),
    "outer": (torch.outer, (real(3), real(4))),
    "einsum": (lambda a, b: torch.einsum("bij, bjk -> bik", a, b), (real(2, 3, 4), real(2, 4, 5))),
    "_int_mm": (torch._int_mm, (_bytes(17, 24), _bytes(24, 8))),
    "bilinear": (F.bilinear, (real(2, 3), real(2, 4), real(5, 3, 4), real(5))),
    "cosine_similarity": (F.cosine_similarity, (real(3, 6), real(3, 6))),
}

_CUBE = real(2, 3, 4)

SHAPE: dict[str, Case] = {
    "permute": (lambda x: x.permute(2, 0, 1), (_CUBE,)),
    "permute twice": (lambda x: x.permute(2, 0, 1).permute(1, 2, 0), (_CUBE,)),
    "transpose": (lambda x: (x.transpose(-1, 0), x.mT, x[0].t(), x.swapaxes(0, 1)), (_CUBE,)),
    "movedim": (lambda x: (x.movedim(0, -1), x.movedim((0, 1), (2, 0))), (_CUBE,)),
    "reshape": (lambda x: (x.reshape(6, -1), x.view(4, 6), x.reshape_as(x.mT)), (_CUBE,)),
    "flatten": (lambda x: (x.flatten(), x.flatten(1), x.unflatten(2, (2, -1))), (_CUBE,)),
    "squeeze": (lambda x: (x.squeeze(), x.squeeze(0), x.squeeze((0, 2))), (real(1, 3, 1),)),
    "unsqueeze": (lambda x: (x.unsqueeze(0), x.unsqueeze(-1)), (_CUBE,)),
    "atleast": (lambda x: (torch.atleast_2d(x), torch.atleast_3d(x)), (real(4),)),
    "expand": (lambda x: (x.expand(2, 3, 4), x.expand(-1, 4)), (real(3, 1),)),
    "broadcast_to": (lambda x: torch.broadcast_to(x, (2, 3)), (real(3),)),
    "broadcast_tensors": (lambda x, y: torch.broadcast_tensors(x, y), (real(3, 1), real(4))),
    "cat": (lambda x, y: torch.cat([x, y, x], 1), (real(3, 1), real(3, 2))),
    "cat of dtypes": (lambda x, i: torch.cat([i, x]), (real(3), whole(4, 3))),
    "stack": (lambda x, y: (torch.stack([x, y]), torch.stack([x, y], -1)), (_X, _Y)),
    "hstack vstack": (lambda x: (torch.hstack([x, x]), torch.vstack([x, x])), (real(4),)),
    "dstack": (lambda x: torch.dstack([x, x]), (_X,)),
    "split": (lambda x: (*x.split(2, 1), *x.split([1, 2, 2], 1)), (_X,)),
    "chunk": (lambda x: (*x.chunk(2, 1), *torch.tensor_split(x, 2, 1)), (_X,)),
    "unbind": (lambda x: x.unbind(1), (_CUBE,)),
    "select": (lambda x: (x[1], x[:, -1], x.select(2, 0)), (_CUBE,)),
    "slice": (lambda x: (x[:, 1:], x[..., ::2], x[:, :-1], x[:, -2:], x[:, 5:]), (_CUBE,)),
    "narrow": (lambda x: x.narrow(2, 1, 2), (_CUBE,)),
    "diff": (lambda x: (x.diff(), torch.diff(x, dim=0, n=2)), (real(4, 5),)),
    "repeat": (lambda x: (x.repeat(2, 1), x.repeat(2, 1, 3), x.tile((2,))), (_X,)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), (_X,)),
    "flip": (lambda x: x.flip(0, 2), (_CUBE,)),
    "roll": (lambda x: (x.roll(1), x.roll((1, -2), (0, 1))), (_X,)),
    "rot90": (lambda x: (x.rot90(), x.rot90(2), x.rot90(3)), (_X,)),
    "pad": (lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 1, 2, 0), value=3.0)), (_X,)),
    "pad cutting": (lambda x: F.pad(x, (-1, 1)), (_X,)),
    "pad modes": (
        lambda x: [F.pad(x, (1, 1), mode) for mode in ("reflect", "replicate", "circular")],
        (real(1, 2, 4),),
    ),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (real(1, 8, 2, 3),)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (real(1, 2, 4, 6),)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), (real(1, 4, 2, 2),)),
    "unfold": (lambda x: x.unfold(1, 3, 2), (real(2, 7),)),
    "as_strided": (lambda x: x.as_strided((2, 3), (1, 2), 1), (real(3, 4),)),
    "diagonal": (lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1)), (_X,)),
    "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), (real(3), real(2))),
}

REDUCTION: dict[str, Case] = {
    "sum": (lambda x: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True)), (_CUBE,)),
    "sum of integers": (lambda x, b: (x.sum(), x.sum(0), b.sum(1)), (_I.int(), _B)),
    "mean": (lambda x: (x.mean(), x.mean(1), x.mean((0, 2), keepdim=True)), (_CUBE,)),
    "prod": (lambda x: (x.prod(), x.prod(1)), (_X,)),
    "var": (lambda x: (x.var(), x.var(1), x.var(1, correction=0), x.var(0, keepdim=True)), (_X,)),
    "std": (lambda x: (x.std(), x.std(1), x.std(1, unbiased=False)), (_X,)),
    "var_mean": (lambda x: torch.var_mean(x, 1, keepdim=True), (_X,)),
    "max": (lambda x: (x.max(), *x.max(1), x.amax((0, 1)), x.amax(1, True)), (_X,)),
    "min": (lambda x: (x.min(), *x.min(1), x.amin(0)), (_X,)),
    "aminmax": (lambda x: torch.aminmax(x, dim=1), (_X,)),
    "max of two": (lambda x, y: (torch.max(x, y), torch.min(x, y)), (_X, _Y)),
    "argmax": (lambda x: (x.argmax(), x.argmax(1), x.argmax(0, keepdim=True)), (_X,)),
    "argmin": (lambda x: (x.argmin(), x.argmin(1)), (_X,)),
    "any": (lambda x: (x.any(), x.any(1), x.any(0, keepdim=True)), (_B,)),
    "all": (lambda x: (x.all(), x.all(1)), (_B,)),
    "count_nonzero": (lambda x: torch.count_nonzero(x, 1), (_I,)),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), (_X,)),
    "vector_norm": (
        lambda x: [torch.linalg.vector_norm(x, p, 1) for p in (0, 1, 2, 3.5, float("inf"))],
        (_X,),
    ),
    "norm": (lambda x: (x.norm(), x.norm(1, 1)), (_X,)),
    "normalize": (lambda x: F.normalize(x, dim=1), (_X,)),
    "cumsum": (lambda x, i: (x.cumsum(1), i.cumsum(0)), (_X, _I)),
    "cumprod": (lambda x: x.cumprod(1), (_X,)),
    "median": (lambda x: (x.median(), *x.median(1)), (_X,)),
    "topk": (lambda x: (*x.topk(2), *x.topk(2, 0, largest=False)), (_X,)),
    "sort": (lambda x: (*x.sort(), x.argsort(0, descending=True), x.msort()), (_X,)),
}

CREATE: dict[str, Case] = {
    "zeros ones": (lambda x: (torch.zeros(2, 3) + x, torch.ones(3, dtype=torch.int32)), (real(3),)),
    "like": (lambda x: (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 2)), (_X,)),
    "new": (lambda x: (x.new_zeros(2), x.new_ones(2, 2), x.new_full((3,), 7.0)), (_X,)),
    "full": (lambda x: (torch.full((2,), 3.5), torch.full((2,), 3), x), (real(1),)),
    "arange": (
        lambda x: (torch.arange(5), torch.arange(1, 9, 2), torch.arange(0.0, 1.0, 0.25), x),
        (real(1),),
    ),
    "linspace": (lambda x: x + torch.linspace(0, 1, 5), (real(5),)),
    "logspace": (lambda x: x + torch.logspace(0, 1, 5), (real(5),)),
    "eye": (lambda x: x + torch.eye(3), (real(3, 3),)),
    "tril": (lambda x: (x.tril(), x.triu(1), x.tril(-1)), (_X,)),
    "triangle indices": (
        lambda x: (torch.tril_indices(3, 3), torch.triu_indices(3, 4), x),
        (real(1),),
    ),
    "windows": (
        lambda x: x + torch.hann_window(5) + torch.hamming_window(5, periodic=False),
        (real(5),),
    ),
    "scalar_tensor": (lambda x: x + torch.scalar_tensor(2.0), (real(2),)),
    "in-place": (lambda x: x.clone().add_(1).mul_(2).relu_(), (_X,)),
    "in-place through a view": (lambda x: _written(x), (_X,)),
}


def _written(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 0] = 7.0
    y[1].add_(1)
    return y


def _put(x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.index_put(x, (i,), v)


_ROWS = torch.tensor([2, 0, 2])
_TABLE = real(4, 5, 6)
_PLACES = whole(4, 2, 3)

INDEX: dict[str, Case] = {
    "embedding": (F.embedding, (whole(7, 2, 3), real(7, 4))),
    "index_select": (lambda x, i: x.index_select(1, i), (_X, _ROWS)),
    "take": (lambda x, i: torch.take(x, i), (_X, torch.tensor([0, 7, -1]))),
    "gather": (lambda x, i: x.gather(1, i), (_X, whole(5, 3, 2))),
    "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, 1), (_X, whole(5, 3, 2))),
    "index": (lambda x, i: (x[i], x[:, i], x[:, :, i], x[-i - 1]), (_TABLE, _ROWS)),
    "index twice": (lambda x, i, j: (x[i, j], x[:, i, j], x[i, :, j]), (_TABLE, _ROWS, _ROWS + 1)),
    "index broadcast": (lambda x, i, j: x[i[:, None], j], (_TABLE, _ROWS, _PLACES[0])),
    "index_put": (_put, (_X, torch.tensor([2, 0]), real(2, 5))),
    "index_put accumulate": (
        lambda x, i, v: torch.index_put(x, (i, i + 1), v, accumulate=True),
        (_X, _ROWS, real(3)),
    ),
    "index_put mask": (lambda x, m: torch.index_put(x, (m,), torch.tensor(5.0)), (_X, _B)),
    "index_put second axis": (lambda x, i: _assign(x, i), (_X, torch.tensor([0, 3]))),
    "scatter": (
        lambda x, i, s: (x.scatter(1, i, s), x.scatter(1, i, 3.0)),
        (_X, whole(5, 3, 1), real(3, 2)),
    ),
    "scatter_add": (lambda x, i, s: x.scatter_add(1, i, s), (_X, whole(5, 3, 4), real(3, 4))),
    "scatter_reduce": (
        lambda x, i, s: (x.scatter_reduce(1, i, s, "amax"), x.scatter_reduce(1, i, s, "prod")),
        (_X, whole(5, 3, 4), real(3, 4)),
    ),
    "index_add": (lambda x, i, s: x.index_add(0, i, s, alpha=2.0), (_X, _ROWS, real(3, 5))),
    "index_copy": (lambda x, i, s: x.index_copy(1, i, s), (_X, torch.tensor([3, 1]), real(3, 2))),
    "index_fill": (lambda x, i: x.index_fill(1, i, 9.0), (_X, torch.tensor([3, 1]))),
    "slice_scatter": (lambda x, s: torch.slice_scatter(x, s, 1, 1, 5, 2), (_X, real(3, 2))),
    "select_scatter": (lambda x, s: torch.select_scatter(x, s, 0, -1), (_X, real(5))),
    "masked_scatter": (lambda x, m, s: x.masked_scatter(m, s), (_X, _B, real(15))),
    "one_hot": (lambda i: F.one_hot(i, 5), (whole(5, 2, 3),)),
    "bucketize": (
        lambda x, b: (torch.bucketize(x, b), torch.searchsorted(b, x, right=True)),
        (_X, torch.tensor([-0.5, 0.0, 0.5])),
    ),
}


def _assign(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, i] = 4.0
    return y


_IMAGE = real(2, 4, 7, 6)

NORM: dict[str, Case] = {
    "layer_norm": (
        lambda x, w, b: (F.layer_norm(x, (4,), w, b), F.layer_norm(x, (3, 4))),
        (_CUBE, real(4), real(4)),
    ),
    "weight_norm": (
        lambda v, g, all: (torch._weight_norm(v, g, 2), torch._weight_norm(v, all, -1)),
        (_CUBE, unit(1, 1, 4), unit(1)),
    ),
    "rms_norm": (
        lambda x, w: (F.rms_norm(x, (4,), w), F.rms_norm(x, (4,), w, 1e-3)),
        (_CUBE, real(4)),
    ),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (_IMAGE, real(4), real(4))),
    "instance_norm": (lambda x: F.instance_norm(x), (_IMAGE,)),
    "batch_norm": (F.batch_norm, (_IMAGE, real(4), unit(4), real(4), real(4))),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), (_IMAGE,)),
    "nll_loss": (F.nll_loss, (real(3, 5), whole(5, 3))),
    "cross_entropy": (
        lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="sum")),
        (real(3, 5), whole(5, 3)),
    ),
    "mse_loss": (lambda x, y: (F.mse_loss(x, y), F.mse_loss(x, y, reduction="none")), (_X, _Y)),
    "l1_loss": (lambda x, y: F.l1_loss(x, y), (_X, _Y)),
    "affine_grid": (
        lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False),
        (real(2, 2, 3),),
    ),
}

_Q, _K, _V = real(2, 3, 4, 8), real(2, 3, 6, 8), real(2, 3, 6, 8)
_sdpa = F.scaled_dot_product_attention

ATTENTION: dict[str, Case] = {
    "plain": (_sdpa, (_Q, _K, _V)),
    "scale": (lambda q, k, v: _sdpa(q, k, v, scale=0.5), (_Q, _K, _V)),
    "causal": (lambda q, k, v: _sdpa(q, k, v, is_causal=True), (_Q, _K, _V)),
    "mask": (lambda q, k, v, m: _sdpa(q, k, v, m), (_Q, _K, _V, torch.ones(4, 6).tril(1).bool())),
    "bias": (lambda q, k, v, m: _sdpa(q, k, v, m), (_Q, _K, _V, real(2, 1, 4, 6))),
    "constant mask": (
        lambda q, k, v: (
            _sdpa(q, k, v, torch.ones(4, 6, dtype=torch.bool)),
            _sdpa(q, q, q, torch.ones(4, 4, dtype=torch.bool).tril()),
            _sdpa(q, k, v, torch.ones(4, 6, dtype=torch.bool).tril(2)),
        ),
        (_Q, _K, _V),
    ),
    "three axes": (lambda q, k, v: _sdpa(q[0], k[0], v[0]), (_Q, _K, _V)),
    "grouped": (
        lambda q, k, v: _sdpa(q, k, v, enable_gqa=True),
        (real(2, 4, 3, 8), real(2, 2, 5, 8), real(2, 2, 5, 8)),
    ),
}

CONV: dict[str, Case] = {
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1, stride=2), (real(2, 3, 9), real(5, 3, 3))),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), (_IMAGE, real(5, 4, 3, 3), real(5))),
    "conv2d strided": (
        lambda x, w: F.conv2d(x, w, stride=2, dilation=2),
        (_IMAGE, real(5, 4, 2, 2)),
    ),
    "conv2d same": (lambda x, w: F.conv2d(x, w, padding="same"), (_IMAGE, real(5, 4, 2, 3))),
    "conv2d grouped": (lambda x, w: F.conv2d(x, w, groups=2), (_IMAGE, real(6, 2, 3, 3))),
    "conv2d depthwise": (
        lambda x, w: F.conv2d(x, w, groups=4, padding=1),
        (_IMAGE, real(4, 1, 3, 3)),
    ),
    "conv2d unbatched": (lambda x, w: F.conv2d(x[0], w), (_IMAGE, real(5, 4, 3, 3))),
    "conv3d": (F.conv3d, (real(1, 2, 4, 4, 4), real(3, 2, 2, 2, 2))),
    "conv_transpose1d": (F.conv_transpose1d, (real(2, 3, 5), real(3, 4, 3))),
    "conv_transpose2d": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
        (_IMAGE, real(4, 5, 3, 3), real(5)),
    ),
    "max_pool2d": (
        lambda x: (
            F.max_pool2d(x, 2),
            F.max_pool2d(x, 3, 2, 1),
            F.max_pool2d(x, 2, ceil_mode=True),
        ),
        (_IMAGE,),
    ),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), (real(2, 3, 8),)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (real(1, 2, 4, 4, 4),)),
    "avg_pool2d": (
        lambda x: (
            F.avg_pool2d(x, 2),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.avg_pool2d(x, 50, ceil_mode=True),
            F.avg_pool2d(x, (50, 2), ceil_mode=True),
            F.avg_pool2d(x, 3, 1, 1),
        ),
        (_IMAGE,),
    ),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), (real(2, 3, 8),)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (real(1, 2, 4, 4, 4),)),
    "adaptive_avg_pool": (
        lambda x: (
            F.adaptive_avg_pool2d(x, 1),
            F.adaptive_avg_pool2d(x, (3, None)),
            F.adaptive_avg_pool1d(x[0], 2),
        ),
        (_IMAGE,),
    ),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x, 1), (_IMAGE,)),
    "nearest": (lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 9))), (_IMAGE,)),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (_IMAGE,)),
    "bilinear corners": (
        lambda x: F.interpolate(x, (9, 5), mode="bilinear", align_corners=True),
        (_IMAGE,),
    ),
    "bicubic": (lambda x: F.interpolate(x, (9, 8), mode="bicubic"), (_IMAGE,)),
    "linear": (lambda x: F.interpolate(x, 9, mode="linear"), (real(1, 2, 5),)),
    "grid_sample": (
        lambda x, g: (
            F.grid_sample(x, g, align_corners=False),
            F.grid_sample(x, g, "nearest", "border", align_corners=True),
        ),
        (_IMAGE, real(2, 3, 5, 2)),
    ),
}


def layer(module: torch.nn.Module, *arguments: torch.Tensor) -> Case:
    """A layer with its own weights, as a case."""
    return module.eval(), arguments


torch.manual_seed(0)
RECURRENT: dict[str, Case] = {
    "lstm": layer(torch.nn.LSTM(4, 5, 2), real(6, 2, 4)),
    "lstm bidirectional": layer(
        torch.nn.LSTM(4, 3, bidirectional=True, batch_first=True), real(2, 4, 4)
    ),
    "gru": layer(torch.nn.GRU(4, 5, batch_first=True), real(2, 4, 4)),
    "rnn": layer(torch.nn.RNN(4, 5, bias=False), real(3, 2, 4)),
    "rnn relu": layer(torch.nn.RNN(4, 5, nonlinearity="relu"), real(3, 2, 4)),
}

CASES: dict[str, dict[str, Case]] = {
    "elementwise": ELEMENTWISE,
    "activation": ACTIVATION,
    "linalg": LINALG,
    "shape": SHAPE,
    "reduction": REDUCTION,
    "create": CREATE,
    "index": INDEX,
    "norm": NORM,
    "attention": ATTENTION,
    "conv": CONV,
    "recurrent": RECURRENT,
}
