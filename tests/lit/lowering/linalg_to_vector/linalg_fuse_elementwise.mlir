// RUN: relax-opt %s --linalg-fuse-elementwise | FileCheck %s

// A chain becomes one operation; the temporary is gone.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0, %arg1 : memref<8x16xf32>, memref<8x16xf32>) outs(%arg2 : memref<8x16xf32>)
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[EXP:.*]] = math.exp %[[SUM]]
// CHECK: linalg.yield %[[EXP]]
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @chain(%a: memref<8x16xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32>) attributes {tir.noalias} {
  %t = memref.alloc() : memref<8x16xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b : memref<8x16xf32>, memref<8x16xf32>) outs(%t : memref<8x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x16xf32>) outs(%c : memref<8x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %e = math.exp %x : f32
    linalg.yield %e : f32
  }
  return
}

// A transpose moves data only: the product reads its source.
// CHECK-LABEL: func.func @transpose
// CHECK-NOT: memref.alloc
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0, %arg1 : memref<4x8xf32>, memref<16x8xf32>) outs(%arg2 : memref<4x16xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @transpose(%a: memref<4x8xf32>, %w: memref<16x8xf32>, %c: memref<4x16xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x16xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%w : memref<16x8xf32>) outs(%t : memref<8x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%zero : f32) outs(%c : memref<4x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %t : memref<4x8xf32>, memref<8x16xf32>) outs(%c : memref<4x16xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// The input of the first operation is overwritten before the second reads: both stay.
// CHECK-LABEL: func.func @overwritten
// CHECK: memref.alloc
// CHECK: linalg.generic
// CHECK: linalg.fill
// CHECK: linalg.generic
func.func @overwritten(%a: memref<8xf32>, %c: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = arith.negf %x : f32
    linalg.yield %n : f32
  }
  linalg.fill ins(%zero : f32) outs(%a : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%t : memref<8xf32>) outs(%c : memref<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %n = math.absf %x : f32
    linalg.yield %n : f32
  }
  return
}

// Rows in two halves: what each half's sum and the product read is the argument in another shape, and
// the result is written in that shape.
// CHECK-LABEL: func.func @reshaped
// CHECK: %[[X:.*]] = memref.reinterpret_cast %arg0 to offset: [0], sizes: [4, 2, 8], strides: [16, 8, 1]
// CHECK: %[[S:.*]] = memref.alloc() : memref<4x2xf32>
// CHECK: %[[Y:.*]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: [4, 2, 8], strides: [16, 8, 1]
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[X]] : memref<4x2x8xf32>) outs(%[[S]] : memref<4x2xf32>)
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[X]], %[[S]] : memref<4x2x8xf32>, memref<4x2xf32>) outs(%[[Y]] : memref<4x2x8xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @reshaped(%x: memref<4x16xf32>, %y: memref<4x16xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x2x8xf32>
  %s = memref.alloc() : memref<4x2xf32>
  %r = memref.alloc() : memref<4x2x8xf32>
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h * 8 + j)>, affine_map<(i, h, j) -> (i, h, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<4x16xf32>) outs(%t : memref<4x2x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  linalg.fill ins(%zero : f32) outs(%s : memref<4x2xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h, j)>, affine_map<(i, h, j) -> (i, h)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t : memref<4x2x8xf32>) outs(%s : memref<4x2xf32>) {
  ^bb0(%v: f32, %o: f32):
    %a = arith.addf %o, %v : f32
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h, j)>, affine_map<(i, h, j) -> (i, h)>, affine_map<(i, h, j) -> (i, h, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t, %s : memref<4x2x8xf32>, memref<4x2xf32>) outs(%r : memref<4x2x8xf32>) {
  ^bb0(%v: f32, %w: f32, %o: f32):
    %a = arith.mulf %v, %w : f32
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k floordiv 8, k mod 8)>, affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]} ins(%r : memref<4x2x8xf32>) outs(%y : memref<4x16xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  return
}

// The argument is overwritten while its reshaped copy is still read, and may be the other argument:
// the copies stay.
// CHECK-LABEL: func.func @reshaped_and_overwritten
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @reshaped_and_overwritten(%x: memref<4x16xf32>, %y: memref<4x2xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x2x8xf32>
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h * 8 + j)>, affine_map<(i, h, j) -> (i, h, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<4x16xf32>) outs(%t : memref<4x2x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  linalg.fill ins(%zero : f32) outs(%x : memref<4x16xf32>)
  linalg.fill ins(%zero : f32) outs(%y : memref<4x2xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h, j)>, affine_map<(i, h, j) -> (i, h)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t : memref<4x2x8xf32>) outs(%y : memref<4x2xf32>) {
  ^bb0(%v: f32, %o: f32):
    %a = arith.addf %o, %v : f32
    linalg.yield %a : f32
  }
  return
}

