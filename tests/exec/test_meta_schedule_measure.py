"""Building and measuring candidates: in processes of their own, which may hang or crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import meta_schedule as ms
from relax_mlir.errors import Error
from relax_mlir.meta_schedule.arg_info import ArgInfo, TensorInfo
from relax_mlir.meta_schedule.builder import BuilderInput, LocalBuilder
from relax_mlir.meta_schedule.builder.local_builder import default_build, default_export
from relax_mlir.meta_schedule.measure_callback.callbacks import remove_artifact
from relax_mlir.meta_schedule.runner import EvaluatorConfig, LocalRunner, RunnerInput
from relax_mlir.meta_schedule.utils import normalize_mod
from relax_mlir.meta_schedule.worker import close_idle
from relax_mlir.script import tir as T

TARGET = tvm.target.Target("llvm")
QUICK = EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0)


@T.prim_func
def double(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def endless(A: T.Buffer((1,), "int64")):
    while A[0] == T.int64(0):
        A[0] = A[0] * T.int64(2)


@T.prim_func
def crashing(A: T.Buffer((1,), "int64")):
    T.evaluate(T.call_extern("void", "abort"))


@T.prim_func
def unknown(A: T.Buffer((1,), "int64")):
    T.evaluate(T.call_intrin("void", "tir.no_such_intrinsic"))


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    yield
    close_idle()


def built(function: Any, builder: LocalBuilder) -> Any:
    return builder.build([BuilderInput(normalize_mod(function), TARGET)])[0]


def measured(path: str, function: Any, runner: LocalRunner) -> Any:
    infos = ArgInfo.from_prim_func(function)
    return runner.run([RunnerInput(path, "cpu", infos)])[0].result()


def test_what_hangs_or_crashes_is_a_result() -> None:
    builder, runner = LocalBuilder(max_workers=1, timeout_sec=300), LocalRunner(300, QUICK)
    fine = built(double, builder)
    assert fine.error_msg is None
    assert os.path.exists(fine.artifact_path)
    result = measured(fine.artifact_path, double, runner)
    assert result.error_msg is None
    assert len(result.run_secs) == 2
    assert all(0 < seconds < 10 for seconds in result.run_secs)

    runner.timeout_sec = 0.5
    hangs = built(endless, builder)
    result = measured(hangs.artifact_path, endless, runner)
    assert result.run_secs is None
    assert "Timeout, killed after 0.5 seconds" in result.error_msg

    runner.timeout_sec = 300
    crashes = built(crashing, builder)
    result = measured(crashes.artifact_path, crashing, runner)
    assert result.run_secs is None
    assert "crashed: SIGABRT" in result.error_msg
    # The next candidate runs as if nothing had happened.
    assert measured(fine.artifact_path, double, runner).run_secs
    for each in (fine, hangs, crashes):
        remove_artifact(each.artifact_path)
        assert not os.path.exists(os.path.dirname(each.artifact_path))


def test_what_does_not_compile_is_a_result() -> None:
    result = built(unknown, LocalBuilder(max_workers=1, timeout_sec=300))
    assert result.artifact_path is None
    assert "no_such_intrinsic" in result.error_msg


def test_functions_of_the_user_build_and_measure(tmp_path: Path) -> None:
    seen: list[str] = []

    def f_build(mod: Any, target: Any, params: Any) -> Any:
        seen.append("build")
        return default_build(mod, target, params)

    def f_export(module: Any) -> str:
        seen.append("export")
        return default_export(module, str(tmp_path))

    def f_alloc_argument(device: Any, args_info: Any, alloc_repeat: int) -> Any:
        seen.append(f"allocate {args_info[0]} {alloc_repeat}")
        return [[tvm.runtime.tensor(np.ones((8, 4), "float32")) for _ in args_info]]

    def f_run_evaluator(module: Any, device: Any, config: Any, repeated_args: Any) -> list[float]:
        ((a, b),) = repeated_args
        module["main"](a, b)
        seen.append(f"run {b.numpy().sum():g} {config.number}")
        return [0.25]

    builder = ms.builder.create(
        "local",
        f_build=f_build,
        f_export=f_export,
        initializer=lambda: seen.append("initialize"),
    )
    result = built(double, builder)
    assert result.artifact_path == str(tmp_path / "candidate.so")
    runner = ms.runner.create(
        "local",
        evaluator_config=QUICK,
        f_alloc_argument=f_alloc_argument,
        f_run_evaluator=f_run_evaluator,
        f_cleanup=lambda: seen.append("clean up"),
    )
    assert measured(result.artifact_path, double, runner).run_secs == [0.25]
    assert seen == [
        "initialize", "build", "export", "allocate ['TENSOR', 'float32', [8, 4]] 1", "run 64 1",
        "clean up",
    ]  # fmt: skip


def test_errors_of_functions_of_the_user_are_results(tmp_path: Path) -> None:
    def refuse(*_: Any) -> Any:
        raise KeyError("no such thing")

    result = built(double, LocalBuilder(f_build=refuse))
    assert result.error_msg == "LocalBuilder: KeyError: 'no such thing'"
    path = default_export(default_build(normalize_mod(double), TARGET), str(tmp_path))
    outcome = measured(path, double, LocalRunner(f_run_evaluator=refuse))
    assert outcome.error_msg == "LocalRunner: KeyError: 'no such thing'"


def test_information_about_arguments() -> None:
    infos = ArgInfo.from_prim_func(double)
    assert infos == [TensorInfo("float32", (8, 4))] * 2
    assert [ArgInfo.from_json(info.as_json()) for info in infos] == infos
    assert ArgInfo.from_entry_func(normalize_mod(double)) == infos
    with pytest.raises(ValueError, match="no information"):
        ArgInfo.from_json(["SCALAR", "int32"])

    @T.prim_func
    def dynamic(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi]

    with pytest.raises(ValueError, match=r"sizes of A are not constants.*BindSymbolicVars"):
        ArgInfo.from_prim_func(dynamic)

    @T.prim_func
    def scalar(n: T.int32, A: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = n

    with pytest.raises(ValueError, match="parameter n is a scalar"):
        ArgInfo.from_prim_func(scalar)


def test_kinds_that_there_are_not() -> None:
    with pytest.raises(ValueError, match='no builder "remote"'):
        ms.builder.create("remote")
    with pytest.raises(ValueError, match='no runner "remote"'):
        ms.runner.create("remote")
    with pytest.raises(Error, match="no runner for other machines"):
        ms.runner.create("rpc")
    with pytest.raises(TypeError, match="f_build is a function"):
        ms.builder.create("local", f_build="my.build")
