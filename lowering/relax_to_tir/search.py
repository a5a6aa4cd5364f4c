"""Legalisation of where, argmax and argmin."""

from __future__ import annotations

from relax_mlir import topi
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row

ROWS["where"] = Row("where", topi.where)
ROWS["argmax"] = Row("argmax", topi.argmax)
ROWS["argmin"] = Row("argmin", topi.argmin)
