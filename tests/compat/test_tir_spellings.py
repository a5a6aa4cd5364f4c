"""The same program in the spellings of TVM's versions is the same program here."""

from __future__ import annotations

import pytest

from relax_mlir.errors import Error
from relax_mlir.script import from_source

REFERENCE = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                T.block_attr({"note": "x"})
                vi = T.axis.spatial(8, i)
                vj = T.axis.reduce(8, j)
                with T.init():
                    B[vi, 0] = T.float32(0)
                B[vi, 0] = T.max(B[vi, 0], C[vi, vj])
"""

# (what, in the reference, in the other spelling)
SPELLINGS = [
    ("sblock", "T.block(", "T.sblock("),
    ("sblock_attr", "T.block_attr(", "T.sblock_attr("),
    ("sblock_alloc_buffer", "T.alloc_buffer(", "T.sblock_alloc_buffer("),
    ("decl_buffer", "T.alloc_buffer(", "T.decl_buffer("),
    ("s_tir", "@T.prim_func\n", "@T.prim_func(s_tir=True, check_well_formed=False)\n"),
    ("Buffer[]", 'T.Buffer((8, 8), "float32")', 'T.Buffer[(8, 8), "float32"]'),
    ("Buffer dtype=", 'T.Buffer((8, 8), "float32")', 'T.Buffer((8, 8), dtype="float32")'),
    ("Buffer default dtype", 'T.Buffer((8, 8), "float32")', "T.Buffer((8, 8))"),
    ("Buffer T.float32", 'T.Buffer((8, 8), "float32")', "T.Buffer([8, 8], T.float32)"),
    ("tirx.noalias", '"tir.noalias": True', '"tirx.noalias": T.bool(True)'),
    ("reads list", "T.reads(A[vi, vj])", "T.reads([A[vi, vj]])"),
    ("writes list", "T.writes(C[vi, vj])", "T.writes([C[vi, vj]])"),
    ("reads slice", "T.reads(A[vi, vj])", "T.reads(A[vi : vi + 1, vj : vj + 1])"),
    ("reads detected", "            T.reads(A[vi, vj])\n            T.writes(C[vi, vj])\n", ""),
    (
        "remap apart",
        'vi, vj = T.axis.remap("SS", [i, j])',
        "vi = T.axis.S(8, i); vj = T.axis.S(8, j)",
    ),
    ("range", "T.axis.spatial(8, i)", "T.axis.spatial((0, 8), i)"),
    ("single remap", "vi = T.axis.spatial(8, i)", 'vi = T.axis.remap("S", [i])'),
    ("axis.R", "T.axis.reduce(8, j)", "T.axis.R(8, j)"),
    ("serial", "for i in range(8)", "for i in T.serial(8)"),
    ("start, stop", "for i in range(8)", "for i in T.serial(0, 8)"),
    ("grid apart", "for i, j in T.grid(8, 8):", "for (i, j) in T.grid(8, T.int32(8)):"),
    ("python float", "+ T.float32(1)", "+ 1.0"),
    ("string float", "T.float32(1)", 'T.float32("1")'),
    ("python zero", "= T.float32(0)", "= 0"),
    ("docstring", "    T.func_attr", '    """Says nothing."""\n    T.func_attr'),
    ("return annotation", '"float32")):\n', '"float32")) -> None:\n'),
    ("dtype keyword", "T.max(B[vi, 0], C[vi, vj])", 'T.max(B[vi, 0], C[vi, vj], dtype="float32")'),
    ("attribute late", '                T.block_attr({"note": "x"})\n', ""),
]  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new"), SPELLINGS, ids=[w for w, *_ in SPELLINGS])
def test_spelling(what: str, old: str, new: str):
    changed = REFERENCE.replace(old, new)
    assert changed != REFERENCE
    if what == "attribute late":
        late = '                T.block_attr({"note": "x"})\n'
        changed = changed.replace(" " * 16 + "with T.init():", late + " " * 16 + "with T.init():")
    assert from_source(changed) == from_source(REFERENCE)


HANDLES = [
    ("symbols in one line", "n, m = T.int32(), T.int32()"),
    ("symbols in two lines", "n = T.int32()\n    m = T.int32()"),
    ("T.var", 'n = T.var("int32")\n    m = T.var("int32")'),
    ("is_size_var", "n, m = T.int32(is_size_var=True), T.int32(is_size_var=True)"),
]
SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    {symbols}
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, shape=[m, n], dtype="float32")
    for i, j in T.grid(m, n):
        B[i, j] = A[j, i]
"""


@pytest.mark.parametrize(("what", "symbols"), HANDLES, ids=[w for w, _ in HANDLES])
def test_symbols(what: str, symbols: str):
    reference = from_source(SYMBOLIC.format(symbols=HANDLES[0][1]))
    assert from_source(SYMBOLIC.format(symbols=symbols)) == reference


