# RUN: relax-opt %S/../Inputs/transpose.py --tir-apply-default-schedule="rules=gpu.Transpose" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: A_shared = T.alloc_buffer((64, 48), scope="shared")
# CHECK: T.thread_binding(6, thread="blockIdx.y"
# CHECK: T.thread_binding(4, thread="blockIdx.x")
# CHECK: T.thread_binding(8, thread="threadIdx.y")
# CHECK: T.thread_binding(16, thread="threadIdx.x")
# CHECK: with T.block("A_shared"):
# CHECK: T.block_attr({"buffer_dim_align": {{\[\[}}0, 0, 32, 1{{\]\]}}})
# CHECK: with T.block("B"):
# CHECK: B[vi, vj] = A_shared[vj, vi]
