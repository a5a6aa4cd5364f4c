"""Tags of operations (TVM's `tvm.te.tag`)."""

from relax_mlir.te.operation import tag_scope

BROADCAST, ELEMWISE, INJECTIVE = "broadcast", "elemwise", "injective"
COMM_REDUCE, COMM_REDUCE_IDX = "comm_reduce", "comm_reduce_idx"

__all__ = ["BROADCAST", "COMM_REDUCE", "COMM_REDUCE_IDX", "ELEMWISE", "INJECTIVE", "tag_scope"]
