"""TensorIR of other TVM versions as people wrote it: each parses, verifies and comes back from both
texts as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.driver.build_module import build
from relax_mlir.errors import CompileError, ParseError
from relax_mlir.ir import IRModule
from relax_mlir.mlir import ir
from relax_mlir.script import from_source
from relax_mlir.tir.schedule import Schedule
from relax_mlir.tir.schedule.accesses import refresh
from tests.compat.tir_corpus_programs import PROGRAMS

HEADER = "import tvm\nfrom tvm.script import ir as I, tir as T\n"


def round_trips(text: str, names: dict[str, object] | None = None) -> IRModule:
    """The module of a program, which comes back from TVMScript and from MLIR as it was."""
    parsed = from_source(HEADER + text, names)
    module = parsed if isinstance(parsed, IRModule) else IRModule({parsed.name: parsed})
    module.verify()
    assert IRModule.parse(module.mlir(), module.state.constants) == module
    script = module.script()
    again = from_source(script)
    assert again.script() == script
    assert again == module
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip(name: str) -> None:
    round_trips(PROGRAMS[name])


def test_an_assertion_of_constants_fails_when_it_runs() -> None:
    program = """
@T.prim_func
def func(A: T.Buffer((4,), "float32")):
    assert 1 > 2, "wrong sizes"
"""
    run = relax_mlir.build(round_trips(program))["func"]
    with pytest.raises(Exception, match="wrong sizes"):
        run(relax_mlir.runtime.empty((4,), "float32"))


def test_a_handle_that_is_matched_again_is_the_same_memory() -> None:
    program = """
@T.prim_func
def func(a: T.handle):
    A = T.match_buffer(a, (2, 3))
    same = T.match_buffer(a, (2, 3))
    flat = T.match_buffer(a, (6,))
    for i in range(6):
        flat[i] = T.Cast("float32", i)
    for i, j in T.grid(2, 3):
        A[i, j] = same[i, j] * T.float32(2)
"""
    module = round_trips(program)
    given = np.zeros((2, 3), "float32")
    build(module)["func"](given)
    np.testing.assert_array_equal(given, 2 * np.arange(6, dtype="float32").reshape(2, 3))


def test_a_view_that_a_python_function_leaves_is_none() -> None:
    def ignore(data: object, offset: object, stride: object) -> int:
        del data, offset, stride
        return 0

    program = """
@T.prim_func
def func(A: T.Buffer((32, 64), "float32")):
    for i, j in T.grid(2, 8):
        with T.block():
            T.reads([])
            T.writes(A[i * 16 : i * 16 + 16, j * 8 : j * 8 + 8])
            part = T.match_buffer(A[i * 16 : i * 16 + 16, j * 8 : j * 8 + 8], (16, 8),
                                  strides=[64, 1], offset_factor=1)
            T.evaluate(ignore(part.data, part.elem_offset, part.strides[0]))
"""
    assert "match_buffer" not in round_trips(program, {"ignore": ignore}).script()


def test_axis_separators_are_of_the_dimensions_that_a_buffer_has() -> None:
    sch = Schedule(round_trips(PROGRAMS["axis separators"]))
    sch.work_on("func")
    sch.transform_layout("B", ("read", 0), lambda i, j: (i // 4, i % 4, j))
    assert 'A: T.Buffer((4, 4, 16), "float32")' in sch.mod.script()
    assert "B = T.alloc_buffer((16, 16), axis_separators=[1])" in sch.mod.script()
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, i % 4, j))
    assert "B = T.alloc_buffer((4, 4, 16))" in sch.mod.script()
    with pytest.raises(ParseError, match=r"axis separators must increase from 0 to 2"):
        round_trips(PROGRAMS["axis separators"].replace("[1])", "[3])"))


def test_what_nothing_defines_is_not_compiled() -> None:
    program = PROGRAMS["variables that nothing defines"]
    module = round_trips(program)
    with pytest.raises(CompileError, match="variable k is not defined in function func"):
        relax_mlir.compile(module, "llvm")
    checked = program.replace("check_well_formed=False", "private=False")
    with pytest.raises(ParseError, match="variable k is not defined in function func"):
        from_source(HEADER + checked)


def fragment_index(buffer: Any, rows: int) -> Any:
    """Reads what a TensorIR function's buffer is, as TVM's tensor intrinsics do."""
    return buffer.elem_offset // buffer.strides[0] // rows


def test_python_functions_read_layouts() -> None:
    program = """
