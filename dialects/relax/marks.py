"""Operators that mark a value for other passes and do not change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax.spec import define
from relax_mlir.mlir import ir


def _unchanged(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    return kinds[0]


MARKS = {
    "grad.no_grad": "no gradient flows through the value",
    "grad.start_checkpoint": "a checkpointed part of the program starts",
    "grad.end_checkpoint": "a checkpointed part of the program ends",
    "builtin.stop_lift_params": "the value is not lifted out of the function with its parameters",
}

for _name, _meaning in MARKS.items():
    define(_name, ["input"], _unchanged, doc=f"Marks that {_meaning}.")
