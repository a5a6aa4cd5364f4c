"""Forms of lowered programs and of the first TVMScript: each parses, verifies, and comes back from
both texts as it was."""

from __future__ import annotations

import pytest

from relax_mlir.errors import ParseError
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

BODIES = {
    "allocate": 'p = T.allocate([16], "float32", "local")\np[0] = A[0]\nA[1] = p[0]',
    "allocate two views": (
        'p = T.allocate([16], "int32", "global")\nF = T.decl_buffer((16,), "int32", data=p)\n'
        'G = T.Buffer((4, 4), "float32", data=p)\nF[0] = n\nG[1, 2] = A[0]'
    ),
    "allocate a computed size": (
        'for i in range(4):\n    with T.allocate([i + 1], "float32", "global") as p:\n'
        "        p[i] = A[i]"
    ),
    "allocate_const": (
        'c = T.allocate_const([1, -2, 3], "int8", [3])\n'
        'C = T.decl_buffer((3,), "int8", data=c)\nA[0] = T.cast(C[1], "float32")'
    ),
    "load and store": (
        "p = T.allocate([16], 'float32', 'global')\n"
        "T.store(p, 3, T.load('float32', A.data, 2), True)"
    ),
    "reshaped data": 'B = T.decl_buffer((2, 4), "float32", data=A.data)\nB[1, 3] = B[0, 1]',
    "address": 'T.evaluate(T.call_extern("int32", "f", T.address_of(A[n]), A.data))',
    "handle": 'p: T.handle("float32") = T.address_of(A[2])\nT.evaluate(T.isnullptr(p))',
    "null": 'T.evaluate(T.call_extern("int32", "f", T.reinterpret("handle", T.uint64(0))))',
    "late handle": (
        'p = T.handle("float32")\nB = T.decl_buffer((8,), "float32", data=p)\n'
        "T.LetStmt(A.data, var=p)\nB[0] = 1.0"
    ),
    "attr": 'with T.attr(A.data, "double_buffer", 1):\n    A[0] = 1.0',
    "attr of a name": 'T.attr("default", "device_id", n)\nA[0] = 1.0',
    "reducer": (
        "with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), 'reduce_scope', "
        'T.reinterpret("handle", T.uint64(0))):\n    A[0] = 1.0'
    ),
    "launch twice": (
        'tx = T.env_thread("threadIdx.x")\nwith T.launch_thread(tx, 8):\n    A[tx] = 1.0\n'
        "with T.launch_thread(tx, 4):\n    A[tx] = 2.0"
    ),
    "mma": ('T.evaluate(T.tvm_fill_fragment(A.data, 16, 16, 16, 0, T.float32(0), dtype="handle"))'),
    "access_ptr": (
        'T.evaluate(T.tvm_storage_sync("shared"))\nT.evaluate(T.call_extern("int32", "f", '
        'T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 8, 1)))'
    ),
    "llvm": (
        'A[0:4] = T.call_llvm_pure_intrin("float32x4", T.llvm_lookup_intrinsic_id("llvm.fabs"), '
        "T.uint32(1), A[4:8])"
    ),
    "lanes": 'A[0] = T.reinterpret("float32", A.vload([0], "float32x1"))\n'
    'T.evaluate(T.reinterpret("int8x4", n))',
    "return": "if n > 0:\n    return n\nreturn 0",
    "break": "for i in range(8):\n    if i > n:\n        break\n    A[i] = 0.0",
    "assume": "T.evaluate(T.assume(n > 0))\nA[0] = 1.0",
    "q_multiply_shift": ("A[0] = T.cast(T.q_multiply_shift(n, 1457846997, 31, 0), 'float32')"),
    "vectors": 'V = T.alloc_buffer((4,), "float32x4")\nV[0] = A.vload([0], "float32x4")',
    "undefined layout": (
        's = T.int32()\nB = T.decl_buffer((8,), "float32", elem_offset=s, data=A.data)\nB[0] = 1.0'
    ),
    "preflattened": 'T.preflattened_buffer(A, [2, 4], dtype="float32", data=A.data)\nA[0] = 1.0',
}


def read(body: str) -> IRModule:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    function = from_source(
        f'@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), n: T.int32):\n{lines}\n'
    )
    return IRModule({"f": function})


def check(module: IRModule) -> None:
    text, script = module.verify().mlir(), module.script()
    assert IRModule.parse(text).verify() == module
    again = from_source(script)
    assert again == module
    assert again.script() == script


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_round_trip(body: str) -> None:
    check(read(body))


