"""`tvm.tir.ir_builder`: statements written in Python as older TVM has them, for `te.extern` and
tensor intrinsics.

    ib = ir_builder.create()
    a, b = ib.buffer_ptr(A), ib.buffer_ptr(B)
    with ib.for_range(0, n, name="i") as i:
        b[i] = a[i] + 1
    statements = ib.get()

What is written is recorded, and becomes part of a function, on the buffers it has there, when
`PrimFuncBuilder` makes that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir import intrinsics
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import BufferLoad, IterVar, PrimExpr, Var, as_expr
from relax_mlir.tir.expr_op import ExprOp
from relax_mlir.tir.statements import (
    Allocate,
    Attribute,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Statement,
    Store,
    While,
)

__all__ = ["BufferVar", "IRBuilder", "create"]


def create() -> IRBuilder:
    """A builder of statements."""
    return IRBuilder()


class BufferVar(ExprOp):
    """A buffer while statements are written: `b[i]` reads, `b[i] = x` stores.

    One index of a buffer with several dimensions counts its elements in row-major order.
    """

    def __init__(self, builder: IRBuilder, buffer: Buffer):
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    def asobject(self) -> PrimExpr:
        """The buffer's address."""
        return self.buffer.data

    def __getitem__(self, index: Any) -> PrimExpr:
        return BufferLoad(self.buffer, self._indices(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._builder.emit(Store(self.buffer, as_expr(value), tuple(self._indices(index))))

    def _indices(self, index: Any) -> list[PrimExpr]:
        given = list(index) if isinstance(index, (tuple, list)) else [index]
        indices = [as_expr(i) for i in given]
        if len(indices) != 1 or self.buffer.ndim <= 1:
            return indices
        (rest,), found = indices, list[PrimExpr]()
        for size in reversed(self.buffer.shape[1:]):
            found.insert(0, O.floormod(rest, size))
            rest = O.floordiv(rest, size)
        return [rest, *found]


class IRBuilder:
    """Records statements; `get` gives them."""

    def __init__(self) -> None:
        self._open: list[list[Statement]] = [[]]
        self._pending: list[list[tuple[int, Any]]] = [[]]

    # -- statements -------------------------------------------------------------------------

    def emit(self, stmt: Statement | PrimExpr | Sequence[Any]) -> None:
        """Add a statement, or a call for its effect."""
        for one in stmt if isinstance(stmt, (list, tuple)) else [stmt]:
            self._open[-1].append(one if isinstance(one, Statement) else Evaluate(as_expr(one)))

    def get(self) -> Statement:
        """All that was written.  Raises Error inside of a scope."""
        if len(self._open) != 1:
            raise Error("ir_builder: get() inside of a `with` that is still open")
        return self._close()

    @contextmanager
    def _scope(self) -> Iterator[list[Statement]]:
        """The statements written inside, in the list once the scope is left."""
        made: list[Statement] = []
        self._open.append([])
        self._pending.append([])
        yield made
        made.append(self._close())
        self._open.pop()
        self._pending.pop()

    def _close(self) -> Statement:
        """The statements of the innermost scope, those behind a `scope_attr` in its scope."""
        body = self._open[-1]
        for at, around in reversed(self._pending[-1]):
            body = [*body[:at], around(SeqStmt(tuple(body[at:])))]
        return SeqStmt(tuple(body))

    # -- scopes -----------------------------------------------------------------------------

    @contextmanager
    def for_range(
        self, begin: Any, end: Any, name: str = "i", dtype: Any = None, kind: str = "serial"
    ) -> Iterator[Var]:
        """A loop from `begin` up to `end`; the variable."""
        low, extent = as_expr(begin), O.subtract(end, begin)
        variable = Var(name, dtype or extent.dtype)
        with self._scope() as body:
            yield variable
        self.emit(For(variable, low, extent, kind, None, body[0]))

    @contextmanager
    def while_loop(self, condition: Any) -> Iterator[None]:
        """A loop that runs while a condition holds."""
        with self._scope() as body:
            yield
        self.emit(While(as_expr(condition), body[0]))

    @contextmanager
    def if_scope(self, cond: Any) -> Iterator[None]:
        """Statements for when a condition holds; `else_scope` may follow."""
        with self._scope() as body:
            yield
        self.emit(IfThenElse(as_expr(cond), body[0], None))

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Statements for when the condition of the `if_scope` before does not hold."""
        last = self._open[-1][-1] if self._open[-1] else None
        if not isinstance(last, IfThenElse) or last.otherwise is not None:
            raise Error("ir_builder: else_scope without an if_scope right before it")
        with self._scope() as body:
            yield
        self._open[-1][-1] = IfThenElse(last.condition, last.then, body[0])

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """A scope of its own for `scope_attr` and allocations."""
        with self._scope() as body:
            yield
        self.emit(body[0])

    def scope_attr(self, node: Any, attr_key: str, value: Any) -> None:
        """An attribute of the statements that follow in the scope; "thread_extent" of a
        `te.thread_axis` runs them on so many threads."""

        def around(body: Statement) -> Statement:
            if attr_key in ("thread_extent", "virtual_thread") and isinstance(node, IterVar):
                zero, extent = O.const(0, node.var.dtype), as_expr(value)
                return For(node.var, zero, extent, "thread_binding", node.thread_tag, body)
            return Attribute(node, attr_key, value, body)

        self._pending[-1].append((len(self._open[-1]), around))

    # -- values and buffers -----------------------------------------------------------------

    def let(self, var_name: str | Var, value: Any) -> Var:
        """A variable that stands for a value in the statements that follow."""
        expr = as_expr(value)
        variable = var_name if isinstance(var_name, Var) else Var(var_name, expr.dtype)
        self.emit(LetStmt(variable, expr))
        return variable

    def allocate(
        self,
        dtype: Any,
        shape: Any,
        name: str = "buf",
        axis_separators: Sequence[int] | None = None,
        scope: str = "",
    ) -> BufferVar:
        """A buffer for the statements that follow."""
        buffer = Buffer(name, shape, dtype, scope, axis_separators=axis_separators)
        self.emit(Allocate(buffer))
        return BufferVar(self, buffer)

    def buffer_ptr(self, buf: Buffer) -> BufferVar:
        """A buffer that exists, to read and to store."""
        return BufferVar(self, buf)

    def likely(self, expr: Any) -> PrimExpr:
        """A condition that mostly holds."""
        return intrinsics.likely(expr)
