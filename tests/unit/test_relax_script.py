"""Relax functions in TVMScript: every form is read, and what is printed reads back the same."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir.errors import Error, ParseError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from relax_mlir.script.printer.relax import metadata_of

WEIGHT = np.arange(32, dtype="float32").reshape(8, 4)


def round_trip(program: object) -> str:
    """Both texts of a program give it back; returns its TVMScript."""
    text = program.script()
    again = from_source(text, {"metadata": metadata_of(program)})
    assert again == program
    assert again.script() == text
    whole = program.script(show_meta=True)
    assert from_source(whole) == program
    modern = program.script(syntax="tirx")
    assert from_source(modern, {"metadata": metadata_of(program)}) == program
    if isinstance(program, IRModule):
        program.verify()
        parsed = IRModule.parse(program.mlir(), program.state.constants)
        assert parsed == program
        assert parsed.script() == text
    return text


def parse(
    body: str, signature: str = 'x: R.Tensor((4, 8), "float32")', options: str = ""
) -> object:
    lines = "\n".join("    " + line for line in body.strip().splitlines())
    return from_source(f"@R.function{options}\ndef main({signature}):\n{lines}\n")


# -- whole programs ------------------------------------------------------------------------------


def test_module_of_the_seeds() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((1, 784), dtype="float32"),
            fc1_weight: R.Tensor((256, 784), dtype="float32"),
            fc1_bias: R.Tensor((256,), dtype="float32"),
        ) -> R.Tensor((1, 256), dtype="float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                permute_dims = R.permute_dims(fc1_weight, axes=None)
                matmul = R.matmul(x, permute_dims, out_dtype="void")
                add = R.add(matmul, fc1_bias)
                relu = R.nn.relu(add)
                gv = relu
                R.output(gv)
            return gv

    text = round_trip(Module)
    assert text == (
        "# from tvm.script import ir as I\n"
        "# from tvm.script import relax as R\n"
        "\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @R.function\n"
        '    def main(x: R.Tensor((1, 784), dtype="float32"), '
        'fc1_weight: R.Tensor((256, 784), dtype="float32"), '
        'fc1_bias: R.Tensor((256,), dtype="float32")) -> R.Tensor((1, 256), dtype="float32"):\n'
        '        R.func_attr({"num_input": 1})\n'
        "        with R.dataflow():\n"
        '            permute_dims: R.Tensor((784, 256), dtype="float32") = '
        "R.permute_dims(fc1_weight, axes=None)\n"
        '            matmul: R.Tensor((1, 256), dtype="float32") = '
        'R.matmul(x, permute_dims, out_dtype="void")\n'
        '            add: R.Tensor((1, 256), dtype="float32") = R.add(matmul, fc1_bias)\n'
        '            relu: R.Tensor((1, 256), dtype="float32") = R.nn.relu(add)\n'
        '            gv: R.Tensor((1, 256), dtype="float32") = relu\n'
        "            R.output(gv)\n"
        "        return gv"
    )


def test_call_tir_and_symbols() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def linear(x: T.handle, w: T.handle, z: T.handle):
            M, N, K = T.int64(), T.int64(), T.int64()
            X = T.match_buffer(x, (M, K), "float32")
            W = T.match_buffer(w, (K, N), "float32")
            Z = T.match_buffer(z, (M, N), "float32")
            for i, j, k in T.grid(M, N, K):
                with T.sblock("Z"):
                    v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        Z[v_i, v_j] = T.float32(0.0)
                    Z[v_i, v_j] = Z[v_i, v_j] + X[v_i, v_k] * W[v_k, v_j]

        @R.function
        def main(
            x: R.Tensor(("n", 8), dtype="float32"), w: R.Tensor((8, 4), dtype="float32")
        ) -> R.Tensor(("n", 4), dtype="float32"):
            cls = Module
            n = T.int64()
            with R.dataflow():
                lv = R.call_tir(cls.linear, (x, w), out_ty=R.Tensor((n, 4), dtype="float32"))
                lv1 = R.call_tir(Module.linear, (x, w), out_sinfo=R.Tensor((n, 4), "float32"))
                lv2 = R.call_tir(linear, (x, w), (n, 4), dtype="float32")
                lv3 = R.call_tir("env.linear", (x, w), (n, 4), dtype="float32")
                lv4 = R.call_dps_packed("env.linear", (x, w), out_sinfo=R.Tensor((n, 4), "float32"))
                out = lv + lv1 * 2 - lv2 / lv3 + lv4
                R.output(out)
            return out

    text = round_trip(Module)
    assert 'def main(x: R.Tensor(("n", 8), dtype="float32")' in text
    assert "        n = T.int64()\n        cls = Module\n" in text
    call = 'R.call_tir(cls.linear, (x, w), out_sinfo=R.Tensor((n, 4), dtype="float32"))'
    assert text.count(call) == 3
    assert text.count('R.call_dps_packed("env.linear", (x, w), out_sinfo=') == 2
    assert "out_ty=R.Tensor" in Module.script(syntax="tirx")


def test_the_first_relax() -> None:
    """Bare `Tensor`, functions by name, no return annotation, shapes as outputs."""

    @I.ir_module
    class MyModule:
        @R.function
        def main(x: Tensor((1, 8), "float32"), w0: Tensor((4, 8), "float32")):
            # block 0
            with R.dataflow():
                lv0 = R.call_tir("env.linear", (x, w0), (1, 4), dtype="float32")
                out: Tensor((1, 4), "float32") = R.nn.relu(lv0)
                R.output(out)
            return out

    assert str(MyModule["main"].ret_struct_info) == 'R.Tensor((1, 4), dtype="float32")'
    round_trip(MyModule)


def test_functions_call_each_other() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 8), "float32")):
            cls = Module
            y = cls.double(x)
            z = R.add(cls.late(y), y)
            return z

        @R.function(private=True)
        def double(a: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
            return R.add(a, a)

        @R.function(private=True)
        def late(a: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
            return a

    text = round_trip(Module)
    assert 'y: R.Tensor((3, 8), dtype="float32") = cls.double(x)' in text
    assert "@R.function(private=True)" in text


def test_branches() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        if c:
            w = R.add(x, x)
            z = R.exp(w)
        elif R.less(R.sum(x), R.const(0.0)):
            z = R.sin(x)
        else:
            with R.dataflow():
                v = R.cos(x)
                z = R.tan(v)
                R.output(z)
        y = R.add(z, z)
        return y

    text = round_trip(main)
    assert text.count("if ") == 2 and text.count("else:") == 2
    assert "            z: " in text


def test_effects_and_packed_functions() -> None:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), o: R.Object, p: R.Prim("int64"), s: R.Shape(["k", 4])):
        R.call_packed("print", x)
        _ = R.call_packed(
            "print", x, R.prim_value(3), R.str("hi"), R.dtype("int8"), R.shape([1, 2])
        )
        u = R.call_pure_packed("f", x, o, sinfo_args=[R.Tensor((4,), "float32"), R.Any])
        a, b = u
        t = (a, x)
        w = t[1], t[0]
        e = R.tuple()
        return (w, b, e, (x,))

    text = round_trip(main)
    assert "@R.function(pure=False)" in text
    assert '_: R.Object = R.call_packed("print", x)' in text
    assert "w: R.Tuple(" in text and "return w, b, e, (x,)" in text


def test_constants() -> None:
    function = parse(
        """
