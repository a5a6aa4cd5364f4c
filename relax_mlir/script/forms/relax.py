"""What the types and statements of `R` give; the parser of Relax functions carries them out."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.relax import types
from relax_mlir.relax.expr import Expr, ShapeExpr
from relax_mlir.relax.struct_info import (
    DTensorType,
    FuncType,
    ObjectType,
    PrimType,
    ShapeType,
    StructInfo,
    TensorType,
    TupleType,
)

# -- types -------------------------------------------------------------------------------------


class TypeForm:
    """A type that may also stand without a call: `x: R.Tensor`."""

    def as_struct_info(self) -> StructInfo:
        return self()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError("not a type")


class TensorForm(TypeForm):
    """`R.Tensor((n, 784), "float32")`, `R.Tensor("float32", ndim=2)`, `R.Tensor(ndim=2)`."""

    def __call__(
        self, shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1
    ) -> TensorType:
        if isinstance(shape, str) and dtype is None:
            shape, dtype = None, shape
        if isinstance(shape, Expr) and not isinstance(shape, ShapeExpr):
            known = types.shape_info(shape.mlir_type)
            if known is None:
                raise TypeError(f"a tensor's shape is a shape, got {shape.struct_info}")
            shape, ndim = known.dims, known.ndim
        return TensorType(shape, dtype, ndim, vdevice=vdevice)

    def __getitem__(self, key: Any) -> TensorType:
        return self(*key) if isinstance(key, tuple) else self(key)


class DTensorForm(TypeForm):
    """`R.DTensor((128, 64), "float32", "mesh[0]", "S[0]")`: a tensor spread over devices."""

    def __call__(
        self,
        shape: Any = None,
        dtype: Any = None,
        device_mesh: Any = "",
        placement: Any = "",
        *,
        ndim: int = -1,
    ) -> DTensorType:
        return DTensorType(shape, dtype, device_mesh, placement, ndim)

    def __getitem__(self, key: Any) -> DTensorType:
        return self(*key) if isinstance(key, tuple) else self(key)


class ShapeForm(TypeForm):
    """`R.Shape([n, 4])`, `R.Shape(ndim=2)`."""

    def __call__(self, values: Any = None, ndim: int = -1) -> ShapeType:
        return ShapeType(values, ndim)


class TupleForm(TypeForm):
    """`R.Tuple(R.Tensor(...), R.Shape(...))`, also with one list."""

    def __call__(self, *fields: Any) -> TupleType:
        if len(fields) == 1 and isinstance(fields[0], (tuple, list)):
            fields = tuple(fields[0])
        return TupleType(fields)


class PrimForm(TypeForm):
    """`R.Prim("int64")`, `R.Prim(value="n")`."""

    def __call__(self, dtype: Any = None, value: Any = None) -> PrimType:
        return PrimType(dtype, value)


class ObjectForm(TypeForm):
    """`R.Object`, TVM 0.27's `R.Any`."""

    def __call__(self) -> ObjectType:
        return ObjectType()


class CallableForm(TypeForm):
    """`R.Callable((R.Tensor(...),), R.Tensor(...))`, `R.Callable()`."""

    def __call__(
        self, params: Any = None, ret: Any = None, purity: bool = True, derive_func: Any = None
    ) -> FuncType:
        """A function's type; what `derive_func` would say of the result stays unknown."""
        if derive_func is not None:
            return FuncType()
        if params is not None and not isinstance(params, (tuple, list)):
            params = [params]
        return FuncType(params, ret, purity)


# -- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DataflowForm:
    """`with R.dataflow():`."""


@dataclass(frozen=True)
class OutputForm:
    """`R.output(...)`."""

    variables: Sequence[Any]


@dataclass(frozen=True)
class TEForm:
    """`R.emit_te(function, ...)`."""

    function: Any
    args: Sequence[Any]
    keywords: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True)
class FuncAttrForm:
    """`R.func_attr({...})`."""

    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class MatchCastForm:
    """`R.match_cast(value, type)`."""

    value: Any
    struct_info: Any


def device(device_type: Any, device_id: int = 0) -> Any:
    """`R.device(1, 0)`: a device by TVM's number (or name) of its kind."""
    from relax_mlir.runtime import device as make

    return make(device_type, device_id)


def emit_te(func: Any, *args: Any, **keywords: Any) -> TEForm:
    """`R.emit_te(te_function, x, y)`: a kernel made from a te function, and its call.

    `primfunc_name_hint` names the kernel.
    """
    name = keywords.pop("primfunc_name_hint", "")
    return TEForm(func, args, keywords, name)


def emit_with_sinfo(op: str, args: Sequence[Any], sinfo_args: Any = None) -> Expr:
    """`R.emit_with_sinfo("relax.builtin.alloc_tensor", args, sinfo)`: a call of an operator or a
    registered function by its name."""
    from relax_mlir.relax import op as operators

    function: Any = operators
    given = list(args) if isinstance(args, (list, tuple)) else [args]
    if not op.startswith("relax."):
        return operators.call_packed(op, *given, sinfo_args=sinfo_args)
    for part in op.removeprefix("relax.").split("."):
        function = getattr(function, part)
    return function(*given)


def dataflow() -> DataflowForm:
    """A block without effects."""
    return DataflowForm()


def output(*variables: Any) -> OutputForm:
    """The variables of a dataflow block that are visible after it."""
    return OutputForm(variables)


def func_attr(attributes: Mapping[str, Any]) -> FuncAttrForm:
    """Attributes of the function."""
    return FuncAttrForm(attributes)


def match_cast(value: Any, struct_info: Any = None, *, ty: Any = None) -> MatchCastForm:
    """A value whose type is checked at run time; new symbols of the type get their values."""
    return MatchCastForm(value, struct_info if ty is None else ty)


def array(dtype: Any, shape: Sequence[int], data: str) -> np.ndarray:
    """A constant of printed metadata: `data` is its bytes in base64."""
    from relax_mlir.dialects.relax.constants import numpy_dtype

    raw = np.frombuffer(base64.b64decode(data), numpy_dtype(dtype))
    return raw.reshape(tuple(shape))
