"""Relax expressions as Python objects, as users make them before there is a function.

An expression is a small immutable tree.  Its type is inferred when it is made: `struct_info`
(TVM 0.27: `ty`) is the face of `mlir_type`.  `relax_mlir.relax.emitter` turns expressions into
MLIR, `relax_mlir.relax.reader` MLIR into expressions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.errors import TypeInferenceError
from relax_mlir.ir.function import GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax import symbols
from relax_mlir.relax.location import user_span
from relax_mlir.relax.operators import ExprOperators
from relax_mlir.relax.struct_info import (
    DynTensorType,
    StructInfo,
    TensorType,
    canonical_dtype,
    from_mlir_type,
    to_mlir_type,
)


class Expr(ExprOperators):
    """Base of Relax expressions."""

    mlir_type: ir.Type

    @property
    def struct_info(self) -> StructInfo:
        """The type of the expression."""
        with mlir.scope():
            return from_mlir_type(self.mlir_type)

    ty = struct_info
    struct_info_ = struct_info

    @property
    def checked_type(self) -> StructInfo:
        """The type without its shape, as the first Relax had it."""
        info = self.struct_info
        if isinstance(info, TensorType):
            return DynTensorType(info.ndim, info.dtype)
        return info

    @property
    def shape(self) -> Any:
        """The shape of a tensor as a ShapeExpr, None when unknown.  Raises TypeError."""
        return self._tensor_type().shape

    @property
    def dtype(self) -> str | None:
        """The dtype of a tensor or scalar, None when unknown.  Raises TypeError."""
        with mlir.scope():
            prim = types.prim_info(self.mlir_type)
        return self._tensor_type().dtype if prim is None else prim[0]

    @property
    def ndim(self) -> int:
        return self._tensor_type().ndim

    def _tensor_type(self) -> TensorType:
        info = self.struct_info
        if not isinstance(info, TensorType):
            raise TypeError(f"only tensors have a shape and a dtype, this is {info}")
        return info

    def same_as(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        from relax_mlir.script.printer.relax_expr import expression_text

        return expression_text(self)

    __repr__ = __str__

    def script(self, **options: Any) -> str:
        return str(self)

    def show(self, style: str | None = None, **options: Any) -> None:
        """Print the expression, highlighted on a terminal or in a notebook."""
        from relax_mlir.script.highlight import show

        show(self.script(**options), style)


RelaxExpr = Expr


class Var(Expr):
    """A variable.

    `relax.Var("x", R.Tensor((2, 3), "float32"))`, or as the first Relax wrote it: name, shape and
    `DynTensorType(2, "float32")`.  Two variables are the same only if they are one object.
    """

    known: Expr | None = None
    """The dtype that the variable is bound to, where an operator needs to know it."""

    def __init__(
        self,
        name_hint: str,
        struct_info: Any = None,
        type_annotation: Any = None,
        *,
        ty: Any = None,
    ):
        self.name_hint = name_hint
        with mlir.scope():
            given = struct_info if ty is None else ty
            self.mlir_type = _variable_type(given, type_annotation)

    @property
    def name(self) -> str:
        return self.name_hint

    @property
    def vid(self) -> str:
        return self.name_hint

    def __str__(self) -> str:
        return self.name_hint

    __repr__ = __str__


class DataflowVar(Var):
    """A variable that is visible only inside its dataflow block."""


def _variable_type(struct_info: Any, annotation: Any) -> ir.Type:
    if struct_info is None and annotation is None:
        return types.object_type()
    if annotation is None:
        if _is_shape_like(struct_info):
            return TensorType(struct_info, None).mlir_type
        return to_mlir_type(struct_info)
    if struct_info is None:
        return to_mlir_type(annotation)
    info = types.tensor_info(to_mlir_type(annotation))
    if info is None:
        raise TypeError(f"a shape goes with a tensor type, not with {annotation}")
    shaped = TensorType(struct_info, info.dtype)
    if info.ndim not in (-1, shaped.ndim):
        raise TypeError(f"the shape {struct_info} has not the rank of {annotation}")
    return shaped.mlir_type


def _is_shape_like(value: Any) -> bool:
    return isinstance(value, (tuple, list, ShapeExpr))


class Constant(Expr):
    """A constant tensor; `data` is its value."""

    def __init__(self, data: Any, struct_info: Any = None):
        self.array = as_array(data)
        with mlir.scope():
            exact = types.tensor_type(self.array.shape, self.array.dtype.name)
            declared = exact if struct_info is None else to_mlir_type(struct_info)
            reason = types.conflict(declared, exact)
            if reason is not None:
                raise TypeInferenceError(
                    f"a constant of type {types.describe(exact)} is declared as "
                    f"{types.describe(declared)}: {reason}",
                    span=user_span(),
                )
            self.mlir_type = exact

    @property
    def data(self) -> Any:
        """The value as a runtime tensor."""
        from relax_mlir.runtime import tensor

        return tensor(self.array)

    def numpy(self) -> np.ndarray:
        return self.array


class ShapeExpr(Expr):
    """A shape value: `relax.ShapeExpr([n, 4])`."""

    def __init__(self, values: Any):
        self.dims: tuple[Dim, ...] = getattr(values, "dims", None) or symbols.to_dims(values)
        with mlir.scope():
            self.mlir_type = types.shape_type(self.dims)

    @property
    def values(self) -> list[Any]:
        """The dimensions as `tir` expressions."""
        return [symbols.to_expr(dim) for dim in self.dims]

    def __len__(self) -> int:
        return len(self.dims)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ShapeExpr):
            return self.dims == other.dims
        if isinstance(other, (tuple, list)):
            return self.dims == symbols.to_dims(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims)


class PrimValue(Expr):
    """A scalar: an int, float, bool, or a `tir` expression."""

    def __init__(self, value: Any, dtype: Any = None):
        if isinstance(value, PrimValue):
            value, dtype = value.value, dtype or value.dtype
        if hasattr(value, "item") and not symbols.is_dim(value):
            value = value.item()
        plain = _immediate(value)
        kind = canonical_dtype(dtype) or _prim_dtype(value, plain)
        self.dim: Dim | None = None
        self.number: float | bool | None = None
        if isinstance(plain, (bool, float)):
            self.number = plain
        else:
            self.dim = symbols.to_value(plain)
        with mlir.scope():
            self.mlir_type = types.prim_type(kind, self.dim)

    @property
    def value(self) -> Any:
        """The value as a `tir` expression."""
        if self.dim is not None:
            return symbols.to_expr(self.dim)
        if isinstance(self.number, bool):
            return symbols.tir.IntImm("bool", self.number)
        return symbols.tir.FloatImm(self.dtype, self.number or 0.0)


def _immediate(value: Any) -> Any:
    """The Python number of an immediate; other values as they are."""
    if isinstance(value, symbols.tir.FloatImm):
        return float(value.value)
    if isinstance(value, symbols.tir.IntImm):
        return bool(value.value) if value.dtype == "bool" else int(value.value)
    return value


def _prim_dtype(value: Any, plain: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, str):
        return dtype
    return {bool: "bool", float: "float32"}.get(type(plain), "int64")


class StringImm(Expr):
    """A string, an argument of packed functions."""

    def __init__(self, value: str):
        self.value = value
        with mlir.scope():
            self.mlir_type = types.object_type()


class DataTypeImm(Expr):
    """A dtype, an argument of packed functions."""

    def __init__(self, value: Any):
        self.value = dtypes.canonical(value)
        with mlir.scope():
            self.mlir_type = types.object_type()


class ExternFunc(Expr):
    """A registered function by name; calling it makes `R.call_packed`.

    TVM also gives its type, `R.Callable(...)`; what is called says the type of its result.
    """

    def __init__(self, global_symbol: str, struct_info: Any = None, *, ty: Any = None):
        self.declared = struct_info if ty is None else ty
        self.global_symbol = str(global_symbol)
        with mlir.scope():
            self.mlir_type = types.callable_type()

    def __call__(self, *args: Any, sinfo_args: Any = None, ty_args: Any = None) -> Call:
        return Call(self, list(args), sinfo_args=sinfo_args if ty_args is None else ty_args)


class FunctionRef(Expr):
    """A function of the module as a value."""

    def __init__(self, var: GlobalVar, struct_info: Any = None):
        self.var = var
        with mlir.scope():
            declared = struct_info or signature_of(var)
            self.mlir_type = types.callable_type() if declared is None else to_mlir_type(declared)


class Tuple(Expr):
    """A tuple of expressions."""

    def __init__(self, fields: Sequence[Any]):
        self.fields = tuple(as_expr(field) for field in fields)
        with mlir.scope():
            self.mlir_type = types.tuple_type([field.mlir_type for field in self.fields])

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.fields)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]


class TupleGetItem(Expr):
    """A field of a tuple; negative indices count from the end."""

    def __init__(self, tuple_value: Any, index: int):
        self.tuple_value = as_expr(tuple_value)
        with mlir.scope():
            fields = types.tuple_fields(self.tuple_value.mlir_type)
            if fields is None:
                raise TypeInferenceError(
                    f"only tuples have fields, this is "
                    f"{types.describe(self.tuple_value.mlir_type)}",
                    span=user_span(),
                )
            if not -len(fields) <= index < len(fields):
                raise IndexError(f"field {index} of a tuple of {len(fields)}")
            self.index = index % len(fields)
            self.mlir_type = fields[self.index]


class Op:
    """An operator by name, `Op.get("relax.add")`; calling it makes a Call."""

    _known: dict[str, Op] = {}

    def __init__(self, name: str):
        self.name = name

    @classmethod
    def get(cls, name: str) -> Op:
        """The operator of that name, or the intrinsic (`tir.tvm_call_packed`), which `T.Call`
        takes.  Raises ValueError when there is none."""
        from relax_mlir.relax.call_types import is_operator

        known = cls._known.get(name)
        if known is None:
            if not is_operator(name) and not _is_intrinsic(name):
                raise ValueError(f"there is no operator '{name}'")
            known = cls._known[name] = cls(name)
        return known

    def __call__(self, *args: Any, **attributes: Any) -> Call:
        return Call(self, list(args), attributes)

    def __repr__(self) -> str:
        return f'Op.get("{self.name}")'


def _is_intrinsic(name: str) -> bool:
    from relax_mlir import tir

    space, _, last = name.partition(".")
    return space in ("tir", "tirx") and hasattr(tir, last)


class Call(Expr):
    """A call of an operator, a function of the module, or a registered function.

    `args` and `attrs` are laid out as TVM's: the variadic operand of an operator is one Tuple, and
    `relax.call_tir` has a GlobalVar, a Tuple and perhaps a ShapeExpr.  `sinfo_args` (`ty_args`) are
    the result types of calls that do not infer them.
    """

    def __init__(
        self,
        op: Any,
        args: Sequence[Any],
        attrs: Mapping[str, Any] | None = None,
        sinfo_args: Any = None,
        *,
        ty_args: Any = None,
    ):
        from relax_mlir.relax.call_types import infer_call

        self.op = op
        self.args: tuple[Any, ...] = tuple(
            arg if arg is None or isinstance(arg, (GlobalVar, Expr)) else as_expr(arg)
            for arg in args
        )
        self.attrs = dict(attrs or {})
        given = ty_args if ty_args is not None else sinfo_args
        given = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
        with mlir.scope():
            self.type_args = tuple(to_mlir_type(kind) for kind in given)
            self.mlir_type = infer_call(self)

    @property
    def sinfo_args(self) -> list[StructInfo]:
        with mlir.scope():
            return [from_mlir_type(kind) for kind in self.type_args]

    ty_args = sinfo_args


class If(Expr):
    """A conditional expression; both branches are expressions."""

    def __init__(self, cond: Any, true_branch: Any, false_branch: Any):
        from relax_mlir.relax.type_relations import join

        self.cond = as_expr(cond)
        self.true_branch = as_expr(true_branch)
        self.false_branch = as_expr(false_branch)
        with mlir.scope():
            self.mlir_type = join(self.true_branch.mlir_type, self.false_branch.mlir_type)


# -- functions of a module -------------------------------------------------------------------

_signatures: list[Callable[[str], Any]] = []


@contextlib.contextmanager
def signature_scope(lookup: Callable[[str], Any]) -> Iterator[None]:
    """While it lasts, `lookup(name)` gives the types (FuncType) of a module's functions."""
    _signatures.append(lookup)
    try:
        yield
    finally:
        _signatures.pop()


