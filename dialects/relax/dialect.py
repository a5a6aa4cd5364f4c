"""The relax dialect object and its types.

Tensors are builtin tensors (DESIGN.md, decision 3); see `types.py` for how symbolic dimensions
ride in the encoding.  No `from __future__ import annotations` here: the bindings evaluate the
field annotations.
"""

from relax_mlir.dialects.declared import declared
from relax_mlir.mlir import ext, ir


class Relax(ext.Dialect, name="relax"):
    """Graph-level operators on tensors, tuples and shapes."""


declared(Relax.Operation)


class DimsAttr(Relax.Attribute, name="dims"):
    """`#relax.dims<["n", 784 : i64]>`: one entry a dimension, strings are canonical expressions."""

    dims: ir.ArrayAttr


class PlacedAttr(Relax.Attribute, name="placed"):
    """`#relax.placed<["n", 784 : i64], ["vdevice", "cuda:0"]>`: the dimensions (empty when unknown)
    and where a tensor lives, `["vdevice", device]` or `["mesh", mesh, placement]`."""

    dims: ir.ArrayAttr
    place: ir.ArrayAttr


class UntypedTensorType(Relax.Type, name="untyped_tensor"):
    """A tensor of unknown dtype: its dimensions (empty when unknown) and rank (-1: unknown)."""

    dims: ir.ArrayAttr
    ndim: ir.IntegerAttr


class ShapeType(Relax.Type, name="shape"):
    """A shape value: its dimensions (empty when unknown) and rank (-1: unknown)."""

    dims: ir.ArrayAttr
    ndim: ir.IntegerAttr


class PrimType(Relax.Type, name="prim"):
    """A scalar of a dtype; `value` is a canonical expression, or "" when unknown."""

    dtype: ir.TypeAttr
    value: ir.StringAttr


class ObjectType(Relax.Type, name="object"):
    """Any runtime object: the top of the type lattice."""


class CallableType(Relax.Type, name="callable"):
    """A function whose signature is unknown."""
