"""TensorIR programs: parsed, printed, parsed again."""

# ruff: noqa: B007, RUF021

from __future__ import annotations

import pytest

from relax_mlir.script import from_source
from relax_mlir.script import tir as T


@T.prim_func
def everything(a: T.handle, b: T.handle, s: T.float32, k: T.int64):
    T.func_attr({"tir.noalias": True, "op_pattern": 2, "name": "x", "list": [1, 2], "half": 0.5})
    n = T.int64()
    A = T.match_buffer(a, (n, 16), "float16", align=64)
    B = T.match_buffer(b, (n, 16), "int32")
    C = T.alloc_buffer((n,), scope="shared")
    for i in range(n):
        for j in T.serial(2, 16, annotations={"pragma_x": 1}):
            for u in T.unroll(4):
                for v in T.vectorized(4):
                    for p in T.parallel(3):
                        for th in T.thread_binding(2, thread="blockIdx.x"):
                            with T.block("X"):
                                T.where(i * 4 + j < 13 and u == 2 or not v > 1)
                                vi = T.axis.spatial(n, i)
                                vj = T.axis.spatial((2, 16), j)
                                vk = T.axis.reduce(4, u)
                                vo = T.axis.opaque(4, v)
                                vs = T.axis.scan(3, p)
                                T.block_attr({"k": 1, "s": "str", "l": [1, 2], "b": False})
                                T.reads(B[vi, 0:4], A[vi, vj])
                                T.writes(B[vi, vj])
                                B[vi, vj] = (
                                    T.Cast("int32", A[vi, vj] * T.float16(2.5))
                                    + T.if_then_else(vi < 3, 1, B[vi, vk])
                                    - (B[vi, vj] - 2) // 3 % 4
                                )
                                if vi < 2:
                                    B[vi, 0] = T.Select(vj < 2, 1, T.max(B[vi, 1], 5))
                                elif vi == 3:
                                    T.evaluate(T.call_extern("int32", "foo", B[vi, 0]))
                                else:
                                    B[vi, 0] = (B[vi, 0] ^ 1) << 2 | 3
    while B[0, 0] < 10:
        B[0, 0] += 1
    x: T.float32 = s * T.float32(2) + T.exp(s) + T.tanh(s) - T.sqrt(s) + T.pow(s, s)
    assert n > 3, "n must be big"
    C[0] = x + T.float32(1e-5) + T.infinity("float32") - T.float32(-1)
    C[k] = T.Cast("float32", T.Div(B[0, 1], 2)) + T.abs(s) + T.floor(s) + T.sigmoid(s)


@T.prim_func
def dtypes(
    A: T.Buffer((), "float32"),
    B: T.Buffer((T.int64(4),), "bool"),
    C: T.Buffer((4,), "uint8"),
    D: T.Buffer((16,), "bfloat16"),
    E: T.Buffer((16,), "float64"),
    flag: T.bool,
    small: T.uint32,
):
    A[()] = T.float32(1)
    for i in range(4):
        B[i] = C[i] > T.uint8(3) and flag
        C[i] = (C[i] + T.uint8(250)) // T.uint8(3) % T.uint8(7) >> T.uint8(1)
        D[i] = T.Cast("bfloat16", E[i]) + T.bfloat16(1.5)
        E[i] = T.Cast("float64", C[i]) + T.Cast("float64", T.Cast("int64", i)) + T.float64("nan")
        C[i] = T.Cast("uint8", small & T.uint32(255)) | ~C[i]
        B[i] = T.isnan(E[i]) or not T.isfinite(E[i]) or T.isinf(E[i])


