"""Names of values: they ride on MLIR's name locations, whose child is the user's source place."""

from __future__ import annotations

from relax_mlir.mlir import ir


def name_location(name: str, child: ir.Location | None = None) -> ir.Location:
    """A location that carries a name; a name that `child` carries already is replaced."""
    while isinstance(child, ir.NameLoc):
        child = child.child_loc
    return ir.Location.name(name, child or ir.Location.unknown())


def name_of(value: ir.Value) -> str | None:
    """The name a value carries, or None."""
    return getattr(value.location, "name_str", None)
