"""Databases of tuning records: what they keep, what they find, and that nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import tir
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule import database as databases
from relax_mlir.meta_schedule.arg_info import ArgInfo, TensorInfo
from relax_mlir.meta_schedule.database import TuningRecord, Workload
from relax_mlir.meta_schedule.module_equality import module_key, shash2hex
from relax_mlir.meta_schedule.trace_apply import schedule_using_anchor_trace
from relax_mlir.meta_schedule.utils import normalize_mod
from relax_mlir.script import tir as T

TARGET = tvm.target.Target("llvm")


@T.prim_func
def matmul(
    A: T.Buffer((16, 8), "float32"),
    B: T.Buffer((8, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j, k in T.grid(16, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(private=True)
def matmul_with_other_names(
    X: T.Buffer((16, 8), "float32"),
    Y: T.Buffer((8, 16), "float32"),
    Z: T.Buffer((16, 16), "float32"),
):
    T.func_attr({"op_pattern": 4})
    for a, b, c in T.grid(16, 16, 8):
        with T.block("product"):
            va, vb, vc = T.axis.remap("SSR", [a, b, c])
            with T.init():
                Z[va, vb] = T.float32(0)
            Z[va, vb] = Z[va, vb] + X[va, vc] * Y[vc, vb]


@T.prim_func
def matmul_relu(
    A: T.Buffer((16, 8), "float32"),
    B: T.Buffer((8, 16), "float32"),
    D: T.Buffer((16, 16), "float32"),
):
    C = T.alloc_buffer((16, 16), "float32")
    for i, j, k in T.grid(16, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 16):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


MATMUL, MATMUL_RELU = normalize_mod(matmul), normalize_mod(matmul_relu)


def tiled(mod: IRModule, seed: int = 0) -> tir.Schedule:
    sch = tir.Schedule(mod, seed=seed)
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    outer, inner = sch.split(i, sch.sample_perfect_tile(i, 2))
    sch.reorder(outer, j, k, inner)
    sch.parallel(outer)
    return sch


def record_of(database: databases.Database, mod: IRModule, seconds: float) -> TuningRecord:
    workload = database.commit_workload(mod)
    record = TuningRecord(
        tiled(mod).trace, workload, [seconds, seconds], TARGET, ArgInfo.from_entry_func(mod)
    )
    database.commit_tuning_record(record)
    return record


def run(mod: IRModule, *arrays: np.ndarray) -> np.ndarray:
    out = np.zeros((16, 16), "float32")
    result = tvm.runtime.tensor(out)
    tvm.compile(mod, "llvm")(*[tvm.runtime.tensor(a) for a in arrays], result)
    return result.numpy()


def test_a_record_and_its_workload_survive_json() -> None:
    workload = Workload(MATMUL)
    record = TuningRecord(
        tiled(MATMUL).trace, workload, [1.5, 2.5], TARGET, ArgInfo.from_entry_func(MATMUL)
    )
    other = Workload.from_json(json.loads(json.dumps(workload.as_json())))
    assert other.mod == MATMUL and other.shash == workload.shash
    again = TuningRecord.from_json(json.loads(json.dumps(record.as_json())), other)
    assert again.run_secs == [1.5, 2.5] and again.seconds == 2.0
    assert again.target == TARGET
    assert again.args_info == [TensorInfo("float32", [16, 8]), TensorInfo("float32", [8, 16]),
                               TensorInfo("float32", [16, 16])]  # fmt: skip
    assert again.as_schedule().mod == tiled(MATMUL).mod
    assert again.as_measure_candidate().sch.mod == tiled(MATMUL).mod


def test_a_workload_keeps_its_constants(tmp_path: Path) -> None:
    from relax_mlir import relax
    from relax_mlir.script import relax as R

    values = np.arange(64, dtype="float32").reshape(8, 8)

    @tvm.script.ir_module
    class Program:
        @R.function
        def main(x: R.Tensor((8, 8), "float32")):
            return R.add(x, R.const(values))

    mod = relax.transform.LegalizeOps()(Program)
    path = str(tmp_path)
    databases.JSONDatabase(work_dir=path).commit_workload(mod)
    again = databases.JSONDatabase(work_dir=path)
    assert again.has_workload(mod)
    (kept,) = again.commit_workload(mod).mod.state.constants.values()
    np.testing.assert_array_equal(kept, values)


@pytest.mark.parametrize("kind", ["memory", "json"])
def test_the_fastest_record_is_found(kind: str, tmp_path: Path) -> None:
    options = {"work_dir": str(tmp_path)} if kind == "json" else {}
    database = databases.create(kind, **options)
    assert not database.has_workload(MATMUL)
    assert database.query_tuning_record(MATMUL, TARGET, "main") is None
    slow, fast = record_of(database, MATMUL, 2.0), record_of(database, MATMUL, 1.0)
    record_of(database, MATMUL_RELU, 0.5)
    failed = TuningRecord(tiled(MATMUL).trace, fast.workload, None, TARGET)
    database.commit_tuning_record(failed)
    assert len(database) == 4
    assert database.get_top_k(fast.workload, 3) == [fast, slow]
    assert database.get_top_k(fast.workload, 1) == [fast]
    assert database.query_tuning_record(MATMUL, TARGET, "main") is fast
    assert database.query(MATMUL, TARGET, kind="record") is fast
    assert database.query_ir_module(MATMUL, TARGET, "main") == tiled(MATMUL).mod
    assert database.query_tuning_record(MATMUL, tvm.target.Target("cuda"), "main") is None
    with pytest.raises(ValueError, match="not negative"):
        database.get_top_k(fast.workload, -1)
    with pytest.raises(ValueError, match="ir_module"):
        database.query(MATMUL, TARGET, kind="best")


def test_a_query_matches_whatever_things_are_called() -> None:
    database = databases.MemoryDatabase()
    record_of(database, MATMUL, 1.0)
    module = IRModule({"some_matmul": matmul_with_other_names})
    assert database.has_workload(normalize_mod(module))
    sch = database.query_schedule(module, TARGET, "main")
    assert sch is not None and len(sch.trace.insts) > 3
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 8), "float32"), rng.random((8, 16), "float32")
    np.testing.assert_allclose(run(sch.mod, a, b), a @ b, rtol=1e-5)
    assert 'T.block("product")' in sch.mod.script(), "the query's names are kept"


def test_a_trace_that_asks_for_blocks_it_made_is_found_by_other_names_too() -> None:
    database = databases.MemoryDatabase()
    sch = tiled(MATMUL)
    sch.decompose_reduction(sch.get_sblock("C"), sch.get_loops("C")[2])
    sch.vectorize(sch.get_loops("C_init")[-1])
    workload = database.commit_workload(MATMUL)
    database.commit_tuning_record(TuningRecord(sch.trace, workload, [0.0], TARGET))
    found = database.query_schedule(normalize_mod(matmul_with_other_names), TARGET, "main")
    assert found is not None and found.mod == sch.mod


def test_the_files_of_a_database(tmp_path: Path) -> None:
    first = databases.JSONDatabase(work_dir=str(tmp_path))
    record_of(first, MATMUL, 1.0)
    second = databases.JSONDatabase(work_dir=str(tmp_path))  # another process, say
    record_of(second, MATMUL_RELU, 2.0)
    record_of(first, MATMUL_RELU, 3.0)
    merged = databases.JSONDatabase(
        str(tmp_path / "database_workload.json"), str(tmp_path / "database_tuning_record.json")
    )
    assert len(merged) == 3
    assert [r.seconds for r in merged.get_all_tuning_records()] == [1.0, 2.0, 3.0]
    found = merged.query_tuning_record(MATMUL_RELU, TARGET, "main")
    assert found is not None and found.seconds == 2.0


def test_a_half_written_line_is_dropped_and_a_broken_one_named(tmp_path: Path) -> None:
    database = databases.JSONDatabase(work_dir=str(tmp_path))
    record_of(database, MATMUL, 1.0)
    file = tmp_path / "database_tuning_record.json"
    whole = file.read_text()
    file.write_text(whole + whole[:50])
    assert len(databases.JSONDatabase(work_dir=str(tmp_path))) == 1
    record_of(databases.JSONDatabase(work_dir=str(tmp_path)), MATMUL, 2.0)
    assert len(databases.JSONDatabase(work_dir=str(tmp_path))) == 2
    file.write_text("[7, []]\n" + whole)
    with pytest.raises(Error, match=r"database_tuning_record.json:1: not a tuning record"):
        databases.JSONDatabase(work_dir=str(tmp_path))
    file.write_text("no json\n" + whole)
    with pytest.raises(Error, match=r"record.json:1: not JSON"):
        databases.JSONDatabase(work_dir=str(tmp_path))


def test_paths_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="path_workload"):
        databases.JSONDatabase()
    with pytest.raises(ValueError, match="path_tuning_record"):
        databases.JSONDatabase(str(tmp_path / "w.json"))
    with pytest.raises(FileNotFoundError, match="no such file"):
        databases.JSONDatabase(work_dir=str(tmp_path), allow_missing=False)


def test_unions_ask_their_parts() -> None:
    empty, slow, fast = (databases.MemoryDatabase() for _ in range(3))
    of_slow, of_fast = record_of(slow, MATMUL, 2.0), record_of(fast, MATMUL, 1.0)
    union = databases.UnionDatabase(empty, slow, fast)
    ordered = databases.OrderedUnionDatabase(empty, slow, fast)
    assert union.query_tuning_record(MATMUL, TARGET, "main") is of_fast
    assert ordered.query_tuning_record(MATMUL, TARGET, "main") is of_slow
    assert union.query_tuning_record(MATMUL_RELU, TARGET, "main") is None
    assert ordered.query_tuning_record(MATMUL_RELU, TARGET, "main") is None
    nested = databases.UnionDatabase(databases.OrderedUnionDatabase(slow, fast), empty)
    assert nested.query_tuning_record(MATMUL, TARGET, "main") is of_slow
    with pytest.raises(Error, match="only read"):
        union.commit_workload(MATMUL)
    with pytest.raises(Error, match="only read"):
        ordered.commit_tuning_record(of_fast)


def test_a_function_that_schedules_is_a_database() -> None:
    def schedule(sch: tir.Schedule) -> bool:
        if len(sch.get_child_blocks(sch.get_sblock("root"))) > 1:
            return False
        sch.parallel(sch.get_loops("C")[0])
        return True

    database = databases.create(schedule)
    sch = database.query_schedule(MATMUL, TARGET, "main")
    assert sch is not None and "T.parallel" in sch.mod.script()
    assert database.query_schedule(MATMUL_RELU, TARGET, "main") is None
    with pytest.raises(Error, match="keeps no workloads"):
        database.has_workload(MATMUL)


def test_a_database_of_a_user() -> None:
    @tvm.meta_schedule.derived_object
    class Mine(databases.PyDatabase):
        def __init__(self) -> None:
            super().__init__()
            self.inner = databases.MemoryDatabase()

        def has_workload(self, mod: IRModule) -> bool:
            return self.inner.has_workload(mod)

        def commit_workload(self, mod: IRModule) -> Workload:
            return self.inner.commit_workload(mod)

        def commit_tuning_record(self, record: TuningRecord) -> None:
            self.inner.commit_tuning_record(record)

        def get_all_tuning_records(self) -> list[TuningRecord]:
            return self.inner.get_all_tuning_records()

    database = Mine()
    record_of(database, MATMUL, 2.0)
    best = record_of(database, MATMUL, 1.0)
    assert len(database) == 2
    assert database.query_tuning_record(MATMUL, TARGET, "main") is best


def test_the_current_database() -> None:
    outer, inner = databases.MemoryDatabase(), databases.MemoryDatabase()
    assert databases.Database.current() is None
    with outer:
        with inner:
            assert databases.Database.current() is inner
        assert databases.Database.current() is outer
    assert databases.Database.current() is None


def test_only_the_best_is_dumped() -> None:
    source, pruned = databases.MemoryDatabase(), databases.MemoryDatabase()
    record_of(source, MATMUL, 2.0)
    record_of(source, MATMUL, 1.0)
    record_of(source, MATMUL_RELU, 3.0)
    source.dump_pruned(pruned)
    assert [r.seconds for r in pruned.get_all_tuning_records()] == [1.0, 3.0]


def test_kinds_of_equality() -> None:
    other = normalize_mod(matmul_with_other_names)
    assert module_key(MATMUL) == module_key(other)
    assert shash2hex(MATMUL) == shash2hex(other) != shash2hex(MATMUL_RELU)
    anchor = "anchor-block"
    assert module_key(MATMUL) != module_key(MATMUL_RELU)
    assert module_key(MATMUL, anchor) == module_key(MATMUL_RELU, anchor)
    with pytest.raises(ValueError, match="anchor-block"):
        module_key(MATMUL, "similar")
    with pytest.raises(ValueError, match="no database"):
        databases.create("sql")


def test_a_record_of_the_same_anchor_block_is_used() -> None:
    database = databases.MemoryDatabase(module_equality="anchor-block")
    record = record_of(database, MATMUL, 1.0)
    assert database.query_tuning_record(MATMUL_RELU, TARGET, "main") is record
    sch = database.query_schedule(MATMUL_RELU, TARGET, "main")
    assert sch is not None
    assert sch.mod.script().count("T.parallel") == 2, "the relu runs in parallel, too"
    rng = np.random.default_rng(1)
    a, b = rng.random((16, 8), "float32") - 0.5, rng.random((8, 16), "float32")
    np.testing.assert_allclose(run(sch.mod, a, b), np.maximum(a @ b, 0), rtol=1e-5, atol=1e-6)


def test_an_anchor_trace_leaves_out_what_does_not_fit() -> None:
    made_for = tir.Schedule(MATMUL_RELU)
    made_for.parallel(made_for.get_loops("relu")[0])
    made_for.parallel(made_for.get_loops("C")[0])
    sch = tir.Schedule(MATMUL)
    schedule_using_anchor_trace(sch, made_for.trace, TARGET)
    assert [i.kind for i in sch.trace.insts] == ["get_sblock", "get_loops", "parallel"]
