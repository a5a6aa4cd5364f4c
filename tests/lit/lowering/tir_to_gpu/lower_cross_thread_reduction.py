# RUN: relax-opt %s --tir-lower-cross-thread-reduction | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # Each thread sums its share, a tree of shuffles combines them, the first thread writes.
    # CHECK-LABEL: func.func @row_sum
    # CHECK: %[[OWN:.*]] = "tir.alloc_buffer"() {{.*}}scope = "local"{{.*}} -> memref<1xf32>
    # CHECK: sym_name = "B_start"
    # CHECK: "tir.block"
    # CHECK: arith.addf
    # CHECK: sym_name = "B"
    # CHECK: %[[SUM:.*]] = memref.load %[[OWN]]
    # CHECK: gpu.shuffle xor %[[SUM]]
    # CHECK-COUNT-4: gpu.shuffle xor
    # CHECK: arith.cmpi eq
    # CHECK: scf.if
    # CHECK: memref.store
    # CHECK: sym_name = "B_cross_thread"
    @T.prim_func
    def row_sum(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for k1 in T.thread_binding(32, thread="threadIdx.x"):
                for k0 in range(4):
                    with T.block("B"):
                        vi = T.axis.spatial(8, i)
                        vk = T.axis.reduce(128, k0 * 32 + k1)
                        with T.init():
                            B[vi] = T.float32(0)
                        B[vi] = B[vi] + A[vi, vk]
