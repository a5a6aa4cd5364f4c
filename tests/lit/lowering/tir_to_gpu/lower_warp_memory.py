# RUN: relax-opt %s --tir-lower-warp-memory | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # A thread keeps its element, and asks another for its own.
    # CHECK-LABEL: func.func @rotate
    # CHECK: tir.alloc_buffer{{.*}}memref<1xf32>
    # CHECK: memref.store {{.*}} : memref<1xf32>
    # CHECK: memref.load {{.*}} : memref<1xf32>
    # CHECK: gpu.shuffle{{.*}}idx
    # CHECK-NOT: memref<32xf32>
    # CHECK: return
    @T.prim_func
    def rotate(A: T.Buffer((2, 32), "float32")):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            w = T.alloc_buffer((32,), "float32", scope="warp")
            w[t] = A[0, t]
            A[1, t] = w[(t + 1) % 32]
