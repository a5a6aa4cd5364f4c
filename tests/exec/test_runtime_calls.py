"""TensorIR functions that call functions of C and registered functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.driver import build
from relax_mlir.relax import VirtualMachine
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Extern:
    @T.prim_func
    def main(A: T.Buffer((8,), "float64"), B: T.Buffer((8,), "float64")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.call_pure_extern("float64", "cbrt", A[vi])


@I.ir_module
class Packed:
    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = T.call_packed("test.calls.seen", A[vi], vi, "text")

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "int32"):
        cls = Packed
        out = R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((4,), "int32"))
        return out


def test_extern() -> None:
    x, y = np.arange(8, dtype="float64"), np.zeros(8)
    build(Extern)(x, y)
    np.testing.assert_allclose(y, np.cbrt(x))


def test_packed() -> None:
    calls: list[tuple[Any, ...]] = []

    def seen(*args: Any) -> int:
        calls.append(args)
        return 10 * args[1]

    relax_mlir.register_func("test.calls.seen", seen, override=True)
    x = np.arange(4, dtype="float32") / 2
    result = VirtualMachine(relax_mlir.compile(Packed), relax_mlir.cpu())["main"](x)
    assert result.numpy().tolist() == [0, 10, 20, 30]
    assert calls == [(x[i], i, "text") for i in range(4)]


def test_packed_errors_pass_through() -> None:
    def fail(*args: Any) -> int:
        raise KeyError(f"at {args[1]}")

    relax_mlir.register_func("test.calls.seen", fail, override=True)
    executable = relax_mlir.compile(Packed)
    x, y = np.zeros(4, "float32"), np.zeros(4, "int32")
    for call in (lambda: executable["main"](x), lambda: executable["kernel"](x, y)):
        with pytest.raises(KeyError, match="at "):
            call()
    relax_mlir.register_func("test.calls.seen", lambda *args: 7, override=True)
    executable["kernel"](x, y)  # nothing of the failure is left in the thread
    assert y.tolist() == [7] * 4


def test_missing_packed_function() -> None:
    relax_mlir.register_func("test.calls.seen", lambda *args: 7, override=True)
    relax_mlir.runtime.remove_global_func("test.calls.seen")
    with pytest.raises(ValueError, match=r"no function is registered as 'test\.calls\.seen'"):
        relax_mlir.compile(Packed)["main"](np.zeros(4, "float32"))
