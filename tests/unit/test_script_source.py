"""Where programs are found, which names they see, and how they are entered."""

from __future__ import annotations

import linecache
import sys
import textwrap

import pytest

import relax_mlir.script
from relax_mlir.errors import Error, ParseError
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

SIZE = 6


def body_of(function):
    """The printed program without its first lines."""
    return function.script().split("):\n", 1)[1]


def test_globals_closures_and_annotation_only_names_are_seen():
    def outer(n):
        only_in_annotation = "float16"

        def inner():
            scale = 3.0

            @T.prim_func
            def f(A: T.Buffer((n, SIZE), only_in_annotation)):
                for i, j in T.grid(n, SIZE):
                    A[i, j] = A[i, j] * T.float16(scale)

            return f

        return inner()

    text = outer(4).script()
    assert 'A: T.Buffer((4, 6), "float16")' in text
    assert "A[i, j] = A[i, j] * T.float16(3.0)" in text


def test_classes_of_one_name_are_told_apart_by_their_line():
    @I.ir_module
    class Module:
        @T.prim_func
        def first(A: T.Buffer((1,), "float32")):
            A[0] = 1.0

    one = Module

    @I.ir_module
    class Module:
        @T.prim_func
        def second(A: T.Buffer((2,), "float32")):
            A[1] = 2.0

    assert [v.name_hint for v in one.get_global_vars()] == ["first"]
    assert [v.name_hint for v in Module.get_global_vars()] == ["second"]


@pytest.mark.parametrize("decorate", [I.ir_module, relax_mlir.script.ir_module, I.ir_module()])
def test_ir_module_plain_and_called(decorate):
    @decorate
    class Module:
        @T.prim_func(private=True, check_well_formed=False)
        def f(A: T.Buffer((2,), "float32")):
            A[0] = 1.0

    assert Module["f"].is_private
    assert Module["f"].attrs == {}


def test_ir_module_as_a_plain_call():
    class Later:
        @T.prim_func
        def f(A: T.Buffer((2,), "float32")):
            A[0] = 1.0

    # The decorator of a method of a class that is no module parses at once.
    assert Later.f.name == "f"


def test_names_of_the_module_class_and_of_the_function_around_it():
    rows = 5

    @I.ir_module
    class Module:
        COLUMNS = 3

        @T.prim_func
        def f(A: T.Buffer((rows, COLUMNS), "float32")):
            for i, j in T.grid(rows, COLUMNS):
                A[i, j] = T.float32(COLUMNS)

    assert "T.Buffer((5, 3)" in Module.script()
    assert "A[i, j] = T.float32(3.0)" in Module.script()


def test_code_run_by_exec_is_found_through_linecache():
    text = textwrap.dedent(
        """
        @T.prim_func
        def f(A: T.Buffer((2,), "float32")):
            A[0] = 1.0
        """
    )
    name = "<cell 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"T": T}
    exec(compile(text, name, "exec"), names)
    assert "A[0] = T.float32(1.0)" in names["f"].script()


def test_code_without_source_says_how_to_read_it():
    names = {"T": T}
    with pytest.raises(Error, match="from_source"):
        exec('@T.prim_func\ndef f(A: T.Buffer((2,), "float32")):\n    A[0] = 1.0', names)


def test_from_source_reads_indented_text_imports_and_constants():
    function = from_source(
        """
        import numpy as np
        from tvm.script import tir as X
        N = int(np.prod([2, 3]))

        @X.prim_func
        def f(A: X.Buffer((N,), "float32")):
            for i in range(N):
                A[i] = offset
        """,
        {"offset": 2.5},
    )
    assert "for i in range(6):" in function.script()
    assert "A[i] = T.float32(2.5)" in function.script()


def test_from_source_of_functions_makes_a_module():
    module = from_source(
        """
@T.prim_func
def a(A: T.Buffer((2,), "float32")):
    A[0] = 1.0

@T.prim_func
def b(A: T.Buffer((2,), "float32")):
    A[0] = 2.0
"""
    )
    assert [v.name_hint for v in module.get_global_vars()] == ["a", "b"]


def test_from_source_of_a_class():
    class Plain:
        @T.prim_func
        def f(A: T.Buffer((SIZE,), "float32")):
            A[0] = 1.0

    assert "T.Buffer((6,)" in from_source(Plain).script()


def test_from_source_refuses_text_without_programs():
    with pytest.raises(ParseError, match="defines no function and no module"):
        from_source("x = 1")
    with pytest.raises(ParseError) as caught:
        from_source("def f(:\n  pass", file="broken.py")
    assert caught.value.span.file == "broken.py"
    assert caught.value.span.line == 1


def test_module_attributes_infos_and_python_functions():
    @I.ir_module
    class Module:
        I.module_attrs({"answer": 42})
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 1)]})

        @I.pyfunc
        def helper(x):
            return x

        @T.prim_func
        def f(A: T.Buffer((2,), "float32")):
            A[0] = 1.0

    assert Module.attrs == {"answer": 42}
    assert Module.get_attr("answer") == 42
    assert [d.fields["target"] for d in Module.global_infos["vdevice"]] == ["llvm", "cuda"]
    assert Module.pyfuncs["helper"](7) == 7
    assert [v.name_hint for v in Module.get_global_vars()] == ["f"]
    text = Module.script()
    assert 'I.module_attrs({"answer": 42})' in text
    assert from_source(text).attrs == {"answer": 42}


def test_setting_a_module_attribute_twice_is_refused():
    with pytest.raises(ParseError, match="module attribute 'a' is set twice"):
        from_source(
            "@I.ir_module\nclass M:\n    I.module_attrs({'a': 1})\n    I.module_attrs({'a': 2})"
        )


def test_two_spellings_are_one_module():
    from relax_mlir.script import tirx

    assert tirx is T
    assert sys.modules["relax_mlir.script.tirx"] is T
    assert T.sblock is T.block
    assert T.sblock_alloc_buffer is T.alloc_buffer


def test_function_attributes_name_the_function():
    @T.prim_func
    def func(A: T.Buffer((2,), "float32")):
        T.func_attr({"global_symbol": "main", "tirx.noalias": True, "op_pattern": 2})
        A[0] = 1.0

    assert func.name == "main"
    assert func.attrs == {"global_symbol": "main", "tir.noalias": True, "op_pattern": 2}
