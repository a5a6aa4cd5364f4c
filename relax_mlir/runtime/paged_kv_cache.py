"""Caches of keys and values for many sequences at once: what `nn.llm.PagedKVCache` creates.

The keys and values of a token are rows of pages (`kv_pages.py`), written by the step that computes
them and read by all later ones.  A step is `begin_forward`, then attention in every layer, then
`end_forward`; tokens of all its sequences are one behind the other.  Sums are made in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from relax_mlir.dialects.aligned_arrays import aligned_copy, aligned_empty
from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.kv_kernels import AttentionKernels, gathered, turned
from relax_mlir.runtime.kv_pages import PagePool, Sequence
from relax_mlir.runtime.rotary import rotations, turns_neighbours

__all__ = ["AttnKind", "PagedKVCache", "PagedKVCacheConfig", "RopeMode"]


class AttnKind(IntEnum):
    """How a layer attends: to all tokens, to a compressed cache, or within a window."""

    MHA = 0
    MLA = 1
    LINEAR_ATTN = 2
    MHA_SLIDING = 3


class RopeMode(IntEnum):
    """Where positions are rotated in: nowhere, before keys are stored, or in each attention."""

    NONE = 0
    NORMAL = 1
    INLINE = 2


@dataclass(frozen=True)
class PagedKVCacheConfig:
    """Sizes of a cache and its position embedding.

    max_total_seq_len: tokens of all sequences together; it is rounded up to whole pages.
    layer_window: the window of layers of the kind MHA_SLIDING.
    rotary_dim: the leading elements of a head that are rotated; 0 is all.
    """

    max_batch_size: int
    max_total_seq_len: int
    prefill_chunk_size: int
    page_size: int
    support_sliding_window: bool
    first_layer: int
    attn_kinds: tuple[AttnKind, ...]
    num_qo_heads: int
    num_kv_heads: int
    qk_head_dim: int
    v_head_dim: int
    rope_mode: RopeMode = RopeMode.NONE
    rope_scale: float = 1.0
    rope_theta: float = 1e4
    rope_scaling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rope_factors: np.ndarray | None = None
    rotary_dim: int = 0
    layer_window: int = 1024
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.num_qo_heads % self.num_kv_heads:
            raise ValueError(
                f"{self.num_qo_heads} query heads cannot share {self.num_kv_heads} key heads evenly"
            )
        if self.support_sliding_window and self.rope_mode == RopeMode.NORMAL:
            raise ValueError("with sliding windows keys move: rope_mode is NONE or INLINE")


_Angles = tuple[np.ndarray, np.ndarray]
"""The cosines and sines of pairs, (tokens, pairs) each."""


@dataclass
class _Step:
    """The tokens that one forward computes: sequences, and where their new tokens are.

    angles: by which all layers rotate them, once the first one has asked.
    """

    ids: list[int]
    starts: np.ndarray
    slots: np.ndarray
    positions: np.ndarray
    angles: _Angles | None = None

    def rows(self, index: int) -> slice:
        return slice(int(self.starts[index]), int(self.starts[index + 1]))


class PagedKVCache:
    """Keys and values of many sequences in pages of one memory."""

    def __init__(self, config: PagedKVCacheConfig) -> None:
        self.config = config
        pages = -(-config.max_total_seq_len // config.page_size)
        self.pool = PagePool(pages, config.page_size)
        self._sequences: dict[int, Sequence] = {}
        self._step: _Step | None = None
        dtype = bridge.numpy_dtype(config.dtype)
        rows = pages * config.page_size
        self._keys: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        for kind in config.attn_kinds:
            # A compressed cache holds one row a token, whose leading part are the values.
            heads = 1 if kind == AttnKind.MLA else config.num_kv_heads
            self._keys.append(aligned_empty((rows, heads, config.qk_head_dim), dtype))
            values = self._keys[-1][..., : config.v_head_dim]
            if kind != AttnKind.MLA:
                values = aligned_empty((rows, heads, config.v_head_dim), dtype)
            self._values.append(values)

    # -- sequences ----------------------------------------------------------------------------
    def clear(self) -> None:
        """Forget all sequences."""
        for sequence_id in list(self._sequences):
            self.remove_sequence(sequence_id)
        self._step = None

    def add_sequence(self, sequence_id: int) -> None:
        """Begin an empty sequence.  Raises ValueError when there is one of that number."""
        self._require_new(sequence_id)
        self._sequences[sequence_id] = Sequence()

    def remove_sequence(self, sequence_id: int) -> None:
        """Forget a sequence; what it shares with others stays."""
        self.pool.keep(self._find(sequence_id), np.zeros(0, np.int64))
        del self._sequences[sequence_id]

    def fork_sequence(self, parent_id: int, child_id: int, position: int = -1) -> None:
        """Begin a sequence with the first `position` tokens of another one (-1: with all)."""
        parent = self._find(parent_id)
        self._require_new(child_id)
        length = len(parent) if position < 0 else position
        if length > len(parent):
            raise ValueError(f"sequence {parent_id} has {len(parent)} tokens, not {position}")
        if parent.draft is not None:
            raise ValueError(f"sequence {parent_id} has tokens that are not accepted yet")
        self._sequences[child_id] = self.pool.fork(parent, length)

    def popn(self, sequence_id: int, count: int) -> None:
        """Forget the last tokens of a sequence."""
        sequence = self._find(sequence_id)
        if not 0 <= count <= len(sequence):
            raise ValueError(
                f"sequence {sequence_id} has {len(sequence)} tokens, {count} cannot be removed"
            )
        self.pool.keep(sequence, np.arange(len(sequence) - count))

    def enable_sliding_window(self, sequence_id: int, window: int, sink: int) -> None:
        """Keep the first `sink` and the last tokens of a sequence, `window` together."""
        if not self.config.support_sliding_window:
            raise ValueError("the cache was created without support of sliding windows")
        if not 0 <= sink < window:
            raise ValueError(f"a window of {window} tokens has no place for a sink of {sink}")
        sequence = self._find(sequence_id)
        sequence.window, sequence.sink = window, sink

    def _find(self, sequence_id: int) -> Sequence:
        if sequence_id not in self._sequences:
            known = ", ".join(map(str, self._sequences)) or "none"
            raise ValueError(f"the cache has no sequence {sequence_id}; it has {known}")
        return self._sequences[sequence_id]

    def _require_new(self, sequence_id: int) -> None:
        if sequence_id in self._sequences:
            raise ValueError(f"the cache has a sequence {sequence_id} already")
        if len(self._sequences) >= self.config.max_batch_size:
            raise ValueError(f"the cache is for {self.config.max_batch_size} sequences")

    # -- steps --------------------------------------------------------------------------------
    def begin_forward(
        self, ids: list[int], lengths: list[int], parents: list[int] | None = None
    ) -> None:
        """Make room for new tokens of some sequences.

        With `parents` the new tokens of each sequence are a tree of drafts: the parent of each is
        its index among them, -1 for a root.  Raises ValueError when pages are missing.
        """
        if len(ids) != len(lengths) or len(set(ids)) < len(ids):
            raise ValueError("begin_forward takes different sequences, each with a length")
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if parents is not None and len(parents) != starts[-1]:
            raise ValueError(f"{starts[-1]} tokens need as many parents, got {len(parents)}")
        sequences = [self._find(sequence_id) for sequence_id in ids]
        for sequence_id, sequence in zip(ids, sequences, strict=True):
            if sequence.draft is not None:
                raise ValueError(f"sequence {sequence_id} has tokens that are not accepted yet")
        drafts = [np.arange(-1, count - 1) for count in lengths]
        if parents is not None:
            drafts = np.split(np.array(parents, np.int64), starts[1:-1])
        depths = [_depths(draft) for draft in drafts]
        for sequence, count in zip(sequences, lengths, strict=True):
            self._slide(sequence, count)
        past = [len(sequence) for sequence in sequences]
        slots = self._append_all(sequences, lengths)
        for sequence, draft in zip(sequences, drafts, strict=True):
            if not np.array_equal(draft, np.arange(-1, len(draft) - 1)):
                sequence.draft = draft
        positions = [length + depth for length, depth in zip(past, depths, strict=True)]
        self._step = _Step(list(ids), starts, slots, np.concatenate(positions).astype(np.int32))

    def _append_all(self, sequences: list[Sequence], lengths: list[int]) -> np.ndarray:
        """Slots for the new tokens of all sequences, or none for any."""
        before = [len(sequence) for sequence in sequences]
        try:
            added = [
                self.pool.append(s, count) for s, count in zip(sequences, lengths, strict=True)
            ]
        except ValueError:
            for sequence, length in zip(sequences, before, strict=True):
                self.pool.keep(sequence, np.arange(min(length, len(sequence))))
            raise
        return np.concatenate(added)

    def _slide(self, sequence: Sequence, count: int) -> None:
        excess = len(sequence) + count - sequence.window
        if sequence.window and excess > 0:
            dropped = min(excess, len(sequence) - min(sequence.sink, len(sequence)))
            behind = np.arange(sequence.sink + dropped, len(sequence))
            kept = np.concatenate([np.arange(min(sequence.sink, len(sequence))), behind])
            self.pool.keep(sequence, kept)

    def end_forward(self) -> None:
        """The step is over."""
        self._step = None

    def commit_accepted(self, ids: list[int], leaves: list[int]) -> None:
        """Keep of each sequence's drafts those on the way to a leaf (-1: none of them)."""
        for sequence_id, leaf in zip(ids, leaves, strict=True):
            sequence = self._find(sequence_id)
            if sequence.draft is None:
                raise ValueError(f"sequence {sequence_id} has no tokens that wait for acceptance")
            if not -1 <= leaf < len(sequence.draft):
                raise ValueError(f"the tree of sequence {sequence_id} has no token {leaf}")
            past = len(sequence) - len(sequence.draft)
            accepted = np.flatnonzero(_ancestors(sequence.draft)[leaf]) if leaf >= 0 else []
            kept = np.concatenate([np.arange(past), past + np.asarray(accepted, np.int64)])
            sequence.draft = None
            self.pool.keep(sequence, kept)

    @property
    def step(self) -> _Step:
        if self._step is None:
            raise ValueError("attention comes between begin_forward and end_forward")
        return self._step

    def total_length(self) -> int:
        """Tokens of all sequences together."""
        return sum(map(len, self._sequences.values()))

    # -- attention ----------------------------------------------------------------------------
    def attention_with_fused_qkv(self, layer: int, scale: float, qkv: np.ndarray) -> np.ndarray:
        """Store the new tokens' keys and values; attention of their queries to all so far.

        qkv: (tokens, query heads + 2 key heads, head size).
        """
        config, step = self.config, self.step
        expected = (len(step.slots), config.num_qo_heads + 2 * config.num_kv_heads)
        if qkv.shape[:2] != expected:
            raise ValueError(
                f"the step has {expected[0]} tokens and the cache {expected[1]} heads of queries, "
                f"keys and values; got {qkv.shape[:2]}"
            )
        own, first_key = self._layer(layer), config.num_qo_heads
        first_value = first_key + config.num_kv_heads
        queries, keys = qkv[:, :first_key], qkv[:, first_key:first_value]
        if config.rope_mode == RopeMode.NORMAL:
            parts = (range(first_key), range(first_key, first_value))
            if step.angles is None:
                step.angles = self._angles(step.positions)
            queries, keys = self._turned(qkv, parts, step.angles)
        self._keys[own][step.slots] = keys
        self._values[own][step.slots] = qkv[:, first_value:]
        return self._attend_all(own, queries, scale)

    def attention_with_shared_kv(
        self, layer: int, scale: float, q: np.ndarray, k: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Attention of the step's queries to the tokens of a layer that has run in it already.

        `k` and `v` are that layer's for the step's tokens; nothing is stored.  In the mode NORMAL
        queries and keys are rotated already.
        """
        own = self._layer(layer)
        if self.config.attn_kinds[own] == AttnKind.MLA:
            raise ValueError(f"layer {layer} has a compressed cache, which other layers cannot use")
        return self._attend_all(own, q, scale, (k, v))

    def _attend_all(
        self,
        own: int,
        queries: np.ndarray,
        scale: float,
        fresh: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Attention of the tokens of all sequences, each to its own sequence so far.

        `fresh` are keys and values of the new tokens, in place of what is stored.
        """
        queries, results = queries.astype(np.float32, copy=False), list[np.ndarray]()
        for index, sequence_id in enumerate(self.step.ids):
            rows, sequence = self.step.rows(index), self._sequences[sequence_id]
            new = None if fresh is None else (fresh[0][rows], fresh[1][rows])
            given = self._read(own, index, queries[rows], len(sequence), new)
            results.append(self._attend(own, sequence, scale, *given))
        return results[0] if len(results) == 1 else np.concatenate(results)

    def _attend(
        self,
        own: int,
        sequence: Sequence,
        scale: float,
        queries: np.ndarray,
        keys: np.ndarray,
        values: np.ndarray,
    ) -> np.ndarray:
        """Attention of the last tokens of a sequence to those that each may see."""
        kernels, count = self._kernels(own), len(queries)
        in_order = sequence.draft is None
        if in_order and self.config.attn_kinds[own] != AttnKind.MHA_SLIDING:
            if count == 1:
                return kernels.to_all(queries, keys, values, scale)
            if count == len(keys):
                return kernels.causal(queries, keys, values, scale)
        return kernels.masked(queries, keys, values, scale, self._visible(own, sequence, count))

    def self_attention(
        self, scale: float, q: np.ndarray, k: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Attention of the step's tokens among themselves: (result, logarithms of the sums)."""
        step, key_heads = self.step, k.shape[1]
        q, k, v = (rows.astype(np.float32, copy=False) for rows in (q, k, v))
        sizes = (key_heads, q.shape[1] // key_heads, q.shape[2], v.shape[2])
        kernels, out = AttentionKernels(*sizes), np.empty((*q.shape[:2], v.shape[-1]), np.float32)
        sums = np.empty(q.shape[:2], np.float32)
        for index in range(len(step.ids)):
            rows = step.rows(index)
            below = np.tri(rows.stop - rows.start, dtype=bool)
            out[rows], sums[rows] = kernels.with_sums(q[rows], k[rows], v[rows], scale, below)
        return out, sums

    def cross_attention(
        self, layer: int, scale: float, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Attention of the step's tokens to those in the cache: (result, logarithms of the sums).

        In a step of one token a sequence these include the token itself, which was appended.
        """
        step, own = self.step, self._layer(layer)
        q = q.astype(np.float32, copy=False)
        out = np.zeros((*q.shape[:2], self._values[own].shape[-1]), np.float32)
        sums = np.full(q.shape[:2], -np.inf, np.float32)
        decodes = len(step.slots) == len(step.ids)
        for index, sequence_id in enumerate(step.ids):
            rows, sequence = step.rows(index), self._sequences[sequence_id]
            length = len(sequence) - (0 if decodes else rows.stop - rows.start)
            if length:
                queries, keys, values = self._read(own, index, q[rows], length)
                found = self._kernels(own).with_sums(queries, keys, values, scale, None)
                out[rows], sums[rows] = found
        return out, sums

    def append_mla(self, layer: int, rows: np.ndarray) -> None:
        """Store the compressed rows, (tokens, size), of the step's tokens."""
        self._keys[self._layer(layer)][self.step.slots] = rows[:, None, :]

    def _read(
        self,
        own: int,
        index: int,
        queries: np.ndarray,
        length: int,
        fresh: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(queries, keys, values) of a sequence's new tokens and of its first `length` ones, in
        float32 and rotated where attention rotates; not to be written."""
        step = self.step
        sequence, positions = self._sequences[step.ids[index]], step.positions[step.rows(index)]
        slots, past = sequence.slots[:length], len(sequence) - len(positions)
        keys = self._rows(self._keys[own], slots)
        latent = self.config.attn_kinds[own] == AttnKind.MLA
        values = keys if latent else self._rows(self._values[own], slots)
        if fresh is not None:
            keys, values = aligned_copy(keys), aligned_copy(values)
            keys[past:], values[past:] = fresh
        if self.config.rope_mode == RopeMode.INLINE:
            at = np.concatenate([np.arange(min(past, length)), positions[: max(0, length - past)]])
            (keys,) = self._turned(keys, (range(keys.shape[1]),), self._angles(at))
            turns = self._angles(positions)
            (queries,) = self._turned(queries, (range(queries.shape[1]),), turns)
        return queries, keys, values

    @staticmethod
    def _rows(stored: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Stored rows in float32: the memory itself where they lie there one behind the other."""
        first, count = int(slots[0]), len(slots)
        in_a_row = bool((np.diff(slots) == 1).all())
        if stored.dtype == np.float32 and in_a_row:
            return stored[first : first + count]
        return gathered(stored, slots)

    def _kernels(self, own: int) -> AttentionKernels:
        config = self.config
        latent = config.attn_kinds[own] == AttnKind.MLA
        key_heads = 1 if latent else config.num_kv_heads
        group = config.num_qo_heads // key_heads
        return AttentionKernels(key_heads, group, config.qk_head_dim, config.v_head_dim, latent)

    def _visible(self, own: int, sequence: Sequence, count: int) -> np.ndarray:
        """Which tokens of a sequence each of its last `count` attends to."""
        length = len(sequence)
        past = length - count
        mask = np.tri(count, length, past, dtype=bool)
        if sequence.draft is not None:
            mask[:, past:] = _ancestors(sequence.draft)
        if self.config.attn_kinds[own] == AttnKind.MHA_SLIDING:
            mask &= ~np.tri(count, length, past - self.config.layer_window, dtype=bool)
        return mask

    def _angles(self, positions: np.ndarray) -> _Angles:
        config = self.config
        size, scaled = config.rotary_dim or config.qk_head_dim, positions * config.rope_scale
        theta, scaling, factors = config.rope_theta, config.rope_scaling, config.rope_factors
        return rotations(scaled, size, theta, scaling, factors)

    def _turned(
        self, rows: np.ndarray, parts: tuple[range, ...], angles: _Angles
    ) -> list[np.ndarray]:
        """Ranges of the heads of rows, rotated by the angles of their tokens."""
        return turned(rows, parts, *angles, turns_neighbours(self.config.rope_scaling))

    def _layer(self, layer: int) -> int:
        own = layer - self.config.first_layer
        if not 0 <= own < len(self._keys):
            raise ValueError(f"the cache has {len(self._keys)} layers, not layer {layer}")
        return own

    def stored(self, sequence_id: int, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values as they are stored: (layers, tokens, heads, head size) each."""
        slots = self._find(sequence_id).slots[start:end]
        keys = np.stack([layer[slots] for layer in self._keys])
        return keys, np.stack([layer[slots] for layer in self._values])


def _depths(parents: np.ndarray) -> np.ndarray:
    """How far each token of a tree is from its root."""
    return _ancestors(parents).sum(axis=1) - 1


def _ancestors(parents: np.ndarray) -> np.ndarray:
    """[i, j] is true where token j is token i or on the way from the root to it."""
    found = np.eye(len(parents), dtype=bool)
    for token, parent in enumerate(parents):
        if not -1 <= parent < token:
            raise ValueError(f"the parent of token {token} is an earlier one, not {parent}")
        if parent >= 0:
            found[token] |= found[parent]
    return found
