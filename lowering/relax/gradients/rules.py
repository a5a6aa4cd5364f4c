"""The table of gradients: for each operator, what its operands' gradients are.

A rule gets a `Step` and the gradient of the operator's result (for a tuple, a list with None for
fields without one), and returns a gradient for each operand, None where there is none.  Gradients
may have the shape that operands were broadcast to: the pass sums them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax.spec import attributes_of, operand_groups
from relax_mlir.errors import PassError
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of
from relax_mlir.mlir import ir

Gradient = ir.Value | None
Rule = Callable[["Step", Any], Sequence[Gradient]]


@dataclass(frozen=True)
class Step:
    """One operation on the way back."""

    write: OperatorWriter
    op: ir.Operation

    @property
    def operands(self) -> list[Any]:
        """One entry an operand: a list for a variadic one, None for an absent one."""
        return operand_groups(self.op)

    @property
    def result(self) -> ir.Value:
        return self.op.results[0]

    @property
    def attributes(self) -> dict[str, Any]:
        return attributes_of(self.op)

    def __call__(self, name: str, *operands: Any, **attributes: Any) -> ir.Value:
        """Another operator."""
        return self.write.op(name, *operands, **attributes)

    def number(self, value: float, like: ir.Value) -> ir.Value:
        return self.write.constant(value, dtype_of(like) or "float32")

    def dims(self, value: ir.Value) -> tuple[Dim, ...]:
        """The shape of a tensor.  Raises PassError when it is not known."""
        dims = dims_of(value)
        if dims is None:
            raise PassError(f"the gradient of {self.op.name} needs the shapes of its operands")
        return dims

    def refuse(self, why: str) -> PassError:
        return PassError(
            f"there is no gradient of {self.op.name} {why}", hint=f"at {self.op.location}"
        )


RULES: dict[str, Rule] = {}
"""By TVM's operator name."""

CONSTANT: set[str] = set()
"""Operators whose results do not change with small changes of their operands."""


def gradient(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of these operators."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register