@T.prim_func
def indices(
    A: T.Buffer((64, 64), "float32"), I: T.Buffer((64,), "int32"), P: T.Buffer((64,), "int64")
):
    for i, j in T.grid(8, 8):
        A[i * 8 + j, j % 3 * 4 + i // 2] = A[63 - i, 2 * i - 3 + j]
        A[T.min(i, j), T.max(i + 1, 2 * j)] = A[I[i], P[j]]
        A[(i * j) % 7, i * j // 5] = A[i + I[i + 1] * 2, 0] + T.Cast("float32", i * 2 + j)
        A[T.Select(i < 4, i, j), T.if_then_else(j > 2, j - 2, 0)] = T.float32(3.140625)
    for i in T.serial(1, 8, step=3):
        for j in range(i, i + 2):
            A[i, j] = 0.0


@T.prim_func
def nested_blocks(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    for io in range(4):
        with T.block("outer"):
            vio = T.axis.spatial(4, io)
            T.reads(A[vio * 4 : vio * 4 + 4, 0:16])
            T.writes(B[vio * 4 : vio * 4 + 4])
            S = T.alloc_buffer((4,), scope="local")
            for ii, j in T.grid(4, 16):
                with T.block("inner"):
                    vii, vj = T.axis.remap("SR", [ii, j])
                    with T.init():
                        S[vii] = T.float32(0)
                    S[vii] = S[vii] + A[vio * 4 + vii, vj]
            for ii in range(4):
                B[vio * 4 + ii] = S[ii]


@T.prim_func
def vectors(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(16):
        B[i * 4 : i * 4 + 4 : 1] = A[i * 4 : i * 4 + 4 : 1] * T.Broadcast(T.float32(2), 4)
        B[T.Ramp(i, 1, 8)] = T.Broadcast(A[i], 8) + A[T.ramp(i, 1, 8)]


@T.prim_func
def order_matters(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    first = A[0]
    A[0] = 1.0
    B[0] = first
    for i in range(8):
        B[i] = B[i] + first


@T.prim_func(private=True)
def empty():
    T.evaluate(0)


@T.prim_func
def scalar_sizes(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, n * 2), "int8")
    for i, j in T.grid(n, n * 2):
        A[i, j] = T.Cast("int8", i + j)


@T.prim_func
def annotated_root(A: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        T.block_attr({"meta_schedule.unroll_explicit": 16})
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                A[vi] = 1.0


@T.prim_func
def names(T_add: T.Buffer((4,), "float32"), lambda_: T.Buffer((4,), "float32")):
    for i in range(4):
        T_add[i] = 1.0
    for i in range(4):
        for i_1 in range(4):
            lambda_[i] = T_add[i_1]


PROGRAMS = [
    everything, dtypes, indices, nested_blocks, vectors, order_matters, empty, scalar_sizes,
    annotated_root, names,
]  # fmt: skip


@pytest.mark.parametrize("syntax", ["tir", "tirx"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.name)
def test_round_trip(program, syntax: str):
    text = program.script(syntax=syntax)
    parsed = from_source(text)
    assert parsed == program
    assert parsed.script(syntax=syntax) == text


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.name)
def test_round_trip_through_mlir(program):
    from relax_mlir.ir import IRModule

    module = IRModule.from_expr(program)
    again = IRModule.parse(module.mlir())
    assert again == module
    assert again.script() == module.script()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.name)
def test_round_trip_without_sugar(program):
    text = program.script(syntax_sugar=False)
    assert "T.grid" not in text
    assert "remap" not in text
    assert from_source(text) == program


def test_a_load_is_printed_where_it_happens():
    text = order_matters.script()
    assert "first: T.float32 = A[0]\n    A[0] = T.float32(1.0)\n    B[0] = first" in text
    nameless = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    A[1] = A[0] + A[1]'
    )
    assert "A[1] = A[0] + A[1]" in nameless.script()


def test_a_nameless_load_before_a_store_gets_a_name():
    from relax_mlir.ir import IRModule

    module = IRModule.parse(
        """
        func.func @f(%A: memref<8xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %0 = memref.load %A[%c0] : memref<8xf32>
          %1 = memref.load %A[%c1] : memref<8xf32>
          %2 = arith.addf %0, %1 : f32
          memref.store %0, %A[%c1] : memref<8xf32>
          memref.store %2, %A[%c0] : memref<8xf32>
          return
        }
        """
    )
    lines = [line.strip() for line in module["f"].script().splitlines()]
    stores = [line for line in lines if line.startswith(("A[", "v"))]
    assert stores == [
        "v: T.float32 = A[0]",
        "v_1: T.float32 = A[1]",
        "A[1] = v",
        "A[0] = v + v_1",
    ]
    parsed = from_source(module.script())
    assert parsed.script() == module.script()


def test_macros_are_inlined_with_their_own_names():
    scale = 3.0

    @T.macro
    def scaled(target, source, i, *, offset=1):
        x = source[i + offset]
        target[i] = x * T.float32(scale)

    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(7):
            scaled(B, A, i)

    expected = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for i in range(7):
                x = A[i + 1]
                B[i] = x * T.float32(3.0)
        """
    )
    assert f == expected


def test_a_macro_inside_a_function_sees_its_names():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        @T.inline
        def clear(i):
            A[i] = 0.0

        for j in range(8):
            clear(j)

    assert "for j in range(8):\n        A[j] = T.float32(0.0)" in f.script()


def test_python_values_decide_while_the_program_is_read():
    fast, sizes = True, [2, 3]

    @T.prim_func
    def f(A: T.Buffer(tuple(sizes), "float32")):
        if fast:
            for ax in T.grid(*sizes):
                A[ax[0], ax[1]] = T.float32(sum(s * 2 for s in sizes))
        else:
            A[0, 0] = 1.0

    assert "A[ax_0, ax_1] = T.float32(10.0)" in f.script()
    assert "else" not in f.script()


def test_a_matched_region_is_an_offset():
    @T.prim_func
    def f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((4, 64), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
                T.writes(B[vi, vj * 16 : vj * 16 + 16])
                s0, s1 = T.int32(), T.int32()
                X = T.match_buffer(
                    A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16],
                    (16, 16),
                    strides=[s0, s1],
                    offset_factor=16,
                )
                Y = T.match_buffer(B[vi, vj * 16 : vj * 16 + 16], (16,))
                for a in range(16):
                    with T.block("c"):
                        va = T.axis.spatial(16, a)
                        T.reads(X[0:16, va])
                        T.writes(Y[va])
                        Y[va] = X[0, va] * 2.0

    expected = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((4, 64), "float32")):
            for i, j in T.grid(4, 4):
                with T.block("b"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi * 16 : vi * 16 + 16, vj * 16 : vj * 16 + 16])
                    T.writes(B[vi, vj * 16 : vj * 16 + 16])
                    for a in range(16):
                        with T.block("c"):
                            va = T.axis.spatial(16, a)
                            T.reads(A[vi * 16 : vi * 16 + 16, vj * 16 + va])
                            T.writes(B[vi, vj * 16 + va])
                            B[vi, vj * 16 + va] = A[vi * 16, vj * 16 + va] * 2.0
        """
    )
    assert f == expected


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ('T.match_buffer(A[0:4, 0:4], (4, 4), "float16")', "'X' is float16, A float32"),
        ("T.match_buffer(A[0:4, 0:4], (4,))", "'X' has 1 dimensions, its region is A"),
        ("T.match_buffer(3, (4,))", "takes a handle parameter of the function, or a region"),
    ],
)
def test_a_region_must_fit_its_view(match: str, message: str):
    with pytest.raises(SyntaxError, match=message):
        from_source(f'@T.prim_func\ndef f(A: T.Buffer((8, 8), "float32")):\n    X = {match}')


