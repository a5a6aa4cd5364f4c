"""PrimFuncBuilder: the MLIR it writes, the regions it finds, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from relax_mlir import tir
from relax_mlir.errors import Error, Span
from relax_mlir.ir import IRModule
from relax_mlir.tir import PrimFuncBuilder


def lines(function: tir.PrimFunc) -> list[str]:
    return [line.strip() for line in function.script().splitlines()]


def find(function: tir.PrimFunc, start: str) -> list[str]:
    return [line for line in lines(function) if line.startswith(start)]


def test_symbols_are_read_from_the_first_plain_dimension() -> None:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    build = PrimFuncBuilder("f", attrs={"tir.noalias": True})
    A = build.buffer_param("A", [n * 2, m])
    B = build.buffer_param("B", [n, m])
    i_loop, j_loop = build.for_("serial", 0, n, "i"), build.for_("serial", 0, m, "j")
    with i_loop as i, j_loop as j, build.block("B") as block:
        vi, vj = block.iter_var("S", n, i, "vi"), block.iter_var("S", m, j, "vj")
        build.store(B, A[vi * 2 + 1, vj] + 1.0, [vi, vj])
    function = build.finish()
    text = function.mlir()
    assert 'tir.shape = ["n * 2", "m"]' in text
    assert "%n = memref.dim %B, %c0" in text
    assert "affine_map<(d0) -> (d0 * 2 + 1)>(%vi)" in text
    assert find(function, "T.reads") == ["T.reads(A[vi * T.int64(2) + T.int64(1), vj])"]
    again = IRModule.parse(IRModule.from_expr(function).mlir())
    assert again == IRModule.from_expr(function)


def test_an_unbound_symbol_is_an_error() -> None:
    n = tir.Var("n")
    build = PrimFuncBuilder("f")
    build.buffer_param("A", [n + 1])
    with (
        pytest.raises(Error, match="variable n is not defined in function f"),
        build.for_("serial", 0, n, "i"),
    ):
        pass


def test_two_symbols_of_one_name_stay_apart() -> None:
    n, other = tir.Var("n"), tir.Var("n")
    build = PrimFuncBuilder("f")
    build.buffer_param("A", [n])
    build.buffer_param("B", [other])
    assert 'tir.shape = ["n_1"]' in build.finish().mlir()


def test_params_and_buffers_come_back() -> None:
    n = tir.Var("n")
    build = PrimFuncBuilder("f")
    build.buffer_param("A", [n, 4], "uint8")
    build.scalar_param("s", "float16")
    build.buffer_param("C", [n // 2], "bool", scope="shared", data_alignment=64)
    function = build.finish()
    assert [p.name for p in function.params] == ["A", "s", "C"]
    assert [p.dtype for p in function.params] == ["handle", "float16", "handle"]
    A, C = function.buffer_map.values()
    assert (A.dtype, [str(s) for s in A.shape]) == ("uint8", ["n", "4"])
    assert (C.dtype, C.scope(), C.data_alignment) == ("bool", "shared", 64)
    assert str(C.shape[0]) == "n // 2" and C.shape[0].a is A.shape[0]


def tiled(statements: Any) -> tir.PrimFunc:
    """A block over tiles of four; statements take (build, A, B, tile variable, inner variable)."""
    build = PrimFuncBuilder("f")
    A, B = build.buffer_param("A", [16]), build.buffer_param("B", [16])
    with build.for_("serial", 0, 4, "i") as i, build.block("tile") as block:
        vi = block.iter_var("S", 4, i, "vi")
        with build.for_("serial", 0, 4, "j") as j:
            statements(build, A, B, vi, j)
    return build.finish()


def test_regions_cover_inner_loops() -> None:
    function = tiled(lambda f, A, B, vi, j: f.store(B, A[vi * 4 + j], [vi * 4 + j]))
    assert find(function, "T.reads") == ["T.reads(A[vi * 4:vi * 4 + 4])"]
    assert find(function, "T.writes") == ["T.writes(B[vi * 4:vi * 4 + 4])"]


def test_regions_are_hulls_of_accesses() -> None:
    function = tiled(lambda f, A, B, vi, j: f.store(B, A[vi] + A[vi + 3], [vi]))
    assert find(function, "T.reads") == ["T.reads(A[vi:vi + 4])"]


def test_an_index_that_is_unknown_covers_the_dimension() -> None:
    function = tiled(lambda f, A, B, vi, j: f.store(B, A[j * j], [vi]))
    assert find(function, "T.reads") == ["T.reads(A[0:16])"]


def test_conditions_and_lets_count_as_reads() -> None:
    def statements(f: PrimFuncBuilder, A: tir.Buffer, B: tir.Buffer, vi: Any, j: Any) -> None:
        with f.if_(A[vi] > 0.0):
            x = f.let("x", B[j])
            f.store(A, x, [vi])

    function = tiled(statements)
    assert find(function, "T.reads") == ["T.reads(A[vi], B[0:4])"]


def test_init_hides_the_reduction_buffer() -> None:
    build = PrimFuncBuilder("f")
    A, S = build.buffer_param("A", [8]), build.buffer_param("S", [1])
    with build.for_("serial", 0, 8, "k") as k, build.block("S") as block:
        vk = block.iter_var("R", 8, k, "vk")
        with block.init():
            build.store(S, 0.0, [0])
        build.store(S, S[0] + A[vk], [0])
    assert find(build.finish(), "T.reads") == ["T.reads(A[vk])"]


def test_nested_blocks_hand_their_regions_out() -> None:
    build = PrimFuncBuilder("f")
    A = build.buffer_param("A", [16])
    with build.for_("serial", 0, 4, "i") as i, build.block("outer") as outer:
        vo = outer.iter_var("S", 4, i, "vo")
        local = build.alloc_buffer("local", [4], scope="local")
        with build.for_("serial", 0, 4, "j") as j, build.block("inner") as inner:
            vi = inner.iter_var("S", 16, vo * 4 + j, "vi")
            build.store(local, A[vi], [vi % 4])
            build.store(A, local[vi % 4], [vi])
    function = build.finish()
    reads, inner_reads = find(function, "T.reads")
    assert reads == "T.reads(A[vo * 4:vo * 4 + 4])"
    assert inner_reads == "T.reads(A[vi], local[vi % 4])"


def test_declared_regions_stand() -> None:
    build = PrimFuncBuilder("f")
    A, B = build.buffer_param("A", [16]), build.buffer_param("B", [16])
    with build.for_("serial", 0, 16, "i") as i, build.block("B") as block:
        vi = block.iter_var("S", 16, i, "vi")
        block.reads([A[0:16]])
        block.writes([B])
        build.store(B, A[vi], [vi])
    function = build.finish()
    assert find(function, "T.reads") == ["T.reads(A[0:16])"]
    assert find(function, "T.writes") == ["T.writes(B[0:16])"]


def test_statements_of_every_kind() -> None:
    build = PrimFuncBuilder("f")
    A = build.buffer_param("A", [16], "int32")
    n = build.scalar_param("n", "int32")
    build.assert_(n > 0, "n must be positive")
    with build.for_("parallel", 0, n, "i", annotations={"pragma": 1}) as i:
        with build.if_(i < 3):
            build.store(A, i, [i])
        with build.else_():
            build.evaluate(tir.call_extern("void", "touch", A, i, "text"))
    with build.while_(A[0] < n):
        build.store(A, A[0] + 1, [0])
    with build.for_("thread_binding", 0, 4, "t", thread="threadIdx.x") as t:
        build.store(A, t * n, [t])
    text = build.finish().mlir()
    for expected in (
        'cf.assert %', '"n must be positive"', 'kind = "parallel"', "annotations = {pragma = 1",
        "scf.if", "} else {", "scf.while", 'thread = "threadIdx.x"', "arith.muli",
        'callee = "touch"', 'literals = [unit, unit, "text"]',
    ):  # fmt: skip
        assert expected in text


def test_vector_accesses() -> None:
    build = PrimFuncBuilder("f")
    A = build.buffer_param("A", [16])
    build.store(A, A.vload([0], "float32x4") * tir.Broadcast(2.0, 4), [tir.Ramp(4, 1, 4)])
    build.store(A, A[tir.Ramp(0, 2, 4)], [tir.Ramp(8, 2, 4)])
    text = build.finish().mlir()
    assert "vector.load" in text and "vector.store" in text
    assert text.count("memref.load") == 4 and "vector.scatter" in text


def test_locations_are_the_users() -> None:
    build = PrimFuncBuilder("f")
    A = build.buffer_param("A", [4])
    build.location = Span("user.py", 7, 5)
    build.store(A, 1.0, [0])
    assert '"user.py":7:5' in build.finish().operation.get_asm(enable_debug_info=True)


def header_after_body(build: PrimFuncBuilder) -> None:
    A = build.buffer_param("A", [4])
    with build.block("b") as block:
        build.store(A, 0.0, [0])
        block.iter_var("S", 4, 0, "v")


def two_inits(build: PrimFuncBuilder) -> None:
    A = build.buffer_param("A", [4])
    with build.block("b") as block:
        for _ in range(2):
            with block.init():
                build.store(A, 0.0, [0])


def foreign_buffer(build: PrimFuncBuilder) -> None:
    build.store(tir.decl_buffer((4,), name="B"), 0.0, [0])


def same_names(build: PrimFuncBuilder) -> None:
    build.buffer_param("A", [4])
    build.buffer_param("A", [4])
    build.finish()


def float_index(build: PrimFuncBuilder) -> None:
    A = build.buffer_param("A", [4])
    build.store(A, 0.0, [A[0]])


def lonely_else(build: PrimFuncBuilder) -> None:
    with build.else_():
        pass


def wrong_kind(build: PrimFuncBuilder) -> None:
    with build.for_("sideways", 0, 4, "i"):
        pass


def wrong_axis(build: PrimFuncBuilder) -> None:
    with build.block("b") as block:
        block.iter_var("X", 4, 0, "v")


def unbound_axis(build: PrimFuncBuilder) -> None:
    with build.block("b") as block:
        block.iter_var("S", 4, None, "v")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (header_after_body, "must come before the first statement"),
        (two_inits, "two init statements"),
        (foreign_buffer, "buffer B is not defined"),
        (same_names, "two parameters named A"),
        (float_index, "an index must be an integer"),
        (lonely_else, "else_ without an if_"),
        (wrong_kind, "none of serial, parallel"),
        (wrong_axis, "none of S, R, O, D"),
        (unbound_axis, "has no binding"),
    ],
)
def test_mistakes_are_errors(program: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        program(PrimFuncBuilder("f"))
