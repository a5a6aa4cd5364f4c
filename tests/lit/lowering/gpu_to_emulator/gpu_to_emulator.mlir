// RUN: relax-opt %s --pass-pipeline='builtin.module(gpu-to-emulator{checks=false})' | FileCheck %s
// RUN: relax-opt %s --gpu-to-emulator | FileCheck %s --check-prefix=CHECKED

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // A kernel is a function of one thread: arguments come from an array of pointers, the thread's
    // number is the last argument.
    // CHECK-LABEL: func.func @scale(
    // CHECK-SAME: %[[ARGS:.*]]: !llvm.ptr, %[[STATE:.*]]: !llvm.ptr, %[[THREAD:.*]]: i64) -> !llvm.ptr
    // CHECK-SAME: emulator.arguments = ["ptr", "i64", "f32"]
    // CHECK-SAME: emulator.shared_bytes = 384
    gpu.func @scale(%x: memref<?xf32>, %f: f32)
        workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      // CHECK: arith.remui %[[THREAD]]
      %t = gpu.thread_id x
      // CHECK: memref.load
      %v = memref.load %x[%t] : memref<?xf32>
      %w = arith.mulf %v, %f : f32
      // Shared memory has no address space here.
      // CHECK: memref.store {{.*}} : memref<64xf32>
      memref.store %w, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      // CHECK: call @emu_yield
      // CHECK-NOT: emu_check_access
      gpu.barrier
      %u = memref.load %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %u, %x[%t] : memref<?xf32>
      // CHECK: return %{{.*}} : !llvm.ptr
      gpu.return
    }
  }
}

// With checks, every access is checked before it is made; sites say what a report may name.
// CHECKED: module attributes {emulator.sites = [
// CHECKED-SAME: op = "memref.load"
// CHECKED-SAME: op = "memref.store", place = "-:21:7", shape = array<i64: 64>, space = "shared"
// CHECKED-SAME: op = "gpu.barrier", place = "-:24:7"
// CHECKED-LABEL: func.func @scale
// CHECKED: %[[INSIDE:.*]] = arith.cmpi ult
// CHECKED: scf.if
// CHECKED: call @emu_check_access
// CHECKED: memref.load
// CHECKED: call @emu_check_access
// CHECKED: memref.store
// CHECKED: call @emu_yield
