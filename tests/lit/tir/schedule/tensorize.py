# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["split", [], {"loop": {"rv": "l2"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l6", "l7"], null],
# TRACE: ["split", [], {"loop": {"rv": "l3"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l8", "l9"], null],
# TRACE: ["reorder", [{"rv": "l4"}, {"rv": "l6"}, {"rv": "l8"}, {"rv": "l5"}, {"rv": "l7"}, {"rv": "l9"}], {}, [], null],
# TRACE: ["tensorize", [], {"block_or_loop": {"rv": "l5"}, "tensor_intrin": "matmul_4x4x4_f32", "preserve_unit_iters": true}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: for i_0, j_0, k_0 in T.grid(8, 8, 8):
# CHECK-NEXT: with T.block("C_o"):
# CHECK-NEXT: vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
# CHECK-NEXT: T.reads(A[vi_o * 4:vi_o * 4 + 4, vk_o * 4:vk_o * 4 + 4], W[vk_o * 4:vk_o * 4 + 4, vj_o * 4:vj_o * 4 + 4])
# CHECK-NEXT: T.writes(C[vi_o * 4:vi_o * 4 + 4, vj_o * 4:vj_o * 4 + 4])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: for i_1, j_1 in T.grid(4, 4):
# CHECK-NEXT: with T.block("C_init"):
# CHECK-NEXT: vi_i_init, vj_i_init = T.axis.remap("SS", [i_1, j_1])
# CHECK-NEXT: T.reads()
# CHECK-NEXT: T.writes(C[vi_o * 4 + vi_i_init, vj_o * 4 + vj_i_init])
# CHECK-NEXT: C[vi_o * 4 + vi_i_init, vj_o * 4 + vj_i_init] = T.float32(0.0)
# CHECK-NEXT: for k, i in T.grid(4, 4):
# CHECK-NEXT: C[vi_o * 4 + i, T.Ramp(vj_o * 4, 1, 4)] = C[vi_o * 4 + i, T.Ramp(vj_o * 4, 1, 4)] + T.Broadcast(A[vi_o * 4 + i, vk_o * 4 + k], 4) * W[vk_o * 4 + k, T.Ramp(vj_o * 4, 1, 4)]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
