"""TensorIR of other TVM versions as people wrote it: each parses, verifies and comes back from both
texts as it was.  A program for each construct that collected programs use."""

from __future__ import annotations

import pytest

from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

HEADER = "import tvm\nfrom tvm.script import ir as I, tir as T\n"

PROGRAMS = {
    "views of one element": """
@T.prim_func
def func(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16, 16))
    C = T.match_buffer(c, (16, 16))
    for i, j in T.grid(16, 16):
        with T.block():
            A1 = T.match_buffer(A[i, j], ())
            C1 = T.match_buffer(C[i, j], ())
            C1[()] = A1[()] + 1.0
""",
    "strides of views as text": """
@T.prim_func
def func(A: T.Buffer((16, 16), "float32")):
    for i in range(2):
        with T.block("first"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 8 : vi * 8 + 8, 0:16])
            T.writes()
            B = T.match_buffer(A[vi * 8 : vi * 8 + 8, 0:16], (8, 16), strides=("s0", "s1"))
            T.evaluate(T.call_extern("int32", "f", B.data, B.strides[0]))
        with T.block("second"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 8 : vi * 8 + 8, 0:16])
            T.writes()
            B = T.match_buffer(A[vi * 8 : vi * 8 + 8, 0:16], (8, 16), strides=("s0", "s1"))
            T.evaluate(T.call_extern("int32", "f", B.data, B.strides[0]))
""",
    "reducers of several dtypes": """
@T.prim_func
def func(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "int32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("all"):
            T.reads(A[t])
            T.writes(B[0], C[0])
            T.attr(
                T.comm_reducer(
                    lambda x0, x1, y0, y1: (
                        T.Select(x1 <= y1, x0, y0), T.Select(x1 <= y1, x1, y1)
                    ),
                    [-1, T.float32(3.0)],
                ),
                "reduce_scope",
                T.reinterpret("handle", T.uint64(0)),
            )
            T.tvm_thread_allreduce(T.uint32(2), t, A[t], True, C.data, B.data, t, dtype="handle")
""",
    "calls by operator": """
@T.prim_func
def func(A: T.Buffer((4,), "float32")):
    T.Call("void", tvm.ir.Op.get("tir.tvm_call_packed"), ["f", A.data])
    T.Call("int32", tvm.ir.Op.get("tirx.tvm_call_packed"), ["g", A.data])
    T.Call(tvm.ir.Op.get("tirx.call_extern"), ["h"], ret_ty="void")
""",
    "values before reads": """
@T.prim_func
def func(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            row, column = T.meta_var((vj // 2 * 2 + vi % 2, vi // 2 * 2 + vj % 2))
            T.reads(A[row, column])
            T.writes(B[vi, vj])
            B[vi, vj] = A[row, column]
""",
    "values in declarations": """
@T.prim_func
def func(a: T.handle):
    m = T.int32()
    n = T.meta_var(100)
    A = T.match_buffer(a, (n, m))
    for i, j in T.grid(n, m):
        A[i, j] = 0.0
""",
    "fragments": """
@T.prim_func
def func(A: T.Buffer((8, 8), "float32", scope="metal.simdgroup"), B: T.Buffer((8, 8), "float32")):
    T.make_filled_simdgroup_matrix(A.data, index=0, value=T.float32(0), col=8, row=8)
    T.simdgroup_load(
        A.data, index=0, ptr=B.access_ptr("r"), stride=8, col=8, row=8, transpose_matrix=True
    )
""",
}


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


def fragment_index(buffer: object, rows: int) -> object:
    """Reads what a TensorIR function's buffer is, as TVM's tensor intrinsics do."""
    return buffer.elem_offset // buffer.strides[0] // rows  # type: ignore[attr-defined]


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
        import relax_mlir.tirx.nothing_of_this_name  # noqa: F401