a = R.const(1, "float32")
b = R.const([1.0, float("inf"), float("nan")], "float32")
c = x + 1.5
d = R.add(c, R.const(float("-inf"), "float32"))
e = R.const(True, "bool")
f = R.const(2, "bfloat16")
return a, b, d, e, f
"""
    )
    text = round_trip(function)
    assert 'a: R.Tensor((), dtype="float32") = R.const(1.0, "float32")' in text
    assert 'b: R.Tensor((3,), dtype="float32") = metadata["relax.expr.Constant"][0]' in text
    assert 'R.const(float("-inf"), "float32")' in text
    assert 'R.const(2.0, "bfloat16")' in text
    assert "Metadata omitted" in text


def test_captured_values() -> None:
    """Python values of the surrounding code become constants and attributes."""
    axis, shape = 1, (8, 4)

    @R.function
    def main(x: R.Tensor(shape, "float32")):
        y = R.sum(x * WEIGHT, axis=axis)
        z = R.add(y, R.const(WEIGHT[:, 0]))
        return z

    text = round_trip(main)
    assert "axis=[1]" in text and "x: R.Tensor((8, 4)" in text
    (large,) = main.state.constants.values()
    np.testing.assert_array_equal(large, WEIGHT)


def test_match_cast_and_expressions_of_symbols() -> None:
    @R.function
    def main(x: R.Tensor(("n * 2", "m"), "float32"), y: R.Tensor(ndim=2, dtype="float32")):
        n = T.int64()
        m, k = T.int64(), T.int64()
        z = R.match_cast(y, R.Tensor((k, m + 1), "float32"))
        half = n * 2 // 4
        r = R.reshape(x, (n * 2 * m,))
        w = R.zeros((half, T.min(k, 4)), "float32")
        s = R.shape([k % 3, n])
        return (z, r, w, s)

    text = round_trip(main)
    assert '"n * 2"' in text and "R.shape([k % 3, n])" in text
    assert "R.zeros(R.shape([" in text


@pytest.mark.parametrize(
    "annotation",
    [
        "R.Tensor",
        "R.Tensor()",
        'R.Tensor("float32")',
        'R.Tensor("float32", ndim=2)',
        "R.Tensor(ndim=3)",
        'R.Tensor((), "bool")',
        'R.Tensor(("a", "a + 1", "a * b", "a // 2", "max(a, b)"), "int8")',
        'Tensor(None, "float32", ndim=2)',
        "R.Object",
        "R.Any",
        'R.Prim("float32")',
        'R.Prim(value="a")',
        "R.Shape",
        'R.Shape(["a", 3])',
        "R.Tuple(R.Tensor, R.Shape(ndim=1))",
        "R.Tuple([R.Object])",
        "R.Tuple",
        "R.Callable",
        "R.Callable((R.Tensor,), R.Object)",
        "R.Callable(R.Tensor, R.Object)",
    ],
)
def test_annotations(annotation: str) -> None:
    round_trip(from_source(f"@R.function\ndef f(x: {annotation}) -> {annotation}:\n    return x"))


def test_names_survive() -> None:
    """Nested calls take names that the program does not bind itself."""
    function = parse(
        "lv1 = R.exp(x)\nlv = R.add(R.sin(lv1), R.cos(x))\nlv1 = R.add(lv, lv)\nreturn lv1"
    )
    names = [b.var.name_hint for b in function.body.bindings]
    assert names == ["lv1", "gv", "gv1", "lv", "lv1_1"]
    round_trip(function)


def test_annotation_of_a_binding_is_its_type() -> None:
    function = parse('y: R.Tensor((3, 8), "float32") = R.call_packed("f", x)\nreturn y')
    assert str(function.ret_struct_info) == 'R.Tensor((3, 8), dtype="float32")'


def test_symbols_of_the_body_are_not_the_callers() -> None:
    function = parse(
        'k = T.int64()\ny = R.match_cast(x, R.Tensor((k, 8), "float32"))\nreturn y',
        "x: R.Tensor(ndim=2, dtype='float32')",
    )
    (binding,) = function.body.bindings
    assert str(binding.var.struct_info) == 'R.Tensor((k, 8), dtype="float32")'
    assert str(function.ret_struct_info) == 'R.Tensor(dtype="float32", ndim=2)'


def test_operators_of_python() -> None:
    text = round_trip(
        parse(
            "a = x == x\nb = x != x\nc = not a\nd = a and b or c\n"
            "e = -x ** 2\nf = x[0] if False else e\nreturn d, f"
        )
    )
    for name in "equal not_equal logical_not logical_and logical_or negative power".split():
        assert f"R.{name}(" in text


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "line", "column", "message"),
    [
        (
            "y = R.matmul(x, x)\nreturn y",
            3,
            9,
            "reduction dimensions differ: R.Tensor\\(\\(4, 8\\)",
        ),
        ("y = R.relux(x)\nreturn y", 3, 9, "no operator 'relax.relux'"),
        ("y = R.add(x, z)\nreturn y", 3, 18, "name 'z' is not defined"),
        ("y = R.sum(x, axe=1)\nreturn y", 3, 9, "unexpected keyword argument 'axe'"),
        ("return x\ny = x", 4, 5, "nothing may follow the return"),
        ("y = R.exp(x)", 2, 1, "returns nothing"),
        ("for i in range(3):\n    pass\nreturn x", 3, 5, "'for' is not supported"),
        ("with T.block('b'):\n    pass\nreturn x", 3, 5, "only R.dataflow\\(\\)"),
        ("R.output(x)\nreturn x", 3, 5, "stands at the end of a dataflow block"),
        ("3\nreturn x", 3, 5, "no effect"),
        ("y: R.Tensor((4, 9), 'float32') = R.exp(x)\nreturn y", 3, 5, "dimension 1 is 8 and 9"),
        ("y: R.Tensor((4, 8), 'int8') = x\nreturn y", 3, 5, "dtypes float32 and int8"),
        ("k = T.int64()\ny = R.zeros((k,), 'int8')\nreturn y", 4, 5, "symbol 'k' has no value"),
        ("y: R.Tensor(('k',)) = R.call_packed('f', x)\nreturn y", 3, 5, "symbol 'k' has no value"),
        ("a, b = x\nreturn a", 3, 5, "only a tuple can be unpacked"),
        ("a, b = R.split(x, 4)\nreturn a", 3, 5, "2 names on the left, 4 values"),
        ("if R.sum(x) < 0.0:\n    y = x\nreturn x", 3, 5, "both branches"),
        ("y = R.match_cast(x, R.Tensor((3, 8), 'float32'))\nreturn y", 3, 5, "is never"),
        (
            "with R.dataflow():\n    y = R.exp(x)\n    R.output(x)\nreturn y",
            5,
            9,
            "its dataflow block",
        ),
        ("with R.dataflow():\n    y = R.exp(x)\nreturn y", 5, 12, "name 'y' is not defined"),
        ("def g(a):\n    return a\nreturn x", 3, 5, "is decorated with @R.function"),
        ("y = R.call_tir(f, x, (4, 8), dtype='float32')\nreturn y", 3, 20, "'f' is not defined"),
    ],
)
def test_errors_point_at_the_source(body: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(body)
    span = caught.value.span
    assert span is not None and (span.line, span.column) == (line, column)


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("x", "parameter 'x' has no type"),
        ("x: 3", "expected a type"),
        ("x: R.Tensor((1.5,))", "a dimension is an integer"),
        ("*x: R.Tensor", "plain parameters only"),
        ("x: R.Tensor(('n +',))", "not a dimension"),
    ],
)
def test_errors_in_signatures(signature: str, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse("return x", signature)
    assert caught.value.span is not None and caught.value.span.line == 2


def test_errors_of_the_result() -> None:
    with pytest.raises(ParseError, match="declared to return"):
        from_source("@R.function\ndef f(x: R.Tensor((2,))) -> R.Tensor((3,)):\n    return x")
    with pytest.raises(ParseError, match="no option 'pur'"):
        from_source("@R.function(pur=True)\ndef f(x: R.Object):\n    return x")
    with pytest.raises(ParseError, match="'Module' has no function 'g'"):
        from_source(
            "@I.ir_module\nclass Module:\n    @R.function\n    def f(x: R.Object):\n"
            "        cls = Module\n        return cls.g(x)"
        )


def test_a_weaker_result_type_is_kept_precise_and_a_stronger_one_is_checked() -> None:
    weak = from_source("@R.function\ndef f(x: R.Tensor((2,), 'int8')) -> R.Object:\n    return x")
    assert str(weak.ret_struct_info) == 'R.Tensor((2,), dtype="int8")'
    strong = from_source(
        "@R.function\ndef f(x: R.Tensor('int8')) -> R.Tensor((2,), 'int8'):\n    return x"
    )
    assert "R.match_cast(x" in strong.script()
    round_trip(strong)


def test_external_modules_are_of_the_metadata() -> None:
    from relax_mlir.relax.frontend.nn import ExternModule

    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.call_dps_packed("my_f", (x,), R.Tensor((4,), "float32"))

    first, second = ExternModule({"my_f": lambda x: x}), ExternModule({})
    module = Calls.with_attrs({"external_mods": [first, second], "version": 3})
    text = module.script()
    assert (
        'I.module_attrs({"external_mods": [metadata["ffi.Module"][0], metadata["ffi.Module"][1]], '
        '"version": 3})'
    ) in text
    assert "# Metadata omitted." in text
    again = from_source(text, {"metadata": metadata_of(module)})
    assert again.attrs == {"external_mods": [first, second], "version": 3}
    assert again.script() == text
    with pytest.raises(Error, match="external modules have no text: ExternModule, ExternModule"):
        module.script(show_meta=True)


def test_a_function_by_itself_is_called_by_its_global_symbol() -> None:
    function = parse('R.func_attr({"global_symbol": "renamed", "k": 1})\nreturn x')
    assert function.name == "renamed"
    assert function.attrs == {"global_symbol": "renamed", "k": 1}
    assert "def renamed(" in round_trip(function)

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            R.func_attr({"global_symbol": "other"})
            return x

    assert [var.name_hint for var in Module.get_global_vars()] == ["main"]
