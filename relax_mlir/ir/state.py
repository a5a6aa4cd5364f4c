"""What a module is made of: the MLIR module and what lives beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir.mlir import ir

if TYPE_CHECKING:
    import numpy as np


@dataclass
class ModuleState:
    """What a pass works on: the MLIR module and what lives beside it.

    `constants` is the side table that `relax.constant {key = ...}` refers to.  `target` is the
    target description a compilation is for (None: the host).  `attributes` are the IRModule's.
    """

    module: ir.Module
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    target: Any = None
    attributes: dict[str, Any] = field(default_factory=dict)

    def clone(self) -> ModuleState:
        """An independent copy; constants are shared, they are never written."""
        copy = ir.Module.create()
        for named in self.module.operation.attributes:
            copy.operation.attributes[named] = self.module.operation.attributes[named]
        for op in self.module.body.operations:
            copy.body.append(op.operation.clone())
        return ModuleState(copy, dict(self.constants), self.target, dict(self.attributes))

    def take_operations(self, other: ModuleState) -> None:
        """Hold copies of another module's operations in place of one's own."""
        for op in list(self.module.body.operations):
            op.operation.erase()
        for op in other.module.body.operations:
            self.module.body.append(op.operation.clone())

    def functions(self) -> list[ir.Operation]:
        """The `func.func` operations of the module in order."""
        body = self.module.body.operations
        return [op.operation for op in body if op.operation.name == "func.func"]
