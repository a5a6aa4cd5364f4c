"""The `R` namespace: Relax in TVMScript.

Types, values and statements are here; every operator of `relax_mlir.relax.op` is too: `R.add`,
`R.nn.relu`.
"""

from __future__ import annotations

import typing

from relax_mlir.relax import op as _op
from relax_mlir.relax.convenience import dtype, prim_value, shape, str, tuple
from relax_mlir.relax.expr import ExternFunc, ShapeExpr, TupleGetItem, const
from relax_mlir.script.forms import relax as _forms
from relax_mlir.script.forms.relax import (
    array,
    dataflow,
    device,
    emit_te,
    emit_with_sinfo,
    func_attr,
    match_cast,
    output,
)
from relax_mlir.script.ir import DeviceMesh as device_mesh
from relax_mlir.script.parser.entry import FunctionDecorator, rewriter

__all__ = [
    "Any",
    "Callable",
    "DTensor",
    "ExternFunc",
    "Object",
    "Prim",
    "Shape",
    "ShapeExpr",
    "Tensor",
    "Tuple",
    "TupleGetItem",
    "array",
    "const",
    "dataflow",
    "device",
    "device_mesh",
    "dtype",
    "emit_te",
    "emit_with_sinfo",
    "emit_with_ty",
    "func_attr",
    "function",
    "match_cast",
    "output",
    "prim_value",
    "rewriter",
    "shape",
    "str",
    "tuple",
]

function = FunctionDecorator(
    "R.function",
    "relax_mlir.script.parser.relax_function:RelaxParser",
    {"pure": True, "private": False, "check_well_formed": True},
)
Tensor = _forms.TensorForm()
DTensor = _forms.DTensorForm()
Shape = _forms.ShapeForm()
Tuple = _forms.TupleForm()
Prim = _forms.PrimForm()
Object = _forms.ObjectForm()
Any = Object  # TVM 0.27's name
_op.dist.DTensor, _op.dist.device_mesh = DTensor, device_mesh  # `R.dist` is the operators' too
emit_with_ty = emit_with_sinfo
Callable = _forms.CallableForm()


def __getattr__(name: typing.Any) -> typing.Any:
    return getattr(_op, name)
