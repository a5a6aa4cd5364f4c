# RUN: relax-opt %s --tir-unify-thread-binding --tir-to-gpu-launch --tir-to-scf | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # Sizes of the grid are computed by the host; buffers get their memory.
    # CHECK-LABEL: func.func @reverse
    # CHECK: affine.apply
    # CHECK: gpu.launch blocks(%i, {{.*}}) in ({{.*}}) threads(%j, {{.*}}) in (
    # CHECK: memref.alloca() : memref<32xf32, #gpu.address_space<workgroup>>
    # CHECK: scf.if
    # CHECK: memref.store
    # CHECK: gpu.terminator
    @T.prim_func
    def reverse(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        s = T.alloc_buffer((32,), "float32", scope="shared")
        for i in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("s"):
                    v = T.axis.spatial(n, i * 32 + j)
                    T.where(i * 32 + j < n)
                    s[v % 32] = A[v]
                    B[v] = s[v % 32]

    # What no loop binds is a kernel of one thread.
    # CHECK-LABEL: func.func @unbound
    # CHECK: %[[ONE:.*]] = arith.constant 1 : index
    # CHECK: gpu.launch
    @T.prim_func
    def unbound(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("A"):
                v = T.axis.spatial(8, i)
                A[v] = T.float32(1)
