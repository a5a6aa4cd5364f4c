# RUN: relax-opt %S/../Inputs/low_batch_gemv.py --tir-apply-default-schedule="rules=gpu.LowBatchGEMV" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: T.thread_binding((n + T.int64(3)) // T.int64(4), thread="blockIdx.y")
# CHECK: T.thread_binding(2, thread="blockIdx.x")
# CHECK: T.thread_binding(16, thread="threadIdx.y")
# CHECK: T.thread_binding(32, thread="threadIdx.x")
# CHECK: with T.block("C"):
# CHECK: T.if_then_else(vi < n, A[vi, vk], T.float32(0.0)) * B[vj, vk]
# CHECK: with T.block("C_pad"):
