"""How buffers and scalars of a function are described in MLIR (ARCHITECTURE.md, "TensorIR")."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects import dims, dtypes
from relax_mlir.errors import Error
from relax_mlir.mlir import dynamic, ir
from relax_mlir.tir import expr as E
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.shapes import dim_of

__all__ = ["Signature", "memref_type"]


def memref_type(buffer: Buffer) -> ir.MemRefType:
    """The memref of a buffer; explicit strides and offsets become its layout."""
    sizes = [s.value if isinstance(s, E.IntImm) else dynamic() for s in buffer.shape]
    layout = None
    if buffer.strides:
        strides = [s.value if isinstance(s, E.IntImm) else dynamic() for s in buffer.strides]
        offset = 0
        if buffer.elem_offset is not None:
            known = buffer.elem_offset
            offset = known.value if isinstance(known, E.IntImm) else dynamic()
        layout = ir.StridedLayoutAttr.get(offset, strides)
    return ir.MemRefType.get(sizes, dtypes.storage(buffer.dtype), layout)


class Signature:
    """The parameters of a function in order, and what its symbolic sizes are bound to."""

    def __init__(self, function: str):
        self.function = function
        self._params: list[Buffer | E.Var] = []
        self._names: dict[E.Var, str] = {}

    def add_buffer(self, buffer: Buffer) -> None:
        self._params.append(buffer)

    def add_scalar(self, var: E.Var) -> None:
        self._names.setdefault(var, var.name)
        self._params.append(var)

    def binding_of(self, var: E.Var) -> tuple[Buffer, int] | None:
        """The parameter and axis that a symbolic size is read from."""
        for param in self._params:
            if isinstance(param, Buffer):
                for axis, size in enumerate(param.shape):
                    if size is var:
                        return param, axis
        return None

    def layout_binding_of(self, var: E.Var) -> tuple[Buffer, int] | None:
        """The parameter whose layout gives a variable: as the stride of an axis, or (-1) offset."""
        for param in self._params:
            if isinstance(param, Buffer):
                for axis, entry in enumerate([param.elem_offset, *param.strides], start=-1):
                    if entry is var:
                        return param, axis
        return None

    def name_of(self, var: E.Var) -> str:
        """The symbol's name; a second variable of the same name gets a number."""
        if var not in self._names:
            taken, name, number = set(self._names.values()), var.name, 0
            while name in taken:
                number += 1
                name = f"{var.name}_{number}"
            self._names[var] = name
        return self._names[var]

    def dims(self, buffer: Buffer) -> list[dims.Dim]:
        return [dim_of(size, self.name_of) for size in buffer.shape]

    def buffer_attributes(self, buffer: Buffer) -> dict[str, Any]:
        """What the memref type does not say, by attribute name without prefix."""
        described: dict[str, Any] = {}
        shape = self.dims(buffer)
        if any(isinstance(d, str) for d in shape):
            described["shape"] = shape
        if buffer.index_dtype != "int32":
            described["shape_dtype"] = buffer.index_dtype
        if dtypes.from_mlir(dtypes.storage(buffer.dtype)) != buffer.dtype:
            described["dtype"] = buffer.dtype
        if buffer.strides:
            described["strides"] = [dim_of(s, self.name_of) for s in buffer.strides]
        if buffer.elem_offset is not None:
            offset = buffer.elem_offset
            described["offset"] = dim_of(offset, self.name_of)
        if buffer.data_alignment:
            described["align"] = buffer.data_alignment
        if buffer.axis_separators:
            described["axis_separators"] = list(buffer.axis_separators)
        return described

    def allocation_attributes(self, buffer: Buffer) -> dict[str, Any]:
        """The discardable attributes of a `tir.alloc_buffer`."""
        return self.buffer_attributes(buffer)

    def argument_attributes(self) -> list[dict[str, Any]]:
        """The argument attributes.  Raises Error if two parameters have one name."""
        seen: set[str] = set()
        result: list[dict[str, Any]] = []
        for param in self._params:
            if param.name in seen:
                raise Error(f"function {self.function} has two parameters named {param.name}")
            seen.add(param.name)
            described: dict[str, Any] = {"tir.name": param.name}
            if isinstance(param, Buffer):
                extra = self.buffer_attributes(param)
                if param.storage_scope != "global":
                    extra["scope"] = param.storage_scope
                described |= {f"tir.{key}": value for key, value in extra.items()}
            elif dtypes.from_mlir(dtypes.storage(param.dtype)) != param.dtype:
                described["tir.dtype"] = param.dtype
            result.append(described)
        return result
