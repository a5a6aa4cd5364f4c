"""Operators of object detection (TVM's `topi.vision`)."""

from relax_mlir.topi.vision.multibox import multibox_transform_loc
from relax_mlir.topi.vision.nms import (
    all_class_non_max_suppression,
    get_valid_counts,
    non_max_suppression,
)
from relax_mlir.topi.vision.roi import (
    roi_align,
    roi_align_nchw,
    roi_align_nhwc,
    roi_pool,
    roi_pool_nchw,
)

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
    "roi_align",
    "roi_align_nchw",
    "roi_align_nhwc",
    "roi_pool",
    "roi_pool_nchw",
]
