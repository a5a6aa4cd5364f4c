"""Modules after passes, printed: `python pass_programs.py PACKAGE`, where PACKAGE is relax_mlir or
tvm.  Each is a line with its name and then its TVMScript, up to a line of dashes."""

from __future__ import annotations

import importlib
import sys

DEVICES = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [
        I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("metal", 0, "global")]})
    @R.function
    def hints(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"),
              z: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            lv0 = R.hint_on_device(y, tvm.cpu())
            lv1 = R.add(x, lv0)
            lv2 = R.hint_on_device(lv1, tvm.cuda())
            lv3 = R.add(lv2, lv2)
            lv4 = R.hint_on_device(z, tvm.cuda())
            gv = R.multiply(lv3, lv4)
            R.output(gv)
        return gv
    @R.function
    def result(x: R.Tensor((2, 3), "float32"), z: R.Tensor((2, 3), "float32")) -> R.Tuple(
            R.Tensor((1, 3), "float32", "cuda"), R.Tensor((2, 3), "float32", "llvm")):
        with R.dataflow():
            lv = R.split(x, 2, axis=0)
            gv1 = lv[0]
            gv2 = R.multiply(z, z)
            R.output(gv1, gv2)
        return (gv1, gv2)
    @R.function
    def transfer(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32", "llvm")
                 ) -> R.Tensor(("n", 3), "float32", "metal"):
        a = R.exp(x)
        b = R.add(a, y)
        c = R.to_vdevice(b, "metal")
        d = R.exp(c)
        return d
"""

SCOPES = """
@I.ir_module(s_tir=True)
class Module:
    I.module_global_infos({"vdevice": [
        I.vdevice("opencl", 0, "global.texture-weight"), I.vdevice("opencl", 0, "global")]})
    @T.prim_func(private=True, s_tir=True)
    def one(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] + x[vi]
    @T.prim_func(private=True, s_tir=True)
    def two(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"),
            z: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] + x[vi]
                z[vi] = x[vi]
    @R.function
    def main(x: R.Tensor((4,), "float32", "opencl:1:global")) -> R.Tuple(
            R.Tensor((4,), "float32", "opencl:0:global.texture-weight"),
            R.Tensor((4,), "float32", "opencl:1:global")):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.one, (x,), out_ty=R.Tensor(
                (4,), "float32", "opencl:0:global.texture-weight"))
            gv = R.call_tir(cls.two, (lv,), out_ty=[
                R.Tensor((4,), "float32", "opencl:0:global.texture-weight"),
                R.Tensor((4,), "float32", "opencl:1:global")])
            R.output(gv)
        return gv
