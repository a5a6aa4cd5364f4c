# RUN: relax-opt %S/../Inputs/matmul.py --tir-apply-default-schedule="rules=gpu.Matmul" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: C_reindex_local = T.alloc_buffer((1, 64, 128), scope="local")
# CHECK: A_reindex_shared = T.alloc_buffer((1, 64, 32), scope="shared")
# CHECK: B_reindex_shared = T.alloc_buffer((1, 128, 32), scope="shared")
# CHECK: T.thread_binding(2, thread="blockIdx.y")
# CHECK: T.thread_binding(2, thread="blockIdx.x")
# CHECK: T.thread_binding(16, thread="threadIdx.y")
# CHECK: T.thread_binding(8, thread="threadIdx.x", annotations={"pragma_launch_min_blocks": 1}):
# CHECK: with T.block("C_init"):
# CHECK: for ax3_0 in range(2):
# CHECK: T.vectorized(2)
# CHECK: with T.block("A_reindex_shared"):
# CHECK: T.block_attr({"buffer_dim_align": {{\[\[}}0, 1, 8, 2{{\]\]}}})
# CHECK: with T.block("B_reindex_shared"):
# CHECK: with T.block("C_update"):
# CHECK: with T.block("C_reindex_local"):
# CHECK: C[v1, v2] = C_reindex_local[v0, v1, v2]
