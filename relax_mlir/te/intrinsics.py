"""What `tvm.te` has beyond TensorIR's intrinsics: logaddexp, and a look at values as they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.ir.function import above
from relax_mlir.tir import intrinsics
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import Call, PrimExpr, StringImm, as_expr

__all__ = ["DEFAULT_TRACE_ACTION", "logaddexp", "trace"]

DEFAULT_TRACE_ACTION = "tvm.default_trace_action"


def logaddexp(a: Any, b: Any) -> PrimExpr:
    """`log(exp(a) + exp(b))` of floats, without overflow."""
    left, right = O.promote(a, b)
    larger, smaller = O.max(left, right), O.min(left, right)
    # Of two infinities of one sign the difference is no number.
    same = O.equal(larger, smaller)
    apart = O.select(same, O.const(0, left.dtype), O.subtract(smaller, larger))
    return O.add(larger, intrinsics.log1p(intrinsics.exp(apart)))


def trace(args: Sequence[Any], trace_action: str = DEFAULT_TRACE_ACTION) -> PrimExpr:
    """The last of the values, which are given to a registered function as the program runs.

    The default action prints them.  Raises Error without values.
    """
    if not isinstance(args, (list, tuple)) or not args:
        raise Error("trace: a list of the values to look at is expected")
    if trace_action == DEFAULT_TRACE_ACTION:
        above("runtime").register_global_func(trace_action, _show, override=True)
    values = [as_expr(a) for a in args]
    return Call(values[-1].dtype, "tvm_call_trace_packed", [StringImm(trace_action), *values])


def _show(*values: Any) -> None:
    print(*values)  # noqa: T201  (it is what the caller asked for)
