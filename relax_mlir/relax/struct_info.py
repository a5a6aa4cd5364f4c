"""Types of Relax values as Python objects: faces over the MLIR types of `dialects/relax/types.py`.

TVM 0.27's names (`TensorType`, `.ty`) and the older ones (`TensorStructInfo`, `.struct_info`) name
the same classes.  A symbolic dimension is a `tir` expression, or text in TVMScript annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.mlir import ir
from relax_mlir.relax import symbols
from relax_mlir.relax.type_relations import is_base_of
from relax_mlir.relax.type_text import type_text


def canonical_dtype(dtype: Any) -> str | None:
    """The dtype's name; None for TVM's spellings of "unknown" (None, "" and "void")."""
    if dtype is None or (isinstance(dtype, str) and dtype in ("", "void")):
        return None
    return dtypes.canonical(dtype)


class StructInfo:
    """Base of the type faces; `mlir_type` is the type itself."""

    def __init__(self, mlir_type: ir.Type):
        self.mlir_type = mlir_type

    def is_base_of(self, derived: StructInfo) -> bool:
        """True when every value of type `derived` has this type too."""
        with mlir.scope():
            return is_base_of(self.mlir_type, derived.mlir_type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructInfo) and self.mlir_type == other.mlir_type

    def __hash__(self) -> int:
        return hash(self.mlir_type)

    def __repr__(self) -> str:
        with mlir.scope():
            return type_text(self.mlir_type)

    same_as = __eq__


class TensorType(StructInfo):
    """A tensor: `shape` is a sequence of dimensions, a ShapeExpr or None; `ndim` the rank when the
    shape is unknown (-1: unknown too); `dtype` a name or None; `vdevice` where it lives, as
    "cuda:0" or `I.vdevice("cuda", 0)`."""

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = "float32",
        ndim: int = -1,
        *,
        vdevice: Any = None,
    ):
        if isinstance(shape, str):
            raise TypeError(f"a shape is a sequence of dimensions, got the string {shape!r}")
        with mlir.scope():
            dims = None if shape is None else _dims_of(shape)
            if dims is not None and ndim not in (-1, len(dims)):
                raise ValueError(f"ndim={ndim} does not fit a shape of rank {len(dims)}")
            place = () if vdevice is None else ("vdevice", device_text(vdevice))
            super().__init__(types.tensor_type(dims, canonical_dtype(dtype), ndim, place))

    @property
    def info(self) -> types.TensorInfo:
        with mlir.scope():
            info = types.tensor_info(self.mlir_type)
        assert info is not None
        return info

    @property
    def dims(self) -> tuple[Dim, ...] | None:
        """The canonical dimensions, None when the shape is unknown."""
        return self.info.dims

    @property
    def shape(self) -> Any:
        """A `relax.ShapeExpr`, or None."""
        return _shape_expr(self.info.dims)

    @property
    def dtype(self) -> str | None:
        return self.info.dtype

    @property
    def ndim(self) -> int:
        return self.info.ndim

    @property
    def vdevice(self) -> str | None:
        """The device a tensor lives on, as text; None when the program does not say."""
        place = self.info.place
        return place[1] if place[:1] == ("vdevice",) else None


class DTensorType(TensorType):
    """A tensor that is spread over a device mesh (`"mesh[0]"`): `placement` says how, for each
    dimension of the mesh: `"S[0]"` splits an axis, `"R"` repeats the tensor."""

    def __init__(self, shape: Any, dtype: Any, device_mesh: Any, placement: Any, ndim: int = -1):
        with mlir.scope():
            place = ("mesh", str(device_mesh), str(placement))
            dims = None if shape is None else _dims_of(shape)
            made = types.tensor_type(dims, canonical_dtype(dtype), ndim, place)
            StructInfo.__init__(self, made)

    @property
    def device_mesh(self) -> str:
        return self.info.place[1]

    @property
    def placement(self) -> str:
        return self.info.place[2]


class ShapeType(StructInfo):
    """A shape value."""

    def __init__(self, values: Iterable[Any] | None = None, ndim: int = -1):
        with mlir.scope():
            dims = None if values is None else _dims_of(values)
            super().__init__(types.shape_type(dims, ndim))

    @property
    def info(self) -> types.ShapeInfo:
        with mlir.scope():
            info = types.shape_info(self.mlir_type)
        assert info is not None
        return info

    @property
    def values(self) -> list[Any] | None:
        dims = self.info.dims
        return None if dims is None else [symbols.to_expr(dim) for dim in dims]

    @property
    def ndim(self) -> int:
        return self.info.ndim


class TupleType(StructInfo):
    """A tuple of types."""

    def __init__(self, fields: Sequence[Any] = ()):
        with mlir.scope():
            super().__init__(types.tuple_type([to_mlir_type(field) for field in fields]))

    @property
    def fields(self) -> list[StructInfo]:
        with mlir.scope():
            return [from_mlir_type(field) for field in types.tuple_fields(self.mlir_type) or []]

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> StructInfo:
        return self.fields[index]


class PrimType(StructInfo):
    """A scalar of a dtype, with its value when that is a known expression."""

    def __init__(self, dtype: Any = None, value: Any = None):
        with mlir.scope():
            dim = None if value is None else symbols.to_value(value)
            natural = getattr(value, "dtype", "int64")  # of a tir expression
            name = canonical_dtype(dtype) or (natural if dim is not None else None)
            if name is None:
                raise TypeError("R.Prim needs a dtype or a value")
            super().__init__(types.prim_type(name, dim))

    @property
    def info(self) -> tuple[str, Dim | None]:
        """What the compiler knows of the scalar."""
        with mlir.scope():
            info = types.prim_info(self.mlir_type)
        assert info is not None
        return info

    @property
    def dtype(self) -> str:
        return self.info[0]

    @property
    def value(self) -> Any:
        dim = self.info[1]
        return None if dim is None else symbols.to_expr(dim)


class ObjectType(StructInfo):
    """Any runtime object."""

    def __init__(self) -> None:
        with mlir.scope():
            super().__init__(types.object_type())


class FuncType(StructInfo):
    """A function; without `params` its signature is unknown."""

    def __init__(self, params: Sequence[Any] | None = None, ret: Any = None, purity: bool = True):
        with mlir.scope():
            if params is None:
                super().__init__(types.callable_type())
                return
            result = types.object_type() if ret is None else to_mlir_type(ret)
            super().__init__(ir.FunctionType.get([to_mlir_type(p) for p in params], [result]))

    @classmethod
    def opaque_func(cls, *, ret: Any = None, purity: bool = False) -> FuncType:
        """A function of which nothing is known."""
        return cls()

    @property
    def params(self) -> list[StructInfo] | None:
        if not isinstance(self.mlir_type, ir.FunctionType):
            return None
        with mlir.scope():
            return [from_mlir_type(kind) for kind in self.mlir_type.inputs]

    @property
    def ret(self) -> StructInfo:
        with mlir.scope():
            if not isinstance(self.mlir_type, ir.FunctionType):
                return ObjectType()
            return from_mlir_type(self.mlir_type.results[0])


class DynTensorType(TensorType):
    """The first Relax's tensor type: rank and dtype only."""

    def __init__(self, ndim: int = -1, dtype: Any = "float32"):
        super().__init__(None, dtype, ndim)


