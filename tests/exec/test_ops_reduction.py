"""Reductions, searches, softmax and normalisation against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.exec.operator_cases import Case, Program, random

AXES: tuple[tuple[Any, bool], ...] = (
    (None, False), (None, True), ([0], False), ([1], True), ([-1], False), ([0, 2], False),
)  # fmt: skip


def _axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _wide(function: Callable[..., Any], axis: Any, keepdims: bool) -> Callable[..., Any]:
    def reference(x: np.ndarray) -> np.ndarray:
        wide = x.astype("float64") if x.dtype.kind == "f" else x
        with np.errstate(invalid="ignore"):
            return np.asarray(function(wide, axis=_axis(axis), keepdims=keepdims)).astype(x.dtype)

    return reference


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "std": np.std,
    "variance": np.var,
}


def _reduction_cases() -> list[Case]:
    cases = []
    for name, function in REDUCTIONS.items():
        for axis, keepdims in AXES:
            attributes = {"axis": axis, "keepdims": keepdims}
            reference = _wide(function, axis, keepdims)
            cases.append(Case(name, [random((3, 17, 5))], reference, attributes))
        reference = _wide(function, [1], False)
        dynamic = [[random((n, 33))] for n in (1, 2, 31)]
        cases.append(
            Case(name, dynamic[1], reference, {"axis": [1]}, {0: ("n", 33)}, calls=dynamic)
        )
        rows = [[random((7, n))] for n in (1, 16, 40)]
        cases.append(Case(name, rows[1], reference, {"axis": 1}, {0: (7, "n")}, calls=rows))
        cases.append(Case(name, [random((1, 1))], _wide(function, None, False)))
        cases.append(
            Case(name, [random((9, 4), "float64")], _wide(function, [0], False), {"axis": [0]})
        )
    for name in ("sum", "prod", "max", "min"):
        whole = random((4, 6), "int32", -3, 3)
        cases.append(Case(name, [whole], _wide(REDUCTIONS[name], [1], False), {"axis": [1]}))
        whole = random((4, 6), "int64", -3, 3)
        cases.append(Case(name, [whole], _wide(REDUCTIONS[name], None, False)))
    for name in ("sum", "prod"):  # of nothing
        cases.append(Case(name, [random((0, 4))], _wide(REDUCTIONS[name], [0], False), {"axis": 0}))
        rows = [[random((5, n))] for n in (0, 3)]
        reference = _wide(REDUCTIONS[name], [1], False)
        cases.append(Case(name, rows[1], reference, {"axis": 1}, {0: (5, "n")}, calls=rows))
    special = np.array([[1, np.nan, 2], [np.inf, -np.inf, 0], [np.inf, 1, 2]], "float32")
    for name in ("sum", "mean"):
        cases.append(Case(name, [special], _wide(REDUCTIONS[name], [1], False), {"axis": [1]}))
    return cases


def _search_cases() -> list[Case]:
    cases = []
    for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        for axis in (0, 1, -1):
            cases.append(
                Case(
                    name,
                    [random((5, 9))],
                    lambda x, f=function, a=axis: f(x, axis=a).astype("int64"),
                    {"axis": axis},
                )
            )
        cases.append(Case(name, [random((5, 9))], lambda x, f=function: np.int64(f(x))))
        cases.append(
            Case(
                name,
                [random((3, 4, 5), "int32", -9, 9)],
                lambda x, f=function: f(x, axis=1, keepdims=True).astype("int64"),
                {"axis": 1, "keepdims": True},
            )
        )
        rows = [[random((n, 6))] for n in (1, 8, 21)]
        cases.append(
            Case(
                name,
                rows[0],
                lambda x, f=function: f(x, axis=1).astype("int64"),
                {"axis": 1},
                {0: ("n", 6)},
                calls=rows,
            )
        )
    condition = random((4, 1), "bool")
    cases.append(Case("where", [condition, random((5,)), random((4, 5))], np.where))
    rows = [[random((n, 3), "bool"), random((n, 3)), random((n, 3))] for n in (0, 1, 9)]
    dims = dict.fromkeys(range(3), ("n", 3))
    cases.append(Case("where", rows[1], np.where, {}, dims, calls=rows))
    edges = np.sort(random((7,)))
    for right in (False, True):
        side = "right" if right else "left"
        values = np.concatenate([random((6,)), edges]).astype("float32")
        cases.append(
            Case(
                "bucketize",
                [values, edges],
                lambda x, b, s=side: np.searchsorted(b, x, side=s).astype("int64"),
                {"right": right},
            )
        )
    return cases


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    wide = x.astype("float64")
    shifted = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (shifted / shifted.sum(axis=axis, keepdims=True)).astype(x.dtype)


def log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    wide = x.astype("float64")
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)


def layer_norm(x: Any, gamma: Any, beta: Any, axes: tuple[int, ...]) -> np.ndarray:
    wide = x.astype("float64")
    mean = wide.mean(axis=axes, keepdims=True)
    var = wide.var(axis=axes, keepdims=True)
    return ((wide - mean) / np.sqrt(var + 1e-5) * gamma + beta).astype(x.dtype)


def rms_norm(x: Any, weight: Any, axes: tuple[int, ...]) -> np.ndarray:
    wide = x.astype("float64")
    mean = np.mean(wide * wide, axis=axes, keepdims=True)
    return (wide / np.sqrt(mean + 1e-5) * weight).astype(x.dtype)


def group_norm(x: Any, gamma: Any, beta: Any, groups: int) -> np.ndarray:
    n, c, *rest = x.shape
    wide = x.astype("float64").reshape(n, groups, -1)
    normal = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    along = (1, c, *[1] * len(rest))
    return (normal.reshape(x.shape) * gamma.reshape(along) + beta.reshape(along)).astype(x.dtype)


def batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, training: bool) -> Any:
    along = (1, -1, *[1] * (x.ndim - 2))
    axes = (0, *range(2, x.ndim))
    wide = x.astype("float64")
    used = (wide.mean(axes), wide.var(axes)) if training else (mean, var)
    normal = (wide - used[0].reshape(along)) / np.sqrt(used[1].reshape(along) + 1e-5)
    out = normal * gamma.reshape(along) + beta.reshape(along)
    if not training:
        return out.astype(x.dtype), mean, var
    moved = [0.9 * old + 0.1 * new for old, new in zip((mean, var), used, strict=True)]
    return tuple(v.astype(x.dtype) for v in (out, *moved))


def _norm_cases() -> list[Case]:
    cases = []
    for name, function in (("nn.softmax", softmax), ("nn.log_softmax", log_softmax)):
        for shape, axis in (((4, 7), -1), ((3, 5, 2), 1), ((1, 1), -1), ((6,), 0)):
            cases.append(
                Case(
                    name,
                    [random(shape, low=-9, high=9)],
                    lambda x, f=function, a=axis: f(x, a),
                    {"axis": axis},
                )
            )
        rows = [[random((n, 10), low=-50, high=50)] for n in (1, 4, 23)]
        cases.append(Case(name, rows[0], function, {}, {0: ("n", 10)}, calls=rows))
        columns = [[random((3, n), low=-50, high=50)] for n in (1, 16, 33)]
        cases.append(Case(name, columns[0], function, {}, {0: (3, "n")}, calls=columns))
        cases.append(Case(name, [random((3, 8), "float16")], function, tolerance=1e-2))
        large = np.array([[1e4, -1e4, 0.0], [-np.inf, 0.0, 1.0]], "float32")
        cases.append(Case(name, [large], function))
    affine = [random((8,)), random((8,))]
    norm = {"axes": [-1]}
    rows = [[random((n, 8)), *affine] for n in (1, 5, 17)]
    cases.append(
        Case(
            "nn.layer_norm",
            rows[0],
            lambda *a: layer_norm(*a, (-1,)),
            norm,
            {0: ("n", 8)},
            calls=rows,
        )
    )
    cases.append(
        Case(
            "nn.layer_norm",
            [random((3, 4, 5)), random((4, 5)), random((4, 5))],
            lambda *a: layer_norm(*a, (1, 2)),
            {"axes": [1, 2]},
        )
    )
    cases.append(
        Case("nn.rms_norm", [random((3, 8)), random((8,))], lambda *a: rms_norm(*a, (-1,)), norm)
    )
    image = [random((2, 6, 3, 4)), random((6,)), random((6,))]
    cases.append(
        Case(
            "nn.group_norm",
            image,
            lambda *a: group_norm(*a, 3),
            {"num_groups": 3, "channel_axis": 1, "axes": [2, 3]},
        )
    )
    cases.append(
        Case(
            "nn.instance_norm",
            image,
            lambda *a: group_norm(*a, 6),
            {"channel_axis": 1, "axes": [2, 3]},
        )
    )
    moving = [*image, random((6,)), random((6,), low=0.5, high=2)]
    for training in (False, True):
        cases.append(
            Case(
                "nn.batch_norm",
                moving,
                lambda *a, t=training: batch_norm(*a, t),
                {"axis": 1, "training": training},
            )
        )
    cases.append(Case("nn.dropout", [random((3, 4))], lambda x: (x, np.ones_like(x))))
    cases.append(
        Case(
            "nn.prelu",
            [random((2, 3, 4)), random((3,))],
            lambda x, a: np.where(x > 0, x, x * a.reshape(1, 3, 1)).astype("float32"),
        )
    )
    cases.append(
        Case(
            "nn.cross_entropy_with_logits",
            [random((4, 3)), random((4, 3))],
            lambda x, y: np.float32(-(x * y).sum() / 4),
        )
    )
    return [*cases, *_loss_cases()]  # fmt: skip


def nll_loss(x: Any, targets: Any, weights: Any, reduction: str, ignore: int) -> np.ndarray:
    weight = np.where(targets == ignore, 0, weights[np.clip(targets, 0, x.shape[1] - 1)])
    picked = np.take_along_axis(x, np.clip(targets, 0, x.shape[1] - 1)[:, None], 1)[:, 0]
    losses = (-picked * weight).astype("float32")
    if reduction == "none":
        return losses
    return np.float32(losses.sum() / (weight.sum() if reduction == "mean" else 1))


def _loss_cases() -> list[Case]:
    targets = np.array([0, 2, 1, -100, 2], "int64")
    operands = [random((5, 3)), targets, random((3,), low=0.5, high=2)]
    return [
        Case("nn.nll_loss", operands, lambda *a, r=reduction: nll_loss(*a, r, -100),
             {"reduction": reduction})
        for reduction in ("mean", "sum", "none")
    ]  # fmt: skip


REDUCTION = Program(_reduction_cases())
SEARCH = Program(_search_cases())
NORM = Program(_norm_cases())


@pytest.mark.parametrize("case", REDUCTION.cases, ids=repr)
def test_reduction(case: Case) -> None:
    REDUCTION.check(case)


@pytest.mark.parametrize("case", SEARCH.cases, ids=repr)
def test_search(case: Case) -> None:
    SEARCH.check(case)


@pytest.mark.parametrize("case", NORM.cases, ids=repr)
def test_norm(case: Case) -> None:
    NORM.check(case)