// CHECK-LABEL: func.func @reshaped_and_perhaps_overlapping
// CHECK-NOT: memref.reinterpret_cast
// CHECK: return
func.func @reshaped_and_perhaps_overlapping(%x: memref<4x16xf32>, %y: memref<4x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x2x8xf32>
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h * 8 + j)>, affine_map<(i, h, j) -> (i, h, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<4x16xf32>) outs(%t : memref<4x2x8xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  linalg.fill ins(%zero : f32) outs(%y : memref<4x2xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h, j)>, affine_map<(i, h, j) -> (i, h)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t : memref<4x2x8xf32>) outs(%y : memref<4x2xf32>) {
  ^bb0(%v: f32, %o: f32):
    %a = arith.addf %o, %v : f32
    linalg.yield %a : f32
  }
  return
}

// A shuffle of channels: what moves data is read through quotients.
// CHECK-LABEL: func.func @shuffled
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{.*}} : memref<4x40xf32>) outs(%{{.*}} : memref<4x40xf32>)
// CHECK-NOT: linalg.generic
func.func @shuffled(%x: memref<4x40xf32>, %y: memref<4x40xf32>) attributes {tir.noalias} {
  %t = memref.alloc() : memref<4x20x2xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j, g) -> (i, g * 20 + j)>, affine_map<(i, j, g) -> (i, j, g)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<4x40xf32>) outs(%t : memref<4x20x2xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c floordiv 2, c mod 2)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%t : memref<4x20x2xf32>) outs(%y : memref<4x40xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  return
}

// Halves of it are read from where the data come from, too.
// CHECK-LABEL: func.func @shuffled_and_split
// CHECK-NOT: memref.alloc
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{.*}} : memref<4x40xf32>) outs(%{{.*}} : memref<4x20xf32>)
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{.*}} : memref<4x40xf32>) outs(%{{.*}} : memref<4x20xf32>)
// CHECK-NOT: linalg.generic
func.func @shuffled_and_split(%x: memref<4x40xf32>, %y: memref<4x20xf32>, %z: memref<4x20xf32>) attributes {tir.noalias} {
  %t = memref.alloc() : memref<4x40xf32>
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, (c mod 2) * 20 + c floordiv 2)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x40xf32>) outs(%t : memref<4x40xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  %first = memref.subview %t[0, 0] [4, 20] [1, 1] : memref<4x40xf32> to memref<4x20xf32, strided<[40, 1]>>
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%first : memref<4x20xf32, strided<[40, 1]>>) outs(%y : memref<4x20xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c + 20)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%t : memref<4x40xf32>) outs(%z : memref<4x20xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  return
}

// A part that somebody writes, and a part of the size that the source does not have, stay.
// CHECK-LABEL: func.func @parts_that_stay
// CHECK: memref.alloc
// CHECK: memref.subview
// CHECK: memref.alloc
// CHECK: memref.subview
func.func @parts_that_stay(%x: memref<4x40xf32>, %y: memref<4x20xf32>, %z: memref<4x40xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<4x40xf32>
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x40xf32>) outs(%t : memref<4x40xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  %first = memref.subview %t[0, 0] [4, 20] [1, 1] : memref<4x40xf32> to memref<4x20xf32, strided<[40, 1]>>
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%first : memref<4x20xf32, strided<[40, 1]>>) outs(%y : memref<4x20xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  %u = memref.alloc() : memref<4x40xf32>
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x40xf32>) outs(%u : memref<4x40xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  %written = memref.subview %u[0, 0] [4, 20] [1, 1] : memref<4x40xf32> to memref<4x20xf32, strided<[40, 1]>>
  linalg.fill ins(%zero : f32) outs(%written : memref<4x20xf32, strided<[40, 1]>>)
  linalg.generic {indexing_maps = [affine_map<(i, c) -> (i, c)>, affine_map<(i, c) -> (i, c)>], iterator_types = ["parallel", "parallel"]} ins(%u : memref<4x40xf32>) outs(%z : memref<4x40xf32>) {
  ^bb0(%v: f32, %o: f32):
    linalg.yield %v : f32
  }
  return
}
