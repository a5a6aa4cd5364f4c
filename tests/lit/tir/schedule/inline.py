# ruff: noqa: E501, SIM300
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "P", "func_name": "main"}, ["b0"], null],
# TRACE: ["compute_inline", [], {"block": {"rv": "b0"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK: for x, r in T.grid(12, 3):
# CHECK: with T.block("Y"):
# CHECK: vx, vr = T.axis.remap("SR", [x, r])
# CHECK: with T.init():
# CHECK: Y[vx] = T.float32(0.0)
# CHECK: Y[vx] = Y[vx] + T.if_then_else(1 <= vx + vr and vx + vr < 13, A[vx + vr - 1], T.float32(0.0))


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((12,), "float32"), Y: T.Buffer((12,), "float32")):
        P = T.alloc_buffer((14,), "float32")
        for x in range(14):
            with T.block("P"):
                vx = T.axis.spatial(14, x)
                P[vx] = T.if_then_else(1 <= vx and vx < 13, A[vx - 1], T.float32(0))
        for x, r in T.grid(12, 3):
            with T.block("Y"):
                vx, vr = T.axis.remap("SR", [x, r])
                with T.init():
                    Y[vx] = T.float32(0)
                Y[vx] = Y[vx] + P[vx + vr]
