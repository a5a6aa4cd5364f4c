"""Function bodies as Python objects: sequences of blocks of bindings (TVM's `SeqExpr`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.relax.expr import DataflowVar, Expr, Var
from relax_mlir.relax.struct_info import StructInfo


class Binding:
    """Base of bindings; `var` is the bound variable."""

    def __init__(self, var: Var, value: Expr):
        self.var = var
        self.value = value

    def __str__(self) -> str:
        from relax_mlir.script.printer.relax_expr import binding_text

        return binding_text(self)

    __repr__ = __str__


class VarBinding(Binding):
    """`var = value`."""


class MatchCast(Binding):
    """`var = R.match_cast(value, struct_info)`."""

    @property
    def struct_info(self) -> StructInfo:
        return self.var.struct_info

    ty = struct_info


class BindingBlock:
    """Bindings outside dataflow blocks, where effects are allowed."""

    def __init__(self, bindings: Sequence[Binding]):
        self.bindings = list(bindings)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.bindings))


class DataflowBlock(BindingBlock):
    """Bindings without effects; those to a plain Var are visible after the block.

    `outputs` are these variables, in the order of `R.output` where that is known.
    """

    def __init__(self, bindings: Sequence[Binding], outputs: Sequence[Var] | None = None):
        super().__init__(bindings)
        visible = [b.var for b in self.bindings if not isinstance(b.var, DataflowVar)]
        self.outputs = visible if outputs is None else list(outputs)


class SeqExpr(Expr):
    """Blocks of bindings, then the value of the sequence."""

    def __init__(self, blocks: Sequence[BindingBlock], body: Any):
        from relax_mlir.relax.expr import as_expr

        self.blocks = list(blocks)
        self.body = as_expr(body)
        self.mlir_type = self.body.mlir_type

    @property
    def bindings(self) -> list[Binding]:
        """All bindings, in order."""
        return [binding for block in self.blocks for binding in block.bindings]


class LocalFunction(Expr):
    """A function inside a function, which may use the variables around it.

    `own` is the variable by which a recursive one calls itself.
    """

    def __init__(
        self,
        params: Sequence[Var],
        body: SeqExpr,
        kind: Any,
        *,
        own: Var | None = None,
        attrs: Mapping[str, Any] | None = None,
        is_pure: bool = True,
    ):
        self.params = list(params)
        self.body = body
        self.mlir_type = kind
        self.own = own
        self.attrs = dict(attrs or {})
        self.is_pure = is_pure
