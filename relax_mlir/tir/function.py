"""PrimFunc: a TensorIR function as a Python value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects import dims, dtypes
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.ir.function import BaseFunc
from relax_mlir.mlir import ir
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import Var
from relax_mlir.tir.operators import integer_limits
from relax_mlir.tir.shapes import expr_of

__all__ = ["PrimFunc"]


class PrimFunc(BaseFunc):
    """A function on buffers and scalars that returns nothing: outputs are parameters.

    `params` are variables in order; `buffer_map` says which of them are buffers.
    """

    attrs_key = "tir.attrs"

    @cached_property
    def _described(self) -> list[tuple[Var, Buffer | None]]:
        symbols: dict[str, Var] = {}
        with mlir.scope():
            attributes = self.operation.attributes
            inputs = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value).inputs
            described: list[dict[str, Any]] = [{} for _ in inputs]
            if "arg_attrs" in attributes:  # MLIR leaves it out when there is nothing in it
                described = [from_attribute(a) for a in ir.ArrayAttr(attributes["arg_attrs"])]
            return [_parameter(d, kind, symbols) for d, kind in zip(described, inputs, strict=True)]

    @property
    def params(self) -> list[Var]:
        return [var for var, _ in self._described]

    @property
    def buffer_map(self) -> dict[Var, Buffer]:
        return {var: buffer for var, buffer in self._described if buffer is not None}

    @property
    def body(self) -> ir.Block:
        """The root block of the function, in MLIR."""
        return self.operation.regions[0].blocks[0]

    @property
    def ret_type(self) -> None:
        return None

    def specialize(self, param_map: Mapping[Any, Any]) -> PrimFunc:
        """The function for some values of its symbols and scalars, or some buffers: see
        `relax_mlir.tir.specialize`."""
        from relax_mlir.tir.specialize import specialize

        made = specialize(self, param_map)
        assert isinstance(made, PrimFunc)
        return made


def _parameter(
    described: dict[str, Any], kind: ir.Type, symbols: dict[str, Var]
) -> tuple[Var, Buffer | None]:
    name = described["tir.name"]
    if not isinstance(kind, ir.MemRefType):
        dtype = described.get("tir.dtype") or dtypes.from_mlir(kind)
        var = symbols.setdefault(name, Var(name, dtype))
        return var, None
    size_dtype = described.get("tir.shape_dtype", "int32")

    def size(dim: dims.Dim) -> Any:
        for symbol in dims.symbols(dim):
            symbols.setdefault(symbol, Var(symbol, size_dtype))
        fits = not isinstance(dim, int) or abs(dim) <= integer_limits(size_dtype)[1]
        return expr_of(dim, symbols, size_dtype if fits else "int64")

    buffer = Buffer(
        name,
        [size(d) for d in described.get("tir.shape", kind.shape)],
        described.get("tir.dtype") or dtypes.from_mlir(kind.element_type),
        described.get("tir.scope", "global"),
        [size(d) for d in described.get("tir.strides", [])],
        size(described["tir.offset"]) if "tir.offset" in described else None,
        described.get("tir.align", 0),
        axis_separators=described.get("tir.axis_separators"),
    )
    return Var(name, "handle"), buffer
