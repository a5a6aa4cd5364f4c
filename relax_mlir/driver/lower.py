"""`lower`: what is compiled, as a module of TensorIR functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from relax_mlir.errors import CompileError
from relax_mlir.ir import IRModule
from relax_mlir.ir.function import BaseFunc

if TYPE_CHECKING:
    from relax_mlir.te import Schedule, Tensor
    from relax_mlir.tir import Buffer, Var

__all__ = ["is_te_schedule", "lower"]


def lower(
    inp: Schedule | BaseFunc | IRModule,
    args: Sequence[Tensor | Var | Buffer] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """The module of a te schedule (`te.create_schedule`), of a PrimFunc, or a module itself.

    args: the parameters of a schedule's function: tensors, sizes and scalars (Var), and buffers of
    `binds`.  name: of that function.  `simple_mode` is accepted: the module is readable TVMScript
    in any case, and lowered further when it is built.

    Raises ScheduleError where a schedule cannot be applied, CompileError without its arguments.
    """
    if isinstance(inp, IRModule):
        return inp
    if isinstance(inp, BaseFunc):
        return IRModule.from_expr(inp)
    if not is_te_schedule(inp):
        raise TypeError(f"lower: a schedule, a function or an IRModule expected, given {inp!r}")
    if args is None:
        raise CompileError("lower: the arguments of a schedule's function are missing",
                           hint="tvm.lower(s, [A, B, C])")  # fmt: skip
    from relax_mlir.te.schedule import lower_schedule

    return lower_schedule(inp, args, name, binds)


def is_te_schedule(value: Any) -> TypeGuard[Schedule]:
    """Whether it is what `te.create_schedule` makes."""
    from relax_mlir.te import Schedule

    return isinstance(value, Schedule)