def signature_of(var: GlobalVar) -> Any:
    """The type of the function a GlobalVar names, or None when it is not known."""
    if var.struct_info is not None or not _signatures:
        return var.struct_info
    return _signatures[-1](var.name_hint)


def call_global(var: GlobalVar, args: Sequence[Any]) -> Call:
    """A call of a function of the module."""
    return Call(var, list(args))


# -- values ----------------------------------------------------------------------------------


def const(value: Any, dtype: Any = None) -> Constant:
    """A constant from a number, a nested list, or a numpy, torch or runtime array.

    `dtype` is a name or a tensor type; without one, Python ints become int32 and floats float32.
    """
    if isinstance(value, Constant):
        value = value.array
    declared = dtype if isinstance(dtype, (StructInfo, ir.Type)) else None
    name = declared.dtype if isinstance(declared, TensorType) else None
    if dtype is not None and declared is None:
        name = canonical_dtype(dtype)
    return Constant(as_array(value, name), declared)


def as_array(value: Any, dtype: str | None = None) -> np.ndarray:
    """`value` as a numpy array of that dtype, without a copy where there need be none."""
    from relax_mlir.dialects.relax.constants import numpy_dtype

    if dtype is None:
        dtype = {bool: "bool", int: "int32", float: "float32"}.get(type(value))
    array = _to_numpy(value)
    if dtype is None and not isinstance(value, np.ndarray) and isinstance(value, (list, tuple)):
        dtype = {"f": "float32", "i": "int32"}.get(array.dtype.kind)
    if dtype is not None:
        array = array.astype(numpy_dtype(dtype), copy=False)
    if array.dtype.kind not in "fiubV" or array.dtype.names:
        raise TypeError(f"a {type(value).__name__} is not a tensor value: {value!r}")
    return array


