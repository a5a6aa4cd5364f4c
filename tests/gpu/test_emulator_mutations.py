"""Compiled kernels from which a barrier or a condition is taken out: the emulator says so.

Barriers and conditions that cannot matter are listed: what is not in the list must be reported, in
every order of the threads, by an error that names the kernel and two threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.runtime import emulator
from relax_mlir.runtime.emulator import EmulatorError
from relax_mlir.runtime.executable import Executable
from relax_mlir.testing.mutations import (
    kernel_operations,
    without_condition,
    without_operation,
)
from tests.exec.test_tensor_cores import product
from tests.exec.test_tensor_cores import scheduled as for_tensor_cores
from tests.gpu.gpu_programs import scheduled, shared_matmul, vector_add
from tests.gpu.test_gpu_memory import two_phases
from tests.gpu.test_gpu_pipeline import pipelined
from tests.gpu.test_gpu_reduction import bound_row_sum, softmax
from tests.gpu.test_gpu_tensor_cores import cuda, wmma

DEVICE = relax_mlir.device("cuda-emu")
ORDERS = ("forward", "reverse", "random")


def bound_softmax(m: int, threads: int) -> Any:
    """Both reductions of a row and the division in one kernel, a block a row."""
    sch = scheduled(softmax(3, m))
    total, largest, out = (sch.get_block(name) for name in ("total", "largest", "B"))
    row, _ = sch.get_loops(out)
    for block in (total, largest):
        sch.compute_at(block, row)
        sch.set_scope(block, 0, "shared")
    for block in (total, largest, out):
        _, inner = sch.split(sch.get_loops(block)[-1], [None, threads])
        sch.bind(inner, "threadIdx.x")
    sch.bind(row, "blockIdx.x")
    return sch.mod


def tensor_cores() -> Any:
    """A product by mma.sync, with its factors in shared memory."""
    group = cuda.get_mma_intrin_group("shared", "global", "float16", "float32", False, False, False)
    program = product("float16", "float32", False, False)
    return for_tensor_cores(program, 16, group, False, False).mod


PROGRAMS: dict[str, tuple[Callable[[], Any], list[tuple[int, ...]]]] = {
    "matmul": (lambda: shared_matmul(32), [(32, 32)] * 3),
    "matmul float16": (lambda: shared_matmul(32, dtype="float16"), [(32, 32)] * 3),
    "two phases": (lambda: two_phases(256), [(256,)] * 2),
    "row sum, 96 threads": (lambda: bound_row_sum(2, 192, 96), [(2, 192), (2,)]),
    "row sum, 128 threads": (lambda: bound_row_sum(2, 256, 128), [(2, 256), (2,)]),
    "row sum, 24 threads": (lambda: bound_row_sum(2, 48, 24), [(2, 48), (2,)]),
    "softmax, 64 threads": (lambda: bound_softmax(128, 64), [(3, 128)] * 2),
    "softmax, 20 threads": (lambda: bound_softmax(50, 20), [(3, 50)] * 2),
    "pipeline": (lambda: pipelined((0, 0, 1)), [(32, 32)] * 3),
    "asynchronous pipeline": (lambda: pipelined((0, 0, 2), (0, 1, 2), (0,)), [(32, 32)] * 3),
    "reversed pipeline": (lambda: pipelined((0, 0, 1), (2, 1, 0), (0,)), [(32, 32)] * 3),
    "tensor cores, float16": (tensor_cores, [(64, 64)] * 3),
    "wmma, float16": (lambda: wmma(False), [(64, 64)] * 3),
}
HARMLESS: dict[tuple[str, str], set[int]] = {
    # Copies are issued behind the barrier that follows the wait for the ones before.
    ("reversed pipeline", "gpu.barrier"): {1},
}
"""Operations that change nothing when they are gone, by program and name."""
WAITS = ("gpu.barrier", "nvvm.cp.async.wait.group", "nvgpu.device_async_wait")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Executable]:
    return {}


def program_of(compiled: dict[str, Executable], name: str) -> Executable:
    if name not in compiled:
        compiled[name] = relax_mlir.build(PROGRAMS[name][0](), target="cuda")
    return compiled[name]


def arguments(program: Executable, name: str) -> list[Any]:
    rng = np.random.default_rng(4)
    shapes = PROGRAMS[name][1]
    dtypes = ["float16" if "float16" in name and i < 2 else "float32" for i in range(len(shapes))]
    return [
        relax_mlir.runtime.tensor(rng.standard_normal(shape).astype(dtype), DEVICE)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_barrier_and_wait_matters(compiled: dict[str, Executable], name: str) -> None:
    program = program_of(compiled, name)
    args = arguments(program, name)
    program(*args)
    assert kernel_operations(program, "gpu.barrier")
    for operation in WAITS:
        count = len(kernel_operations(program, operation))
        for number in set(range(count)) - HARMLESS.get((name, operation), set()):
            broken = without_operation(program, operation, number)
            for order in ORDERS:
                with pytest.raises(EmulatorError) as caught, emulator.options(order=order, seed=9):
                    broken(*args)
                assert caught.value.kind in ("race", "uninitialised"), (operation, number, order)
                assert caught.value.kernel.startswith("main")


def test_harmless_ones_are_harmless(compiled: dict[str, Executable]) -> None:
    for (name, operation), numbers in HARMLESS.items():
        program = program_of(compiled, name)
        for number in numbers:
            args, again = arguments(program, name), arguments(program, name)
            program(*args)
            without_operation(program, operation, number)(*again)
            np.testing.assert_array_equal(args[-1].numpy(), again[-1].numpy())


@pytest.mark.parametrize("name", PROGRAMS)
def test_correct_kernels_give_the_same_in_every_order(
    compiled: dict[str, Executable], name: str
) -> None:
    program = program_of(compiled, name)
    results = []
    for order in ORDERS:
        args = arguments(program, name)
        with emulator.options(order=order, seed=9):
            program(*args)
        results.append(args[-1].numpy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_a_condition_at_the_edge_matters() -> None:
    program = relax_mlir.build(vector_add(128), target="cuda")
    args = [relax_mlir.runtime.tensor(np.ones(300, np.float32), DEVICE) for _ in range(3)]
    program(*args)
    assert len(kernel_operations(program, "scf.if")) == 1
    with pytest.raises(EmulatorError) as caught:
        without_condition(program)(*args)
    error = caught.value
    assert error.kind == "out of bounds" and error.buffer == "A"
    assert error.accesses[0].thread == (44, 0, 0) and error.accesses[0].block == (2, 0, 0)
    assert "at index (300,), its shape is (?,)" in str(error)
    assert error.accesses[0].file.endswith("gpu_programs.py")
    assert "C[vi] = A[vi] + B[vi]" in str(error)


def test_mutations_say_what_is_missing() -> None:
    program = relax_mlir.build(vector_add(128), target="cuda")
    with pytest.raises(relax_mlir.Error, match=r"0 of gpu\.barrier, not 1"):
        without_operation(program, "gpu.barrier")
    with pytest.raises(relax_mlir.Error, match="result that is used"):
        without_operation(program, "gpu.thread_id")
    with pytest.raises(relax_mlir.Error, match="has no kernels"):
        without_operation(relax_mlir.build(vector_add(128), target="llvm"), "gpu.barrier")
