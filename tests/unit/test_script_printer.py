"""The printed text, exactly: programs as TVM's own tutorials print them come back unchanged."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import tir as T

LEGALIZED = """# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(lv1: T.Buffer((T.int64(1), T.int64(256)), "float32"), p_fc1_bias: T.Buffer((T.int64(256),), "float32"), T_add: T.Buffer((T.int64(1), T.int64(256)), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        # with T.block("root"):
        for ax0, ax1 in T.grid(T.int64(1), T.int64(256)):
            with T.block("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(lv1[v_ax0, v_ax1], p_fc1_bias[v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = lv1[v_ax0, v_ax1] + p_fc1_bias[v_ax1]

    @T.prim_func(private=True)
    def fused_matmul1_add1(lv3: T.Buffer((T.int64(1), T.int64(256)), "float32"), lv4: T.Buffer((T.int64(256), T.int64(10)), "float32"), p_fc2_bias: T.Buffer((T.int64(10),), "float32"), T_add_intermediate: T.Buffer((T.int64(1), T.int64(10)), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        # with T.block("root"):
        matmul_intermediate = T.alloc_buffer((T.int64(1), T.int64(10)))
        for i0, i1, k in T.grid(T.int64(1), T.int64(10), T.int64(256)):
            with T.block("matmul"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                T.reads(lv3[v_i0, v_k], lv4[v_k, v_i1])
                T.writes(matmul_intermediate[v_i0, v_i1])
                with T.init():
                    matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
                matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + lv3[v_i0, v_k] * lv4[v_k, v_i1]
        for ax0, ax1 in T.grid(T.int64(1), T.int64(10)):
            with T.block("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(matmul_intermediate[v_ax0, v_ax1], p_fc2_bias[v_ax1])
                T.writes(T_add_intermediate[v_ax0, v_ax1])
                T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + p_fc2_bias[v_ax1]

    @T.prim_func(private=True)
    def relu(lv2: T.Buffer((T.int64(1), T.int64(256)), "float32"), compute: T.Buffer((T.int64(1), T.int64(256)), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        # with T.block("root"):
        for i0, i1 in T.grid(T.int64(1), T.int64(256)):
            with T.block("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(lv2[v_i0, v_i1])
                T.writes(compute[v_i0, v_i1])
                compute[v_i0, v_i1] = T.max(lv2[v_i0, v_i1], T.float32(0.0))

    @T.prim_func(private=True)
    def transpose1(p_fc2_weight: T.Buffer((T.int64(10), T.int64(256)), "float32"), T_transpose: T.Buffer((T.int64(256), T.int64(10)), "float32")):
        T.func_attr({"op_pattern": 2, "tir.noalias": T.bool(True)})
        # with T.block("root"):
        for ax0, ax1 in T.grid(T.int64(256), T.int64(10)):
            with T.block("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(p_fc2_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = p_fc2_weight[v_ax1, v_ax0]"""

BOUND = """# from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    # with T.block("root"):
    for i_0 in T.thread_binding(2, thread="blockIdx.x"):
        for i_2 in T.thread_binding(2, thread="threadIdx.x"):
            for i_1 in range(2):
                with T.block("B"):
                    vi = T.axis.spatial(8, i_0 * 4 + i_1 * 2 + i_2)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi] + T.float32(1.0)"""


@pytest.mark.parametrize("text", [LEGALIZED, BOUND], ids=["legalized", "bound"])
def test_text_comes_back_unchanged(text: str):
    assert from_source(text).script() == text


def test_modern_spelling():
    text = from_source(BOUND).script(syntax="tirx")
    assert text.splitlines()[:6] == [
        "# from tvm.script import tirx as T",
        "",
        "@T.prim_func(s_tir=True)",
        'def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):',
        '    T.func_attr({"tirx.noalias": True})',
        '    # with T.sblock("root"):',
    ]
    assert 'with T.sblock("B"):' in text
    assert from_source(text) == from_source(BOUND)


def test_options():
    module = from_source(LEGALIZED)
    text = module.script(name="Other", indent_spaces=2)
    assert "class Other:\n  @T.prim_func(private=True)\n  def add(" in text
    assert from_source(text) == module
    with pytest.raises(ValueError, match="syntax is one of tir, tirx"):
        module.script(syntax="python")
    with pytest.raises(TypeError, match=r"script\(\) has no option 'indent'"):
        module.script(indent=2)


def test_an_empty_module():
    text = IRModule().script()
    assert text == "# from tvm.script import ir as I\n\n@I.ir_module\nclass Module:\n    pass"
    assert from_source(text) == IRModule()


def test_symbolic_sizes_are_declared_where_they_are_first_met():
    @T.prim_func
    def f(a: T.handle, b: T.handle, C: T.Buffer((2, 3), "int32")):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float16", scope="global", align=128)
        B = T.match_buffer(b, (m * 2 + n // 4,))
        for i in range(n):
            B[i] = T.Cast("float32", A[i, 0])

    assert f.script().splitlines()[2:] == [
        "@T.prim_func",
        'def f(var_A: T.handle, var_B: T.handle, C: T.Buffer((2, 3), "int32")):',
        "    n, m = T.int64(), T.int64()",
        '    A = T.match_buffer(var_A, (n, m), "float16", align=128)',
        "    B = T.match_buffer(var_B, (n // T.int64(4) + m * T.int64(2),))",
        "    for i in range(n):",
        '        B[i] = T.Cast("float32", A[i, T.int64(0)])',
    ]


REMAINDERS = [
    ("i % 8", "i % 8"),
    ("i % 8 * 4 + j", "i % 8 * 4 + j"),
    ("(i * 16 + j) // 8 % 4", "(i * 2 + j // 8) % 4"),
    ("i * 2 + j - 1", "i * 2 + j - 1"),
    ("7 - i", "7 - i"),
    ("i - j", "i - j"),
    ("j - i * 3", "j - i * 3"),
    ("i + i + i", "i * 3"),
    ("(i + 1) % 2", "(i + 1) % 2"),
    ("T.min(i, j) + 1", "T.min(i, j) + 1"),
]


@pytest.mark.parametrize(("written", "printed"), REMAINDERS)
def test_indices_are_simplified_and_readable(written: str, printed: str):
    function = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((64,), "float32")):\n'
        f"    for i, j in T.grid(16, 16):\n        A[{written}] = 1.0"
    )
    assert f"A[{printed}] = T.float32(1.0)" in function.script()


FLOATS = [
    ("T.float32(1e-05)", "T.float32(1.0000000000000001e-05)"),
    ("T.float32(0.1)", "T.float32(0.10000000000000001)"),
    ("T.float32(3)", "T.float32(3.0)"),
    ('T.float32("inf")', 'T.float32("inf")'),
    ('T.float32("-inf")', 'T.float32("-inf")'),
    ('T.float32("nan")', 'T.float32("nan")'),
    ("T.float32(-0.0)", "T.float32(-0.0)"),
    ("T.float32(16777216.0)", "T.float32(16777216.0)"),
]


@pytest.mark.parametrize(("written", "printed"), FLOATS)
def test_float_constants(written: str, printed: str):
    function = from_source(
        f'@T.prim_func\ndef f(A: T.Buffer((1,), "float32")):\n    A[0] = {written}'
    )
    assert f"A[0] = {printed}" in function.script()
    assert from_source(function.script()).script() == function.script()


@pytest.mark.parametrize(
    "line",
    [
        'T.func_attr({"limit": T.float64("inf")})',
        'with T.block("b"):\n        T.block_attr({"limits": [0.5, float("-inf")]})',
    ],
)
def test_infinite_attributes(line: str):
    program = f"@T.prim_func\ndef f(A: T.Buffer((T.int64(9223372036854775807),))):\n    {line}"
    module = from_source(program)
    assert 'inf")' in module.script()
    assert from_source(module.script()) == module


def test_intrinsics_that_no_function_is_named_after():
    function = from_source(
        '@T.prim_func\ndef f():\n    T.evaluate(T.call_intrin("void", "tir.nosuch"))'
    )
    assert 'T.call_intrin("void", "nosuch")' in function.script()
    assert from_source(function.script()).script() == function.script()


def test_a_handle_beside_symbolic_sizes():
    program = (
        "@T.prim_func\ndef f(h: T.handle, a: T.handle):\n    n = T.int64()\n"
        "    A = T.match_buffer(a, (n,))\n    A[0] = T.float32(1)"
    )
    function = from_source(program)
    assert from_source(function.script()).script() == function.script()
