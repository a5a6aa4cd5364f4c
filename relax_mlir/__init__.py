"""relax_mlir: Apache TVM's Relax and TensorIR as MLIR dialects.

Names are imported on first use, so that `import relax_mlir` stays fast.
"""
