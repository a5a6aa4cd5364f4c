"""`tvm.tir.TensorIntrin`: what an instruction computes, and how to write it, as two functions."""

from relax_mlir.tir.tensor_intrin.registry import TensorIntrin

__all__ = ["TensorIntrin"]
