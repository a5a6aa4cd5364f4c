"""layout_transform and attention over sequences of different lengths, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relax_mlir.relax.op.index_maps import affine_map
from tests.exec.operator_cases import Case, Program, random


def transformed(function: Callable[..., Any], shape: tuple[int, ...], pad: float) -> Any:
    """The reference of a layout_transform: one element after the other."""

    def reference(x: np.ndarray) -> np.ndarray:
        out = np.full(shape, pad, x.dtype)
        for index in np.ndindex(*x.shape):
            out[function(*index)] = x[index]
        return out

    return reference


def layout_case(
    function: Callable[..., Any],
    operand: np.ndarray,
    shape: tuple[int, ...],
    pad: float | None = None,
    **more: Any,
) -> Case:
    attributes: dict[str, Any] = {"index_map": affine_map(function, operand.ndim)}
    if pad is not None:
        attributes["pad_value"] = pad
    reference = transformed(function, shape, pad or 0)
    return Case("layout_transform", [operand], reference, attributes, **more)


def _layout_cases() -> list[Case]:
    x = random((5, 6))
    cases = [
        layout_case(lambda i, j: (j, i), x, (6, 5)),
        layout_case(lambda i, j: (i, j // 4, j % 4), x, (5, 2, 4)),
        layout_case(lambda i, j: (i, j // 4, j % 4), x, (5, 2, 4), 7.5),
        layout_case(lambda i, j: (i // 2, j // 3, i % 2, j % 3), x, (3, 2, 2, 3), -1.0),
        layout_case(lambda i, j: (i * 6 + j,), x, (30,)),
        layout_case(lambda i: (i // 16, i % 16), random((3,), "int8"), (1, 16), 9),
        layout_case(lambda i: (i // 4, i % 4), random((0,)), (0, 4)),
        layout_case(
            lambda n, c, h, w: (n, c // 2, h, w, c % 2),
            random((2, 5, 3, 1), "float16"),
            (2, 3, 3, 1, 2),
        ),
        layout_case(lambda i: (i, i), random((4,), "bool"), (4, 4), 1),
    ]

    def symbolic(x: np.ndarray) -> np.ndarray:
        padded = np.zeros((-(-len(x) // 4) * 4, 3), "float32")
        padded[: len(x)] = x
        return padded.reshape(-1, 4, 3).transpose(0, 2, 1).copy()

    calls = [[random((n, 3))] for n in (0, 1, 4, 9)]
    index_map = affine_map(lambda i, j: (i // 4, j, i % 4), 2)
    cases.append(
        Case("layout_transform", calls[1], symbolic, {"index_map": index_map}, {0: ("n", 3)},
             calls=calls)
    )  # fmt: skip
    return cases


def attend(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    starts_q: np.ndarray,
    _: np.ndarray,
    starts_k: np.ndarray | None = None,
    __: np.ndarray | None = None,
    *,
    mask: str | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Each sequence by itself."""
    starts_k = starts_q if starts_k is None else starts_k
    out = np.zeros((1, q.shape[1], q.shape[2], v.shape[3]), "float64")
    factor = 1 / np.sqrt(q.shape[3]) if scale is None else scale
    for n in range(len(starts_q) - 1):
        rows = slice(starts_q[n], starts_q[n + 1])
        columns = slice(starts_k[n], starts_k[n + 1])
        scores = np.einsum("ihd,jhd->hij", q[0, rows], k[0, columns]).astype("float64") * factor
        i, j = np.indices(scores.shape[1:])
        if mask is not None:
            shift = scores.shape[2] - scores.shape[1] if mask == "BottomRight" else 0
            scores = np.where(j <= i + shift, scores, -np.inf)
        if not scores.shape[2]:
            continue
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out[0, rows] = np.einsum("hij,jhd->ihd", weights, v[0, columns])
    return out.astype(q.dtype)


def _attention_cases() -> list[Case]:
    q, k, v = random((1, 9, 2, 4)), random((1, 11, 2, 4)), random((1, 11, 2, 3))
    same, longest = np.array([0, 4, 4, 9], "int32"), np.array([5], "int32")
    other = np.array([0, 6, 6, 11], "int32")
    short = ([0, 1, 1, 2], [1])
    whole = [q, q, q[..., :3].copy(), same, longest]
    both = [q, k, v, same, longest, other, longest]
    name = "nn.attention_var_len"

    def masked(mask: str) -> Callable[..., np.ndarray]:
        return lambda *arrays: attend(*arrays, mask=mask)

    def scaled(*arrays: np.ndarray) -> np.ndarray:
        return attend(*arrays, scale=0.25)

    return [
        Case(name, whole, attend),
        Case(name, both, attend),
        Case(name, both, scaled, {"scale": 0.25}),
        Case(name, whole, masked("TopLeft"), {"causal_mask": "TopLeft"}),
        Case(name, both, masked("BottomRight"), {"causal_mask": "BottomRight"}),
        Case(
            name, whole, attend, {}, {0: (1, "n", 2, 4), 1: (1, "n", 2, 4), 2: (1, "n", 2, 3)},
            calls=[[*(a[:, :2].copy() for a in whole[:3]), *(np.array(n, "int32") for n in short)]],
        ),
    ]  # fmt: skip


LAYOUTS = Program([*_layout_cases(), *_attention_cases()])


@pytest.mark.parametrize("case", LAYOUTS.cases, ids=repr)
def test_layouts(case: Case) -> None:
    LAYOUTS.check(case)
