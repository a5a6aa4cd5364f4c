"""Shapes that only run time decides: what symbolic shapes broadcast to, and casts of shapes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dims
from relax_mlir.lowering.relax_to_host.host_function import HostFunction, operation
from relax_mlir.lowering.relax_to_host.values import ShapeValue
from relax_mlir.lowering.to_llvm.ffi_text import call_text
from relax_mlir.mlir import ir

__all__ = ["match_shape", "size_error"]


def size_error(host: HostFunction, where: str, expected: str, note: str, given: str) -> str:
    """A block that raises `where: expected N note, got M` and leaves."""
    text = host.text
    bad = text.block("size")
    operands = [text.string(f"{host.name}: {where}: "), expected, text.string(note), given]
    types = ["!llvm.ptr", "i64", "!llvm.ptr", "i64"]
    text.cold(bad, [call_text("relax_ffi_size_error", operands, types), host.failed])
    return bad


def _named(dim: dims.Dim) -> str:
    return "" if isinstance(dim, int) else f" (= {dim})"


def match_shape(host: HostFunction, given: ShapeValue, wanted: Sequence[dims.Dim]) -> bool:
    """Bind the symbols of `wanted`, compare its other sizes with `given`; False when a size depends
    on symbols that are bound nowhere yet."""
    values = host.values
    bound = {str(dim) for dim in wanted if dims.is_symbol(dim)}
    for dim in wanted:
        if any(s not in bound and not values.knows(s) for s in dims.symbols(dim)):
            return False
    known = [dims.is_symbol(dim) and not values.knows(dim) for dim in wanted]
    pairs = list(zip(wanted, given.dims, strict=True))
    for new, (dim, source) in zip(known, pairs, strict=True):
        if new and not values.knows(dim):
            values.bind(str(dim), values.value(source))
    for axis, (dim, source) in enumerate(pairs):
        if dims.equal(dim, source):
            continue
        size, expected = values.value(source), values.value(dim)
        where = f"match_cast: size {axis}{_named(source)}"
        bad = size_error(host, where, expected, _named(dim), size)
        host.text.require(host.text.compare("eq", size, expected), bad)
    return True


@operation("relax.broadcast_shapes")
def write_broadcast_shapes(host: HostFunction, op: ir.Operation) -> None:
    shapes: list[tuple[dims.Dim, ...]] = []
    for value in op.operands:
        shape = host.env[value]
        if not isinstance(shape, ShapeValue):
            raise host.error(op, "the rank of a shape is not known; use match_cast first")
        shapes.append(shape.dims)
    joined: list[dims.Dim] = []
    for back in range(max(map(len, shapes), default=0), 0, -1):
        sizes = [shape[-back] for shape in shapes if len(shape) >= back]
        joined.append(_broadcast_size(host, back, sizes))
    host.env[op.results[0]] = ShapeValue(tuple(joined))


def _broadcast_size(host: HostFunction, back: int, sizes: Sequence[dims.Dim]) -> dims.Dim:
    """The size that sizes broadcast to: those that are not one must be equal."""
    text, values = host.text, host.values
    wide = list(dict.fromkeys(dims.canonical(size) for size in sizes if size != 1)) or [1]
    if len(wide) == 1:
        return wide[0]
    total, one = values.value(wide[0]), text.constant(1)
    for size in wide[1:]:
        other = values.value(size)
        stretched = text.compare("eq", total, one)
        fits = text.binary("ori", text.compare("eq", other, one), stretched, "i1")
        fits = text.binary("ori", text.compare("eq", other, total), fits, "i1")
        where = f"sizes do not broadcast: dimension -{back}{_named(size)}"
        text.require(fits, size_error(host, where, total, f"{_named(wide[0])} or 1", other))
        total = text.select(stretched, other, total, "i64")
    symbol = values.fresh(f"broadcast_{back}")
    values.bind(symbol, total)
    return symbol