def _to_numpy(value: Any) -> np.ndarray:
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, list, tuple)):
        return np.asarray(value)
    if type(value).__module__.partition(".")[0] == "torch":
        return _torch_to_numpy(value)
    if isinstance(value, (symbols.tir.IntImm, symbols.tir.FloatImm)):
        from relax_mlir.dialects.relax.constants import numpy_dtype

        return np.asarray(value.value, numpy_dtype(value.dtype))
    if hasattr(value, "numpy"):
        return np.asarray(value.numpy())
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    raise TypeError(f"a {type(value).__name__} is not a tensor value: {value!r}")


def _torch_to_numpy(value: Any) -> np.ndarray:
    from relax_mlir.dialects.relax.constants import numpy_dtype

    plain = value.detach().cpu().contiguous()
    name = str(plain.dtype).removeprefix("torch.")
    if name == "bfloat16" or name.startswith("float8"):
        import torch

        bits = torch.int16 if name == "bfloat16" else torch.uint8
        return plain.view(bits).numpy().view(numpy_dtype(name))
    return plain.numpy()


def as_expr(value: Any, like: Expr | None = None) -> Expr:
    """`value` as an expression: arrays and numbers become constants (numbers of `like`'s dtype),
    lists and tuples of expressions tuples, those of dimensions shapes, `tir` expressions scalars.

    Raises TypeError.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, GlobalVar):
        return FunctionRef(value)
    if isinstance(value, symbols.tir.PrimExpr):
        return PrimValue(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (tuple, list)):
        if value and all(symbols.is_dim(item) for item in value):
            return ShapeExpr(value)
        return Tuple(value)
    dtype = None
    if like is not None and isinstance(value, (bool, int, float)):
        dtype = like.dtype
        if isinstance(value, float) and dtype is not None and not dtypes.is_float(dtype):
            raise TypeError(f"{value} is no {dtype}: convert the tensor, or give a R.const")
    return const(value, dtype)


def get_shape_of(expr: Expr) -> Any:
    """The shape of a tensor expression: a ShapeExpr, or `shape_of` when it is not known."""
    shape = expr.shape
    return shape if shape is not None else Call(Op.get("relax.shape_of"), [expr])
