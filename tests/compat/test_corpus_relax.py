"""Relax of other TVM versions as people wrote it: each parses, verifies and comes back from both
texts as it was.  A program for each construct that collected programs use."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.errors import ParseError, PassError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source

HEADER = "from tvm.script import ir as I, relax as R, tir as T\n"

PROGRAMS = {
    "functions that return functions": """
@I.ir_module
class Module:
    @R.function
    def one() -> R.Object:
        return Module.one

    @R.function
    def several() -> R.Tuple(R.Object, R.Object):
        return (Module.one, Module.several)
""",
    "notes on calls of registered functions": """
@R.function(pure=False)
def main(x: R.Tensor((32, 8), "float32"), y: R.Tensor((8,), "float32")):
    o: R.Object = R.call_packed("stack", x, y, sinfo_args=R.Object(), test_attr=True, place="left")
    _ = R.vm.call_tir_dyn("te_func", (x, y, (32, 8)))
    return o
""",
    "layout_transform": """
@R.function
def main(x: R.Tensor((10, 21), "float32")):
    a = R.layout_transform(x, index_map=lambda i, j: (j, i // 4, i % 4), pad_value=None)
    b = R.layout_transform(x, index_map=T.index_map(lambda i, j: (i * 21 + j,)), pad_value=2.0)
    return (a, b)
""",
    "virtual devices": """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0, "global")]})

    @R.function
    def main(x: R.Tensor((4, "n"), "float32", "llvm")) -> R.Tensor((4, "n"), "float32", "cuda:0"):
        y = R.hint_on_device(x, R.device(1, 0))
        z: R.Tensor((4, "n"), "float32", "cuda:0") = R.to_vdevice(y, "cuda:0")
        return z
""",
    "device meshes": """
@I.ir_module
class Module:
    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})

    @T.prim_func
    def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i]

    @T.prim_func
    def shift(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int64):
        for i in range(8):
            B[i] = A[i] + T.Cast("float32", n)

    @R.function
    def main(x: R.DTensor((8,), "float32", "mesh[0]", "S[0]")):
        a: R.DTensor((8,), "float32", "mesh[0]", "S[0]") = R.add(x, x)
        b = R.dist.redistribute(a, "mesh[0]", "R")
        c = R.dist.call_tir(Module.copy, (b,), R.DTensor((8,), "float32", "mesh[0]", "R"))
        d = R.dist.call_tir_local_view(
            Module.copy, (c,), out_sinfo=R.DTensor((8,), "float32", "mesh[0]", "R")
        )
        e = R.dist.call_tir_local_view(
            Module.shift, (d,), out_sinfo=R.DTensor((8,), "float32", "mesh[0]", "R"),
            tir_vars=R.shape([3]),
        )
        return e
""",
    "collectives": """
@R.function
def main(x: R.Tensor((8, 4), "float32")):
    a = R.ccl.allreduce(x, "sum", False)
    b = R.ccl.scatter_from_worker0(a, num_workers=2, axis=0)
    c = R.ccl.allgather(b, 2)
    return R.ccl.broadcast_from_worker0(c)
""",
    "blocked layouts": """
@R.function
def main(x: R.Tensor((2, 4, 28, 28, 4), "float32"), w: R.Tensor((1, 16, 3, 3, 4), "float32")):
    y = R.nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c")
    z: R.Tensor((2, 1, 13, 13, 4), "float32") = R.nn.max_pool2d(
        y, (2, 2), strides=(2, 2), layout="NCHW4c"
    )
    return z
""",
    "comparisons of sizes": """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    _ = R.assert_op(R.prim_value(n % 16 == 0), format="odd")
    if R.prim_value(n > 8):
        y = R.add(x, x)
    else:
        y = R.multiply(x, x)
    return y
""",
    "registered functions with types": """
@R.function
def main(x: R.Tensor([4096], "float32")) -> R.Tensor([512], "int32"):
    y = R.ExternFunc(
        "runtime.TVMTensorCreateView", R.Callable(derive_func="tvm.relax.infer", purity=True)
    )(x, R.shape([512]), R.dtype("int32"), R.prim_value(0))
    return y
