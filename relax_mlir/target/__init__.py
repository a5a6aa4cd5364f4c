"""What a program is compiled for (TVM: `tvm.target`)."""

from relax_mlir.target.target import Target, TargetKind

__all__ = ["Target", "TargetKind"]
