"""Sizes that types leave open are settled at run time: compared, or broadcast; never overrun."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import CompileError
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Sizes:
    @R.function
    def chain(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 4), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.relu(R.multiply(a, x))
            R.output(b)
        return b

    @R.function
    def matmul(x: R.Tensor(("n", "k"), "float32"), y: R.Tensor(("l", 4), "float32")):
        return R.matmul(x, y)

    @R.function
    def batches(x: R.Tensor(("n", 3, 4), "float32"), y: R.Tensor(("m", 4, 5), "float32")):
        return R.matmul(x, y)

    @R.function
    def choice(
        c: R.Tensor(("b", 1), "bool"), x: R.Tensor(("n",), "int32"), y: R.Tensor(("m",), "int32")
    ):
        return R.where(c, x, y)

    @R.function
    def concat(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m", 3), "float32")):
        return R.concat((x, y), axis=1)

    @R.function
    def reshape(x: R.Tensor(("n", 6), "float32"), y: R.Tensor(("m",), "float32")):
        m = T.int64()
        return R.reshape(x, R.shape([m, 3]))

    @R.function
    def bias(x: R.Tensor(("n", "c"), "float32"), gamma: R.Tensor(("d",), "float32")):
        return R.nn.layer_norm(x, gamma, gamma, axes=[-1])

    @R.function
    def after(x: R.Tensor(("n",), "int64")):
        """What uses a result of unknown size learns its type."""
        with R.dataflow():
            places = R.add(R.nonzero(x), R.const(1, "int64"))
            chosen = R.take(x, R.reshape(places, R.shape([-1])), mode="clip")
            R.output(chosen)
        return chosen

    @R.function
    def huge(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.zeros(R.shape([n * 100000000000]), "float32")

    @R.function
    def huge_inside(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            zeros = R.zeros(R.shape([n * 100000000000]), "float32")
            total = R.sum(zeros)
            R.output(total)
        return total


@cache
def machine() -> Any:
    return relax.VirtualMachine(relax_mlir.compile(Sizes, "llvm"), relax_mlir.cpu())


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return (values > 0) if dtype == "bool" else (values * 10).astype(dtype)


REFERENCES: dict[str, Any] = {
    "chain": lambda x, y: np.maximum((x + y) * x, 0),
    "matmul": np.matmul,
    "batches": np.matmul,
    "choice": np.where,
    "concat": lambda x, y: np.concatenate([x, y], 1),
    "reshape": lambda x, y: x.reshape(-1, 3),
}

FITTING = [
    ("chain", (3, 4), (3, 4)),
    ("chain", (1, 4), (3, 4)),
    ("chain", (3, 4), (1, 4)),
    ("chain", (0, 4), (1, 4)),
    ("matmul", (3, 5), (5, 4)),
    ("batches", (1, 3, 4), (6, 4, 5)),
    ("batches", (6, 3, 4), (6, 4, 5)),
    ("concat", (3, 4), (3, 3)),
    ("reshape", (2, 6), (4,)),
]


@pytest.mark.parametrize(("name", "first", "second"), FITTING)
def test_sizes_that_fit(name: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    x, y = draw(*first), draw(*second)
    expected = REFERENCES[name](x, y)
    np.testing.assert_allclose(machine()[name](x, y).numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("b", "n", "m"), [(2, 3, 3), (1, 1, 3), (2, 3, 1), (1, 1, 1), (2, 0, 1)])
def test_three_operands_broadcast(b: int, n: int, m: int) -> None:
    given = draw(b, 1, dtype="bool"), draw(n, dtype="int32"), draw(m, dtype="int32")
    np.testing.assert_array_equal(machine()["choice"](*given).numpy(), np.where(*given))


CLASHING = [
    ("chain", (3, 4), (2, 4), r"sizes do not broadcast: .*m\): expected 3 \(= n\) or 1, got 2"),
    ("matmul", (3, 5), (4, 4), r"\(= k\): expected 4 \(= l\), got 5"),
    ("batches", (3, 3, 4), (6, 4, 5), r"expected 3 \(= n\) or 1, got 6"),
    ("concat", (3, 4), (1, 3), r"\(= n\): expected 1 \(= m\), got 3"),
    ("reshape", (2, 6), (5,), r"\(= n \* 6\): expected 15 \(= m \* 3\), got 12"),
    ("bias", (2, 5), (4,), r"expected 4 \(= d\), got 5"),
]


@pytest.mark.parametrize(("name", "first", "second", "message"), CLASHING)
def test_sizes_that_clash(
    name: str, first: tuple[int, ...], second: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        machine()[name](draw(*first), draw(*second))


def test_what_follows_a_size_that_depends_on_values() -> None:
    x = np.array([0, 2, 0, 3, 1])
    expected = x[np.clip(np.nonzero(x)[0] + 1, 0, 4)]
    np.testing.assert_array_equal(machine()["after"](x).numpy(), expected)


@pytest.mark.parametrize("name", ["huge", "huge_inside"])
def test_memory_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(MemoryError, match="cannot allocate"):
        machine()[name](draw(100000))


def test_buffers_beyond_the_address_space_are_refused() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.zeros(R.shape([1000000000000, 1000000]), "float32")

    with pytest.raises(CompileError, match="4000000000000000000 bytes"):
        relax_mlir.compile(Module, "llvm")


@T.prim_func
def reads_outside(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("shift"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi + 2]


@T.prim_func
def writes_outside(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i, j in T.grid(2, 3):
        with T.block("fold"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 3 + vj] = A[vi]


@T.prim_func
def too_large(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((1000000000000, 1000000), "float32")
    for i in range(4):
        with T.block("copy"):
            vi = T.axis.spatial(4, i)
            C[vi, 0] = A[vi]
    for i in range(4):
        with T.block("back"):
            vi = T.axis.spatial(4, i)
            B[vi] = C[vi, 0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (reads_outside, "block 'shift' reads buffer 'A' outside: index 0 goes from 2 to 5"),
        (writes_outside, "block 'fold' writes buffer 'B' outside: index 0 goes from 0 to 5"),
        (too_large, r"buffer 'C' of shape \(1000000000000, 1000000\) takes 4000000000000000000"),
    ],
)
def test_programs_that_cannot_run_are_refused(function: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        relax_mlir.compile(function, "llvm")


@T.prim_func
def guarded(A: T.Buffer((4,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("pad"):
            vi = T.axis.spatial(6, i)
            B[vi] = T.if_then_else(vi < 4, A[vi], T.float32(0))


def test_accesses_under_a_condition_are_left() -> None:
    x, out = draw(4), np.empty(6, "float32")
    relax_mlir.compile(guarded, "llvm")["guarded"](x, out)
    np.testing.assert_array_equal(out, [*x, 0, 0])
