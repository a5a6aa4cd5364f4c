# RUN: relax-opt %S/../Inputs/row_norm.py --tir-apply-default-schedule="rules=gpu.GeneralReduction" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: C_shared = T.alloc_buffer((24,), scope="shared")
# CHECK: T.thread_binding(24, thread="blockIdx.x")
# CHECK: T.thread_binding(256, thread="threadIdx.x")
# CHECK: with T.block("C"):
# CHECK: T.thread_binding(256, thread="threadIdx.x")
# CHECK: with T.block("D"):
