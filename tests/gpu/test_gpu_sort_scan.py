"""Sorts and scans, whose lines the threads of a block share: against numpy, in several orders of
threads, with the emulator's checks for races."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.runtime import emulator
from relax_mlir.script import from_source
from tests.gpu.ptxas import assemble

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")

DEVICE = relax_mlir.device("cuda-emu")
RNG = np.random.default_rng(3)


def compiled(expression: str, shape: str, dtype: str, arch: str = "sm_80") -> Any:
    module = from_source(
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f'    def main(x: R.Tensor({shape}, "{dtype}")):\n'
        f"        lv = {expression}\n        return lv\n"
    )
    return relax_mlir.compile(module, target={"kind": "cuda", "arch": arch})


def results(expression: str, x: np.ndarray, shape: str = "") -> list[np.ndarray]:
    """What the expression of `x` is, the same in three orders of the threads."""
    program = compiled(expression, shape or str(x.shape), str(x.dtype))
    main = relax.VirtualMachine(program, DEVICE)["main"]
    found: list[list[np.ndarray]] = []
    for order in ("forward", "reverse", "random"):
        with emulator.options(order=order, seed=5):
            made = main(relax_mlir.runtime.tensor(x, DEVICE))
        found.append([y.numpy() for y in ([made] if hasattr(made, "numpy") else made)])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
    return found[0]


def launches(program: Any) -> str:
    return program.mod.code.device_code.text()


# -- sorting -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, shape",
    [("float32", (3, 100)), ("int8", (4, 64)), ("int64", (2, 1)), ("float16", (1, 70))],
)
def test_sort(dtype: str, shape: tuple[int, ...]) -> None:
    x = RNG.integers(0, 50, shape).astype(dtype)
    (up,) = results("R.sort(x, axis=-1, descending=False)", x)
    np.testing.assert_array_equal(up, np.sort(x, -1))
    (down,) = results("R.sort(x, axis=-1, descending=True)", x)
    np.testing.assert_array_equal(down, np.sort(x, -1)[:, ::-1])


def test_equal_elements_keep_their_order() -> None:
    x = RNG.integers(0, 5, (3, 130)).astype("float32")
    (order,) = results('R.argsort(x, axis=-1, descending=False, dtype="int32")', x)
    np.testing.assert_array_equal(order, np.argsort(x, -1, kind="stable"))


def test_nan_is_the_largest() -> None:
    x = np.array([[3, np.nan, -np.inf, 0, -0.0, np.inf, -1, np.nan]], "float32")
    (up,) = results("R.sort(x, axis=-1, descending=False)", x)
    np.testing.assert_array_equal(up, np.sort(x, -1))
    # Equal zeros stay as they were, signs included.
    np.testing.assert_array_equal(np.signbit(up[0, 2:4]), [False, True])


@pytest.mark.parametrize("axis", [0, 1])
def test_sort_along_other_axes(axis: int) -> None:
    x = RNG.integers(-30, 30, (5, 7, 3)).astype("int32")
    (up,) = results(f"R.sort(x, axis={axis}, descending=False)", x)
    np.testing.assert_array_equal(up, np.sort(x, axis))


@pytest.mark.slow
def test_lines_longer_than_a_chunk() -> None:
    """Several kernels, with keys in the device's memory between them."""
    x = RNG.standard_normal((2, 5000)).astype("float32")
    values, order = results("R.topk(x, k=9, largest=True)", x)
    expected = np.argsort(-x, -1, kind="stable")[:, :9]
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))
    (up,) = results("R.sort(x, axis=-1, descending=False)", x)
    np.testing.assert_array_equal(up, np.sort(x, -1))


@pytest.mark.parametrize("k, kind", [(1, "values"), (7, "indices"), (-1, "both")])
def test_topk(k: int, kind: str) -> None:
    x = RNG.permutation(66).reshape(2, 33).astype("float32")
    found = results(f'R.topk(x, k={k}, largest=False, ret_type="{kind}")', x)
    order = np.argsort(x, -1)[:, : k if k > 0 else 33]
    expected = {"values": np.take_along_axis(x, order, -1), "indices": order}
    for result, name in zip(found, [kind] if kind in expected else expected, strict=True):
        np.testing.assert_array_equal(result, expected[name])


