"""Operators without kernels: inspecting tensors, explicit memory, printing and assertions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Effects:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("double"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def inspect(x: R.Tensor(("n", 5), "float16")):
        ndim = R.inspect.tensor_ndim(x)
        code = R.inspect.tensor_dtype_code(x)
        bits = R.inspect.tensor_dtype_bits(x)
        lanes = R.inspect.tensor_dtype_lanes(x)
        rows = R.inspect.tensor_shape_i(x, 0)
        stride = R.inspect.tensor_stride_i(x, 0)
        offset = R.inspect.tensor_byte_offset(x)
        element = R.inspect.tensor_elem_offset(x)
        return (ndim, code, bits, lanes, rows, stride, offset, element)

    @R.function(pure=False)
    def memory(x: R.Tensor((4,), "float32")):
        cls = Effects
        storage = R.memory.alloc_storage(R.shape([16]), 0, "global", "uint8")
        y = R.memory.alloc_tensor(storage, 0, R.shape([4]), dtype="float32")
        cls.double(x, y)
        z = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        cls.double(y, z)
        _ = R.memory.kill_tensor(y)
        _1 = R.memory.kill_storage(storage)
        return z

    @R.function(pure=False)
    def show(x: R.Tensor((2,), "float32")):
        _ = R.print(x, format="x = {}")
        return x

    @R.function(pure=False)
    def claim(x: R.Tensor((), "bool"), y: R.Tensor((2,), "float32")):
        _ = R.assert_op(x, y, format="y is {}")
        return y

    @R.function(pure=False)
    def plain_claim(x: R.Tensor((), "bool")):
        _ = R.assert_op(x, format="x must hold")
        return x

    @R.function
    def places(x: R.Tensor((2,), "float32")):
        return R.hint_on_device(R.memory.ensure_zero_offset(x), "llvm")


@cache
def machine() -> Any:
    return relax.VirtualMachine(relax_mlir.compile(Effects, "llvm"), relax_mlir.cpu())


def test_inspect() -> None:
    got = machine()["inspect"](np.zeros((3, 5), "float16"))
    assert [int(v) for v in got] == [2, 2, 16, 1, 3, 5, 0, 0]


def test_explicit_memory() -> None:
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(machine()["memory"](x).numpy(), 4 * x)


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    machine()["show"](np.array([1, 2], "float32"))
    assert capsys.readouterr().out == "x = [1. 2.]\n"


def test_assertions() -> None:
    y = np.array([1, 2], "float32")
    np.testing.assert_array_equal(machine()["claim"](np.array(True), y).numpy(), y)
    with pytest.raises(AssertionError, match=r"y is \[1\. 2\.\]"):
        machine()["claim"](np.array(False), y)
    assert machine()["plain_claim"](np.array(True)).numpy()
    with pytest.raises(AssertionError, match="x must hold"):
        machine()["plain_claim"](np.array(False))


def test_placed_values_are_the_same() -> None:
    x = np.array([1, 2], "float32")
    np.testing.assert_array_equal(machine()["places"](x).numpy(), x)
