# RUN: relax-opt %S/Inputs/row_norm.py --tir-apply-default-schedule --tir-to-gpu | FileCheck %s
# RUN: relax-opt %S/Inputs/exponential.py --tir-apply-default-schedule=target=llvm --emit=tvmscript | FileCheck %s --check-prefix=CPU
# RUN: not relax-opt %S/Inputs/gemv.py --tir-apply-default-schedule=rules=gpu.Gemm 2>&1 | FileCheck %s --check-prefix=UNKNOWN

# The first rule that accepts the function is Reduction; GeneralReduction and RMSNorm would too.
# CHECK: gpu.func @main_kernel({{.*}}) workgroup(
# CHECK: gpu.launch_func @main_kernels::@main_kernel blocks in (%c24, %c1, %c1) threads in (%c64, %c1, %c1)

# No rule for CPUs takes two elementwise loops.
# CPU: def main(
# CPU-NOT: is_scheduled

# UNKNOWN: pass 'tir-apply-default-schedule' failed: no rule is called 'gpu.Gemm'
# UNKNOWN-SAME: hint: there are: cpu.GEMV, cpu.Reduction, gpu.Matmul
