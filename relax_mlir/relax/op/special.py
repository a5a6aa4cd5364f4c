"""Calls that are not rows of the operator table, composites, and other names of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.ir.function import GlobalVar
from relax_mlir.relax import symbols
from relax_mlir.relax.expr import (
    Call,
    DataTypeImm,
    Expr,
    ExternFunc,
    Op,
    PrimValue,
    ShapeExpr,
    Tuple,
    as_expr,
    get_shape_of,
)
from relax_mlir.relax.struct_info import StructInfo, TensorType, TupleType

ALIASES: dict[str, str] = {
    "relu": "nn.relu",
    "gelu": "nn.gelu",
    "silu": "nn.silu",
    "softmax": "nn.softmax",
    "log_softmax": "nn.log_softmax",
    "layer_norm": "nn.layer_norm",
    "transpose": "permute_dims",
    "nn.permute_dims": "permute_dims",
    "cast": "astype",
    "nn.leaky_relu": "nn.leakyrelu",
    "all_class_non_max_suppression": "vision.all_class_non_max_suppression",
    "get_valid_counts": "vision.get_valid_counts",
    "multibox_transform_loc": "vision.multibox_transform_loc",
    "non_max_suppression": "vision.non_max_suppression",
    "roi_align": "vision.roi_align",
    "roi_pool": "vision.roi_pool",
}
"""Other names, of earlier versions and of `tvm.relax.op` itself: alias -> operator."""


def call_tir(
    func: GlobalVar | str,
    args: Any,
    out_sinfo: Any = None,
    tir_vars: Any = None,
    *,
    dtype: Any = None,
    out_ty: Any = None,
    te_grad_name: str = "",
    te_grad_kwargs: Mapping[str, Any] | None = None,
) -> Call:
    """Call a TensorIR function of the module in destination-passing style.

    With `te_grad_name` it is `call_tir_with_grad`, as an earlier Relax spelled it.

    The outputs are given as `out_sinfo=R.Tensor((2, 3), "float32")` (a list for several), as
    `out_ty=`, or, as the first Relax did, as a shape with `dtype=`.  A string as callee names a
    registered function: the call then is `call_dps_packed`.
    """
    outputs = output_types(out_ty if out_ty is not None else out_sinfo, dtype)
    if te_grad_name:
        return call_tir_with_grad(_global_var(func), args, outputs, te_grad_name, te_grad_kwargs)
    if isinstance(func, (str, ExternFunc)):
        return call_dps_packed(func, args, outputs)
    operands: list[Any] = [_global_var(func), argument_tuple(args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars))
    return Call(Op.get("relax.call_tir"), operands, sinfo_args=outputs)


def call_tir_inplace(
    func: GlobalVar,
    args: Any,
    inplace_indices: int | Sequence[int],
    out_sinfo: Any = None,
    tir_vars: Any = None,
    *,
    out_ty: Any = None,
) -> Call:
    """As `call_tir`, but output i is written into argument `inplace_indices[i]`; -1 asks for a new
    tensor."""
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    outputs = output_types(out_ty if out_ty is not None else out_sinfo, None)
    operands: list[Any] = [_global_var(func), argument_tuple(args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars))
    if len(indices) != len(outputs):
        raise ValueError(f"{len(outputs)} outputs, but {len(indices)} inplace_indices")
    attributes = {"inplace_indices": indices}
    return Call(Op.get("relax.call_tir_inplace"), operands, attributes, sinfo_args=outputs)


def call_dps_packed(
    func: str | ExternFunc,
    args: Any,
    out_sinfo: Any = None,
    *,
    dtype: Any = None,
    out_ty: Any = None,
) -> Call:
    """Call a registered function that writes its results into tensors given after its arguments."""
    outputs = output_types(out_ty if out_ty is not None else out_sinfo, dtype)
    operands = [_extern(func), argument_tuple(args)]
    return Call(Op.get("relax.call_dps_packed"), operands, sinfo_args=outputs)


def call_packed(
    func: str | ExternFunc,
    *args: Any,
    sinfo_args: Any = None,
    ty_args: Any = None,
    **attributes: Any,
) -> Call:
    """Call a registered function for its result, which has type `sinfo_args`, and its effects.

    Further attributes are notes on the call, which the function does not get.
    """
    given = sinfo_args if ty_args is None else ty_args
    operands = [_argument(a) for a in args]
    return Call(_extern(func), operands, attributes or None, sinfo_args=_as_list(given))


def call_pure_packed(
    func: str | ExternFunc, *args: Any, sinfo_args: Any = None, ty_args: Any = None
) -> Call:
    """Call a registered function that is promised to have no effects."""
    given = sinfo_args if ty_args is None else ty_args
    operands = [_extern(func), *[_argument(a) for a in args]]
    return Call(Op.get("relax.call_pure_packed"), operands, sinfo_args=_as_list(given))


def call_inplace_packed(
    func: str | ExternFunc,
    *args: Any,
    inplace_indices: int | Sequence[int],
    sinfo_args: Any = None,
    ty_args: Any = None,
) -> Call:
    """Call a registered function that changes and returns some of its arguments: result i is
    argument `inplace_indices[i]`, -1 says that it is new.  `sinfo_args` are the results' types."""
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    operands = [_extern(func), *[_argument(a) for a in args]]
    given = _as_list(sinfo_args if ty_args is None else ty_args)
    attributes = {"inplace_indices": indices}
    return Call(Op.get("relax.call_inplace_packed"), operands, attributes, sinfo_args=given)


