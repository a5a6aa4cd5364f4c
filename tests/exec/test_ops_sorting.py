"""Scans, sorts and scatters against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exec.operator_cases import Case, Program, random


def scan(x: Any, function: Any, axis: Any, dtype: Any, exclusive: bool, start: int) -> np.ndarray:
    data = x.reshape(-1) if axis is None else x
    at = 0 if axis is None else axis
    done = function(data.astype(dtype or x.dtype), axis=at).astype(dtype or x.dtype)
    if not exclusive:
        return done
    first = np.full_like(np.take(done, [0], at), start)
    return np.concatenate([first, np.delete(done, -1, at)], at)


def _scan_cases() -> list[Case]:
    cases = []
    for name, function, start in (("cumsum", np.cumsum, 0), ("cumprod", np.cumprod, 1)):
        for axis, dtype, exclusive in (
            (None, None, False),
            (0, None, False),
            (-1, None, True),
            (1, "float64", False),
        ):
            cases.append(
                Case(
                    name,
                    [random((3, 5, 4), low=0.5, high=1.5)],
                    lambda x, f=function, a=axis, d=dtype, e=exclusive, s=start: scan(
                        x, f, a, d, e, s
                    ),
                    {"axis": axis, "dtype": dtype, "exclusive": exclusive},
                    tolerance=1e-4,
                )
            )
        rows = [[random((n, 3), "int32", -3, 3)] for n in (1, 7, 20)]
        cases.append(
            Case(
                name,
                rows[0],
                lambda x, f=function: f(x, axis=0, dtype="int32"),
                {"axis": 0},
                {0: ("n", 3)},
                calls=rows,
            )
        )
    return cases  # fmt: skip


def order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The stable order, NaN as the largest value."""
    keys = x.astype("float64")
    if not descending:
        return np.argsort(keys, axis=axis, kind="stable")
    first = np.argsort(np.where(np.isnan(keys), 0, -keys), axis=axis, kind="stable")
    numbers = np.take_along_axis(~np.isnan(keys), first, axis)
    return np.take_along_axis(first, np.argsort(numbers, axis=axis, kind="stable"), axis)


def _sorting_cases() -> list[Case]:
    special = np.array([3, np.nan, -np.inf, 1, np.inf, 1, -0.0, np.nan, 0], "float32")
    ties = random((4, 33), "int32", -3, 3)
    cases = []
    for descending in (False, True):
        attributes = {"descending": descending}
        for x, axis in (
            (random((3, 17)), -1),
            (random((9, 4)), 0),
            (ties, 1),
            (special, 0),
            (random((2, 5, 3)), 1),
            (random((1,)), 0),
        ):

            def taken(x: Any, a: int = axis, d: bool = descending) -> np.ndarray:
                return np.take_along_axis(x, order(x, a, d), a)

            def indices(x: Any, a: int = axis, d: bool = descending) -> np.ndarray:
                return order(x, a, d).astype("int32")

            cases.append(Case("sort", [x], taken, {"axis": axis, **attributes}))
            cases.append(Case("argsort", [x], indices, {"axis": axis, **attributes}))
        rows = [[random((2, n))] for n in (1, 2, 3, 31, 64)]
        cases.append(
            Case(
                "argsort",
                rows[0],
                lambda x, d=descending: order(x, 1, d),
                {"dtype": "int64", **attributes},
                {0: (2, "n")},
                calls=rows,
            )
        )
    for largest in (True, False):

        def best(x: Any, largest: bool = largest) -> tuple[np.ndarray, np.ndarray]:
            chosen = order(x, -1, largest)[:, :3]
            return np.take_along_axis(x, chosen, -1), chosen.astype("int32")

        cases.append(Case("topk", [random((4, 9))], best, {"k": 3, "largest": largest}))
        cases.append(Case("topk", [ties], best, {"k": 3, "largest": largest}))
        numbers = np.stack([special, special[::-1]])
        cases.append(Case("topk", [numbers], best, {"k": 3, "largest": largest}))
    cases.append(
        Case(
            "topk",
            [random((100, 2))],
            lambda x: order(x, 0, True)[:70].astype("int32"),
            {"k": 70, "axis": 0, "ret_type": "indices"},
        )
    )
    cases.append(
        Case(
            "topk",
            [random((4, 9))],
            lambda x: np.sort(x, 0)[::-1][:2].copy(),
            {"k": 2, "axis": 0, "ret_type": "values"},
        )
    )
    cases += [
        Case("median", [random((5, 7))], lambda x: np.sort(x, None)[17]),
        Case(
            "median",
            [random((5, 8))],
            lambda x: (np.sort(x, 1)[:, 3], np.argsort(x, 1, kind="stable")[:, 3]),
            {"axis": [1]},
        ),
        Case(
            "median",
            [random((5, 7))],
            lambda x: (np.sort(x, 0)[2:3], np.argsort(x, 0, kind="stable")[2:3]),
            {"axis": [0], "keepdims": True},
        ),
    ]
    return cases  # fmt: skip