"""

WEIGHTS = """
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(X: T.Buffer((16, 16), "float32"), V: T.Buffer((16, 16), "float32"),
               W: T.Buffer((16, 16), "float32"), Out: T.Buffer((16, 16), "float32")):
        T.func_attr({"layout_free_buffers": [1, 2]})
        W_rewrite = T.sblock_alloc_buffer((4, 4, 4, 4))
        V_rewrite = T.sblock_alloc_buffer((4, 4, 4, 4))
        for i, j in T.grid(16, 16):
            with T.sblock("W_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                W_rewrite[vi // 4, vj // 4, vi % 4, vj % 4] = W[vi, vj]
        for i, j in T.grid(16, 16):
            with T.sblock("V_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.sblock_attr({"meta_schedule.layout_rewrite_preproc": True})
                V_rewrite[vi // 4, vj // 4, vi % 4, vj % 4] = V[vi, vj]
        for i0, j0, i1, j1 in T.grid(4, 4, 4, 4):
            with T.sblock("Out"):
                vi = T.axis.spatial(16, i0 * 4 + i1)
                vj = T.axis.spatial(16, j0 * 4 + j1)
                Out[vi, vj] = (X[vi, vj] + W_rewrite[vi // 4, vj // 4, vi % 4, vj % 4]
                               * V_rewrite[vi // 4, vj // 4, vi % 4, vj % 4])
    @R.function
    def main(x: R.Tensor((16, 16), "float32"), v: R.Tensor((16, 16), "float32"),
             w: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.kernel, (x, v, w), out_ty=R.Tensor((16, 16), "float32"))
            R.output(gv)
        return gv
"""


GRAPHS = """
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def exp(x: T.Buffer((T.int64(8),), "float32"), y: T.Buffer((T.int64(8),), "float32")):
        for i in range(T.int64(8)):
            with T.sblock("y"):
                vi = T.axis.spatial(T.int64(8), i)
                y[vi] = T.exp(x[vi])
    @R.function
    def func1(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        storage = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        alloc = R.memory.alloc_tensor(storage, 0, R.shape([8]), "float32")
        _1 = cls.exp(x, alloc)
        storage1 = R.memory.alloc_storage(R.shape([64]), 0, "global", "float32")
        alloc1 = R.memory.alloc_tensor(storage1, 0, R.shape([8]), "float32")
        _2 = cls.exp(alloc, alloc1)
        lv0 = (alloc1,)
        lv1 = lv0[0]
        _3 = R.memory.kill_tensor(alloc)
        alloc2 = R.memory.alloc_tensor(storage, 0, R.shape([8]), "float32")
        _4 = cls.exp(lv1, alloc2)
        lv2 = alloc2
        _5 = R.call_packed("vm.builtin.dummy", x, lv2, ty_args=R.Tuple())
        storage2 = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        alloc3 = R.memory.alloc_tensor(storage2, 0, R.shape([8]), "float32")
        _6 = cls.exp(alloc2, alloc3)
        alloc4 = R.builtin.alloc_tensor(R.shape([8]), "float32", 0)
        _7 = cls.exp(alloc3, alloc4)
        _8 = R.memory.kill_storage(storage)
        return alloc4
    @R.function
    def func2(x: R.Tensor((8,), "float32"), w: R.Tensor((8,), "float32")
              ) -> R.Tensor((8,), "float32"):
        R.func_attr({"relax.force_pure": True, "num_input": 1})
        cls = Module
        storage = R.memory.alloc_storage(R.shape([128]), 0, "global", "float32")
        alloc = R.memory.alloc_tensor(storage, 0, R.shape([8]), "float32")
        _1 = cls.exp(w, alloc)
        _3 = R.memory.kill_tensor(alloc)
        storage1 = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        alloc1 = R.memory.alloc_tensor(storage1, 0, R.shape([8]), "float32")
        _2 = cls.exp(alloc, alloc1)
        return alloc1
    @R.function
    def func3(x: R.Tensor(("n",), "float32"), w: R.Tensor(("m",), "float32")
              ) -> R.Tensor(("m",), "float32"):
        R.func_attr({"relax.force_pure": True, "num_input": 1})
        m = T.int64()
        a = R.add(w, w)
        b = R.multiply(a, w)
        c = R.builtin.alloc_tensor(R.shape([m]), "float32", 0)
        d = R.call_packed("vm.builtin.dummy", b, c, ty_args=R.Tuple())
        return c
"""

PROGRAMS = {
    "RewriteCUDAGraph": GRAPHS,
    "RealizeVDevice": DEVICES,
    "SpecializePrimFuncBasedOnCallSite": SCOPES,
    "SplitLayoutRewritePreproc": WEIGHTS,
}
"""A pass without options, and what it is applied to."""


def _print_modules(package: str) -> None:
    tvm = importlib.import_module(package)
    script = importlib.import_module(f"{package}.script")
    names = {"I": "ir", "R": "relax", "T": "tirx"}
    importlib.import_module(f"{package}.script.tirx")
    known = {key: getattr(script, n) for key, n in names.items()}
    passes = importlib.import_module(f"{package}.relax.transform")
    options = {"relax.backend.use_cuda_graph": True}
    for name, text in PROGRAMS.items():
        module = script.from_source(text, extra_vars={**known, "tvm": tvm})
        with tvm.transform.PassContext(config=options):
            changed = getattr(passes, name)()(module)
        sys.stdout.write(f"{name}\n{changed.script()}\n-----\n")


if __name__ == "__main__":
    _print_modules(sys.argv[1])
