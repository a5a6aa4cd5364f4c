# RUN: relax-opt %s --tir-to-scf | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: func.func @unrolled
    # CHECK-NOT: scf.for
    # CHECK-COUNT-3: memref.store
    # CHECK-NOT: memref.store
    # CHECK: return
    @T.prim_func
    def unrolled(Y: T.Buffer((8,), "float32")):
        for j in T.unroll(2, 5):
            Y[j] = T.float32(1)

    # Too much to write out: LLVM is asked.
    # CHECK-LABEL: func.func @large
    # CHECK: scf.for
    # CHECK: llvm.loop_annotation = #{{.*}}
    @T.prim_func
    def large(Y: T.Buffer((9999,), "float32")):
        for j in T.unroll(9999):
            Y[j] = T.float32(1)

    # CHECK-LABEL: func.func @pragma
    # CHECK: scf.for
    # CHECK-NOT: scf.for
    # CHECK-COUNT-6: memref.store
    # CHECK-NOT: memref.store
    @T.prim_func
    def pragma(Y: T.Buffer((8, 2, 3), "float32")):
        for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 6}):
            for j, k in T.grid(2, 3):
                Y[i, j, k] = T.float32(1)

    # CHECK-LABEL: func.func @implicit
    # CHECK: scf.for
    # CHECK: scf.for
    # CHECK: llvm.loop_annotation
    @T.prim_func
    def implicit(Y: T.Buffer((8, 2), "float32")):
        for i in T.serial(
            8, annotations={"pragma_auto_unroll_max_step": 6, "pragma_unroll_explicit": 0}
        ):
            for j in range(2):
                Y[i, j] = T.float32(1)