def test_sizes_as_text_and_type_variables():
    """TVM 0.27 prints symbolic sizes this way; a symbol that nothing declares is int64."""
    text = """
    from typing import TypeVar
    from tvm.script import tirx as T
    n = TypeVar("n")

    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((n, "m * 2"), "float32"), B: T.Buffer(("m * 2", n), "float32")):
        m = T.int64()
        for i, j in T.grid(m * 2, n):
            B[i, j] = A[j, i]
    """
    classic = """
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m * 2))
        B = T.match_buffer(b, (m * 2, n))
        for i, j in T.grid(m * 2, n):
            B[i, j] = A[j, i]
    """
    with pytest.raises(SyntaxError, match="variable m is not defined"):
        from_source(classic)
    given = (text.replace("m * 2", "m"), classic.replace("m * 2", "m"))
    assert from_source(given[0]) == from_source(given[1])


def test_augmented_assignment():
    program = (
        '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    for i in range(8):\n        {}'
    )
    for operator in ("+", "-", "*", "/"):
        short = from_source(program.format(f"A[i] {operator}= 2.0"))
        assert short == from_source(program.format(f"A[i] = A[i] {operator} 2.0"))


LETS = [
    "x: T.float32 = A[0] * 2.0",
    "x: T.let[T.float32] = A[0] * 2.0",
    "x = A[0] * 2.0",
    "x = T.bind(A[0] * 2.0)",
]


@pytest.mark.parametrize("let", LETS)
def test_variables(let: str):
    program = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    {}\n    A[1] = x'
    assert from_source(program.format(let)) == from_source(program.format(LETS[0]))
    scoped = (
        '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n'
        "    with T.LetStmt(A[0] * 2.0) as x:\n        A[1] = x"
    )
    assert from_source(scoped) == from_source(program.format(LETS[0]))


ASSERTS = ['"broken"', '("RuntimeError", ["broken"])', '("RuntimeError", ["bro", "ken"])']


@pytest.mark.parametrize("message", ASSERTS)
def test_assertions(message: str):
    program = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    assert A[0] > 0.0, {}'
    assert from_source(program.format(message)) == from_source(program.format(ASSERTS[0]))


def test_launch_thread_is_a_bound_loop():
    old = """
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 8)
        A[tx] = 1.0
    """
    with_form = """
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        with T.launch_thread("threadIdx.x", 8) as tx:
            A[tx] = 1.0
    """
    loop = """
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            A[tx] = 1.0
    """
    assert from_source(old) == from_source(loop)
    assert from_source(with_form) == from_source(loop)


IMPORTS = [
    "from tvm.script import tir as X",
    "from tvm.script import tirx as X",
    "from tvm.script.parser import tir as X",
    "from tvm.script.parser import tirx as X",
    "import tvm.script.tir as X",
    "from relax_mlir.script import tir as X",
    "from relax_mlir.script.parser import tir as X",
]


@pytest.mark.parametrize("line", IMPORTS)
def test_imports(line: str):
    program = REFERENCE.replace("T.", "X.")
    assert from_source(line + "\n" + program) == from_source(REFERENCE)


def test_the_parser_package_has_the_namespaces():
    from relax_mlir.script import ir as I
    from relax_mlir.script import relax as R
    from relax_mlir.script import tir as T
    from relax_mlir.script.parser import ir, relax, tir, tirx

    assert (ir, relax, tir, tirx) == (I, R, T, T)


def test_vector_stores_as_methods():
    method = """
    @T.prim_func
    def f(A: T.Buffer((16, 16), "float32")):
        A.vstore([2, 0], A.vload([1, 4], "float32x4"))
        A.vstore([0, T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1), 4))
    """
    indexed = """
    @T.prim_func
    def f(A: T.Buffer((16, 16), "float32")):
        A[2, T.Ramp(0, 1, 4)] = A[1, T.Ramp(4, 1, 4)]
        A[0, 0:4:1] = T.Broadcast(T.float32(1), 4)
    """
    assert from_source(method) == from_source(indexed)


MISTAKES = {
    "for i, A[0] in T.grid(8, 8):\n        pass": "a loop variable is a name",
    "for (i, j), k in T.grid(8, 8):\n        pass": "a loop variable is a name",
    "A[0] = T.Let(A[0], T.float32(1), A[1])": r"T\.Let\(variable, value, body\) takes a variable",
}


@pytest.mark.parametrize("statement", MISTAKES)
def test_mistakes_are_errors_that_say_so(statement: str) -> None:
    program = f"""
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    {statement}
"""
    with pytest.raises(Error, match=MISTAKES[statement]):
        from_source(program)