@pytest.mark.parametrize("size", [1, 2, 3, 33, 300])
def test_lines_of_unknown_size(size: int) -> None:
    """A block of threads each, without a power of two of elements."""
    x = RNG.integers(0, 20, (2, size)).astype("float32")
    (up,) = results("R.sort(x, axis=-1, descending=False)", x, '("m", "n")')
    np.testing.assert_array_equal(up, np.sort(x, -1))
    (order,) = results('R.argsort(x, axis=-1, descending=False, dtype="int32")', x, '("m", "n")')
    np.testing.assert_array_equal(order, np.argsort(x, -1, kind="stable"))


def test_topk_of_unknown_size() -> None:
    x = RNG.permutation(80).reshape(40, 2).astype("int32")
    values, order = results("R.topk(x, k=3, axis=0, largest=True)", x, '("n", 2)')
    expected = np.argsort(-x, 0)[:3]
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 0))
    text = launches(compiled("R.topk(x, k=3, axis=0)", '("n", 2)', "int32"))
    assert "known_block_size = array<i32: 256, 1, 1>" in text
    assemble(compiled("R.sort(x)", '("m", "n")', "float32").mod.code.device_code.ptx(), "sm_80")


def test_all_threads_sort() -> None:
    text = launches(compiled("R.sort(x, axis=-1)", "(64, 1000)", "float32"))
    assert (
        "known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 64, 1, 1>" in text
    )
    # Before the first step, at the end of each, and of each stage: not one for every step.
    assert 1 < text.count("gpu.barrier") < 6


# -- scans -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, dtype", [((3, 100), "float32"), ((2, 257), "int32"), ((4, 1), "int32")]
)
def test_cumsum(shape: tuple[int, ...], dtype: str) -> None:
    x = RNG.integers(-20, 20, shape).astype(dtype)
    (found,) = results("R.cumsum(x, axis=-1)", x)
    np.testing.assert_array_equal(found, np.cumsum(x, -1))


@pytest.mark.parametrize("axis", [0, 1])
def test_cumsum_across_rows(axis: int) -> None:
    x = RNG.integers(-20, 20, (3, 7, 5)).astype("float32")
    (found,) = results(f"R.cumsum(x, axis={axis})", x)
    np.testing.assert_array_equal(found, np.cumsum(x, axis))


def test_exclusive_products() -> None:
    x = RNG.integers(1, 3, (2, 40)).astype("int64")
    (found,) = results("R.cumprod(x, axis=-1, exclusive=True)", x)
    expected = np.concatenate([np.ones((2, 1), int), np.cumprod(x, -1)[:, :-1]], 1)
    np.testing.assert_array_equal(found, expected)


def test_flat_and_converted_sums() -> None:
    x = RNG.integers(0, 100, (3, 50)).astype("int8")
    (found,) = results('R.cumsum(x, dtype="int32")', x)
    np.testing.assert_array_equal(found, np.cumsum(x, dtype="int32"))


@pytest.mark.parametrize("size", [1, 300])
def test_cumsum_of_unknown_size(size: int) -> None:
    x = RNG.integers(-9, 9, (2, size)).astype("float32")
    (found,) = results("R.cumsum(x, axis=-1)", x, '("m", "n")')
    np.testing.assert_array_equal(found, np.cumsum(x, -1))


def test_constants_are_sorted_and_summed_when_compiling() -> None:
    """By functions for the CPU: threads there do not wait for each other."""
    module = from_source(
        "@I.ir_module\nclass Module:\n    @R.function\n"
        '    def main(x: R.Tensor((3,), "float32")):\n'
        '        c = R.const([3.0, 1.0, 2.0], "float32")\n'
        "        lv = R.add(x, R.cumsum(R.sort(c, axis=0), axis=0))\n        return lv\n"
    )
    program = relax_mlir.compile(module, target="cuda")
    assert "shared" not in launches(program) and "workgroup" not in launches(program)
    main = relax.VirtualMachine(program, DEVICE)["main"]
    found = main(relax_mlir.runtime.tensor(np.zeros(3, "float32"), DEVICE)).numpy()
    np.testing.assert_array_equal(found, [1, 3, 6])


# -- what becomes of them ----------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("expression", ["R.sort(x, axis=-1)", "R.cumsum(x, axis=-1)"])
def test_they_assemble_without_spills(expression: str, arch: str) -> None:
    code = compiled(expression, "(4, 5000)", "float32", arch).mod.code.device_code
    used = assemble(code.ptx(), arch)
    assert used and all((k.spills, k.stack) == (0, 0) for k in used.values())