@T.prim_func
def func(a: T.handle):
    d1 = T.int32()
    d0 = T.int32()
    A = T.match_buffer(a, (16, 16), "float32", strides=[d1, d0], offset_factor=16)
    T.evaluate(T.tvm_fill_fragment(A.data, 16, 16, 16, fragment_index(A, 16), T.float32(0)))
"""
    script = round_trips(program, {"fragment_index": fragment_index}).script()
    assert "A_offset // d1 // 16" in script


def test_index_maps_of_python_come_before_reads() -> None:
    program = """
@T.prim_func
def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            row, column = swap(vi, vj)
            T.reads(A[row, column])
            T.writes(B[vi, vj])
            B[vi, vj] = A[row, column]
"""
    script = round_trips(program, {"swap": lambda i, j: (j, i)}).script()
    assert "T.reads(A[vj, vi])" in script


def test_modules_under_other_names_are_the_same_modules() -> None:
    import relax_mlir.tir.expr as expr
    import relax_mlir.tirx.expr as other

    assert other is expr
    with pytest.raises(ImportError, match="nothing_of_this_name"):
        import relax_mlir.tirx.nothing_of_this_name  # noqa: F401  (that it fails is the test)


def test_scalable_vectors_are_refused_by_name_and_line() -> None:
    program = """
@T.prim_func
def func(A: T.Buffer((128,), "float32")):
    A[T.ramp(0, 1, 4 * T.vscale())] = A[T.ramp(3, 1, 4 * T.vscale())]
"""
    with pytest.raises(CompileError, match=r"vector<\[4\]xf32> of 'vector.load' at .*:6:5"):
        relax_mlir.compile(round_trips(program), "llvm")
    wrong = program.replace("4 * T.vscale())]\n", "T.vscale() * T.vscale())]\n")
    with pytest.raises(ParseError, match="constant number of lanes, or one times"):
        from_source(HEADER + wrong)


def test_a_kernel_needs_its_name_and_sizes() -> None:
    program = """
@T.prim_func
def func(A: T.Buffer((128,), "float32")):
    T.call_kernel("void f() {}", ((1,), (64,)), A.data, kernel_name="f")
"""
    with pytest.raises(CompileError, match="no code generator for the intrinsic 'call_kernel'"):
        relax_mlir.compile(round_trips(program), "llvm")
    with pytest.raises(ParseError, match="kernel_name= expected"):
        from_source(HEADER + program.replace(', kernel_name="f"', ""))
    with pytest.raises(ParseError, match="a grid and a thread block"):
        from_source(HEADER + program.replace("((1,), (64,))", "((1,),)"))


def test_a_schedule_sees_masked_accesses() -> None:
    """What a masked store may write is not read before it."""
    program = """
@T.prim_func
def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(2):
        with T.block("first"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 4 : vi * 4 + 4])
            T.writes(B[vi * 4 : vi * 4 + 4])
            mask = T.meta_var(T.Broadcast(A[0] < 1.0, 4))
            B.vstore([T.Ramp(vi * 4, 1, 4)], T.Broadcast(T.float32(1), 4), predicate=mask)
"""
    module = round_trips(program)
    blocks: list[BlockOp] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        view = op.opview
        if isinstance(view, BlockOp):
            blocks.append(view)
        return ir.WalkResult.ADVANCE

    module.state.module.operation.walk(visit)
    with module.state.module.context, ir.Location.unknown():
        refresh(blocks[0])
    assert "T.writes(B[vi * 4:vi * 4 + 4])" in module.script()
