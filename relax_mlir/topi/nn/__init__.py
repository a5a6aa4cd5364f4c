"""Layers of neural networks as tensor expressions (TVM's `topi.nn`)."""

from typing import TYPE_CHECKING

from relax_mlir.on_demand import names_on_demand
from relax_mlir.topi.nn.activation import (
    gelu,
    gelu_tanh,
    leaky_relu,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    softplus,
)
from relax_mlir.topi.nn.backward import (
    avg_pool2d_backward,
    max_pool2d_backward,
    nll_loss_backward,
    pool_grad,
)
from relax_mlir.topi.nn.conv import (
    conv,
    conv1d,
    conv1d_ncw,
    conv1d_transpose_ncw,
    conv2d,
    conv2d_nchw,
    conv2d_nhwc,
    conv2d_transpose_nchw,
    conv3d,
    conv_transpose,
    group_conv2d_nchw,
    group_conv2d_transpose_nchw,
)
from relax_mlir.topi.nn.conv_panels import (
    conv2d_nhwc_groups,
    conv2d_nhwc_panels,
    matmul_groups,
    weight_groups,
    weight_panels,
)
from relax_mlir.topi.nn.dense import batch_matmul, dense, flatten, matmul
from relax_mlir.topi.nn.loss import nll_loss
from relax_mlir.topi.nn.norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from relax_mlir.topi.nn.pad import circular_pad, mirror_pad, pad, reflect_pad, replicate_pad
from relax_mlir.topi.nn.pixel_shuffle import pixel_shuffle
from relax_mlir.topi.nn.pooling import (
    adaptive_pool,
    adaptive_pool1d,
    adaptive_pool3d,
    global_pool,
    pool1d,
    pool2d,
    pool3d,
)
from relax_mlir.topi.nn.softmax import fast_softmax, log_softmax, softmax

if TYPE_CHECKING:
    from relax_mlir.topi.nn.conv_layouts import (
        conv1d_nwc,
        conv2d_hwcn,
        conv2d_NCHWc,
        conv3d_ncdhw,
        conv3d_ndhwc,
        conv3d_transpose_ncdhw,
        depthwise_conv2d_backward_input_nhwc,
        depthwise_conv2d_backward_weight_nhwc,
        depthwise_conv2d_nchw,
        depthwise_conv2d_nhwc,
        group_conv1d_ncw,
        group_conv1d_nwc,
        group_conv1d_transpose_ncw,
        group_conv2d_nhwc,
        group_conv3d_transpose_ncdhw,
    )
    from relax_mlir.topi.nn.sampling_conv import (
        correlation_nchw,
        deformable_conv2d_nchw,
        deformable_conv2d_nhwc,
    )
    from relax_mlir.topi.nn.scale import lrn, scale_shift_nchw, scale_shift_nchwc, scale_shift_nhwc
    from relax_mlir.topi.nn.space import (
        batch_to_space_nd,
        depth_to_space,
        dilate,
        fifo_buffer,
        space_to_batch_nd,
        space_to_depth,
        unpack_NCHWc_to_nchw,
        upsampling,
        upsampling3d,
    )
    from relax_mlir.topi.nn.winograd import (
        bilinear,
        channel_panels,
        conv2d_winograd_nhwc,
        transform_weight,
    )
    from relax_mlir.topi.nn.winograd_1d import (
        conv1d_winograd_nwc,
        conv2d_winograd_1d_nhwc,
        transform_weight_1d,
    )

__all__ = [
    "adaptive_pool", "adaptive_pool1d", "adaptive_pool3d", "avg_pool2d_backward",
    "batch_matmul", "batch_norm", "batch_to_space_nd", "bilinear", "channel_panels",
    "circular_pad", "conv", "conv1d", "conv1d_ncw", "conv1d_nwc", "conv1d_transpose_ncw",
    "conv1d_winograd_nwc", "conv2d", "conv2d_NCHWc", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc",
    "conv2d_nhwc_groups", "conv2d_nhwc_panels",
    "conv2d_transpose_nchw", "conv2d_winograd_1d_nhwc", "conv2d_winograd_nhwc", "conv3d",
    "conv3d_ncdhw", "conv3d_ndhwc",
    "conv3d_transpose_ncdhw", "conv_transpose", "correlation_nchw", "deformable_conv2d_nchw",
    "deformable_conv2d_nhwc", "dense", "depth_to_space", "depthwise_conv2d_backward_input_nhwc",
    "depthwise_conv2d_backward_weight_nhwc", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc",
    "dilate", "fast_softmax", "fifo_buffer", "flatten", "gelu", "gelu_tanh", "global_pool",
    "group_conv1d_ncw", "group_conv1d_nwc", "group_conv1d_transpose_ncw", "group_conv2d_nchw",
    "group_conv2d_nhwc", "group_conv2d_transpose_nchw", "group_conv3d_transpose_ncdhw",
    "group_norm", "instance_norm", "layer_norm", "leaky_relu", "log_softmax", "lrn", "matmul",
    "matmul_groups", "max_pool2d_backward", "mirror_pad", "nll_loss", "nll_loss_backward", "pad",
    "pixel_shuffle", "pool1d", "pool2d", "pool3d", "pool_grad", "prelu", "reflect_pad", "relu",
    "relu6", "replicate_pad", "rms_norm", "scale_shift_nchw", "scale_shift_nchwc",
    "scale_shift_nhwc", "selu", "silu", "softmax", "softplus", "space_to_batch_nd",
    "space_to_depth", "transform_weight", "transform_weight_1d", "unpack_NCHWc_to_nchw",
    "upsampling", "upsampling3d", "weight_groups", "weight_panels",
]  # fmt: skip

__getattr__ = names_on_demand(
    __name__,
    {
        "conv_layouts": (
            "conv1d_nwc conv2d_NCHWc conv2d_hwcn conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw "
            "depthwise_conv2d_backward_input_nhwc depthwise_conv2d_backward_weight_nhwc "
            "depthwise_conv2d_nchw depthwise_conv2d_nhwc group_conv1d_ncw group_conv1d_nwc "
            "group_conv1d_transpose_ncw group_conv2d_nhwc group_conv3d_transpose_ncdhw"
        ),
        "sampling_conv": "correlation_nchw deformable_conv2d_nchw deformable_conv2d_nhwc",
        "scale": "lrn scale_shift_nchw scale_shift_nchwc scale_shift_nhwc",
        "space": (
            "batch_to_space_nd depth_to_space dilate fifo_buffer space_to_batch_nd space_to_depth "
            "unpack_NCHWc_to_nchw upsampling upsampling3d"
        ),
        "winograd": "bilinear channel_panels conv2d_winograd_nhwc transform_weight",
        "winograd_1d": "conv1d_winograd_nwc conv2d_winograd_1d_nhwc transform_weight_1d",
    },
)
