"""Operators that rearrange, select, place and make elements, and products, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exec.operator_cases import Case, Program, random


def _rearranging_cases() -> list[Case]:
    x = random((2, 3, 4))
    rows = [[random((n, 6))] for n in (0, 1, 5)]
    n6 = {0: ("n", 6)}
    cases = [
        Case("permute_dims", [x], lambda x: x.transpose()),
        Case("permute_dims", [x], lambda x: x.transpose(1, 2, 0), {"axes": [1, -1, 0]}),
        Case("permute_dims", rows[2], lambda x: x.T, {}, n6, calls=rows),
        Case("permute_dims", [random((37, 53))], lambda x: x.T),
        Case("reshape", [x, (6, 4)], lambda x, s: x.reshape(s)),
        Case("reshape", [x, (-1, 8)], lambda x, s: x.reshape(s)),
        Case("reshape", [x, (0, -1)], lambda x, s: x.reshape(2, 12)),
        Case("reshape", [x, (2, 2, 2, 3)], lambda x, s: x.reshape(s)),
        Case("reshape", [random((0, 4)), (2, 0)], lambda x, s: x.reshape(s)),
        Case("flatten", [x], lambda x: x.reshape(-1)),
        Case("flatten", rows[1], lambda x: x.reshape(-1), {}, n6, calls=rows),
        Case("flatten", [random(())], lambda x: x.reshape(-1)),
        Case("nn.batch_flatten", [x], lambda x: x.reshape(2, 12)),
        Case("expand_dims", [x], lambda x: np.expand_dims(x, (0, -1)), {"axis": [0, -1]}),
        Case("expand_dims", [random(())], lambda x: np.expand_dims(x, 0), {"axis": 0}),
        Case("squeeze", [random((1, 4, 1))], lambda x: x.reshape(4)),
        Case("squeeze", [random((1, 4, 1))], lambda x: x.reshape(1, 4), {"axis": [-1]}),
        Case("squeeze", [random((3, 4))], lambda x: x, {"axis": [0]}),
        Case("broadcast_to", [random((3, 1)), (2, 3, 5)], np.broadcast_to),
        Case("broadcast_to", [random(()), (4,)], np.broadcast_to),
        Case(
            "concat",
            [[random((2, 3)), random((1, 3)), random((4, 3))]],
            lambda xs: np.concatenate(xs, 0),
        ),
        Case(
            "concat",
            [[random((2, 3)), random((2, 0)), random((2, 2))]],
            lambda xs: np.concatenate(xs, 1),
            {"axis": -1},
        ),
        Case("concat", [[random((3,)), random((4,))]], np.concatenate, {"axis": None}),
        Case("stack", [[random((2, 3)), random((2, 3))]], lambda xs: np.stack(xs, 1), {"axis": 1}),
        Case(
            "stack", [[random((2, 3)), random((2, 3))]], lambda xs: np.stack(xs, -1), {"axis": -1}
        ),
        Case("split", [random((6, 4))], lambda x: np.split(x, 3), {"indices_or_sections": 3}),
        Case(
            "split", [random((10, 4))], lambda x: (x[:4], x[4:8], x[8:]), {"indices_or_sections": 3}
        ),
        Case(
            "split",
            [random((5, 10))],
            lambda x: np.split(x, [2, 5], 1),
            {"indices_or_sections": [2, 5], "axis": 1},
        ),
        Case("repeat", [x], lambda x: np.repeat(x, 3), {"repeats": 3}),
        Case("repeat", [x], lambda x: np.repeat(x, 2, 1), {"repeats": 2, "axis": 1}),
        Case("tile", [x], lambda x: np.tile(x, (2, 1, 3)), {"repeats": [2, 1, 3]}),
        Case("tile", [random((3,))], lambda x: np.tile(x, (2, 2)), {"repeats": [2, 2]}),
        Case("flip", [x], lambda x: np.flip(x, 1), {"axis": 1}),
        Case("flip", rows[2], lambda x: np.flip(x, 0), {"axis": 0}, n6, calls=rows),
        Case(
            "meshgrid",
            [[random((3,)), random((4,))]],
            lambda xs: [g.copy() for g in np.meshgrid(*xs, indexing="ij")],
        ),
        Case("collapse_sum_to", [x, (3, 1)], lambda x, s: x.sum((0, 2)).reshape(3, 1)),
        Case("collapse_sum_like", [x, random((1, 4))], lambda x, t: x.sum((0, 1)).reshape(1, 4)),
        Case("nn.pixel_shuffle", [random((2, 8, 3, 2))], _pixel_shuffle, {"upscale_factor": 2}),
        Case(
            "reverse_sequence",
            [random((4, 3)), np.array([1, 4, 2], "int64")],
            _reverse_sequence,
            {"seq_axis": 0, "batch_axis": 1},
        ),
    ]
    for mode, name in (
        ("constant", "constant"),
        ("reflect", "reflect"),
        ("replicate", "edge"),
        ("circular", "wrap"),
    ):
        cases.append(
            Case(
                "nn.pad",
                [random((4, 5))],
                lambda x, m=name: np.pad(x, ((1, 2), (0, 3)), m),
                {"pad_width": [1, 2, 0, 3], "pad_mode": mode},
            )
        )
    padded = {"pad_width": [0, 1, 2, 0], "pad_value": 1.5}
    cases.append(
        Case(
            "nn.pad",
            rows[1],
            lambda x: np.pad(x, ((0, 1), (2, 0)), constant_values=1.5),
            padded,
            n6,
            calls=rows,
        )
    )
    return cases  # fmt: skip


def _pixel_shuffle(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    blocks = x.reshape(n, c // 4, 2, 2, h, w)
    return blocks.transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, h * 2, w * 2)


def _reverse_sequence(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    out = x.copy()
    for column, length in enumerate(lengths):
        out[:length, column] = x[:length, column][::-1]
    return out


def _selecting_cases() -> list[Case]:
    x = random((5, 6, 4))
    index = np.array([[0, 4], [2, 1]], "int32")
    rows = [[random((n, 3)), np.array([0, n - 1], "int64")] for n in (1, 2, 9)]
    small = random((4, 5))
    at = np.array([[0, 2, 1, 0, 3]], "int64")
    cases = [
        Case("take", [x, index], lambda x, i: np.take(x, i, 0), {"axis": 0}),
        Case("take", [x, index], lambda x, i: np.take(x, i, -1 + 2), {"axis": 1}),
        Case("take", [random((7,)), index], np.take),
        Case("take", [x, 3], lambda x, i: x[:, 3], {"axis": 1}),
        Case("take", rows[1], lambda x, i: x[i], {"axis": 0}, {0: ("n", 3)}, calls=rows),
        Case(
            "take",
            [random((4,)), np.array([-5, 9, 1], "int32")],
            lambda x, i: np.take(x, i, mode="wrap"),
            {"mode": "wrap"},
        ),
        Case(
            "take",
            [random((4,)), np.array([-5, 9, 1], "int32")],
            lambda x, i: np.take(x, i, mode="clip"),
            {"mode": "clip"},
        ),
        Case(
            "take",
            [random((4,)), np.array([1, 9, 2], "int32")],
            lambda x, i: np.where(i < 4, x[np.minimum(i, 3)], np.nan).astype("float32"),
            {"mode": "nan"},
        ),
        Case(
            "take",
            [random((4,)), np.array([-5, 2**30, 1], "int32")],
            lambda x, i: np.take(x, i, mode="clip"),
        ),
        Case("strided_slice", [x, (0, 1), (1, 0), (5, 6), (2, 3)], lambda x, *_: x[1:5:2, 0:6:3]),
        Case("strided_slice", [x, (1,), (-1,), (-7,), (-2,)], lambda x, *_: x[:, ::-2]),
        Case("strided_slice", [x, (-1,), (2,), (100,)], lambda x, *_: x[:, :, 2:]),
        Case("strided_slice", [x, (0,), (4,), (2,)], lambda x, *_: x[4:2]),
        Case(
            "strided_slice",
            [*rows[0][:1], (0,), (1,), ("n",)],
            lambda x, *_: x[1:],
            {},
            {0: ("n", 3)},
            calls=[[r[0], (0,), (1,), ("n",)] for r in rows],
        ),
        Case("gather_elements", [small, at], lambda x, i: np.take_along_axis(x, i, 0)),
        Case(
            "gather_elements",
            [small, np.array([[0, -1], [2, 1], [4, 0], [1, 1]], "int64")],
            lambda x, i: np.take_along_axis(x, i, 1),
            {"axis": 1},
        ),
        Case(
            "gather_nd",
            [x, np.array([[0, 1], [4, 5], [2, 3]], "int64")],
            lambda x, i: x[i[:, 0], i[:, 1]],
        ),
        Case(
            "gather_nd",
            [random((2, 3, 4)), np.array([[[2]], [[0]]], "int64")],
            lambda x, i: np.stack([x[b][i[b, :, 0]] for b in range(2)]),
            {"batch_dims": 1},
        ),
        Case(
            "index_tensor",
            [x, [np.array([[0], [2]], "int64"), np.array([1, 5], "int64")]],
            lambda x, i: x[i[0], i[1]],
        ),
        Case(
            "one_hot",
            [np.array([0, 2, 1], "int32"), 5, 1],
            lambda i, on, off: np.where(np.eye(4, dtype="int64")[i] == 1, on, off),
            {"depth": 4},
        ),
        Case(
            "one_hot",
            [np.array([[0, 2]], "int64"), 1.0, 0.0],
            lambda i, *_: np.eye(3, dtype="float32")[i].transpose(0, 2, 1),
            {"depth": 3, "axis": 1},
        ),
        Case("slice_scatter", [random((8, 4)), random((3, 4)), 1, 7, 2], _slice_scatter),
    ]
    return cases  # fmt: skip


def _slice_scatter(x: np.ndarray, source: np.ndarray, *_: Any) -> np.ndarray:
    out = x.copy()
    out[1:7:2] = source
    return out


def _making_cases() -> list[Case]:
    two = np.array(2.5, "float32")
    x = random((3, 4))
    return [
        Case("full", [(2, 3), two], lambda s, v: np.full(s, v), constants=[1]),
        Case("full", [(2, 3), two], lambda s, v: np.full(s, v)),
        Case("full", [(2,), two], lambda s, v: np.full(s, 2, "int32"), {"dtype": "int32"},
             constants=[1]),
        Case("full_like", [x, two], np.full_like, constants=[1]),
        Case("zeros", [(2, 0, 3)], lambda s: np.zeros(s, "float32"), {"dtype": "float32"}),
        Case("zeros", [()], lambda s: np.zeros(s, "int64"), {"dtype": "int64"}),
        Case("ones", [(7,)], lambda s: np.ones(s, "float16"), {"dtype": "float16"}),
        Case("ones", [(7,)], lambda s: np.ones(s, "bool"), {"dtype": "bool"}),
        Case("ones_like", [x], np.ones_like),
        Case("zeros_like", [x], lambda x: np.zeros_like(x, "int8"), {"dtype": "int8"}),
        Case("eye", [3], lambda n: np.eye(3, dtype="float32")),
        Case("eye", [3, 5, -1], lambda *_: np.eye(3, 5, -1, "int32"), {"dtype": "int32"}),
        Case("eye_like", [x, 1], lambda x, k: np.eye(3, 4, 1, "float32")),
        Case("arange", [5], lambda n: np.arange(5)),
        Case("arange", [2, 11, 3], lambda *_: np.arange(2, 11, 3)),
        Case("arange", [9, 1, -2], lambda *_: np.arange(9, 1, -2)),
        Case("arange", [1, 5], lambda *_: np.arange(1, 5, dtype="float32"), {"dtype": "float32"}),
        Case("hamming_window", [7, 0, 0.54, 0.46],
             lambda n, *_: np.hamming(n).astype("float32")),
        Case("hamming_window", [8, 1, 0.5, 0.5],
             lambda *_: (0.5 - 0.5 * np.cos(np.arange(8) * np.pi / 4)).astype("float32")),
        Case("wrap_param", [x], lambda x: x.astype("float16"), {"dtype": "float16"}),
        Case("tril", [random((2, 4, 5))], np.tril),
        Case("tril", [random((4, 5)), -1], lambda x, k: np.tril(x, k)),
        Case("triu", [random((4, 5)), 1], lambda x, k: np.triu(x, k)),
        Case("triu", [np.array([[np.nan, 1], [np.inf, 2]], "float32")], np.triu),
        Case("shape_to_tensor", [(3, 4, 5)], lambda s: np.array(s, "int64")),
        Case("size", [x], lambda x: np.int64(12)),
        Case("size", [random((2, 3))], lambda x: np.int64(x.size), {}, {0: ("n", 3)},
             calls=[[random((0, 3))], [random((5, 3))]]),
    ]  # fmt: skip


def _quantization_cases() -> list[Case]:
    scale = np.array([0.5, 0.25, 0.1], "float32")
    zero = np.array([0, 3, -4], "int8")
    data = random((4, 3), low=-20, high=20)

    def quantize(x: Any, s: Any, z: Any) -> np.ndarray:
        return np.clip(np.rint(x / s) + z, -128, 127).astype("int8")

    def dequantize(x: Any, s: Any, z: Any) -> np.ndarray:
        return ((x.astype("int32") - z) * s).astype("float32")

    levels = random((4, 3), "int8", -100, 100)
    single = [np.array(0.5, "float32"), np.array(2, "int8")]
    return [
        Case("quantize", [data, scale, zero], quantize),
        Case("quantize", [data, *single], quantize),
        Case("quantize", [data, *single], quantize, constants=[1]),
        Case("dequantize", [levels, scale, zero], dequantize),
        Case("dequantize", [levels, *single], dequantize),
    ]


def _product_cases() -> list[Case]:
    cases = [
        Case("matmul", [random((7, 13)), random((13, 5))], np.matmul),
        Case("matmul", [random((13,)), random((13,))], np.matmul),
        Case("matmul", [random((13,)), random((4, 13, 5))], np.matmul),
        Case("matmul", [random((4, 6, 13)), random((13,))], np.matmul),
        Case("matmul", [random((2, 1, 3, 4)), random((5, 4, 6))], np.matmul),
        Case("matmul", [random((3, 0)), random((0, 4))], np.matmul),
        Case("matmul", [random((1, 1)), random((1, 1))], np.matmul),
        Case("matmul", [random((65, 33)), random((33, 77))], np.matmul),
        Case("matmul", [random((5, 6), "float64"), random((6, 7), "float64")], np.matmul),
        Case("matmul", [random((5, 6), "int32", -9, 9), random((6, 7), "int32", -9, 9)], np.matmul),
        Case("matmul", [random((5, 6), "int8", -9, 9), random((6, 7), "int8", -9, 9)],
             lambda a, b: a.astype("int32") @ b.astype("int32"), {"out_dtype": "int32"}),
        Case("matmul", [random((5, 6), "float16"), random((6, 7), "float16")],
             lambda a, b: a.astype("float32") @ b.astype("float32"), {"out_dtype": "float32"}),
        Case("matmul", [random((5, 6), "float16"), random((6, 7), "float16")],
             lambda a, b: (a.astype("float32") @ b.astype("float32")).astype("float16"),
             tolerance=2e-2),
        Case("outer", [random((4,)), random((5,))], np.outer),
        Case("einsum", [[random((4, 5)), random((5, 6))]], lambda xs: np.einsum("ij,jk->ik", *xs),
             {"subscripts": "ij,jk->ik"}),
        Case("einsum", [[random((2, 4, 5))]], lambda xs: np.einsum("...ij->...ji", *xs).copy(),
             {"subscripts": "...ij->...ji"}),
        Case("einsum", [[random((4, 4))]], lambda xs: np.einsum("ii", *xs), {"subscripts": "ii"}),
        Case("einsum", [[random((2, 3)), random((3,)), random((2,))]],
             lambda xs: np.einsum("ij,j,i", *xs), {"subscripts": "ij,j,i"}),
    ]  # fmt: skip
    rows = [[random((n, 12)), random((12, 9))] for n in (0, 1, 3, 50)]
    cases.append(Case("matmul", rows[1], np.matmul, {}, {0: ("n", 12)}, calls=rows))
    inner = [[random((4, n)), random((n, 6))] for n in (1, 8, 31)]
    cases.append(Case("matmul", inner[0], np.matmul, {}, {0: (4, "n"), 1: ("n", 6)}, calls=inner))
    batches = [[random((n, 3, 4)), random((n, 4, 5))] for n in (1, 2, 5)]
    cases.append(
        Case("matmul", batches[0], np.matmul, {}, {0: ("n", 3, 4), 1: ("n", 4, 5)}, calls=batches)
    )
    return cases


REARRANGING = Program(_rearranging_cases())
SELECTING = Program(_selecting_cases())
MAKING = Program([*_making_cases(), *_quantization_cases()])
PRODUCTS = Program(_product_cases())


@pytest.mark.parametrize("case", REARRANGING.cases, ids=repr)
def test_rearranging(case: Case) -> None:
    REARRANGING.check(case)


@pytest.mark.parametrize("case", SELECTING.cases, ids=repr)
def test_selecting(case: Case) -> None:
    SELECTING.check(case)


@pytest.mark.parametrize("case", MAKING.cases, ids=repr)
def test_making(case: Case) -> None:
    MAKING.check(case)


@pytest.mark.parametrize("case", PRODUCTS.cases, ids=repr)
def test_products(case: Case) -> None:
    PRODUCTS.check(case)