def call_tir_with_grad(
    gvar: GlobalVar,
    args: Any,
    out_sinfo: Any = None,
    te_grad_name: str = "",
    te_grad_kwargs: Mapping[str, Any] | None = None,
    *,
    out_ty: Any = None,
) -> Call:
    """As `call_tir`; its gradient is what `te_grad_name`, registered with
    `relax.training.utils.register_te_gradient`, computes from tensor expressions."""
    outputs = output_types(out_ty if out_ty is not None else out_sinfo, None)
    # TVMScript gives numbers as T.float32(2).
    given = {key: getattr(v, "value", v) for key, v in (te_grad_kwargs or {}).items()}
    attributes = {"te_grad_name": te_grad_name, "te_grad_kwargs": given}
    operands = [_global_var(gvar), argument_tuple(args)]
    return Call(Op.get("relax.call_tir_with_grad"), operands, attributes, sinfo_args=outputs)


def call_builtin_with_ctx(
    func: str | ExternFunc, args: Any, *, sinfo_args: Any = None, ty_args: Any = None
) -> Call:
    """Call a function of the runtime by the name it is registered by."""
    given = _as_list(sinfo_args if ty_args is None else ty_args)
    operands = [_extern(func), _mixed_tuple(args)]
    return Call(Op.get("relax.call_builtin_with_ctx"), operands, sinfo_args=given)


def call_py_func(func_name: str, args: Any, out_sinfo: Any = None, *, out_ty: Any = None) -> Call:
    """Call a Python function of the module (`@I.pyfunc`), which returns tensors."""
    outputs = output_types(out_ty if out_ty is not None else out_sinfo, None)
    operands = [_extern(func_name), argument_tuple(args)]
    return Call(Op.get("relax.call_py_func"), operands, sinfo_args=outputs)


def make_closure(func: GlobalVar, args: Any) -> Call:
    """A function of the module whose last parameters are given by `args`, as a value."""
    return Call(Op.get("relax.make_closure"), [_global_var(func), _mixed_tuple(args)])


def invoke_closure(closure: Any, args: Any, sinfo_args: Any = None, *, ty_args: Any = None) -> Call:
    """Call a closure, which gives `sinfo_args` and may have effects."""
    given = _as_list(sinfo_args if ty_args is None else ty_args)
    operands = [as_expr(closure), _mixed_tuple(args)]
    return Call(Op.get("relax.invoke_closure"), operands, sinfo_args=given)


def invoke_pure_closure(
    closure: Any, args: Any, sinfo_args: Any = None, *, ty_args: Any = None
) -> Call:
    """Call a closure that is promised to have no effects."""
    given = _as_list(sinfo_args if ty_args is None else ty_args)
    operands = [as_expr(closure), _mixed_tuple(args)]
    return Call(Op.get("relax.invoke_pure_closure"), operands, sinfo_args=given)


def call_tir_dyn(func: GlobalVar | str, args: Any) -> Call:
    """`R.vm.call_tir_dyn`: a TensorIR function on tensors to read and to write; a shape behind
    them gives the values of its symbols.  A name is that of a registered function, which gets the
    shape as it is."""
    if isinstance(func, (str, ExternFunc)):
        given = _mixed_tuple(args)
        values = given.fields if isinstance(given, Tuple) else [given]
        return call_packed(func, *values, sinfo_args=TupleType([]))
    return Call(Op.get("relax.vm.call_tir_dyn"), [_global_var(func), _mixed_tuple(args)])


def memory_view(
    data: Any, shape: Any = None, dtype: Any = None, relative_byte_offset: Any = None
) -> Call:
    """`R.memory.view`: the memory of a tensor under another shape or dtype, or from a byte on.

    Empty tuples stand for arguments that are not given, as TVM writes them.
    """
    given = [getattr(v, "known", v) for v in (shape, dtype, relative_byte_offset)]
    shape, dtype, offset = (None if _is_empty(v) else v for v in given)
    if isinstance(dtype, Expr) and not isinstance(dtype, DataTypeImm):
        raise TypeError("the dtype of a view must be known: R.dtype('float32')")
    operands: list[Any] = [as_expr(data), None, None]
    if shape is not None:
        operands[1] = shape if isinstance(shape, Expr) else ShapeExpr(shape)
    if offset is not None:
        operands[2] = offset if isinstance(offset, Expr) else PrimValue(offset)
    while operands[-1] is None:
        operands.pop()
    name = getattr(dtype, "value", dtype)
    attributes = {} if name in (None, "", "void") else {"dtype": dtypes.canonical(name)}
    return Call(Op.get("relax.memory.view"), operands, attributes)


def _is_empty(value: Any) -> bool:
    return isinstance(value, Tuple) and not value.fields


