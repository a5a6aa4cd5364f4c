# RUN: relax-opt %S/../Inputs/row_norm.py --tir-apply-default-schedule="rules=gpu.RMSNorm" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: C_shared = T.alloc_buffer((24,), scope="shared")
# CHECK: T.thread_binding(24, thread="blockIdx.x")
# CHECK: T.thread_binding(32, thread="threadIdx.x")
# CHECK: with T.block("C"):
# CHECK: T.thread_binding(32, thread="threadIdx.x")
# CHECK: T.vectorized(8)
# CHECK: with T.block("D"):
