"""The compiled functions of paged caches: attention, and what it needs of rows of the cache.

They are tensor expressions, compiled through the default pipeline when a cache first needs them,
for any number of tokens.  Sums are made in float32, whatever a cache holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relax_mlir import te, tir, topi
from relax_mlir.runtime.tensor import constant_tensor

__all__ = ["AttentionKernels", "gathered", "turned"]

_FLOAT = "float32"
_Call = Callable[..., list[np.ndarray]]
_Parameter = tuple[tuple[int | str, ...], str]
"""A shape, in which names are sizes that calls tell, and a dtype."""

_CHUNK = 1 << 20
"""Scores that are computed at a time where they are stored: 4 MiB stay in a core's cache."""


def _compiled(expression: Callable[..., Any], parameters: Sequence[_Parameter]) -> _Call:
    """A function of arrays that computes a tensor expression; gives a list of arrays."""
    import relax_mlir
    from relax_mlir import relax
    from relax_mlir.transform import PassContext

    names = {size for shape, _ in parameters for size in shape if isinstance(size, str)}
    symbols: dict[int | str, tir.Var] = {name: tir.Var(name, "int64") for name in sorted(names)}
    variables = [
        relax.Var(f"x{i}", relax.TensorType([symbols.get(size, size) for size in shape], dtype))
        for i, (shape, dtype) in enumerate(parameters)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        builder.emit_func_output(builder.emit_te(expression, *variables))
    with PassContext(opt_level=2):
        executable = relax_mlir.compile(builder.get(), "llvm")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]

    def call(*arrays: np.ndarray) -> list[np.ndarray]:
        result = main(*map(constant_tensor, arrays))
        return [part.numpy() for part in ([result] if hasattr(result, "numpy") else result)]

    return call


