"""Host code that tells how long each call takes (`relax-to-host{profile=true}`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.dialects.relax import types
from relax_mlir.lowering.relax_to_host.host_function import HostFunction
from relax_mlir.lowering.relax_to_host.objects import call_global
from relax_mlir.lowering.relax_to_host.values import StringValue
from relax_mlir.mlir import ir

__all__ = ["START", "STOP", "timed"]

START = "relax_mlir.profile.start"
STOP = "relax_mlir.profile.stop"


@contextmanager
def timed(host: HostFunction, op: ir.Operation, callee: str) -> Iterator[None]:
    """The call that is written while it lasts is timed, if the module is profiled."""
    if not host.context.profile:
        yield
        return
    shapes = ", ".join(_shape(value.type) for value in (*op.operands, *op.results))
    call_global(host, START, [])
    yield
    call_global(host, STOP, [StringValue(callee), StringValue(shapes)])


def _shape(kind: ir.Type) -> str:
    """`float32[2, n]`; tuples field by field."""
    fields = types.tuple_fields(kind)
    if fields is not None:
        return ", ".join(map(_shape, fields))
    info = types.tensor_info(kind)
    if info is None:
        return types.describe(kind).removeprefix("R.")
    sizes = "..." if info.dims is None else ", ".join(map(str, info.dims))
    return f"{info.dtype or 'any'}[{sizes}]"