""",
    "registered functions of any values": """
@R.function
def main(cache: R.Object, x: R.Tensor(("m",), "float16")):
    m = T.int64()
    a = R.call_dps_packed(
        "f", (cache, x, R.str("relu"), R.prim_value(1), R.shape([m, 2])),
        out_sinfo=R.Tensor((m,), "float16"),
    )
    b = R.call_dps_packed("g", [a], out_sinfo=R.Tensor([m * 2]))
    return b
""",
    "what tensors are": """
@R.function
def main(x: R.Tensor):
    code = x.dtype.type_code
    bits = x.dtype.bits
    stride = x.strides[1]
    offset = x.byte_offset
    return (code, bits, stride, offset)
""",
    "views": """
@R.function
def main(x: R.Tensor([4096], "uint8")):
    kind = R.dtype("float16")
    a = R.memory.view(x, R.shape([64, 32]), kind)
    b = R.memory.view(x, R.shape([16]), R.tuple(), R.tuple())
    c = R.memory.view(x, dtype="int32", relative_byte_offset=64, shape=[4])
    return (a, b, c)
""",
    "scalars of other dtypes": """
@R.function
def main(x: R.Tensor):
    bits = T.uint8()
    value = x.dtype.bits
    _ = R.match_cast(value, R.Prim(value=bits))
    return x
""",
    "registered functions as values": """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")):
    y = R.call_packed("f", R.ExternFunc("g"), x, sinfo_args=R.Object)
    return y
""",
    "calls by name": """
@R.function(pure=False)
def main(x: R.Tensor((2, 3), "int32")):
    y: R.Tensor((2, 3), "int32") = R.emit_with_sinfo(
        "relax.builtin.alloc_tensor",
        (R.shape([2, 3]), R.dtype("int32"), R.prim_value(0), R.str("global")),
        (R.Tensor((2, 3), dtype="int32"),),
    )
    z = R.TupleGetItem((x, y), 1)
    return z
""",
    "windows of symbolic size": """
@R.function
def main(p: R.Tensor(("kh", "kw")), x: R.Tensor(("n", "c", "h", "w"), "float32")):
    n, c, h, w = T.int64(), T.int64(), T.int64(), T.int64()
    kh, kw = T.int64(), T.int64()
    gv: R.Tensor((n, c, h - kh + 1, w - kw + 1), "float32") = R.nn.max_pool2d(
        x, pool_size=[kh, kw]
    )
    return gv
""",
    "calls with a gradient": """
@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Object):
        cls = Module
        a = R.call_tir(cls.double, (x,), R.Tensor((4,), "float32"), te_grad_name="double_grad")
        b = R.call_tir_with_grad(
            cls.double, (a,), R.Tensor((4,), "float32"), te_grad_name="double_grad",
            te_grad_kwargs={"k": T.float32(2)},
        )
        c = R.call_tir(cls.double, (y,), R.Tensor((4,), "float32"))
        return (b, c)
""",
    "sizes that are not known": """
@R.function
def main(x: R.Tensor, axis: R.Prim("int64")):
    size = x.shape[axis]
    return size
""",
    "meshes by their space": """
@I.ir_module
class Module:
    I.module_global_infos({"mesh": [R.dist.device_mesh([4], I.Range(0, 4))]})

    @R.function
    def main(x: R.dist.DTensor([8, 4], "float16", "mesh[0]", "S[0]")):
        return x
""",
    "planned memory": """
@R.function(pure=False)
def main(x: R.Tensor((2, 4), "float32")):
    storage: R.Object = R.memory.alloc_storage(
        R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32")
    )
    y = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([2, 4]), R.dtype("float32"))
    z = R.builtin.alloc_tensor(R.shape([2, 4]), R.dtype("float32"), R.prim_value(0))
    _: R.Tuple = R.memory.kill_tensor(y)
    return z
