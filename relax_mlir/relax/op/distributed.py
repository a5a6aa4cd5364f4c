"""Calls of programs whose tensors are spread over devices (`R.dist`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.ir.function import GlobalVar
from relax_mlir.relax.expr import Call, Constant, Expr, Op, const
from relax_mlir.relax.op import special

__all__ = ["FUNCTIONS"]


def call_tir(
    gvar: GlobalVar,
    args: Any,
    out_sinfo: Any = None,
    tir_vars: Any = None,
    *,
    out_ty: Any = None,
) -> Call:
    """`R.dist.call_tir`: a call_tir whose outputs are distributed tensors."""
    return special.call_tir(gvar, args, out_sinfo, tir_vars, out_ty=out_ty)


def call_tir_local_view(
    gvar: GlobalVar,
    args: Any,
    out_sinfo: Any = None,
    tir_vars: Any = None,
    *,
    out_ty: Any = None,
) -> Call:
    """`R.dist.call_tir_local_view`: each worker calls the function on its parts of the tensors."""
    made = special.call_tir(gvar, args, out_sinfo, tir_vars, out_ty=out_ty)
    op = Op.get("relax.dist.call_tir_local_view")
    return Call(op, made.args, made.attrs, sinfo_args=made.type_args)


def distributed_const(value: Any, struct_info: Any = None, *, ty: Any = None) -> Expr:
    """`R.dist.const`: a constant that is spread over a device mesh."""
    from relax_mlir import mlir
    from relax_mlir.dialects.relax import types
    from relax_mlir.relax.struct_info import to_mlir_type

    with mlir.scope():
        info = types.tensor_info(to_mlir_type(struct_info if ty is None else ty))
    if info is None or info.place[:1] != ("mesh",):
        raise TypeError("R.dist.const takes a type: R.DTensor((4,), 'float32', 'mesh[0]', 'R')")
    plain = const(value, info.dtype)
    assert isinstance(plain, Constant)
    if info.dims is not None and tuple(info.dims) != plain.array.shape:
        raise TypeError(f"a constant of shape {plain.array.shape} is declared as {info.dims}")
    return _spread(plain, info.place)


def _spread(value: Expr, place: Sequence[str]) -> Call:
    attributes = {"device_mesh": place[1], "placement": place[2]}
    return Call(Op.get("relax.dist.redistribute"), [value], attributes)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dist.call_tir": call_tir,
    "dist.call_tir_local_view": call_tir_local_view,
    "dist.const": distributed_const,
}
"""Operator name -> the function that calls it."""
