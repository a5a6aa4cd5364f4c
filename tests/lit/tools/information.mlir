// RUN: relax-opt --list-passes | FileCheck %s --check-prefix=PASSES
// RUN: relax-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: relax-opt --help | FileCheck %s --check-prefix=HELP

// PASSES: --relax-fuse-ops {{.*}}Group calls to TensorIR functions
// PASSES: --tir-to-linalg
// PASSES: Pipelines:
// PASSES: --relax-zero
// DIALECTS: Available Dialects: {{.*}}arith,{{.*}}linalg,{{.*}}relax,{{.*}}tir,{{.*}}vector
// HELP: usage: relax-opt
// HELP: --split-input-file