def dense(x: Any, weight: Any, out_dtype: Any = None) -> Call:
    """`x @ weight.T`: the weight is laid out (outputs, inputs)."""
    from relax_mlir.relax import op

    axes = None if weight.ndim == 2 else [*range(weight.ndim - 2), weight.ndim - 1, weight.ndim - 2]
    return op.matmul(x, op.permute_dims(weight, axes), out_dtype)


def linear(x: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Call:
    """`x @ weight.T + bias`."""
    from relax_mlir.relax import op

    product = dense(x, weight, out_dtype)
    return product if bias is None else op.add(product, bias)


def relu6(x: Any) -> Call:
    """`min(max(x, 0), 6)`."""
    from relax_mlir.relax import op

    return op.clip(x, 0, 6)


def masked_fill(x: Any, mask: Any, value: Any) -> Call:
    """`x` with `value` where `mask` is true."""
    from relax_mlir.relax import op

    return op.where(mask, op.full_like(x, as_expr(value, x)), x)


def print_values(*values: Any, format: str = "") -> Call:
    """Print values, filled into the `{}` of `format`."""
    return _with_values("print", [], list(values), format)


def assert_op(condition: Any, *format_args: Any, format: str = "") -> Call:
    """An AssertionError with `format`, filled with values, unless the condition holds."""
    return _with_values("assert_op", [as_expr(condition)], list(format_args), format)


def _with_values(name: str, operands: list[Any], values: list[Any], format: str) -> Call:
    if len(values) == 1 and (values[0] is None or isinstance(values[0], (tuple, list, Tuple))):
        fields = values[0].fields if isinstance(values[0], Tuple) else values[0] or []
        values = list(fields)
    given = Tuple([_argument(value) for value in values])
    return Call(Op.get(f"relax.{name}"), [*operands, given], {"format": format})


# -- arguments -----------------------------------------------------------------------------------


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (tuple, list)) else [value]


def output_types(given: Any, dtype: Any) -> list[Any]:
    """The output types of a call in destination-passing style, from any spelling."""
    if given is None:
        raise TypeError("the outputs' types are missing: out_sinfo=R.Tensor((2, 3), 'float32')")
    if isinstance(given, TupleType):
        return list(given.fields)
    if isinstance(given, StructInfo) or hasattr(given, "as_struct_info"):
        return [given]
    if isinstance(given, ShapeExpr):
        return [TensorType(given, _one(dtype))]
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"expected the outputs' types, got {given!r}")
    if all(map(symbols.is_dim, given)):
        return [TensorType(given, _one(dtype))]
    if any(isinstance(item, (tuple, list, ShapeExpr)) for item in given):
        dtypes = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * len(given)
        return [TensorType(shape, d) for shape, d in zip(given, dtypes, strict=True)]
    return list(given)


def _one(dtype: Any) -> Any:
    if dtype is None:
        raise TypeError("a shape as output needs a dtype: call_tir(f, (x,), (2, 3), dtype='int8')")
    return dtype[0] if isinstance(dtype, (tuple, list)) else dtype


def _global_var(func: Any) -> GlobalVar:
    if isinstance(func, GlobalVar):
        return func
    raise TypeError(f"the callee must be a function of the module or a name, got {func!r}")


def _extern(func: Any) -> ExternFunc:
    return func if isinstance(func, ExternFunc) else ExternFunc(func)


def _argument(value: Any) -> Expr:
    if isinstance(value, (bool, int, float)):
        return PrimValue(value)
    return as_expr(value)


def argument_tuple(args: Any) -> Expr:
    """The arguments of a call as one Tuple; a single tensor stands for itself."""
    if isinstance(args, Tuple):
        return args
    if isinstance(args, Expr):
        from relax_mlir.dialects.relax import types

        return args if types.tuple_fields(args.mlir_type) is not None else Tuple([args])
    if not isinstance(args, (tuple, list)):
        args = [args]
    return Tuple([as_expr(value) for value in args])


def _mixed_tuple(args: Any) -> Expr:
    """Arguments of any kind as one Tuple; plain numbers are scalars."""
    if isinstance(args, (tuple, list)):
        return Tuple([_argument(value) for value in args])
    return argument_tuple(args)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "call_tir": call_tir,
    "call_tir_inplace": call_tir_inplace,
    "call_dps_packed": call_dps_packed,
    "call_packed": call_packed,
    "call_pure_packed": call_pure_packed,
    "call_inplace_packed": call_inplace_packed,
    "call_tir_with_grad": call_tir_with_grad,
    "call_builtin_with_ctx": call_builtin_with_ctx,
    "call_py_func": call_py_func,
    "make_closure": make_closure,
    "invoke_closure": invoke_closure,
    "invoke_pure_closure": invoke_pure_closure,
    "vm.call_tir_dyn": call_tir_dyn,
    "memory.view": memory_view,
    "print": print_values,
    "assert_op": assert_op,
    "dense": dense,
    "nn.dense": dense,
    "linear": linear,
    "nn.linear": linear,
    "relu6": relu6,
    "nn.relu6": relu6,
    "masked_fill": masked_fill,
    "get_shape_of": get_shape_of,
}
