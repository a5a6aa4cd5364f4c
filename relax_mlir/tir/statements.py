"""Statements as trees: what `ir_builder` records, and how it becomes part of a function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import BufferLoad, BufferRef, IterVar, PrimExpr, Var, transform

if TYPE_CHECKING:
    from relax_mlir.tir.builder import PrimFuncBuilder

__all__ = [
    "Allocate", "Attribute", "Evaluate", "For", "IfThenElse", "LetStmt", "Names", "SeqStmt",
    "Statement", "Store", "While",
]  # fmt: skip


@dataclass
class Names:
    """What stands for a statement's buffers and variables in the function it becomes part of."""

    buffers: dict[Buffer, Buffer] = field(default_factory=dict[Buffer, Buffer])
    variables: dict[Var, PrimExpr] = field(default_factory=dict[Var, PrimExpr])

    def buffer(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer, buffer)

    def expr(self, expr: PrimExpr) -> PrimExpr:
        """An expression on them."""

        def visit(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, Var):
                return self.variables.get(node, node)
            if isinstance(node, BufferRef):
                return BufferRef(self.buffer(node.buffer))
            if isinstance(node, BufferLoad):
                return BufferLoad(self.buffer(node.buffer), [self.expr(i) for i in node.indices])
            return None

        return transform(expr, visit)


class Statement(ABC):
    """Something that a function does."""

    @abstractmethod
    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        """Write it into the function that is being built."""


@dataclass(frozen=True)
class SeqStmt(Statement):
    """Statements one after the other."""

    parts: tuple[Statement, ...]

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        for part in self.parts:
            part.emit(build, names)


@dataclass(frozen=True)
class Evaluate(Statement):
    """A call for its effect."""

    value: PrimExpr

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        build.evaluate(names.expr(self.value))


@dataclass(frozen=True)
class Store(Statement):
    """`buffer[indices] = value`."""

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        indices = [names.expr(i) for i in self.indices]
        build.store(names.buffer(self.buffer), names.expr(self.value), indices)


@dataclass(frozen=True)
class Allocate(Statement):
    """A buffer for the statements behind it."""

    buffer: Buffer

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        old = self.buffer
        shape = [names.expr(size) for size in old.shape]
        made = Buffer(
            old.name, shape, old.dtype, old.storage_scope, axis_separators=old.axis_separators
        )
        names.buffers[old] = build.allocate(made, here=True)


@dataclass(frozen=True)
class LetStmt(Statement):
    """A variable that stands for a value."""

    variable: Var
    value: PrimExpr

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        names.variables[self.variable] = build.let(self.variable.name, names.expr(self.value))


@dataclass(frozen=True)
class For(Statement):
    """A loop; with a `thread` one on the threads of a GPU."""

    variable: Var
    low: PrimExpr
    extent: PrimExpr
    kind: str
    thread: str | None
    body: Statement

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        low, extent, var = names.expr(self.low), names.expr(self.extent), self.variable
        with build.for_(self.kind, low, extent, var.name, var.dtype, self.thread) as at:
            names.variables[var] = at
            self.body.emit(build, names)


@dataclass(frozen=True)
class While(Statement):
    """A loop that runs while a condition holds."""

    condition: PrimExpr
    body: Statement

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        with build.while_(names.expr(self.condition)):
            self.body.emit(build, names)


@dataclass(frozen=True)
class IfThenElse(Statement):
    """Statements by a condition."""

    condition: PrimExpr
    then: Statement
    otherwise: Statement | None

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        with build.if_(names.expr(self.condition)):
            self.then.emit(build, names)
        if self.otherwise is not None:
            with build.else_():
                self.otherwise.emit(build, names)


@dataclass(frozen=True)
class Attribute(Statement):
    """Statements for which an attribute holds."""

    node: Any
    key: str
    value: Any
    body: Statement

    def emit(self, build: PrimFuncBuilder, names: Names) -> None:
        node, value = (self._here(part, names) for part in (self.node, self.value))
        with build.attr(node, self.key, value):
            self.body.emit(build, names)

    @staticmethod
    def _here(part: Any, names: Names) -> Any:
        if isinstance(part, IterVar):
            return names.expr(part.var)
        return names.expr(part) if isinstance(part, PrimExpr) else part
