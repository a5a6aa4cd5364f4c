"""Handle parameters of TensorIR functions, while they are parsed."""

from __future__ import annotations

from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import PrimExpr


class Handle:
    """A handle parameter whose buffer is declared by `T.match_buffer`."""

    def __init__(self, name: str):
        self.name = name
        self.buffer: Buffer | None = None

    @property
    def buffer_name(self) -> str:
        """The name of the buffer, or of the handle where there is none."""
        return self.name if self.buffer is None else self.buffer.name

    def asobject(self) -> PrimExpr:
        """The address of the buffer."""
        if self.buffer is None:
            raise TypeError(f"the handle '{self.name}' has no buffer yet")
        return self.buffer.data