def test_storage_by_pointer_is_a_buffer():
    by_pointer = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            p = T.allocate([8], "float32", scope="local")
            P = T.decl_buffer([8], "float32", data=p, scope="local")
            again = T.Buffer((8,), "float32", data=p)
            P[0] = A[0]
            same = T.decl_buffer((8,), "float32", data=A.data)
            same[1] = again[0]
        """
    )
    plain = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            P = T.alloc_buffer([8], "float32", scope="local")
            P[0] = A[0]
            A[1] = P[0]
        """
    )
    assert by_pointer == plain
    reshaped = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n'
        '    B = T.decl_buffer((2, 4), "float32", data=A.data)\n    B[1, 2] = B[0, 1]'
    )
    assert '"tir.decl_buffer"' in reshaped.mlir()
    assert "B = T.decl_buffer((2, 4), data=A.data)" in reshaped.script()
    assert from_source(reshaped.script()) == reshaped


def test_buffers_are_arguments_of_calls():
    function = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            T.evaluate(T.call_extern("int32", "g", A.data, B.access_ptr("w"), 3, "text"))
            T.call_packed("env.f", A, B)
            B[0] = T.call_extern("float32", "h", A)
        """
    )
    text = function.script()
    assert 'T.evaluate(T.call_extern("int32", "g", A.data, B.data, 3, "text"))' in text
    assert 'T.evaluate(T.call_packed("env.f", A, B))' in text
    assert from_source(text) == function


def test_what_has_no_spelling_is_refused():
    from relax_mlir.errors import Error
    from relax_mlir.ir import IRModule

    module = IRModule.parse(
        """
        func.func @f(%A: memref<8xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
          %c = arith.constant 1.0 : f32
          linalg.fill ins(%c : f32) outs(%A : memref<8xf32>)
          return
        }
        """
    )
    with pytest.raises(Error, match=r"operation 'linalg\.fill' has no TVMScript spelling"):
        module.script()


def test_numbers_are_conditions():
    number = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            for i in range(8):
                if i and A[i]:
                    A[i] = 1 if A[i] else 2
                while not A[i]:
                    A[i] = 3
        """
    )
    spelled = from_source(
        """
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            for i in range(8):
                if i != 0 and A[i] != 0:
                    A[i] = T.if_then_else(A[i] != 0, 1, 2)
                while not A[i] != 0:
                    A[i] = 3
        """
    )
    assert number == spelled
    assert from_source(number.script()) == number
