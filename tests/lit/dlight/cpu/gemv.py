# RUN: relax-opt %S/../Inputs/gemv.py --tir-apply-default-schedule="rules=cpu.GEMV target=llvm" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: T.parallel(4)
# CHECK: T.vectorized(64)
# CHECK: annotations={"pragma_auto_unroll_max_step": 256
# CHECK: with T.block("C"):
