# RUN: relax-opt %S/../Inputs/row_mean.py --tir-apply-default-schedule="rules=gpu.Reduction" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: C_local = T.alloc_buffer((24,), scope="local")
# CHECK: T.thread_binding(24, thread="blockIdx.x")
# CHECK: T.thread_binding(64, thread="threadIdx.x")
# CHECK: for k_0 in T.serial(2, annotations={"pragma_auto_unroll_max_step": 256
# CHECK: with T.block("C"):
# CHECK: T.where(k_0 * 64 + k_1 < 100)
# CHECK: T.thread_binding(64, thread="threadIdx.x")
# CHECK: with T.block("D"):
# CHECK: D[vi] = C_local[vi] * T.float32(0.01)