""",
    "a parameter called as the module is, where nothing of the module is called": """
@I.ir_module
class Module:
    @R.function
    def main(cls: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        gv: R.Tensor((4,), "float32") = R.exp(cls)
        return gv
""",
}


def round_trips(text: str) -> IRModule:
    """The module of a program, which comes back from TVMScript and from MLIR as it was."""
    parsed = from_source(HEADER + text)
    module = parsed if isinstance(parsed, IRModule) else IRModule({parsed.name: parsed})
    module.verify()
    assert IRModule.parse(module.mlir(), module.state.constants) == module
    script = module.script()
    again = from_source(script)
    assert again == module
    assert again.script() == script
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_round_trip(name: str) -> None:
    round_trips(PROGRAMS[name])


def test_an_array_is_one_constant_in_a_statement() -> None:
    ones = np.ones((3, 3), "float32")
    program = """
@R.function
def main(x: R.Tensor((3, 3), "float32")):
    pair = metadata["relax.expr.Constant"][0], (metadata["relax.expr.Constant"][0], x)
    return pair
"""
    given = {"metadata": {"relax.expr.Constant": [ones]}}
    function = from_source(HEADER + program, given)
    assert function.mlir().count('"relax.constant"') == 1


def test_index_maps_are_affine_maps() -> None:
    text = round_trips(PROGRAMS["layout_transform"]).mlir()
    assert "affine_map<(d0, d1) -> (d1, d0 floordiv 4, d0 mod 4)>" in text
    assert "-> tensor<21x3x4xf32>" in text
    with pytest.raises(tvm.Error, match="quasi-affine"):
        relax.op.layout_transform(
            relax.Var("x", relax.TensorType((4, 4), "float32")), lambda i, j: (i * j,)
        )


def test_a_comparison_is_no_size() -> None:
    n = tvm.tir.Var("n", "int64")
    with pytest.raises(TypeError, match="a comparison is no dimension"):
        relax.TensorType((n > 3,), "float32")


def test_sizes_are_compared_when_the_program_runs() -> None:
    module = from_source(HEADER + "@I.ir_module\nclass M:" + "\n    ".join(
        PROGRAMS["comparisons of sizes"].replace("% 16", "% 2").splitlines()
    ))  # fmt: skip
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    for size, expected in ((4, lambda v: v * v), (10, lambda v: v + v)):
        values = np.arange(size, dtype="float32")
        result = machine["main"](tvm.runtime.tensor(values)).numpy()
        np.testing.assert_array_equal(result, expected(values))
    with pytest.raises(AssertionError, match="odd"):
        machine["main"](tvm.runtime.tensor(np.zeros(5, "float32")))


def test_one_device_is_the_cpu() -> None:
    module = from_source(
        HEADER
        + """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32", "llvm")) -> R.Tensor((4,), "float32", "llvm"):
        return R.to_vdevice(R.add(x, x), "llvm:0")
"""
    )
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    values = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(values)).numpy(), 2 * values)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("virtual devices", "'.*' in 'main' lives on 'cuda:0'"),
        ("device meshes", "R.dist.redistribute in 'main' is for several processes"),
        ("collectives", "R.ccl.allreduce in 'main' is for several processes"),
    ],
)
def test_several_devices_are_refused(name: str, message: str) -> None:
    parsed = from_source(HEADER + PROGRAMS[name])
    module = parsed if isinstance(parsed, IRModule) else IRModule({parsed.name: parsed})
    with pytest.raises(PassError, match=message):
        tvm.compile(module, "llvm")


def test_a_tuple_of_whatever_fields_is_declared() -> None:
    source = (
        HEADER
        + """
@R.function
def main(x: R.Tensor((4, 6), "float32")) -> R.Tuple:
    return {}
"""
    )
    split = from_source(source.format("R.split(x, 2)"))
    assert str(split.ret_struct_info).count("R.Tensor((2, 6)") == 2
    with pytest.raises(ParseError, match="to return a tuple, but returns"):
        from_source(source.format("x"))
