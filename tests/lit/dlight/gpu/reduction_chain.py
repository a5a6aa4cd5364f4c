# RUN: relax-opt %S/../Inputs/two_products.py --tir-apply-default-schedule="rules=gpu.ReductionChain" --emit=tvmscript | FileCheck %s

# What is between the products is computed while the second fetches it.
# CHECK-LABEL: def main(
# CHECK-NOT: shifted = T.alloc_buffer
# CHECK: with T.block("AB_update"):
# CHECK: T.thread_binding(48, thread="blockIdx.x")
# CHECK: with T.block("largest"):
# CHECK: with T.block("shifted_reindex_pad_shared"):
# CHECK: AB_reindex[{{.*}} - largest[
# CHECK: with T.block("D_update"):
