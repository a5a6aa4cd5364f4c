"""Convolutions: what is recognised as one, and how each kind is emitted.

Recognised (`matching.py`), by structure alone, is a `linalg.generic`, fused elementwise operations
done with,
that sums products of two inputs,

    out[n, y..., f] += data[n, y * stride + ry * dilation..., c] * weight[ry..., c, f]

where every index is a plain dimension, a window (a parallel dimension times the stride plus a
reduction times the dilation) or, for groups, `(f floordiv width) * channels + c`.  Axes may stand
in any order; what counts are strides:
  direct     `f` is contiguous in the output and not in the data (NHWC).  The weight may be HWIO,
             grouped or in panels `weight[f floordiv W][ry..., c][f mod W]`, which are read in the
             order they lie in memory; anything else is laid out in panels in the call.
  depthwise  `f` is contiguous in the output, the data and the weight (NHWC with one channel a
             group, weight HW1C).
  narrow     groups of fewer outputs than a vector has lanes, as many of them together as it holds
             (depthwise with a multiplier, too).
Winograd convolutions are chains of transforms around products (`winograd_matching.py`; along one
axis, `winograd_1d_matching.py`), and each chain is emitted as one nest.
A pooling that alone reads what one computes, with windows next to each other that lie in its tiles,
is computed in registers with it (`tile_pooling.py`).
Convolutions without a window (1x1, stride 1, not padded) are matrix products.

The padding in front may be a temporary of constant size that is filled with zero and then gets the
data copied into its middle, `linalg.fill` and a copy into a `memref.subview`, read by the
convolution alone: it is then never made, the loops leave out the taps that meet the border.
The elementwise operation that alone reads the result (bias, activation, residual, any chain that
was fused into one `linalg.generic`) is applied to the finished vectors, if its operands are
contiguous or constant along `f`.
"""
