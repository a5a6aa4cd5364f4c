// RUN: relax-opt %s --memref-lift-temporaries | FileCheck %s
// RUN: relax-opt %s --pass-pipeline="builtin.module(memref-lift-temporaries,relax-to-host)" | FileCheck %s --check-prefix=HOST

// Temporaries of a fixed size become arguments of kernels that Relax functions call.
// CHECK-LABEL: func.func private @lent
// CHECK-SAME: %[[T:[a-z0-9]+]]: memref<100x50xf32>
// CHECK-SAME: host.lent_temporaries = 1
// CHECK: %[[SMALL:.*]] = memref.alloc() : memref<16xf32>
// CHECK-NOT: memref.alloc
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: scf.parallel
// CHECK: memref.alloc() : memref<8192xf32>
// CHECK: return
func.func private @lent(%A: memref<8192xf32> {tir.name = "A"}, %B: memref<8192xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %small = memref.alloc() : memref<16xf32>
  %large = memref.alloc() : memref<100x50xf32>
  %x = memref.load %A[%zero] : memref<8192xf32>
  memref.store %x, %small[%zero] : memref<16xf32>
  memref.store %x, %large[%zero, %zero] : memref<100x50xf32>
  scf.parallel (%i) = (%zero) to (%one) step (%one) {
    %own = memref.alloc() : memref<8192xf32>
    memref.store %x, %own[%i] : memref<8192xf32>
  }
  %y = memref.load %large[%zero, %zero] : memref<100x50xf32>
  memref.store %y, %B[%zero] : memref<8192xf32>
  return
}

// Others call a kernel that can be seen from outside of the module: it allocates its own memory.
// CHECK-LABEL: func.func @public
// CHECK-NOT: host.lent_temporaries
// CHECK: memref.alloc
// CHECK: return
func.func @public(%A: memref<8192xf32> {tir.name = "A"}, %B: memref<8192xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  %zero = arith.constant 0 : index
  %large = memref.alloc() : memref<8192xf32>
  %x = memref.load %A[%zero] : memref<8192xf32>
  memref.store %x, %large[%zero] : memref<8192xf32>
  %y = memref.load %large[%zero] : memref<8192xf32>
  memref.store %y, %B[%zero] : memref<8192xf32>
  return
}

// The workspace has room for the first result, 32 KiB, and 20000 bytes that both calls share.
// HOST: llvm.call @relax_ffi_take_workspace
// HOST: call @lent__kernel({{.*}}) : (memref<8192xf32>, memref<8192xf32>, memref<100x50xf32>) -> ()
// HOST: call @lent__kernel({{.*}}) : (memref<8192xf32>, memref<8192xf32>, memref<100x50xf32>) -> ()
func.func @main(%x: tensor<8192xf32> {relax.name = "x"}) -> tensor<8192xf32> attributes {relax.attrs = {}} {
  %y = "relax.call_tir"(%x) {callee = @lent} : (tensor<8192xf32>) -> tensor<8192xf32>
  %z = "relax.call_tir"(%y) {callee = @lent} : (tensor<8192xf32>) -> tensor<8192xf32>
  return %z : tensor<8192xf32>
}
