"""Loops that run until something holds, with barriers inside: all threads must stop together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from relax_mlir.runtime.emulator import EmulatorError
from relax_mlir.script import tir as T
from relax_mlir.testing.mutations import kernel_operations, without_operation
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.ptxas import assemble

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")


@T.prim_func
def rotate(
    A: T.Buffer((64,), "float32"), N: T.Buffer((1,), "int32"), B: T.Buffer((64,), "float32")
):
    """Moves a row by one place N times; each thread counts for itself."""
    for t in T.thread_binding(64, "threadIdx.x"):
        s = T.alloc_buffer((64,), "float32", scope="shared")
        i = T.alloc_buffer((1,), "int32", scope="local")
        own = T.alloc_buffer((1,), "float32", scope="local")
        i[0] = 0
        s[t] = A[t]
        while i[0] < N[0]:
            own[0] = s[(t + 1) % 64] + 1.0
            s[t] = own[0]
            i[0] = i[0] + 1
        B[t] = s[t]


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_counted_loop(steps: int) -> None:
    a, b = np.arange(64, dtype="f"), np.zeros(64, "f")
    built = run_emulated(rotate, a.copy(), np.array([steps], "int32"), b)
    np.testing.assert_array_equal(b, np.roll(a, -steps) + steps)
    assert kernels(built).count("gpu.barrier") == 2
    assert assemble(kernels(built, "ptx"), "sm_80")["rotate_kernel"].spills == 0


def test_its_barriers_matter() -> None:
    program = relax_mlir.build(rotate, target="cuda")
    device = relax_mlir.device("cuda-emu")
    values: list[Any] = [np.arange(64, dtype="f"), np.array([3], "int32"), np.zeros(64, "f")]
    args = [relax_mlir.runtime.tensor(value, device) for value in values]
    for number in range(len(kernel_operations(program, "gpu.barrier"))):
        with pytest.raises(EmulatorError) as caught:
            without_operation(program, "gpu.barrier", number)(*args)
        assert caught.value.kind in ("race", "uninitialised")


def test_a_condition_in_shared_memory() -> None:
    """Halving until the largest is small: what the threads compare is read behind a barrier."""

    @T.prim_func
    def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        for t in T.thread_binding(32, "threadIdx.x"):
            largest = T.alloc_buffer((1,), "float32", scope="shared")
            x = T.alloc_buffer((1,), "float32", scope="local")
            x[0] = A[t]
            if t == 31:
                largest[0] = x[0]
            while largest[0] > 1.0:
                x[0] = x[0] * 0.5
                if t == 31:
                    largest[0] = x[0]
            B[t] = x[0]

    a, b = np.arange(1, 33, dtype="f"), np.zeros(32, "f")
    run_emulated(main, a.copy(), b)
    np.testing.assert_array_equal(b, a / 32)


def test_threads_that_stop_apart_cannot_wait() -> None:
    @T.prim_func
    def by_number(A: T.Buffer((64,), "float32")):
        for t in T.thread_binding(64, "threadIdx.x"):
            s = T.alloc_buffer((64,), "float32", scope="shared")
            i = T.alloc_buffer((1,), "int32", scope="local")
            i[0] = 0
            s[t] = A[t]
            while i[0] < t:
                s[t] = s[(t + 1) % 64]
                i[0] = i[0] + 1
            A[t] = s[t]

    @T.prim_func
    def by_a_store(A: T.Buffer((64,), "float32")):
        for t in T.thread_binding(64, "threadIdx.x"):
            s = T.alloc_buffer((64,), "float32", scope="shared")
            i = T.alloc_buffer((1,), "int32", scope="local")
            i[0] = 0
            if t < 3:
                i[0] = 2
            s[t] = A[t]
            while i[0] < 4:
                s[t] = s[(t + 1) % 64]
                i[0] = i[0] + 1
            A[t] = s[t]

    for program in (by_number, by_a_store):
        with pytest.raises(CompileError, match="a loop that differs between threads"):
            relax_mlir.build(program, target="cuda")