# -- attention ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttentionKernels:
    """Attention of queries, (tokens, query heads, size), to keys and values, (tokens, key heads,
    size) each; all float32.  `group` query heads share a key head.

    latent: values are the leading `v_size` elements of the keys, whatever is given for them.
    """

    key_heads: int
    group: int
    size: int
    v_size: int
    latent: bool = False

    def to_all(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float
    ) -> np.ndarray:
        """The query of one token to all keys: (1, query heads, v_size)."""
        rows = queries.reshape(self.key_heads, self.group, self.size)
        (result,) = _to_all(self)(rows, *self._given(keys, values, scale))
        return result.reshape(1, -1, self.v_size)

    def causal(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float
    ) -> np.ndarray:
        """Of as many queries as keys, each to the keys up to its own."""
        shaped = queries.reshape(-1, self.key_heads, self.group, self.size)
        (result,) = _causal(self)(shaped, *self._given(keys, values, scale))
        return result.reshape(len(queries), -1, self.v_size)

    def masked(
        self,
        queries: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
        scale: float,
        visible: np.ndarray,
    ) -> np.ndarray:
        """Each query to the keys of its row of a mask, (queries, keys)."""
        given = self._given(keys, values, scale)
        (result,) = _masked(self)(self._rows(queries), *given, self._mask(visible))
        return self._by_token(result)

    def with_sums(
        self,
        queries: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
        scale: float,
        visible: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """`masked`, and the logarithms to the base 2 of the sums of weights, (queries, heads)."""
        count, given = len(queries), self._given(keys, values, scale)
        mask = np.ones((count, len(keys)), bool) if visible is None else visible
        step = max(1, _CHUNK // max(1, self.key_heads * self.group * len(keys)))
        rows, sums = [], []
        for start in range(0, count, step):
            part = slice(start, start + step)
            found = _with_sums(self)(self._rows(queries[part]), *given, self._mask(mask[part]))
            rows.append(self._by_token(found[0]))
            sums.append(self._by_token(found[1][..., None])[..., 0])
        return np.concatenate(rows), np.concatenate(sums)

    def _given(self, keys: np.ndarray, values: np.ndarray, scale: float) -> list[np.ndarray]:
        return [keys, *([] if self.latent else [values]), np.array(scale, _FLOAT)]

    def _rows(self, queries: np.ndarray) -> np.ndarray:
        """Queries as rows of one product for each key head: (key heads, tokens * group, size)."""
        shaped = queries.reshape(-1, self.key_heads, self.group, self.size)
        return shaped.swapaxes(0, 1).reshape(self.key_heads, -1, self.size)

    def _mask(self, visible: np.ndarray) -> np.ndarray:
        return np.repeat(visible, self.group, axis=0)

    def _by_token(self, rows: np.ndarray) -> np.ndarray:
        """What `_rows` did, undone."""
        shaped = rows.reshape(self.key_heads, -1, self.group, rows.shape[-1]).swapaxes(0, 1)
        return shaped.reshape(len(shaped), -1, rows.shape[-1])

    def parameters(self, *queries: int | str) -> list[_Parameter]:
        """Those of a function of queries of that shape: with them keys, values, and the scale."""
        keys = ("m", self.key_heads, self.size), _FLOAT
        values = ("m", self.key_heads, self.v_size), _FLOAT
        return [(queries, _FLOAT), keys, *([] if self.latent else [values]), ((), _FLOAT)]


@cache
def _to_all(own: AttentionKernels) -> _Call:
    def expression(queries: te.Tensor, *given: te.Tensor) -> te.Tensor:
        return _weighted(own, given, _scores(own, queries.shape[:-1], queries, given))

    return _compiled(expression, own.parameters(own.key_heads, own.group, own.size))


@cache
def _masked(own: AttentionKernels) -> _Call:
    def expression(queries: te.Tensor, *given: te.Tensor) -> te.Tensor:
        scores = _scores(own, queries.shape[:-1], queries, given)
        return _weighted(own, given, _seen(scores, given[-1]))

    rows = own.parameters(own.key_heads, "r", own.size)
    return _compiled(expression, [*rows, (("r", "m"), "bool")])


@cache
def _with_sums(own: AttentionKernels) -> _Call:
    def expression(queries: te.Tensor, *given: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
        scores = _seen(_scores(own, queries.shape[:-1], queries, given), given[-1])
        largest = topi.max(scores, axis=-1)
        powers = te.compute(
            scores.shape, lambda h, r, j: te.exp(scores(h, r, j) - largest(h, r)), name="powers"
        )
        total, turn = topi.sum(powers, axis=-1), te.const(1 / np.log(2), _FLOAT)
        sums = te.compute(
            total.shape, lambda h, r: (largest(h, r) + te.log(total(h, r))) * turn, name="sums"
        )
        return _weighted(own, given, scores), sums

    rows = own.parameters(own.key_heads, "r", own.size)
    return _compiled(expression, [*rows, (("r", "m"), "bool")])


@cache
def _causal(own: AttentionKernels) -> _Call:
    """Each query head by itself: rows are tokens, and a block of rows ends at its diagonal."""

    def expression(queries: te.Tensor, *given: te.Tensor) -> te.Tensor:
        count, heads, group, _ = queries.shape
        scores = _scores(
            own, (heads, group, count), lambda h, g, i, d: queries(i, h, g, d), given
        )
        below = te.compute(
            scores.shape,
            lambda h, g, i, j: te.if_then_else(j <= i, scores(h, g, i, j), te.min_value(_FLOAT)),
            name="attention_below",
        )
        shape = (count, heads, group, own.v_size)
        mixed = _mixed(own, given, below)
        return te.compute(shape, lambda i, h, g, d: mixed(h, g, i, d), name="attention")

    return _compiled(expression, own.parameters("m", own.key_heads, own.group, own.size))


def _scores(
    own: AttentionKernels,
    rows: Sequence[Any],
    query: Callable[..., Any],
    given: Sequence[te.Tensor],
) -> te.Tensor:
    """Scaled products of queries with the keys, for rows of the shape (key heads, ...); `query`
    gives an element at a row and a place in it."""
    keys, scale = given[0], given[1 if own.latent else 2]
    shape = (*rows, keys.shape[0])

    def score(*at: Any) -> Any:
        *row, j = at
        d = te.reduce_axis((0, own.size), name="d")
        return te.sum(query(*row, d) * keys(j, row[0], d), axis=d)

    scores = te.compute(shape, score, name="attention_scores")
    return te.compute(shape, lambda *at: scores(*at) * scale(), name="attention_scaled")


def _seen(scores: te.Tensor, mask: te.Tensor) -> te.Tensor:
    """Scores where a mask of (rows, keys) holds, elsewhere very small."""
    return te.compute(
        scores.shape,
        lambda h, r, j: te.if_then_else(mask(r, j), scores(h, r, j), te.min_value(_FLOAT)),
        name="attention_seen",
    )


def _mixed(
    own: AttentionKernels, given: Sequence[te.Tensor], scores: te.Tensor
) -> Callable[..., Any]:
    """An element of the mean of the values by the softmax of scores, at a row and a place in it."""
    values, weights = given[0 if own.latent else 1], topi.nn.softmax(scores, axis=-1)

    def mixed(*at: Any) -> Any:
        *row, d = at
        j = te.reduce_axis((0, scores.shape[-1]), name="j")
        return te.sum(weights(*row, j) * values(j, row[0], d), axis=j)

    return mixed


def _weighted(own: AttentionKernels, given: Sequence[te.Tensor], scores: te.Tensor) -> te.Tensor:
    """The mean of the values for each row of the scores."""
    shape = (*scores.shape[:-1], own.v_size)
    return te.compute(shape, _mixed(own, given, scores), name="attention")


# -- rows of a cache ----------------------------------------------------------------------------


def gathered(rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Some rows of a cache, (rows, heads, size), in float32, as a new array."""
    if rows.dtype == np.float32:
        return rows[slots]
    return _gathered(*rows.shape[1:], str(rows.dtype))(rows, slots)[0]


@cache
def _gathered(heads: int, size: int, dtype: str) -> _Call:
    def expression(rows: te.Tensor, slots: te.Tensor) -> te.Tensor:
        shape = (slots.shape[0], heads, size)
        return te.compute(shape, lambda i, h, d: rows(slots(i), h, d).astype(_FLOAT), name="rows")

    return _compiled(expression, [(("n", heads, size), dtype), (("m",), "int64")])


def turned(
    rows: np.ndarray,
    parts: tuple[range, ...],
    cosine: np.ndarray,
    sine: np.ndarray,
    interleaved: bool,
) -> list[np.ndarray]:
    """Ranges of the heads of rows, (tokens, all heads, size), in float32, the leading elements of
    each head rotated by the angles of its token, (tokens, pairs).

    Pairs are neighbours where `interleaved`, else an element and the one `pairs` behind it.
    """
    pairs = cosine.shape[-1]
    function = _turned(rows.shape[1:], parts, pairs, interleaved, str(rows.dtype))
    made = iter(function(rows, cosine, sine))
    results: list[np.ndarray] = []
    for heads in parts:
        result = next(made).reshape(len(rows), len(heads), 2 * pairs)
        whole = 2 * pairs == rows.shape[-1]
        results.append(result if whole else np.concatenate([result, next(made)], axis=-1))
    return results


@cache
def _turned(
    row: tuple[int, ...], parts: tuple[range, ...], pairs: int, interleaved: bool, dtype: str
) -> _Call:
    """For each range its rotated elements by pairs, and what is behind them."""
    rest = row[-1] - 2 * pairs
    pair = (pairs, 2) if interleaved else (2, pairs)
    step, apart = (2, 1) if interleaved else (1, pairs)

    def expression(rows: te.Tensor, cosine: te.Tensor, sine: te.Tensor) -> list[te.Tensor]:
        def element(i: Any, h: Any, d: Any) -> Any:
            return rows(i, h, d).astype(_FLOAT)

        def turn(i: Any, h: Any, *place: Any) -> Any:
            p, side = place if interleaved else reversed(place)
            sign = te.if_then_else(side.equal(0), te.const(-1.0, _FLOAT), te.const(1.0, _FLOAT))
            own, other = (element(i, h, p * step + s * apart) for s in (side, 1 - side))
            return own * cosine(i, p) + sign * (other * sine(i, p))

        def of_heads(heads: range) -> list[te.Tensor]:
            shape, first = (rows.shape[0], len(heads)), heads.start
            made = te.compute((*shape, *pair), lambda i, h, a, b: turn(i, h + first, a, b))
            if not rest:
                return [made]
            kept = te.compute(
                (*shape, rest), lambda i, h, d: element(i, h + first, d + 2 * pairs)
            )
            return [made, kept]

        return [part for heads in parts for part in of_heads(heads)]

    return _compiled(expression, [(("n", *row), dtype), *[(("n", pairs), _FLOAT)] * 2])
