// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=512})" | FileCheck %s

// A 3x3 convolution with a border of one, channels last: the padded copy is not made, taps over the
// upper and lower border are left out by the bounds of the loop over rows of taps, those beside the
// image by the tiles at both ends of a row, and bias and activation are applied in registers.
// CHECK-LABEL: func.func @same
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK: %[[BEFORE:.*]] = arith.maxsi
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: scf.for {{.*}} to %[[LAST]] step {{.*}} iter_args({{.*}}) -> (vector<16xf32>
// CHECK: vector.load %{{.*}} : memref<4608xf32>, vector<16xf32>
// CHECK: memref.load
// CHECK: vector.broadcast
// CHECK: math.fma
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK: vector.store
// CHECK-NOT: linalg
// CHECK: return
#data = affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, c)>
#weight = affine_map<(n, y, x, f, ry, rx, c) -> (ry, rx, c, f)>
#out = affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>
#id = affine_map<(n, y, x, f) -> (n, y, x, f)>
#last = affine_map<(n, y, x, f) -> (f)>
func.func @same(%X: memref<1x12x12x16xf32>, %W: memref<3x3x16x32xf32>, %B: memref<32xf32>, %O: memref<1x12x12x32xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %P = memref.alloc() : memref<1x14x14x16xf32>
  %C = memref.alloc() : memref<1x12x12x32xf32>
  linalg.fill ins(%zero : f32) outs(%P : memref<1x14x14x16xf32>)
  %inner = memref.subview %P[0, 1, 1, 0] [1, 12, 12, 16] [1, 1, 1, 1] : memref<1x14x14x16xf32> to memref<1x12x12x16xf32, strided<[3136, 224, 16, 1], offset: 240>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%X : memref<1x12x12x16xf32>) outs(%inner : memref<1x12x12x16xf32, strided<[3136, 224, 16, 1], offset: 240>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%zero : f32) outs(%C : memref<1x12x12x32xf32>)
  linalg.generic {indexing_maps = [#data, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%P, %W : memref<1x14x14x16xf32>, memref<3x3x16x32xf32>) outs(%C : memref<1x12x12x32xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%C, %B : memref<1x12x12x32xf32>, memref<32xf32>) outs(%O : memref<1x12x12x32xf32>) {
  ^bb0(%c: f32, %b: f32, %o: f32):
    %s = arith.addf %c, %b : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  }
  return
}

// Four groups, read through a quotient of the output channel, which is split in two loops.
// CHECK-LABEL: func.func @grouped
// CHECK-NOT: linalg
// CHECK: %[[GROUPS:.*]] = arith.constant 4 : index
// CHECK: scf.for {{.*}} to %[[GROUPS]]
// CHECK: math.fma
// CHECK-NOT: linalg
// CHECK: return
#grouped = affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, (f floordiv 16) * 4 + c)>
func.func @grouped(%X: memref<1x8x8x16xf32>, %W: memref<3x3x4x64xf32>, %O: memref<1x6x6x64xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%O : memref<1x6x6x64xf32>)
  linalg.generic {indexing_maps = [#grouped, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x8x8x16xf32>, memref<3x3x4x64xf32>) outs(%O : memref<1x6x6x64xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// What something else reads too stays: the border is written.
// CHECK-LABEL: func.func @read_twice
// CHECK: memref.alloc() : memref<1x5x5x16xf32>
// CHECK: math.fma
// CHECK: return
func.func @read_twice(%X: memref<1x3x3x16xf32>, %W: memref<3x3x16x16xf32>, %O: memref<1x3x3x16xf32>, %R: memref<1x5x5x16xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %P = memref.alloc() : memref<1x5x5x16xf32>
  linalg.fill ins(%zero : f32) outs(%P : memref<1x5x5x16xf32>)
  %inner = memref.subview %P[0, 1, 1, 0] [1, 3, 3, 16] [1, 1, 1, 1] : memref<1x5x5x16xf32> to memref<1x3x3x16xf32, strided<[400, 80, 16, 1], offset: 96>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%X : memref<1x3x3x16xf32>) outs(%inner : memref<1x3x3x16xf32, strided<[400, 80, 16, 1], offset: 96>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%zero : f32) outs(%O : memref<1x3x3x16xf32>)
  linalg.generic {indexing_maps = [#data, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%P, %W : memref<1x5x5x16xf32>, memref<3x3x16x16xf32>) outs(%O : memref<1x3x3x16xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%P : memref<1x5x5x16xf32>) outs(%R : memref<1x5x5x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// Data that are overwritten before the convolution: what was copied counts.
// CHECK-LABEL: func.func @written_between
// CHECK: memref.alloc() : memref<1x5x5x16xf32>
// CHECK: math.fma
// CHECK: return
func.func @written_between(%X: memref<1x3x3x16xf32>, %W: memref<3x3x16x16xf32>, %O: memref<1x3x3x16xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %P = memref.alloc() : memref<1x5x5x16xf32>
  linalg.fill ins(%zero : f32) outs(%P : memref<1x5x5x16xf32>)
  %inner = memref.subview %P[0, 1, 1, 0] [1, 3, 3, 16] [1, 1, 1, 1] : memref<1x5x5x16xf32> to memref<1x3x3x16xf32, strided<[400, 80, 16, 1], offset: 96>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%X : memref<1x3x3x16xf32>) outs(%inner : memref<1x3x3x16xf32, strided<[400, 80, 16, 1], offset: 96>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%one : f32) outs(%X : memref<1x3x3x16xf32>)
  linalg.fill ins(%zero : f32) outs(%O : memref<1x3x3x16xf32>)
  linalg.generic {indexing_maps = [#data, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%P, %W : memref<1x5x5x16xf32>, memref<3x3x16x16xf32>) outs(%O : memref<1x3x3x16xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A result that goes back to where the data are: rows to come still read those, so it waits in the
// temporary.
// CHECK-LABEL: func.func @onto_its_data
// CHECK: memref.alloc() : memref<1x3x3x16xf32>
// CHECK: math.fma
// CHECK: arith.maximumf
// CHECK: return
func.func @onto_its_data(%X: memref<1x3x3x16xf32>, %W: memref<3x3x16x16xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %P = memref.alloc() : memref<1x5x5x16xf32>
  %C = memref.alloc() : memref<1x3x3x16xf32>
  linalg.fill ins(%zero : f32) outs(%P : memref<1x5x5x16xf32>)
  %inner = memref.subview %P[0, 1, 1, 0] [1, 3, 3, 16] [1, 1, 1, 1] : memref<1x5x5x16xf32> to memref<1x3x3x16xf32, strided<[400, 80, 16, 1], offset: 96>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%X : memref<1x3x3x16xf32>) outs(%inner : memref<1x3x3x16xf32, strided<[400, 80, 16, 1], offset: 96>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%zero : f32) outs(%C : memref<1x3x3x16xf32>)
  linalg.generic {indexing_maps = [#data, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%P, %W : memref<1x5x5x16xf32>, memref<3x3x16x16xf32>) outs(%C : memref<1x3x3x16xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%C : memref<1x3x3x16xf32>) outs(%X : memref<1x3x3x16xf32>) {
  ^bb0(%c: f32, %o: f32):
    %r = arith.maximumf %c, %zero : f32
    linalg.yield %r : f32
  }
  return
}
