"""Relax operators as TensorIR functions: `relax-legalize-ops` and a file of rows a family."""
