// REQUIRES: avx512_vnni
// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=512})" | FileCheck %s

// A convolution of unsigned data and signed weights by dot-product instructions: the weight is laid
// out in groups of four channels, and a group of the data is read at once and spread to all lanes.
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: linalg
// CHECK: memref.alloc
// CHECK: vector.interleave
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<4xi8>
// CHECK: vector.bitcast {{.*}} vector<4xi8> to vector<1xi32>
// CHECK: vector.broadcast {{.*}} : i32 to vector<16xi32>
// CHECK: llvm.{{.*}}vpdpbusd
// CHECK: return
func.func @bytes(%X: memref<1x10x10x32xi8>, %W: memref<3x3x32x64xi8>, %O: memref<1x8x8x64xi32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%O : memref<1x8x8x64xi32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, c)>, affine_map<(n, y, x, f, ry, rx, c) -> (ry, rx, c, f)>, affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x10x10x32xi8>, memref<3x3x32x64xi8>) outs(%O : memref<1x8x8x64xi32>) {
  ^bb0(%x: i8, %w: i8, %c: i32):
    %xx = arith.extui %x : i8 to i32
    %ww = arith.extsi %w : i8 to i32
    %p = arith.muli %xx, %ww : i32
    %s = arith.addi %c, %p : i32
    linalg.yield %s : i32
  }
  return
}

// A weight that lies in groups already, in panels of 32 output channels, is read in place.
// CHECK-LABEL: func.func @groups
// CHECK-NOT: linalg
// CHECK-NOT: memref.alloc
// CHECK-NOT: vector.interleave
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<64xi8>
// CHECK: llvm.{{.*}}vpdpbusd
// CHECK: return
func.func @groups(%X: memref<1x10x10x32xi8>, %W: memref<2x3x3x8x32x4xi8>, %O: memref<1x8x8x64xi32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%O : memref<1x8x8x64xi32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, c)>, affine_map<(n, y, x, f, ry, rx, c) -> (f floordiv 32, ry, rx, c floordiv 4, f mod 32, c mod 4)>, affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x10x10x32xi8>, memref<2x3x3x8x32x4xi8>) outs(%O : memref<1x8x8x64xi32>) {
  ^bb0(%x: i8, %w: i8, %c: i32):
    %xx = arith.extui %x : i8 to i32
    %ww = arith.extsi %w : i8 to i32
    %p = arith.muli %xx, %ww : i32
    %s = arith.addi %c, %p : i32
    linalg.yield %s : i32
  }
  return
}
