"""Legalisation of elementwise operators on two and three tensors.

A constant scalar operand becomes a number inside the function: the second if it is one, otherwise
the first.
"""

from __future__ import annotations

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize

_NAMES = (
    "add subtract multiply divide floor_divide mod floor_mod power atan2 log_add_exp maximum "
    "minimum equal not_equal greater greater_equal less less_equal logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift"
).split()

for _name in _NAMES:
    ROWS[_name] = Row(_name, getattr(topi, _name), immediate=(1, 0))


@legalize("ewise_fma", "ewise_fma")
def _ewise_fma(x1: te.Tensor, x2: te.Tensor, x3: te.Tensor) -> te.Tensor:
    return te.compute(x1.shape, lambda *i: x1(*i) * x2(*i) + x3(*i), name="T_fma")
