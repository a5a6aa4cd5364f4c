# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "B", "func_name": "main"}, ["b0"], null],
# TRACE: ["compute_inline", [], {"block": {"rv": "b0"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: for i in range(14):
# CHECK-NEXT: with T.block("Y"):
# CHECK-NEXT: vi = T.axis.spatial(14, i)
# CHECK-NEXT: T.reads(A[vi:vi + 5])
# CHECK-NEXT: T.writes(Y[vi])
# CHECK-NEXT: Y[vi] = A[vi] + A[vi + 2] + (A[vi + 2] + A[vi + 4])


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((18,), "float32"), Y: T.Buffer((14,), "float32")):
        B = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + A[vi + 2]
        for i in range(14):
            with T.block("Y"):
                vi = T.axis.spatial(14, i)
                Y[vi] = B[vi] + B[vi + 2]
