"""Every mistake in a program is an error at its file, line and column."""

from __future__ import annotations

import re

import pytest

import relax_mlir
from relax_mlir.errors import Error, ParseError
from relax_mlir.script import from_source
from relax_mlir.script import tir as T

HEADER = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 4), "int32")):\n'

# Lines of a body (the first is line 3 of the program), the marked place, and the message.
CASES = [
    ("A[0] = «missing»", "name 'missing' is not defined"),
    ("A[0] = «T.no_such_function»(1)", "T has no 'no_such_function'"),
    ("A[0] = T.exp(«A[0, 1]»)", "buffer A has 1 dimensions, 2 indices given"),
    ("«A[0] = B»", "an element is assigned a scalar, not a region"),
    ("«B[0:2, 0] = 1»", "a store names one element"),
    ("for i in «[1, 2]»:\n        A[i] = 1.0", "a for statement runs over a loop, not over a list"),
    ("for «i, j» in range(4):\n        A[i] = 1.0", "2 loop variables for 1 loops"),
    ("for i in «T.thread_binding(4)»:\n        A[i] = 1.0", "thread_binding needs thread="),
    (
        'with T.block("b"):\n        «vi, vj» = T.axis.remap("S", [0])',
        "2 names on the left, 1 values",
    ),
    (
        'with T.block("b"):\n        «vi = T.axis.remap("S", [3])»',
        "T.axis.remap takes loop variables, not 3",
    ),
    (
        'with T.block("b"):\n        vi = «T.axis.remap(3, [0])»',
        "remap: the kinds are a string such as 'SSR', not 3",
    ),
    ("vi = «T.axis.spatial(8)»", "missing 1 required positional argument: 'binding'"),
    ("«vi = T.axis.spatial(8, 0)»", "T.axis stands in a block"),
    ("«with T.init():»\n        A[0] = 1.0", "T.init stands in a block"),
    ("with «T.grid(2)»:\n        A[0] = 1.0", "a LoopForm opens no scope"),
    ("«T.where(A[0] > 1.0)»", "T.where stands in a block"),
    ("x = A[0]\n    «x += 1.0»", "a variable is assigned once"),
    ("«x: T.int32 = A[0]»", "'x' is int32, its value is float32"),
    ("«import os»", "'import' is not supported here"),
    ("«del A»", "'del' is not supported here"),
    ("A[0] = «A + 1.0»", "arithmetic on a whole buffer or a region"),
    ("A[0] = «A[0] and A[1]»", "a condition is a bool or an integer, not float32"),
    ("«if A[0]:»\n        A[1] = 1.0", "a condition is a bool or an integer, not float32"),
    ("A[0] = «1 // 0»", "integer division or modulo by zero"),
    ("«A[0]»\n    «1 + 1»", "this statement has no effect: 1 + 1"),
    ('C = «T.alloc_buffer((2,), "float33")»', "unknown dtype 'float33'"),
    ("C = «T.alloc_buffer(shape=(2,), size=3)»", "unexpected keyword argument 'size'"),
    ("C = «T.alloc_buffer((2,), align=1.5)»", "a buffer's 'align' is a whole number, given 1.5"),
    ('C = «T.alloc_buffer((2,), offset_factor="1")»', "'offset_factor' is a whole number"),
    ("«T.reads(A[-9223372036854775807 - 1])»", "T.reads stands in a block"),
    (
        '«with T.block("b"):\n        T.reads(A[-9223372036854775807 - 1])»',
        "an offset or a size of -9223372036854775808 is out of range",
    ),
    ('A[0] = «T.float32("one")»', "T.float32: 'one' is no number"),
    ("«T.alloc_buffer((2,))»", "the buffer needs a name"),
    ("«T.func_attr({'x': A[0]})»", "an attribute holds constants"),
    ("«def g():»\n        pass", "a function inside a function is a macro"),
    ("i = 1\n    «i[0] = 2»", "only elements of buffers can be assigned, not of a int"),
    ("for i in T.serial(«n»):\n        A[i] = 1.0", "name 'n' is not defined"),
    ("while A[0] < 1.0:\n        A[0] = «nope»", "name 'nope' is not defined"),
    ("A[0] = «(lambda x: x)()»", "the lambda's argument 'x' is missing"),
]


@pytest.mark.parametrize(("body", "message"), CASES, ids=[m[:40] for _, m in CASES])
def test_the_place_of_a_mistake(body: str, message: str):
    program = HEADER + "    " + body
    *_, marked = re.finditer("«", program)
    plain = program.replace("«", "").replace("»", "")
    before = program[: marked.start()].replace("«", "").replace("»", "")
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        from_source(plain, file="program.py")
    span = caught.value.span
    assert (span.file, span.line, span.column) == ("program.py", line, column)
    assert span.text == plain.splitlines()[line - 1]


def test_the_message_shows_the_line_with_a_caret():
    with pytest.raises(ParseError) as caught:
        from_source(HEADER + "    A[0] = A[0] + nope * 2.0", file="p.py")
    expected = (
        "p.py:3:19: name 'nope' is not defined\n"
        "      A[0] = A[0] + nope * 2.0\n"
        "                    ^^^^"
    )
    assert str(caught.value) == expected


