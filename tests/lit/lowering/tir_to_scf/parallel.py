# RUN: relax-opt %s --tir-to-scf --memref-free-temporaries | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # The outer loop is divided among the cores; every iteration has its own buffers.
    # CHECK-LABEL: func.func @nested
    # CHECK-NOT: memref.all
    # CHECK: scf.parallel (%i)
    # CHECK-DAG: %[[SMALL:.*]] = memref.alloca() {{.*}} : memref<4xf32>
    # CHECK-DAG: %[[LARGE:.*]] = memref.alloc() {{.*}} : memref<90000xf32>
    # CHECK-NOT: scf.parallel
    # CHECK: scf.for %j
    # CHECK: memref.dealloc %[[LARGE]]
    # CHECK-NEXT: scf.reduce
    @T.prim_func
    def nested(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i in T.parallel(8):
            with T.block("row"):
                v = T.axis.spatial(8, i)
                L = T.alloc_buffer((4,), "float32")
                H = T.alloc_buffer((90000,), "float32")
                for j in T.parallel(4):
                    L[j] = A[v, j]
                    H[j] = L[j]
                    B[v, j] = H[j]
