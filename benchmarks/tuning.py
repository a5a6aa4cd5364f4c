"""`python -m benchmarks.tuning`: what tuning gains on functions that the compiler has kernels for,
and on some that it has none for, on one core.

Each function is tuned for `--trials` trials; then the function as it is and the tuned one run in
turn, round by round, in this process.  The table is that of docs/tutorials/meta_schedule.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import relax_mlir
from benchmarks.timing import interleaved
from relax_mlir import meta_schedule as ms
from relax_mlir.meta_schedule.arg_info import ArgInfo, TensorInfo
from relax_mlir.script import tir as T
from relax_mlir.tir import PrimFunc

N = 128


@T.prim_func
def product(
    A: T.Buffer((N, N), "float32"), B: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")
):
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def integer_product(
    A: T.Buffer((N, N), "int32"), B: T.Buffer((N, N), "int32"), C: T.Buffer((N, N), "int32")
):
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def longest_path(
    A: T.Buffer((N, N), "float32"), B: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")
):
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.min_value("float32")
            C[vi, vj] = T.max(C[vi, vj], A[vi, vk] + B[vk, vj])


@T.prim_func
def row_argmax(
    A: T.Buffer((N, 1024), "float32"), I: T.Buffer((N,), "int32"), V: T.Buffer((N,), "float32")
):
    for i, k in T.grid(N, 1024):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                V[vi] = T.min_value("float32")
            v_i: T.int32 = T.Select(V[vi] >= A[vi, vk], I[vi], vk)
            v_v: T.float32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            I[vi] = v_i
            V[vi] = v_v


FUNCTIONS: dict[str, PrimFunc] = {
    "product of float32 matrices": product,
    "product of int32 matrices": integer_product,
    "longest paths (max, +)": longest_path,
    "argmax and maximum of rows": row_argmax,
}


def caller(mod: Any, target: Any, function: PrimFunc) -> Callable[[], object]:
    """A call of the compiled function on arguments of its own."""
    rng = np.random.default_rng(0)
    arguments: list[Any] = []
    for info in ArgInfo.from_prim_func(function):
        assert isinstance(info, TensorInfo)
        values = rng.integers(0, 9, info.shape) if info.dtype == "int32" else rng.random(info.shape)
        arguments.append(relax_mlir.runtime.tensor(values.astype(info.dtype)))
    compiled = relax_mlir.compile(mod, target)["main"]
    return lambda: compiled(*arguments)


def row(name: str, function: PrimFunc, trials: int, rounds: int) -> str:
    """A line of the table."""
    target = relax_mlir.target.Target({"kind": "llvm", "num-cores": 1})
    quick = ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(1, 3, 5))
    with tempfile.TemporaryDirectory() as work_dir:
        database = ms.tune_tir(
            function, target, work_dir, trials, runner=quick, seed=1, num_trials_per_iter=16
        )
    plain = ms.utils.normalize_mod(function)
    schedule = ms.tir_integration.compile_tir(database, function, target)
    if schedule is None or not schedule.trace.insts:
        return f"| {name} | as it is |  |  |"
    times = interleaved(
        {
            "plain": caller(plain, target, function),
            "tuned": caller(schedule.mod, target, function),
        },
        rounds,
    )
    before, after = times["plain"].median, times["tuned"].median
    return f"| {name} | {before * 1e6:.0f} | {after * 1e6:.0f} | {before / after:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=16, help="candidates measured a function")
    parser.add_argument("--rounds", type=int, default=15, help="turns of the comparison")
    options = parser.parse_args()
    print("| function | as it is (us) | tuned (us) | faster by |")
    print("|---|---|---|---|")
    for name, function in FUNCTIONS.items():
        print(row(name, function, options.trials, options.rounds), flush=True)


if __name__ == "__main__":
    main()