def _made_by(kind: Callable[..., StructInfo]) -> StructInfo:
    """What a class gives without arguments; a TypeError where it needs some."""
    return kind()


def to_mlir_type(kind: Any) -> ir.Type:
    """The MLIR type of a face, of a class such as `R.Object`, or of an MLIR type itself.

    Raises TypeError for anything else.
    """
    if isinstance(kind, ir.Type):
        return kind
    if isinstance(kind, type) and issubclass(kind, StructInfo):
        return _made_by(kind).mlir_type
    if isinstance(kind, StructInfo):
        return kind.mlir_type
    face = getattr(kind, "as_struct_info", None)
    if face is not None:  # a TVMScript annotation such as R.Tensor or R.Object, not called
        return face().mlir_type
    raise TypeError(f"expected a type such as R.Tensor((2, 3), 'float32'), got {kind!r}")


def from_mlir_type(kind: ir.Type) -> StructInfo:
    """The face of an MLIR type."""
    for matches, face in _FACES:
        if matches(kind):
            made = face.__new__(face)
            StructInfo.__init__(made, kind)
            return made
    raise TypeError(f"{kind} is not a type of Relax values")


def _is_distributed(kind: ir.Type) -> bool:
    info = types.tensor_info(kind)
    return info is not None and info.place[:1] == ("mesh",)


_FACES: tuple[tuple[Any, type[StructInfo]], ...] = (
    (_is_distributed, DTensorType),
    (types.is_tensor, TensorType),
    (lambda kind: types.tuple_fields(kind) is not None, TupleType),
    (lambda kind: types.shape_info(kind) is not None, ShapeType),
    (lambda kind: types.prim_info(kind) is not None, PrimType),
    (lambda kind: kind == types.object_type(), ObjectType),
    (lambda kind: isinstance(kind, ir.FunctionType) or kind == types.callable_type(), FuncType),
)


def _dims_of(shape: Any) -> tuple[Dim, ...]:
    dims = getattr(shape, "dims", None)  # a relax.ShapeExpr
    return dims if dims is not None else symbols.to_dims(shape)


def device_text(device: Any) -> str:
    """A device as text, such as "cuda:0": of a text, of `cuda(0)`, of an `I.vdevice`, which also
    says its scope, or of an index among the module's."""
    if isinstance(device, int):
        return f"vdevice:{device}"
    return str(device)


def _shape_expr(dims: tuple[Dim, ...] | None) -> Any:
    from relax_mlir.relax.expr import ShapeExpr

    return None if dims is None else ShapeExpr(dims)


Type = StructInfo
AnyType = ObjectType
TensorStructInfo = TensorType
DTensorStructInfo = DTensorType
ShapeStructInfo = ShapeType
TupleStructInfo = TupleType
PrimStructInfo = PrimType
ObjectStructInfo = ObjectType
FuncStructInfo = FuncType
