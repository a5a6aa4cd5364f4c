"""What a program is compiled for (TVM: `tvm.target`)."""

from relax_mlir.target.tags import list_tags, register_tag
from relax_mlir.target.target import Target, TargetKind

__all__ = ["Target", "TargetKind", "list_tags", "register_tag"]
