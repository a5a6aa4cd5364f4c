# RUN: relax-opt %S/../Inputs/gemv.py --tir-apply-default-schedule="rules=gpu.GEMV" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: C_rf_local = T.alloc_buffer((32, 256), scope="local")
# CHECK: B_shared = T.alloc_buffer((512,), scope="shared")
# CHECK: T.thread_binding(16, thread="blockIdx.x")
# CHECK: with T.block("B_shared"):
# CHECK: T.thread_binding(16, thread="threadIdx.y")
# CHECK: T.thread_binding(32, thread="threadIdx.x")
# CHECK: with T.block("C_rf_init"):
# CHECK: T.vectorized(4)
# CHECK: with T.block("A_local"):
# CHECK: with T.block("C_rf_update"):
# CHECK: with T.block("C"):