def test_columns_count_characters_not_bytes():
    with pytest.raises(ParseError) as caught:
        from_source(HEADER + "    é = 1; A[0] = nope")
    assert caught.value.span.column == 19


def test_a_decorated_function_points_into_this_file():
    with pytest.raises(ParseError) as caught:

        @T.prim_func
        def f(A: T.Buffer((8,), "float32")):
            A[0] = undefined_name

    span = caught.value.span
    assert span.file == __file__
    assert span.text.strip() == "A[0] = undefined_name"
    assert span.column == 20


SIGNATURES = [
    ("«A»", "parameter 'A' has no type"),
    ("A: «T.match_buffer»", "is a buffer, a scalar or a handle, not"),
    ("A: «3»", "is a buffer, a scalar or a handle, not int"),
    ("A: «T.Buffer((2,), 'float99')»", "unknown dtype"),
    ("A: «T.Buffer((2.5,), 'float32')»", "a size must be an integer"),
    ("A: «unknown»", "name 'unknown' is not defined"),
    ("A: T.Buffer((2,), 'float32'), «*rest»", "plain parameters only"),
]


@pytest.mark.parametrize(("parameters", "message"), SIGNATURES, ids=[p for p, _ in SIGNATURES])
def test_mistakes_in_a_signature(parameters: str, message: str):
    plain = parameters.replace("«", "").replace("»", "")
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        from_source(f"@T.prim_func\ndef f({plain}):\n    pass")
    assert caught.value.span.line in (1, 2)


TENSORS = [
    ("R.Tensor(4)", "a shape is a sequence of dimensions, got 4"),
    ("R.Tensor(ndim=1e400)", "a rank is an integer up to 1024, not inf"),
    ("R.Tensor(ndim=9223372036854775807)", "a rank is an integer up to 1024"),
]


@pytest.mark.parametrize(("tensor", "message"), TENSORS, ids=[t for t, _ in TENSORS])
def test_mistakes_in_the_type_of_a_tensor(tensor: str, message: str):
    with pytest.raises(ParseError, match=re.escape(message)) as caught:
        from_source(f"@R.function\ndef f(x: {tensor}):\n    return x")
    assert caught.value.span.line == 2


def test_unknown_decorator_options_are_named():
    with pytest.raises(ParseError, match=r"T\.prim_func has no option 'privat'"):
        from_source("@T.prim_func(privat=True)\ndef f():\n    pass")
    with pytest.raises(TypeError, match=r"T\.prim_func has no option 'privat'"):
        T.prim_func(privat=True)


def test_mistakes_in_a_module():
    with pytest.raises(ParseError, match="has no decorator that says what it is") as caught:
        from_source("@I.ir_module\nclass M:\n    def f():\n        pass")
    assert caught.value.span.line == 3
    with pytest.raises(ParseError, match="'f' is defined twice"):
        from_source(
            "@I.ir_module\nclass M:\n"
            "    @T.prim_func\n    def f():\n        pass\n"
            "    @T.prim_func\n    def f():\n        pass\n"
        )
    with pytest.raises(ParseError, match="'while' is not supported in a module"):
        from_source("@I.ir_module\nclass M:\n    while True:\n        pass")


def test_calls_of_functions_whose_result_is_not_annotated():
    program = (
        "@I.ir_module\nclass M:\n"
        "    @R.function\n    def f(x: R.Tensor((4,))):\n        return M.g(x, x)\n"
        "    @R.function\n    def g(x: R.Tensor((4,))):\n        return x\n"
    )
    with pytest.raises(ParseError, match="'g' takes 1 arguments, 2 given") as caught:
        from_source(program)
    assert caught.value.span.line == 5


def test_constants_of_no_dtype():
    program = '@R.function\ndef f(x: R.Tensor((2,))):\n    return R.const([1.0], "float32x4")'
    with pytest.raises(ParseError, match="no elements of dtype float32x4") as caught:
        from_source(program)
    assert caught.value.span.line == 3


def test_a_program_without_a_function():
    with pytest.raises(ParseError, match=r"^p\.py:1:1: the program defines no function"):
        from_source("x = 3\n", file="p.py")


def test_a_private_function_has_no_global_symbol():
    with pytest.raises(ParseError, match="private function cannot have a global_symbol"):
        from_source("@T.prim_func(private=True)\ndef f():\n    T.func_attr({'global_symbol': 'f'})")


def test_parse_errors_are_syntax_errors_and_ours():
    assert issubclass(ParseError, SyntaxError)
    assert issubclass(ParseError, Error)


def test_a_primitive_function_calls_another():
    module = from_source(
        "@I.ir_module\nclass M:\n"
        "    @T.prim_func\n    def g():\n        pass\n"
        "    @T.prim_func\n    def f():\n        M.g()\n"
    )
    assert "g()" in module.script()
    relax_mlir.build(module)["f"]()


def test_what_mlir_refuses_is_shown_at_the_users_line():
    with pytest.raises(ParseError, match="are cast incompatible") as caught:
        from_source(
            HEADER
            + "    B[0, 0] = 1\n"
            + '    A[0] = T.call_intrin("float16", "tir.reinterpret", B[0, 1])'
        )
    assert caught.value.span.line == 4
    assert "see current operation" not in caught.value.message
