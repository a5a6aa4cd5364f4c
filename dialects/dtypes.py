"""Element types: TVM's dtype strings and MLIR's types, both ways.

`to_mlir` keeps signedness (`uint8` is `ui8`), as tensors of the relax dialect do; `storage` gives
the signless type that `memref` and `arith` compute with.
"""

from __future__ import annotations

import re
from functools import lru_cache

from relax_mlir.mlir import ir

_FLOATS = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3": "f8E4M3",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN",
    "float4_e2m1fn": "f4E2M1FN",
}
_FLOAT_NAMES = {mlir: tvm for tvm, mlir in _FLOATS.items()}
_ALIASES = {
    "float": "float32",
    "int": "int32",
    "uint": "uint32",
    "bfloat": "bfloat16",
    "e4m3_float8": "float8_e4m3fn",  # TVM to 0.18
    "e5m2_float8": "float8_e5m2",
}
_PYTHON: dict[type, str] = {int: "int32", float: "float32", bool: "bool"}
_INTEGER = re.compile(r"(u?)int(\d+)\Z")


def canonical(dtype: object) -> str:
    """The dtype's TVM name; accepts strings, numpy and torch dtypes, and Python types."""
    name = _canonical_name(_name_of(dtype))
    if name is None:
        known = "expected a name like 'float32', 'int64' or 'bool'"
        raise ValueError(f"unknown dtype {dtype!r}; {known}")
    return name


@lru_cache(maxsize=512)
def _canonical_name(text: str) -> str | None:
    """TVM's name of a dtype, None if the text names none.  Every expression asks for one."""
    text = _ALIASES.get(text, text)
    if _is_scalar(text):
        return text
    base, scale, lanes = _vector_parts(text)
    base = _ALIASES.get(base, base)
    # Vectors, as elements of buffers.
    return f"{base}{scale}x{lanes}" if lanes.isdigit() and _is_scalar(base) else None


def _vector_parts(text: str) -> tuple[str, str, str]:
    """The element, "xvscale" where the lanes are scalable, and the lanes of a vector's name."""
    base, _, lanes = text.rpartition("x")
    plain = base.removesuffix("xvscale")
    return plain, base[len(plain) :], lanes


def _is_scalar(name: str) -> bool:
    return name in _FLOATS or name in ("bool", "handle") or _INTEGER.match(name) is not None


def _name_of(dtype: object) -> str:
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type) and dtype in _PYTHON:
        return _PYTHON[dtype]
    name = getattr(dtype, "name", None)
    if isinstance(name, str):  # numpy dtypes
        return name
    return str(getattr(dtype, "__name__", dtype)).removeprefix("torch.")


def to_mlir(dtype: object) -> ir.Type:
    """The element type of a relax tensor; `uint8` gives `ui8`, `bool` gives `i1`."""
    name = canonical(dtype)
    base, scale, lanes = _vector_parts(name)
    if base:
        return ir.VectorType.get([int(lanes)], storage(base), scalable=[bool(scale)])
    if name in _FLOATS:
        return ir.Type.parse(_FLOATS[name])
    if name == "bool":
        return ir.IntegerType.get_signless(1)
    if name == "handle":
        return ir.Type.parse("!llvm.ptr")
    integer = _INTEGER.match(name)
    assert integer is not None  # `canonical` lets no other name through
    unsigned, bits = integer.groups()
    make = ir.IntegerType.get_unsigned if unsigned else ir.IntegerType.get_signless
    return make(int(bits))


def storage(dtype: object) -> ir.Type:
    """The signless type that holds `dtype` in memrefs and in `arith` operations."""
    kind = to_mlir(dtype)
    if isinstance(kind, ir.IntegerType) and not kind.is_signless:
        return ir.IntegerType.get_signless(kind.width)
    return kind


def from_mlir(kind: ir.Type) -> str:
    """TVM's name of an MLIR element type; `index` is `int64`."""
    if isinstance(kind, ir.IndexType):
        return "int64"
    if isinstance(kind, ir.VectorType):
        scale = "xvscale" if kind.scalable_dims[0] else ""
        return f"{from_mlir(kind.element_type)}{scale}x{kind.shape[0]}"
    if isinstance(kind, ir.IntegerType):
        if kind.width == 1:
            return "bool"
        return f"{'uint' if kind.is_unsigned else 'int'}{kind.width}"
    text = str(kind)
    if text == "!llvm.ptr":
        return "handle"
    return _FLOAT_NAMES[text]


def is_element(kind: ir.Type) -> bool:
    """Whether a tensor or buffer of elements of this type has a dtype."""
    return isinstance(kind, (ir.IndexType, ir.VectorType, ir.IntegerType)) or (
        str(kind) in ("!llvm.ptr", *_FLOAT_NAMES)
    )


def bits(dtype: object) -> int:
    """Storage size in bits; `bool` takes a byte."""
    name = canonical(dtype)
    if name == "bool":
        return 8
    if name == "handle":
        return 64
    digits = re.search(r"\d+", name)
    assert digits is not None  # all other names say their size
    return int(digits.group())


def is_float(dtype: object) -> bool:
    return canonical(dtype) in _FLOATS


def is_unsigned(dtype: object) -> bool:
    return canonical(dtype).startswith("uint")


def is_integer(dtype: object) -> bool:
    """True for signed and unsigned integers, not for bool."""
    return _INTEGER.match(canonical(dtype)) is not None