OLD = """
from tvm.script import ty
@tvm.script.tir
def f(a: ty.handle, c: ty.handle) -> None:
    A = tir.match_buffer(a, [16, 16], "float32")
    C = tir.match_buffer(c, [16], "float32")
    for i, k in tir.grid(16, 16):
        with tir.block([16, tir.reduce_axis(0, 16)], "update") as [vi, vk]:
            tir.bind(vi, i)
            tir.bind(vk, k)
            with tir.init():
                C[vi] = tir.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""

NEW = """
@T.prim_func
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 16):
        with T.block("update"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""


def test_the_first_spelling_is_the_same_program() -> None:
    assert from_source(OLD) == from_source(NEW)


def test_an_old_block_without_bindings_brings_its_loops() -> None:
    old = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((8, 4), "float32")):\n'
        '    with T.block([8, 4], "zero") as [vi, vj]:\n        A[vi, vj] = 0.0\n'
    )
    new = from_source(
        '@T.prim_func\ndef f(A: T.Buffer((8, 4), "float32")):\n    for i, j in T.grid(8, 4):\n'
        '        with T.block("zero"):\n            vi, vj = T.axis.remap("SS", [i, j])\n'
        "            A[vi, vj] = 0.0\n"
    )
    assert old == new


VIEW = """
@T.prim_func
def f(A: T.Buffer((64, 64), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 16 : vi * 16 + 16, 0:16])
            T.writes(A[vi * 16 : vi * 16 + 16, 0:16])
            s0, s1 = T.int32(), T.int32()
            X = T.match_buffer(A[vi * 16 : vi * 16 + 16, 0:16], (16, 16), strides=[s0, s1])
            T.evaluate(T.call_extern("int32", "kernel", X.data, X.elem_offset, s0))
"""


def test_a_view_whose_layout_is_asked_for_is_an_operation() -> None:
    module = IRModule({"f": from_source(VIEW)})
    check(module)
    text = module.mlir()
    assert "memref.subview %A[" in text and "memref.extract_strided_metadata %X" in text


NESTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), f: R.Callable((R.Tensor((2, 3), "float32"),),
             R.Tensor((2, 3), "float32"))) -> R.Tensor((2, 3), "float32"):
        @R.function
        def inner(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            R.func_attr({"Composite": "part"})
            with R.dataflow():
                z = R.add(x, y)
                R.output(z)
            return z
        @R.function(pure=False)
        def again(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            r = again(y)
            return r
        a = inner(x)
        b = f(a)
        return again(b)
"""


def test_functions_inside_functions() -> None:
    module = from_source(NESTED)
    assert isinstance(module, IRModule)
    check(module)
    assert module.mlir().count('"relax.local_function"') == 2
    assert module.mlir().count('"relax.call_value"') == 4


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("A[0] = 1.0\nB = T.decl_buffer((4,), data=3)", 4, "takes an !llvm.ptr, not i32"),
        ('c = T.allocate_const([1, 2], "int8", [3])', 3, "2 constants do not fill"),
        ("A[0] = T.store(A.data, 0)", 3, "not enough values"),
    ],
)
def test_refused(body: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        read(body)
    assert caught.value.span is not None and caught.value.span.line == line


def test_a_kernel_from_a_te_function_joins_the_module() -> None:
    module = from_source(
        "from tvm import topi\n@I.ir_module\nclass Module:\n    @R.function\n"
        '    def main(x: R.Tensor((2, 3), "float32")):\n'
        "        y = R.emit_te(topi.add, x, x)\n        z = R.emit_te(topi.add, y, x)\n"
        "        return z\n"
    )
    assert isinstance(module, IRModule)
    assert sorted(v.name_hint for v in module.get_global_vars()) == ["add", "add_te1", "main"]
    check(module)
    with pytest.raises(ParseError, match="makes a kernel of the module"):
        from_source(
            'from tvm import topi\n@R.function\ndef main(x: R.Tensor((2, 3), "float32")):\n'
            "    y = R.emit_te(topi.add, x, x)\n    return y\n"
        )


@pytest.mark.parametrize(
    "line",
    [
        "from tvm.script.parser import tir as T",
        "from tvm.script._parser import tir as T",
        "from tvm.script.ir_builder import tir as T",
        "import tvm.script.parser.tir as T",
    ],
)
def test_namespaces_at_their_other_places(line: str) -> None:
    program = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    A[0] = 1.0\n'
    assert from_source(f"{line}\n{program}") == from_source(program)
