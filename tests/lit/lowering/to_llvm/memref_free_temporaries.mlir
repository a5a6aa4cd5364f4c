// RUN: relax-opt %s --memref-free-temporaries | FileCheck %s

// CHECK-LABEL: func.func @small
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @small(%x: f32, %i: index) {
  %t = memref.alloc() : memref<16xf32>
  memref.store %x, %t[%i] : memref<16xf32>
  return
}

// CHECK-LABEL: func.func @large
// CHECK: %[[T:.*]] = memref.alloc() {alignment = 64 : i64} : memref<65536xf32>
// CHECK: memref.dealloc %[[T]]
// CHECK-NEXT: return
func.func @large(%x: f32, %i: index) {
  %t = memref.alloc() : memref<65536xf32>
  memref.store %x, %t[%i] : memref<65536xf32>
  return
}

// CHECK-LABEL: func.func @run_time_size
// CHECK: %[[T:.*]] = memref.alloc(%{{.*}})
// CHECK: memref.dealloc %[[T]]
func.func @run_time_size(%x: f32, %i: index) {
  %t = memref.alloc(%i) : memref<?xf32>
  memref.store %x, %t[%i] : memref<?xf32>
  return
}

// What is returned, through a view or not, is the caller's.
// CHECK-LABEL: func.func @returned
// CHECK: memref.alloc() : memref<65536xf32>
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @returned() -> memref<?xf32> {
  %t = memref.alloc() : memref<65536xf32>
  %v = memref.cast %t : memref<65536xf32> to memref<?xf32>
  return %v : memref<?xf32>
}

// Where the condition does not hold, the function is left without what it has allocated.
// CHECK-LABEL: func.func @checked
// CHECK: %[[T:.*]] = memref.alloc() {alignment = 64 : i64} : memref<65536xf32>
// CHECK: scf.for
// CHECK: %[[INNER:.*]] = memref.alloc(%{{.*}})
// CHECK: %[[LEAVES:.*]] = arith.xori
// CHECK: scf.if %[[LEAVES]] {
// CHECK-NEXT: memref.dealloc %[[INNER]]
// CHECK-NEXT: memref.dealloc %[[T]]
// CHECK-NEXT: }
// CHECK-NEXT: cf.assert
// CHECK: memref.dealloc %[[INNER]]
// CHECK: memref.dealloc %[[T]]
// CHECK-NEXT: return
func.func @checked(%x: f32, %c: i1, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %t = memref.alloc() : memref<65536xf32>
  scf.for %i = %zero to %n step %one {
    %u = memref.alloc(%n) : memref<?xf32>
    cf.assert %c, "no"
    memref.store %x, %u[%i] : memref<?xf32>
    memref.store %x, %t[%i] : memref<65536xf32>
  }
  return
}
