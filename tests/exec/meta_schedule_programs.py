"""Programs that the tests of the tuner schedule, with what numpy makes of them; a device that does
not exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.arg_info import ArgInfo, TensorInfo
from relax_mlir.meta_schedule.builder import BuilderInput, BuilderResult, PyBuilder
from relax_mlir.meta_schedule.runner import PyRunner, RunnerFuture, RunnerResult
from relax_mlir.meta_schedule.utils import normalize_mod
from relax_mlir.runtime import tensor
from relax_mlir.script import tir as T


@T.prim_func
def matmul_relu(
    A: T.Buffer((32, 24), "float32"),
    B: T.Buffer((24, 48), "float32"),
    D: T.Buffer((32, 48), "float32"),
):
    C = T.alloc_buffer((32, 48), "float32")
    for i, j, k in T.grid(32, 48, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 48):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def convolution(
    A: T.Buffer((10, 10, 4), "float32"),
    W: T.Buffer((3, 3, 4, 8), "float32"),
    B: T.Buffer((8, 8, 8), "float32"),
):
    for y, x, o, ky, kx, c in T.grid(8, 8, 8, 3, 3, 4):
        with T.block("conv"):
            vy, vx, vo, vky, vkx, vc = T.axis.remap("SSSRRR", [y, x, o, ky, kx, c])
            with T.init():
                B[vy, vx, vo] = T.float32(0)
            B[vy, vx, vo] = B[vy, vx, vo] + A[vy + vky, vx + vkx, vc] * W[vky, vkx, vc, vo]


@T.prim_func
def softmax(A: T.Buffer((6, 20), "float32"), B: T.Buffer((6, 20), "float32")):
    largest = T.alloc_buffer((6,), "float32")
    shifted = T.alloc_buffer((6, 20), "float32")
    total = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 20):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], A[vi, vk])
    for i, j in T.grid(6, 20):
        with T.block("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            shifted[vi, vj] = T.exp(A[vi, vj] - largest[vi])
    for i, k in T.grid(6, 20):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + shifted[vi, vk]
    for i, j in T.grid(6, 20):
        with T.block("norm"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = shifted[vi, vj] / total[vi]


@T.prim_func
def row_sum(A: T.Buffer((3, 96), "float32"), B: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 96):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def elementwise(
    A: T.Buffer((7, 30), "float32"), b: T.Buffer((30,), "float32"), D: T.Buffer((7, 30), "float32")
):
    C = T.alloc_buffer((7, 30), "float32")
    for i, j in T.grid(7, 30):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + b[vj]
    for i, j in T.grid(7, 30):
        with T.block("double"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)


def _convolution(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(0, 1))
    return np.einsum("yxcij,ijco->yxo", windows, weight)


def _softmax(a: np.ndarray) -> np.ndarray:
    shifted = np.exp(a - a.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Program:
    """A workload and its reference, from inputs to the output, which is the last argument."""

    mod: IRModule
    reference: Callable[..., np.ndarray]

    def inputs(self, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        infos = ArgInfo.from_entry_func(self.mod)
        shapes = [info.shape for info in infos if isinstance(info, TensorInfo)]
        return [rng.standard_normal(shape).astype("float32") for shape in shapes[:-1]]

    def check(self, function: Any, seed: int = 0, device: Any = None) -> None:
        """A compiled version computes what the reference does."""
        inputs = self.inputs(seed)
        expected = self.reference(*inputs)
        output = tensor(np.full(expected.shape, np.nan, "float32"), device)
        function(*[tensor(array, device) for array in inputs], output)
        np.testing.assert_allclose(output.numpy(), expected, rtol=2e-4, atol=2e-5)


PROGRAMS: dict[str, Program] = {
    "matmul_relu": Program(normalize_mod(matmul_relu), lambda a, b: np.maximum(a @ b, 0)),
    "convolution": Program(normalize_mod(convolution), _convolution),
    "softmax": Program(normalize_mod(softmax), _softmax),
    "row_sum": Program(normalize_mod(row_sum), lambda a: a.sum(axis=1)),
    "elementwise": Program(normalize_mod(elementwise), lambda a, b: (a + b) * 2),
}


class InventedTimes(PyBuilder, PyRunner):
    """Builds and runs nothing: `seconds` says how long a module would take, None that it fails."""

    def __init__(self, seconds: Callable[[str], float | None]) -> None:
        self.seconds = seconds
        self.scripts: list[str] = []
        self.runs: list[int] = []

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        results: list[BuilderResult] = []
        for item in build_inputs:
            self.scripts.append(item.mod.script())
            results.append(BuilderResult(f"/no/such/folder/{len(self.scripts) - 1}", None))
        return results

    def run(self, runner_inputs: Sequence[Any]) -> list[RunnerFuture]:
        numbers = [int(item.artifact_path.rpartition("/")[2]) for item in runner_inputs]
        self.runs += numbers
        return [self._future(self.seconds(self.scripts[number])) for number in numbers]

    def _future(self, seconds: float | None) -> RunnerFuture:
        result = RunnerResult(None, "broke") if seconds is None else RunnerResult([seconds], None)
        return RunnerFuture(lambda: True, lambda: result)


def is_plain(script: str) -> bool:
    """Whether a printed module has no schedule."""
    return "parallel" not in script and "unroll" not in script and "split" not in script
