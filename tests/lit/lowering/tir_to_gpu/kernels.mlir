// RUN: relax-opt %s --gpu-plan-shared-memory --gpu-insert-barriers | FileCheck %s --check-prefix=BARRIER
// RUN: relax-opt %s --gpu-outline-kernels --gpu-align-vectors | FileCheck %s --check-prefix=OUTLINE
// RUN: relax-opt %s --gpu-outline-kernels --gpu-align-vectors --gpu-flatten-kernel-arguments | FileCheck %s --check-prefix=FLAT

// A thread reads what another has written: they wait.  What it has written itself it may read.
// BARRIER-LABEL: func.func @reverse
// BARRIER: memref.store %{{.*}}, %[[S:.*]][%{{.*}}] : memref<32xf32, #gpu.address_space<workgroup>>
// BARRIER-NOT: gpu.barrier
// BARRIER: memref.load %{{.*}} : memref<32xf32, #gpu.address_space<workgroup>>
// BARRIER: gpu.barrier
// BARRIER-NEXT: memref.load %{{.*}} : memref<32xf32, #gpu.address_space<workgroup>>
// BARRIER-NOT: gpu.barrier
// BARRIER: gpu.terminator

// OUTLINE: gpu.module @reverse_kernels
// OUTLINE: gpu.func @reverse_kernel(%[[A:.*]]: memref<?xf32> {llvm.align = 16 : i64}, %{{.*}}: f32)
// OUTLINE-SAME: workgroup(%{{.*}} : memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
// OUTLINE-SAME: kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}
// OUTLINE: gpu.thread_id x
// OUTLINE: vector.load %[[A]][%{{.*}}] {alignment = 16 : i64}
// OUTLINE: gpu.return
// OUTLINE: func.func @reverse
// OUTLINE: gpu.launch_func @reverse_kernels::@reverse_kernel

// A buffer is its pointer and its dynamic sizes.
// FLAT: gpu.func @reverse_kernel(%[[P:.*]]: !llvm.ptr {{{.*}}}, %[[N:.*]]: i64, %{{.*}}: f32)
// FLAT: llvm.insertvalue %[[P]]
// FLAT: llvm.insertvalue %[[N]], %{{.*}}[3, 0]
// FLAT: builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// FLAT: func.func @reverse
// FLAT: memref.extract_aligned_pointer_as_index
// FLAT: gpu.launch_func {{.*}} args({{.*}} : !llvm.ptr, {{.*}} : i64, {{.*}} : f32)
func.func @reverse(%A: memref<?xf32>, %x: f32) attributes {tir.attrs = {}} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %s = memref.alloca() : memref<32xf32, #gpu.address_space<workgroup>>
    %c31 = arith.constant 31 : index
    %four = affine.apply affine_map<(d0) -> (d0 * 4)>(%tx)
    %v = vector.load %A[%four] : memref<?xf32>, vector<4xf32>
    %e = vector.extract %v[0] : f32 from vector<4xf32>
    memref.store %e, %s[%tx] : memref<32xf32, #gpu.address_space<workgroup>>
    %own = memref.load %s[%tx] : memref<32xf32, #gpu.address_space<workgroup>>
    %r = arith.subi %c31, %tx : index
    %other = memref.load %s[%r] : memref<32xf32, #gpu.address_space<workgroup>>
    %sum = arith.addf %own, %other : f32
    %y = arith.addf %sum, %x : f32
    memref.store %y, %A[%four] : memref<?xf32>
    gpu.terminator
  }
  return
}
