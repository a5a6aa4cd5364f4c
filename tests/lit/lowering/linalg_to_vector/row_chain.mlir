// RUN: relax-opt %s --linalg-to-vector | FileCheck %s

// softmax(A B) C by blocks of rows: the scores of one block are the largest temporary, and no
// matrix of all scores is left.
// CHECK-LABEL: func.func @attention
// CHECK-NOT: memref<1x256x40xf32>
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<2560xf32>
// CHECK: scf.for
// CHECK: math.fma
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: math.fma
// CHECK-NOT: linalg
func.func @attention(%A: memref<1x256x8xf32>, %B: memref<1x8x40xf32>, %C: memref<1x40x16xf32>, %O: memref<1x256x16xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %S = memref.alloc() : memref<1x256x40xf32>
  %M = memref.alloc() : memref<1x256xf32>
  %E = memref.alloc() : memref<1x256x40xf32>
  %L = memref.alloc() : memref<1x256xf32>
  %W = memref.alloc() : memref<1x256x40xf32>
  linalg.fill ins(%zero : f32) outs(%S : memref<1x256x40xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%A, %B : memref<1x256x8xf32>, memref<1x8x40xf32>) outs(%S : memref<1x256x40xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%lowest : f32) outs(%M : memref<1x256xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%S : memref<1x256x40xf32>) outs(%M : memref<1x256xf32>) {
  ^bb0(%s: f32, %m: f32):
    %t = arith.maximumf %m, %s : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%S, %M : memref<1x256x40xf32>, memref<1x256xf32>) outs(%E : memref<1x256x40xf32>) {
  ^bb0(%s: f32, %m: f32, %e: f32):
    %d = arith.subf %s, %m : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%zero : f32) outs(%L : memref<1x256xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%E : memref<1x256x40xf32>) outs(%L : memref<1x256xf32>) {
  ^bb0(%e: f32, %l: f32):
    %t = arith.addf %l, %e : f32
    linalg.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%E, %L : memref<1x256x40xf32>, memref<1x256xf32>) outs(%W : memref<1x256x40xf32>) {
  ^bb0(%e: f32, %l: f32, %w: f32):
    %t = arith.divf %e, %l : f32
    linalg.yield %t : f32
  }
  linalg.fill ins(%zero : f32) outs(%O : memref<1x256x16xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%W, %C : memref<1x256x40xf32>, memref<1x40x16xf32>) outs(%O : memref<1x256x16xf32>) {
  ^bb0(%w: f32, %c: f32, %o: f32):
    %p = arith.mulf %w, %c : f32
    %t = arith.addf %o, %p : f32
    linalg.yield %t : f32
  }
  return
}
