"""Reading and making the types of relax values.

| what is known | MLIR type |
|---|---|
| shape and dtype, all static | `tensor<1x784xf32>` |
| shape with symbols, dtype | `tensor<?x784xf32, #relax.dims<["n", 784]>>` |
| rank and dtype | `tensor<?x?xf32>` |
| dtype | `tensor<*xf32>` |
| shape, dtype and place | `tensor<4xf32, #relax.placed<[4 : i64], ["vdevice", "cuda:0"]>>` |
| no dtype | `!relax.untyped_tensor<dims, ndim>` |

Tuples are builtin `tuple<...>`; functions are builtin function types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax.dialect import (
    CallableType,
    DimsAttr,
    ObjectType,
    PlacedAttr,
    PrimType,
    ShapeType,
    UntypedTensorType,
)
from relax_mlir.mlir import dynamic, ir


@dataclass(frozen=True)
class TensorInfo:
    """What is known of a tensor: `dims` is None when the shape is unknown, `ndim` then is its
    rank or -1; `dtype` is None when unknown.

    `place` is where it lives when the program says so: `("vdevice", "cuda:0")`, or, of a tensor
    that is spread over a device mesh, `("mesh", "mesh[0]", "S[0]")`."""

    dims: tuple[Dim, ...] | None
    dtype: str | None
    ndim: int = -1
    place: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.dims is not None:
            object.__setattr__(self, "dims", tuple(dim_algebra.canonical(d) for d in self.dims))
            object.__setattr__(self, "ndim", len(self.dims))

    def with_dims(self, dims: Iterable[Dim] | None, ndim: int = -1) -> TensorInfo:
        return replace(self, dims=None if dims is None else tuple(dims), ndim=ndim)

    def with_dtype(self, dtype: str | None) -> TensorInfo:
        return replace(self, dtype=dtype)

    def to_type(self) -> ir.Type:
        return tensor_type(self.dims, self.dtype, self.ndim, self.place)


@dataclass(frozen=True)
class ShapeInfo:
    """What is known of a shape value; `dims` is None when only the rank (or nothing) is known."""

    dims: tuple[Dim, ...] | None
    ndim: int = -1


def _dims_attr(dims: Sequence[Dim]) -> ir.ArrayAttr:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [
            ir.IntegerAttr.get(i64, dim) if isinstance(dim, int) else ir.StringAttr.get(dim)
            for dim in (dim_algebra.canonical(d) for d in dims)
        ]
    )


def _read_dims(attr: ir.Attribute) -> tuple[Dim, ...]:
    return tuple(
        ir.IntegerAttr(d).value if isinstance(d, ir.IntegerAttr) else ir.StringAttr(d).value
        for d in ir.ArrayAttr(attr)
    )


def _rank_attr(ndim: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ndim)


_MOST_ELEMENTS = 1 << 62
_LARGEST_RANK = 1 << 10


def tensor_type(
    dims: Iterable[Dim] | None,
    dtype: str | None,
    ndim: int = -1,
    place: Sequence[str] = (),
) -> ir.Type:
    """The MLIR type of a tensor of which this much is known.

    Raises ValueError for a size or a rank that no tensor has, and for a place without a dtype and
    rank.
    """
    if not isinstance(ndim, int) or ndim > _LARGEST_RANK:
        raise ValueError(f"a rank is an integer up to {_LARGEST_RANK}, not {ndim!r}")
    known = None if dims is None else [dim_algebra.canonical(d) for d in dims]
    for dim in known or ():
        if isinstance(dim, int) and not 0 <= dim < _MOST_ELEMENTS:
            raise ValueError(f"a tensor cannot have a dimension of {dim} elements")
    if place:
        return _placed_type(known, dtype, ndim, place)
    if dtype is None:
        rank = ndim if known is None else len(known)
        return UntypedTensorType.get(_dims_attr(known or []), _rank_attr(rank))
    element = dtypes.to_mlir(dtype)
    if known is None:
        if ndim < 0:
            return ir.UnrankedTensorType.get(element)
        return ir.RankedTensorType.get([dynamic()] * ndim, element)
    if all(isinstance(dim, int) for dim in known):
        return ir.RankedTensorType.get(known, element)
    sizes = [dim if isinstance(dim, int) else dynamic() for dim in known]
    return ir.RankedTensorType.get(sizes, element, encoding=DimsAttr.get(_dims_attr(known)))


def _placed_type(
    dims: list[Dim] | None, dtype: str | None, ndim: int, place: Sequence[str]
) -> ir.Type:
    if dtype is None or (dims is None and ndim < 0):
        raise ValueError("a tensor on a device has a dtype and a rank")
    sizes = dims if dims is not None else ["?"] * ndim
    return ir.RankedTensorType.get(
        [dim if isinstance(dim, int) else dynamic() for dim in sizes],
        dtypes.to_mlir(dtype),
        encoding=PlacedAttr.get(
            _dims_attr(dims or []), ir.ArrayAttr.get([ir.StringAttr.get(part) for part in place])
        ),
    )


def size_in_bytes(dims: Iterable[Dim], dtype: str) -> Dim:
    """Bytes of a tensor, as a size expression; elements of less than a byte lie packed."""
    count, bits = dim_algebra.product(dims), dtypes.bits(dtype)
    if bits % 8 == 0:
        return dim_algebra.multiply(count, bits // 8)
    return dim_algebra.floordiv(dim_algebra.add(dim_algebra.multiply(count, bits), 7), 8)


def shape_type(dims: Iterable[Dim] | None, ndim: int = -1) -> ir.Type:
    """The type of a shape value; its dimensions are part of the type."""
    if dims is None:
        return ShapeType.get(_dims_attr([]), _rank_attr(ndim))
    known = list(dims)
    return ShapeType.get(_dims_attr(known), _rank_attr(len(known)))


def prim_type(dtype: str, value: Dim | None = None) -> ir.Type:
    text = "" if value is None else str(dim_algebra.canonical(value))
    return PrimType.get(ir.TypeAttr.get(dtypes.to_mlir(dtype)), ir.StringAttr.get(text))


def object_type() -> ir.Type:
    return ObjectType.get()


def callable_type() -> ir.Type:
    return CallableType.get()


def tuple_type(fields: Sequence[ir.Type]) -> ir.Type:
    return ir.TupleType.get_tuple(list(fields))


def is_tensor(kind: ir.Type) -> bool:
    return isinstance(kind, (ir.RankedTensorType, ir.UnrankedTensorType, UntypedTensorType))


def tensor_info(kind: ir.Type) -> TensorInfo | None:
    """What is known of a tensor type; None when `kind` is no tensor."""
    if isinstance(kind, ir.RankedTensorType):
        dtype = dtypes.from_mlir(kind.element_type)
        if isinstance(kind.encoding, PlacedAttr):
            return _placed_info(kind.encoding, dtype, kind.rank)
        if kind.encoding is not None:
            return TensorInfo(_read_dims(DimsAttr(kind.encoding).dims), dtype)
        if kind.has_static_shape:
            return TensorInfo(tuple(kind.shape), dtype)
        return TensorInfo(None, dtype, kind.rank)
    if isinstance(kind, ir.UnrankedTensorType):
        return TensorInfo(None, dtypes.from_mlir(kind.element_type), -1)
    if isinstance(kind, UntypedTensorType):
        read = _read_dims(kind.dims)
        ndim = ir.IntegerAttr(kind.ndim).value
        return TensorInfo(read if len(read) == ndim else None, None, ndim)
    return None


def _placed_info(encoding: PlacedAttr, dtype: str, rank: int) -> TensorInfo:
    dims = _read_dims(encoding.dims)
    place = tuple(ir.StringAttr(part).value for part in ir.ArrayAttr(encoding.place))
    return TensorInfo(dims if len(dims) == rank else None, dtype, rank, place)


def shape_info(kind: ir.Type) -> ShapeInfo | None:
    """What is known of a shape type; None when `kind` is no shape."""
    if not isinstance(kind, ShapeType):
        return None
    dims, ndim = _read_dims(kind.dims), ir.IntegerAttr(kind.ndim).value
    return ShapeInfo(dims if len(dims) == ndim else None, ndim)


def prim_info(kind: ir.Type) -> tuple[str, Dim | None] | None:
    """(dtype, value or None) of a scalar type; None when `kind` is no scalar."""
    if not isinstance(kind, PrimType):
        return None
    text = ir.StringAttr(kind.value).value
    dtype = dtypes.from_mlir(ir.TypeAttr(kind.dtype).value)
    return dtype, dim_algebra.canonical(text) if text else None


def tuple_fields(kind: ir.Type) -> list[ir.Type] | None:
    """The field types of a tuple type; None when `kind` is no tuple."""
    if not isinstance(kind, ir.TupleType):
        return None
    return [kind.get_type(i) for i in range(kind.num_types)]


def symbols_of(kind: ir.Type) -> list[str]:
    """The symbols a type mentions, in order of appearance."""
    fields = tuple_fields(kind)
    if fields is not None:
        return list(dict.fromkeys(s for field in fields for s in symbols_of(field)))
    prim = prim_info(kind)
    if prim is not None:
        return [] if prim[1] is None else list(dim_algebra.symbols(prim[1]))
    info = tensor_info(kind) or shape_info(kind)
    if info is None or info.dims is None:
        return []
    return list(dict.fromkeys(s for dim in info.dims for s in dim_algebra.symbols(dim)))


def substitute(kind: ir.Type, values: dict[str, Dim]) -> ir.Type:
    """Replace symbols in a type."""
    fields = tuple_fields(kind)
    if fields is not None:
        return tuple_type([substitute(field, values) for field in fields])
    prim = prim_info(kind)
    if prim is not None and prim[1] is not None:
        return prim_type(prim[0], dim_algebra.substitute(prim[1], values))
    tensor = tensor_info(kind)
    if tensor is not None and tensor.dims is not None:
        return tensor.with_dims(dim_algebra.substitute(d, values) for d in tensor.dims).to_type()
    shape = shape_info(kind)
    if shape is not None and shape.dims is not None:
        return shape_type([dim_algebra.substitute(d, values) for d in shape.dims])
    return kind


def conflict(a: ir.Type, b: ir.Type) -> str | None:
    """Why no value can have both types, or None when one value could."""
    if a == b or isinstance(a, ObjectType) or isinstance(b, ObjectType):
        return None
    ta, tb = tensor_info(a), tensor_info(b)
    if ta is not None and tb is not None:
        return _tensor_conflict(ta, tb)
    fa, fb = tuple_fields(a), tuple_fields(b)
    if fa is not None and fb is not None:
        if len(fa) != len(fb):
            return f"tuples of {len(fa)} and {len(fb)} fields"
        reasons = (conflict(x, y) for x, y in zip(fa, fb, strict=True))
        return next((reason for reason in reasons if reason), None)
    sa, sb = shape_info(a), shape_info(b)
    if sa is not None and sb is not None:
        return _dims_conflict(sa.dims, sb.dims, sa.ndim, sb.ndim)
    pa, pb = prim_info(a), prim_info(b)
    if pa is not None and pb is not None:
        return None if pa[0] == pb[0] else f"dtypes {pa[0]} and {pb[0]}"
    callables = (ir.FunctionType, CallableType)
    if isinstance(a, callables) and isinstance(b, callables):
        return None
    return "different kinds of value"


def _tensor_conflict(a: TensorInfo, b: TensorInfo) -> str | None:
    if a.dtype and b.dtype and a.dtype != b.dtype:
        return f"dtypes {a.dtype} and {b.dtype}"
    return _dims_conflict(a.dims, b.dims, a.ndim, b.ndim)


def _dims_conflict(
    a: tuple[Dim, ...] | None, b: tuple[Dim, ...] | None, ndim_a: int, ndim_b: int
) -> str | None:
    if ndim_a >= 0 and ndim_b >= 0 and ndim_a != ndim_b:
        return f"ranks {ndim_a} and {ndim_b}"
    if a is None or b is None:
        return None
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if dim_algebra.differ(x, y):
            return f"dimension {axis} is {x} and {y}"
    return None


def describe(kind: ir.Type) -> str:
    """The type as TVMScript spells it, for messages: `R.Tensor((n, 784), "float32")`."""
    tensor = tensor_info(kind)
    if tensor is not None:
        return _describe_tensor(tensor)
    fields = tuple_fields(kind)
    if fields is not None:
        return f"R.Tuple({', '.join(describe(field) for field in fields)})"
    shape = shape_info(kind)
    if shape is not None:
        if shape.dims is None:
            return "R.Shape" if shape.ndim < 0 else f"R.Shape(ndim={shape.ndim})"
        return f"R.Shape([{', '.join(map(str, shape.dims))}])"
    prim = prim_info(kind)
    if prim is not None:
        return f'R.Prim("{prim[0]}")' if prim[1] is None else f"R.Prim(value={prim[1]})"
    if isinstance(kind, ObjectType):
        return "R.Object"
    return "R.Callable" if isinstance(kind, (CallableType, ir.FunctionType)) else str(kind)


def _describe_tensor(info: TensorInfo) -> str:
    parts: list[str] = []
    if info.dims is not None:
        inner = ", ".join(map(str, info.dims))
        parts.append(f"({inner},)" if len(info.dims) == 1 else f"({inner})")
    if info.dtype is not None:
        parts.append(f'"{info.dtype}"' if info.dims is not None else f'dtype="{info.dtype}"')
    if info.dims is None and info.ndim >= 0:
        parts.append(f"ndim={info.ndim}")
    if info.place:
        return f"R.{placed_form(info.place, parts)}"
    return f"R.Tensor({', '.join(parts)})"


def placed_form(place: Sequence[str], parts: list[str]) -> str:
    """`Tensor((4,), "float32", vdevice="cuda:0")` or `DTensor((4,), "float32", "mesh[0]", "R")`:
    the parts of a tensor type with where it lives."""
    if place[0] == "vdevice":
        return f"Tensor({', '.join([*parts, _keyword('vdevice', place[1])])})"
    mesh = [_keyword("device_mesh", place[1]), _keyword("placement", place[2])]
    return f"DTensor({', '.join([*parts, *mesh])})"


def _keyword(name: str, text: str) -> str:
    return f'{name}="{text}"'
