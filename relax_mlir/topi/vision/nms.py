"""Non-maximum suppression: the best boxes, without those that overlap better ones too much."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import product
from relax_mlir.topi.imperative import every

_ONE = [O.const(1, "int64")]


def _overlap(build: PrimFuncBuilder, first: list[PrimExpr], second: list[PrimExpr]) -> PrimExpr:
    """Intersection over union of two boxes, each two opposite corners in any order."""
    zero, sides, areas = O.const(0.0, "float32"), [], [O.const(1.0, "float32")] * 2
    boxes = [[build.let("corner", value) for value in box] for box in (first, second)]
    for axis in (0, 1):
        low = [build.let("low", O.min(box[axis], box[axis + 2])) for box in boxes]
        high = [build.let("high", O.max(box[axis], box[axis + 2])) for box in boxes]
        sides.append(O.max(O.min(*high) - O.max(*low), zero))
        areas = [area * (top - base) for area, top, base in zip(areas, high, low, strict=True)]
    shared = build.let("shared", sides[0] * sides[1])
    union = build.let("union", areas[0] + areas[1] - shared)
    ratio = shared / O.max(union, O.const(1e-30, "float32"))
    return build.let("overlap", O.select(O.less(zero, union), ratio, zero))


class _Greedy:
    """Takes the box with the best score, then drops or weakens what overlaps it, again and again.

    `scores` are those of the candidates; what is no candidate has `alive` zero.
    """

    def __init__(self, build: PrimFuncBuilder, count: Any):
        self.build = build
        self.count = O.cast("int64", count)
        room = [O.max(self.count, O.const(1, "int64"))]
        self.scores = build.alloc_buffer("work", room, "float32")
        self.alive = build.alloc_buffer("alive", room, "int32")
        self.best = build.alloc_buffer("best", _ONE, "int64")
        self.kept = build.alloc_buffer("kept", _ONE, "int64")

    def run(self, limit: PrimExpr, take: Any, meets: Any) -> None:
        """`take(best)` is written where a box is chosen, `meets(best, other)` gives a pair of the
        overlap and whether the two compete."""
        build, best = self.build, self.best
        build.store(self.kept, O.const(0, "int64"), [0])
        self._find()
        with build.while_(I.all(O.less_equal(0, best[0]), O.less(self.kept[0], limit))):
            chosen = build.let("chosen", O.max(best[0], O.const(0, "int64")))
            take(chosen)
            build.store(self.kept, O.add(self.kept[0], 1), [0])
            build.store(self.alive, O.const(0, "int32"), [chosen])
            with (
                build.for_("serial", 0, self.count, "j", "int64") as j,
                build.if_(O.less(0, self.alive[j])),
            ):
                meets(chosen, j)
            self._find()

    def _find(self) -> None:
        """The living box with the best score, the first of equal ones; -1 when none is left."""
        build, best = self.build, self.best
        build.store(best, O.const(-1, "int64"), [0])
        with build.for_("serial", 0, self.count, "j", "int64") as j:
            before = self.scores[O.max(best[0], O.const(0, "int64"))]
            better = I.any(O.less(best[0], 0), O.less(before, self.scores[j]))
            with build.if_(I.all(O.less(0, self.alive[j]), better)):
                build.store(best, j, [0])


def get_valid_counts(
    data: Tensor, score_threshold: Any = 0.0, id_index: int = 0, score_index: int = 1
) -> list[Tensor]:
    """How many boxes of (batch, N, elements) have a score above the threshold (and a class, unless
    id_index is -1): counts (batch,), the data and the boxes' indices (batch, N) with those first
    and -1 behind them."""
    batch, count, width = data.shape
    limit = O.cast(data.dtype, score_threshold)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        (source,), (counts, moved, places) = ins, outs
        with ExitStack() as nest:
            b, i, e = every(build, data.shape, nest, "z")
            build.store(moved, O.const(-1, data.dtype), [b, i, e])
            build.store(places, O.const(-1, "int32"), [b, i])
        with build.for_("serial", 0, batch, "b", "int64") as b:
            build.store(counts, O.const(0, "int32"), [b])
            with ExitStack() as nest:
                i = nest.enter_context(build.for_("serial", 0, count, "i", "int64"))
                valid = O.less(limit, source[b, i, score_index])
                if id_index >= 0:
                    known = O.less_equal(O.const(0, data.dtype), source[b, i, id_index])
                    valid = I.all(valid, known)
                nest.enter_context(build.if_(valid))
                place = build.let("place", O.cast("int64", counts[b]))
                with build.for_("serial", 0, width, "e", "int64") as e:
                    build.store(moved, source[b, i, e], [b, place, e])
                build.store(places, i, [b, place])
                build.store(counts, O.add(counts[b], 1), [b])

    outputs = [([batch], "int32"), (data.shape, data.dtype), ([batch, count], "int32")]
    return imperative(outputs, [data], emit, "get_valid_counts")


def non_max_suppression(
    data: Tensor, valid_count: Tensor, indices: Tensor, max_output_size: int = -1,
    iou_threshold: float = 0.5, force_suppress: bool = False, top_k: int = -1,
    coord_start: int = 2, score_index: int = 1, id_index: int = 0, return_indices: bool = True,
    invalid_to_bottom: bool = False, soft_nms_sigma: float = 0.0, score_threshold: float = 0.0,
) -> Any:  # fmt: skip
    """The boxes of (batch, N, elements) that stay, of the first `valid_count` of each batch.

    With return_indices: their `indices` (batch, N), best first and -1 behind, and their number
    (batch, 1); with soft_nms_sigma the data with weakened scores in front.  Otherwise the data,
    sorted by score, with -1 in place of what was suppressed.
    """
    batch, count, width = data.shape
    soft = soft_nms_sigma > 0

    def corners(source: Buffer, b: Any, i: Any) -> list[PrimExpr]:
        return [O.cast("float32", source[b, i, coord_start + k]) for k in range(4)]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, _, places = ins
        greedy = _Greedy(build, count)
        moved = outs[0] if soft or not return_indices else None
        chosen = outs[-2] if return_indices else None
        rank = build.alloc_buffer("rank", [O.max(greedy.count, O.const(1, "int64"))], "int64")
        with build.for_("serial", 0, batch, "b", "int64") as b:
            _candidates(greedy, ins, b, score_index)
            _rank(build, greedy, rank, top_k)
            _clear(build, source, moved, chosen, b, count, width, soft and return_indices)

            def take(best: Any) -> None:
                row = greedy.kept[0] if invalid_to_bottom or soft else rank[best]
                if moved is not None and not return_indices:
                    with build.for_("serial", 0, width, "e", "int64") as e:
                        build.store(moved, source[b, best, e], [b, row, e])
                if moved is not None:
                    target = best if return_indices else row
                    build.store(moved, greedy.scores[best], [b, target, score_index])
                if chosen is not None:
                    build.store(chosen, places[b, best], [b, greedy.kept[0]])

            def meets(best: Any, other: Any) -> None:
                pair = [corners(source, b, i) for i in (best, other)]
                rivals: list[PrimExpr] = []
                if not force_suppress and id_index >= 0:
                    rivals = [O.equal(source[b, best, id_index], source[b, other, id_index])]
                _weaken(greedy, pair, rivals, other, iou_threshold, soft_nms_sigma, score_threshold)

            limit = greedy.count if max_output_size <= 0 else O.const(max_output_size, "int64")
            greedy.run(limit, take, meets)
            if return_indices:
                build.store(outs[-1], greedy.kept[0], [b, 0])

    found = [([batch, count], "int32"), ([batch, 1], "int32")] if return_indices else []
    changed = [(data.shape, data.dtype)] if soft or not return_indices else []
    return imperative([*changed, *found], [data, valid_count, indices], emit, "nms")


def _candidates(greedy: _Greedy, ins: list[Buffer], b: Any, score_index: int) -> None:
    """The first valid_count boxes of a batch."""
    build, (source, counts, _) = greedy.build, ins
    limit = O.min(O.cast("int64", counts[b]), greedy.count)
    with build.for_("serial", 0, greedy.count, "i", "int64") as i:
        build.store(greedy.scores, O.cast("float32", source[b, i, score_index]), [i])
        build.store(greedy.alive, O.cast("int32", O.less(i, limit)), [i])


def _weaken(
    greedy: _Greedy,
    pair: list[list[PrimExpr]],
    rivals: list[PrimExpr],
    other: Any,
    iou_threshold: float,
    sigma: float,
    score_threshold: float,
) -> None:
    """Drop a box that overlaps a chosen one; with sigma its score falls, and it goes when low."""
    build = greedy.build
    overlap = _overlap(build, *pair)
    if sigma > 0:
        with build.if_(I.all(*rivals, O.less(O.const(0.0, "float32"), overlap))):
            decay = I.exp(0.0 - overlap * overlap / O.const(sigma, "float32"))
            build.store(greedy.scores, greedy.scores[other] * decay, [other])
        lost = O.less(greedy.scores[other], O.const(score_threshold, "float32"))
    else:
        lost = I.all(*rivals, O.less_equal(O.const(iou_threshold, "float32"), overlap))
    with build.if_(lost):
        build.store(greedy.alive, O.const(0, "int32"), [other])


def _rank(build: PrimFuncBuilder, greedy: _Greedy, rank: Buffer, top_k: int) -> None:
    """The place of every candidate in the order of scores; those behind top_k are dropped."""
    with build.for_("serial", 0, greedy.count, "i", "int64") as i:
        build.store(rank, O.const(0, "int64"), [i])
        with ExitStack() as nest:
            nest.enter_context(build.if_(O.less(0, greedy.alive[i])))
            j = nest.enter_context(build.for_("serial", 0, greedy.count, "j", "int64"))
            mine, other = greedy.scores[i], greedy.scores[j]
            first = I.any(O.less(mine, other), I.all(O.equal(mine, other), O.less(j, i)))
            nest.enter_context(build.if_(I.all(O.not_equal(0, greedy.alive[j]), first)))
            build.store(rank, O.add(rank[i], 1), [i])
    if top_k > 0:
        with ExitStack() as nest:
            i = nest.enter_context(build.for_("serial", 0, greedy.count, "i", "int64"))
            nest.enter_context(build.if_(O.less_equal(top_k, rank[i])))
            build.store(greedy.alive, O.const(0, "int32"), [i])


def _clear(
    build: PrimFuncBuilder,
    source: Buffer,
    moved: Buffer | None,
    chosen: Buffer | None,
    b: Any,
    count: Any,
    width: Any,
    keep: bool,
) -> None:
    """Write what the outputs hold where no box is kept."""
    with build.for_("serial", 0, count, "i", "int64") as i:
        if chosen is not None:
            build.store(chosen, O.const(-1, "int32"), [b, i])
        if moved is not None:
            with build.for_("serial", 0, width, "e", "int64") as e:
                value = source[b, i, e] if keep else O.const(-1, moved.dtype)
                build.store(moved, value, [b, i, e])


def all_class_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Any,
    iou_threshold: Any,
    score_threshold: Any,
    output_format: str = "onnx",
) -> list[Tensor]:
    """Suppression for every class of its own.

    boxes: (batch, N, 4), two opposite corners.  scores: (batch, classes, N).  The limits are
    numbers or tensors of one element.  "onnx": rows (batch, class, box) of int64, room for
    batch * classes * N of them, and their number (1,).  "tensorflow": rows (class, box), scores and
    numbers for every batch.
    """
    if output_format not in ("onnx", "tensorflow"):
        raise Error(f'nms: output_format must be "onnx" or "tensorflow", given {output_format!r}')
    batch, classes, count = scores.shape
    whole = output_format == "onnx"
    limits = [max_output_boxes_per_class, iou_threshold, score_threshold]
    sources = [boxes, scores, *[x for x in limits if isinstance(x, Tensor)]]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        given = iter(ins[2:])
        values = [next(given)[(0,) * x.ndim] if isinstance(x, Tensor) else x for x in limits]
        most, overlap_limit = O.cast("int64", values[0]), O.cast("float32", values[1])
        greedy = _Greedy(build, count)
        for out in outs:
            with ExitStack() as nest:
                build.store(out, O.const(0, out.dtype), every(build, out.shape, nest, "z"))
        with ExitStack() as nest:
            b, c = every(build, [batch, classes], nest, "c")
            with build.for_("serial", 0, count, "i", "int64") as i:
                value = O.cast("float32", ins[1][b, c, i])
                build.store(greedy.scores, value, [i])
                passed = O.less(O.cast("float32", values[2]), value)
                build.store(greedy.alive, O.cast("int32", passed), [i])

            def take(best: Any) -> None:
                _append(build, outs, greedy.scores, (b, c, best), whole)

            def meets(best: Any, other: Any) -> None:
                pair = [
                    [O.cast("float32", ins[0][b, i, k]) for k in range(4)] for i in (best, other)
                ]
                with build.if_(O.less(overlap_limit, _overlap(build, *pair))):
                    build.store(greedy.alive, O.const(0, "int32"), [other])

            greedy.run(most, take, meets)

    if whole:
        outputs = [([product(scores.shape), 3], "int64"), ([1], "int64")]
    else:
        room = product([classes, count])
        outputs = [([batch, room, 2], "int64"), ([batch, room], "float32"), ([batch], "int64")]
    return imperative(outputs, sources, emit, "all_class_nms")


def _append(
    build: PrimFuncBuilder, outs: list[Buffer], scores: Buffer, place: tuple[Any, ...], whole: bool
) -> None:
    """Write a chosen (batch, class, box) behind those before, of all batches or of its own."""
    total, (b, c, best) = outs[-1], place
    group = O.const(0, "int64") if whole else b
    row = build.let("row", O.cast("int64", total[group]))
    if whole:
        for column, index in enumerate(place):
            build.store(outs[0], index, [row, column])
    else:
        build.store(outs[0], c, [b, row, 0])
        build.store(outs[0], best, [b, row, 1])
        build.store(outs[1], scores[best], [b, row])
    build.store(total, O.add(total[group], 1), [group])
