"""The programs of the TensorIR quick start (seed document 003)."""

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import te
from relax_mlir.ir.module import IRModule
from relax_mlir.script import tir as T
from relax_mlir.testing import assert_allclose


def close(actual, desired) -> None:
    """float32 sums of up to 784 products: errors up to a few parts in 10^5."""
    assert_allclose(actual, desired, rtol=1e-5, atol=2e-5)


@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        # We exchange data between function by handles, which are similar to pointer.
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # Create buffer from handles.
        A = T.match_buffer(a, (8,), dtype="float32")
        B = T.match_buffer(b, (8,), dtype="float32")
        for i in range(8):
            # A block is an abstraction for computation.
            with T.block("B"):
                # Define a spatial block iterator and bind it to value i.
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0


@tvm.script.ir_module
class AsPrinted:
    @T.prim_func
    def main(A: T.Buffer[8, "float32"], B: T.Buffer[8, "float32"]) -> None:
        # function attr dict
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        # body
        # with T.block("root")
        for i in T.serial(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] + T.float32(1)


def from_te() -> IRModule:
    A = te.placeholder((8,), dtype="float32", name="A")
    B = te.compute((8,), lambda *i: A(*i) + 1.0, name="B")
    func = te.create_prim_func([A, B])
    return IRModule({"main": func})


def run(module: IRModule) -> np.ndarray:
    mod = tvm.build(module, target="llvm")
    a = tvm.nd.array(np.arange(8).astype("float32"))
    b = tvm.nd.array(np.zeros((8,)).astype("float32"))
    mod(a, b)
    return b.numpy()


def test_create_and_print() -> None:
    assert str(type(MyModule)).endswith("ir.module.IRModule'>")
    text = MyModule.script()
    for line in ('with T.block("B"):', "vi = T.axis.spatial(8, i)", "T.reads(A[vi])"):
        assert line in text, line
    assert MyModule == AsPrinted


def test_create_from_tensor_expression() -> None:
    text = from_te().script()
    assert 'with T.block("B"):' in text
    assert "T.float32(1" in text


@pytest.mark.parametrize("module", [MyModule, AsPrinted, from_te()], ids=["script", "old", "te"])
def test_build_and_run(module: IRModule) -> None:
    mod = tvm.build(module, target="llvm")
    assert type(mod).__name__ == "OperatorModule"
    assert type(mod).__module__.endswith("driver.build_module")
    a = tvm.nd.array(np.arange(8).astype("float32"))
    b = tvm.nd.array(np.zeros((8,)).astype("float32"))
    mod(a, b)
    assert str(a) == "[0. 1. 2. 3. 4. 5. 6. 7.]"
    assert str(b) == "[1. 2. 3. 4. 5. 6. 7. 8.]"


def test_schedule_prints_each_step_as_the_document() -> None:
    sch = tvm.tir.Schedule(MyModule)
    assert str(type(sch)).endswith("tir.schedule.schedule.Schedule'>")
    block_b = sch.get_block("B")
    (i,) = sch.get_loops(block_b)
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    text = sch.mod.script()
    assert "for i_0, i_1, i_2 in T.grid(2, 2, 2):" in text
    assert "vi = T.axis.spatial(8, i_0 * 4 + i_1 * 2 + i_2)" in text
    sch.reorder(i_0, i_2, i_1)
    assert "for i_0, i_2, i_1 in T.grid(2, 2, 2):" in sch.mod.script()
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    text = sch.mod.script()
    assert 'for i_0 in T.thread_binding(2, thread="blockIdx.x"):' in text
    assert 'for i_2 in T.thread_binding(2, thread="threadIdx.x"):' in text
    assert "for i_1 in range(2):" in text or "for i_1 in T.serial(2):" in text
    close(run(sch.mod), np.arange(8, dtype=np.float32) + 1)
    assert tvm.script.from_source(text) == sch.mod
    assert "A[vi] + T.float32(1" in MyModule.script(), "the schedule leaves its input alone"


@pytest.mark.parametrize("module", [MyModule, from_te()], ids=["script", "te"])
def test_both_texts_round_trip(module: IRModule) -> None:
    assert IRModule.parse(module.mlir()) == module
    again = tvm.script.from_source(module.script())
    assert again == module
    assert again.script() == module.script()
