# RUN: relax-opt %S/../Inputs/exponential.py --tir-apply-default-schedule="rules=gpu.Fallback" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: T.thread_binding(3, thread="blockIdx.x")
# CHECK: T.thread_binding(1024, thread="threadIdx.x")
# CHECK: with T.block("B"):
# CHECK: T.where({{.*}} < 2800)
# CHECK: B[vi, vj] = T.exp(A[vi, vj]) + T.float32(1.0)
