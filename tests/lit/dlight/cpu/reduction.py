# RUN: relax-opt %S/../Inputs/row_norm.py --tir-apply-default-schedule="rules=cpu.Reduction target=llvm" --emit=tvmscript | FileCheck %s

# CHECK-LABEL: def main(
# CHECK: T.parallel(24)
# CHECK: with T.block("C"):
# CHECK: T.vectorized({{[0-9]+}})
# CHECK: with T.block("D"):