COMBINE: dict[str, Any] = {
    "update": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def scatter(x: Any, places: Any, updates: Any, reduction: str) -> np.ndarray:
    """Put updates at places, in order; places outside are left out."""
    out, counts = x.copy(), np.ones(x.shape)
    for place, value in zip(places, updates, strict=True):
        fixed = tuple(p + n if p < 0 else p for p, n in zip(place, x.shape, strict=False))
        if not all(0 <= p < n for p, n in zip(fixed, x.shape, strict=False)):
            continue
        combine = COMBINE["add" if reduction == "mean" else reduction]
        out[fixed] = combine(out[fixed], value)
        counts[fixed] += 1
    return (out / counts).astype(x.dtype) if reduction == "mean" else out


def scatter_elements(x: Any, indices: Any, updates: Any, axis: int, reduction: str) -> np.ndarray:
    places = []
    for place in np.ndindex(indices.shape):
        own = list(place)
        own[axis] = int(indices[place])
        places.append(tuple(own))
    return scatter(x, places, updates.reshape(-1), reduction)


def _scatter_cases() -> list[Case]:
    indices = np.array([[0, 2, -1], [2, 2, 1]], "int64")
    cases = []
    for reduction in ("update", "add", "mul", "mean", "max", "min"):
        cases.append(
            Case(
                "scatter_elements",
                [random((4, 3)), indices, random((2, 3))],
                lambda *a, r=reduction: scatter_elements(*a, 0, r),
                {"reduction": reduction},
            )
        )
        cases.append(
            Case(
                "scatter_nd",
                [random((5, 3)), np.array([[1], [4], [1]], "int64"), random((3, 3))],
                lambda x, i, u, r=reduction: scatter(x, [tuple(p) for p in i], u, r),
                {"reduction": reduction},
            )
        )
    cases.append(
        Case(
            "scatter_elements",
            [random((3, 5)), np.array([[1, 4]], "int32"), random((1, 2))],
            lambda *a: scatter_elements(*a, 1, "update"),
            {"axis": 1},
        )
    )
    cases.append(
        Case(
            "scatter_nd",
            [random((3, 4)), np.array([[0, 1], [2, 3], [9, 0]], "int64"), random((3,))],
            lambda x, i, u: scatter(x, [tuple(p) for p in i], u, "update"),
        )
    )
    pair = [np.array([0, 2, 2], "int64"), np.array([1, -1, -1], "int64")]
    cases.append(
        Case(
            "index_put",
            [random((3, 4)), pair, random((3,))],
            lambda x, i, v: scatter(x, list(zip(*i, strict=True)), v, "update"),
        )
    )
    cases.append(
        Case(
            "index_put",
            [random((3, 4)), pair, random((3,))],
            lambda x, i, v: scatter(x, list(zip(*i, strict=True)), v, "add"),
            {"accumulate": True},
        )
    )
    rows = [[random((n, 2)), np.array([[0, n - 1]], "int64"), random((1, 2))] for n in (1, 6)]
    cases.append(
        Case(
            "scatter_elements",
            rows[1],
            lambda *a: scatter_elements(*a, 0, "add"),
            {"reduction": "add"},
            {0: ("n", 2)},
            calls=rows,
        )
    )
    return cases  # fmt: skip


def _unique_cases() -> list[Case]:
    ties = random((6, 7), "int32", -4, 4)
    numbers = np.array([2, np.nan, 1, 2, np.nan, -np.inf, 0.0, -0.0], "float32")
    more = {"return_index": True, "return_inverse": True, "return_counts": True}

    def everything(x: Any) -> Any:
        values, index, inverse, counts = np.unique(x, True, True, True)
        return values, index, inverse.reshape(-1), counts

    rows = [[random((n, 3), "int32", 0, 2)] for n in (1, 4, 30)]
    return [
        Case("unique", [ties], np.unique),
        Case("unique", [numbers], np.unique),
        Case("unique", [ties], everything, more),
        Case("unique", [random((5,))], np.unique),
        Case("unique", [np.zeros((0, 3), "float32")], np.unique),
        Case("unique", rows[1], everything, more, {0: ("n", 3)}, calls=rows),
        Case("nonzero", [random((4, 5), "int32", -1, 1)], lambda x: np.stack(np.nonzero(x))),
        Case("nonzero", [random((9,), "bool")], lambda x: np.stack(np.nonzero(x))),
        Case("nonzero", [np.zeros((3, 2), "float32")], lambda x: np.stack(np.nonzero(x))),
        Case("nonzero", [np.array([[np.nan, 0], [-0.0, 2]], "float32")],
             lambda x: np.stack(np.nonzero(x))),
        Case("nonzero", rows[1], lambda x: np.stack(np.nonzero(x)), {}, {0: ("n", 3)}, calls=rows),
    ]  # fmt: skip


def _dynamic_slice_cases() -> list[Case]:
    def sliced(x: Any, begin: Any, end: Any, strides: Any) -> np.ndarray:
        return x[tuple(map(slice, begin.tolist(), end.tolist(), strides.tolist()))]

    x = random((7, 9))
    bounds = [
        ([1, 0], [5, 9], [1, 1]), ([0, 8], [7, 0], [3, -2]), ([-3, 2], [100, -1], [1, 2]),
        ([5, 0], [2, 3], [1, 1]), ([0, 0], [0, 0], [1, 1]),
    ]  # fmt: skip
    calls = [[x, *[np.array(v, "int64") for v in rows]] for rows in bounds]
    return [Case("dynamic_strided_slice", calls[0], sliced, calls=calls)]


DYNAMIC = Program([*_unique_cases(), *_dynamic_slice_cases()])
SCANS = Program([*_scan_cases(), *_scatter_cases()])
SORTING = Program(_sorting_cases())


@pytest.mark.parametrize("case", SCANS.cases, ids=repr)
def test_scan_and_scatter(case: Case) -> None:
    SCANS.check(case)


@pytest.mark.parametrize("case", SORTING.cases, ids=repr)
def test_sorting(case: Case) -> None:
    SORTING.check(case)


@pytest.mark.parametrize("case", DYNAMIC.cases, ids=repr)
def test_sizes_that_depend_on_values(case: Case) -> None:
    DYNAMIC.check(case)
