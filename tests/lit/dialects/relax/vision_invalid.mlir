// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @vision_roi_align(%x0: tensor<2x3x9x9xf32>, %x1: tensor<5x4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{rois has rows (batch, x1, y1, x2, y2)}}
  %gv = "relax.vision_roi_align"(%x0, %x1) {pooled_size = [2, 2], spatial_scale = 0.5} : (tensor<2x3x9x9xf32>, tensor<5x4xf32>) -> !relax.object
  return %gv : !relax.object
}
