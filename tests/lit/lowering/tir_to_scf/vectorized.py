# RUN: relax-opt %s --tir-to-scf | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # Contiguous accesses are loads and stores, what is the same in all lanes is broadcast.
    # CHECK-LABEL: func.func @scale
    # CHECK: scf.for %i
    # CHECK: %[[A:.*]] = memref.load %A[%i]
    # CHECK: %[[X:.*]] = vector.load %X[%c0{{.*}}] : memref<16xf32>, vector<16xf32>
    # CHECK: %[[S:.*]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
    # CHECK: %[[P:.*]] = arith.mulf %[[S]], %[[X]] : vector<16xf32>
    # CHECK: vector.store %[[P]], %Y[%i, %c0{{.*}}] : memref<4x16xf32>, vector<16xf32>
    @T.prim_func
    def scale(
        A: T.Buffer((4,), "float32"), X: T.Buffer((16,), "float32"), Y: T.Buffer((4, 16), "float32")
    ):
        for i in range(4):
            for j in T.vectorized(16):
                Y[i, j] = A[i] * X[j]

    # A predicate that differs between lanes masks; strided and indirect accesses gather.
    # CHECK-LABEL: func.func @edge
    # CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}} : vector<16xindex>
    # CHECK: %[[I:.*]] = vector.maskedload %X[%{{.*}}], %[[IN]], %{{.*}} vector<16xi32>
    # CHECK: %[[V:.*]] = vector.gather %A{{.*}}, %[[IN]], {{.*}} into vector<16xf32>
    # CHECK: vector.maskedstore %Y[%{{.*}}], %[[IN]], %[[V]]
    @T.prim_func
    def edge(
        X: T.Buffer((40,), "int32"), A: T.Buffer((99,), "float32"), Y: T.Buffer((40,), "float32")
    ):
        for i in range(3):
            for j in T.vectorized(16):
                with T.block("Y"):
                    v = T.axis.spatial(40, i * 16 + j)
                    T.where(i * 16 + j < 40)
                    Y[v] = A[X[v]]

    # More lanes than a vector should have: a loop over vectors, and a rest.
    # CHECK-LABEL: func.func @long
    # CHECK: scf.for
    # CHECK: vector<64xf32>
    # CHECK: vector.store {{.*}} vector<8xf32>
    @T.prim_func
    def long(X: T.Buffer((200,), "float32"), Y: T.Buffer((200,), "float32")):
        for j in T.vectorized(200):
            Y[j] = X[j] + T.float32(1)

    # Each lane reads what the one before it writes: the loop stays scalar.
    # CHECK-LABEL: func.func @scan
    # CHECK-NOT: vector<
    # CHECK: scf.for
    # CHECK: memref.store
    # CHECK: llvm.loop_annotation
    @T.prim_func
    def scan(X: T.Buffer((16,), "float32"), Y: T.Buffer((17,), "float32")):
        for j in T.vectorized(16):
            Y[j + 1] = Y[j] + X[j]
