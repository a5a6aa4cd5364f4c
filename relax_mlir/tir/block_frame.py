"""One `T.block` while it is written: its header is gathered, then the operation is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.blocks import ITER_KINDS, BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.errors import Error
from relax_mlir.mlir import ir
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.expr import FloatImm, IntImm, PrimExpr, StringImm, Var, as_expr
from relax_mlir.tir.regions import AccessCollector

if TYPE_CHECKING:
    from relax_mlir.tir.builder import PrimFuncBuilder


def plain(value: Any) -> Any:
    """Constants inside an annotation as Python values, recursively."""
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


class BlockFrame:
    """The block that `PrimFuncBuilder.block` opens.

    Iteration variables, predicate, regions and annotations come first; the first statement fixes
    them, because an operation's operands cannot grow later.
    """

    def __init__(self, builder: PrimFuncBuilder, name: str):
        self.name = name
        self.op: BlockOp | None = None
        self.local_buffers: list[Buffer] = []
        self.last_allocation: ir.Operation | None = None
        self.accesses = AccessCollector()
        self._builder = builder
        self._location = builder.source_location()
        self._iters: list[tuple[str, PrimExpr, PrimExpr, PrimExpr, Var]] = []
        self._predicate: PrimExpr | None = None
        self._reads: list[BufferRegion] | None = None
        self._writes: list[BufferRegion] | None = None
        self._annotations: dict[str, Any] = {}
        self._has_init = False

    # -- header -----------------------------------------------------------------------------

    def iter_var(
        self, kind: str, dom: Any, binding: Any, name: str, dtype: str | None = None
    ) -> Var:
        """Add an iteration variable of kind "S", "R", "O" or "D".

        dom: `(min, extent)`, an extent, or a Range.  binding: the value it takes.
        """
        self._header("an axis")
        if kind not in ITER_KINDS:
            raise Error(f"axis {name}: kind {kind!r} is none of {', '.join(ITER_KINDS)}")
        low, extent = _domain(dom)
        if binding is None:
            raise Error(f"axis {name} of block {self.name} has no binding")
        binding = as_expr(binding)
        wide = "int64" in (extent.dtype, binding.dtype)
        var = Var(name, dtype or ("int64" if wide else "int32"))
        low = O.cast(extent.dtype, low) if isinstance(low, IntImm) else low
        self._iters.append((kind, low, extent, binding, var))
        return var

    def where(self, predicate: Any) -> None:
        """The block runs only where `predicate` holds; several are joined by and."""
        self._header("where")
        predicate = as_expr(predicate)
        old = self._predicate
        self._predicate = predicate if old is None else O.logical_and(old, predicate)

    def reads(self, accesses: Sequence[Any]) -> None:
        """Declare the regions read (BufferRegion, BufferLoad or Buffer)."""
        self._header("reads")
        self._reads = [*(self._reads or []), *(BufferRegion.of(a) for a in accesses)]
        self.accesses.wanted = self._writes is None

    def writes(self, accesses: Sequence[Any]) -> None:
        """Declare the regions written."""
        self._header("writes")
        self._writes = [*(self._writes or []), *(BufferRegion.of(a) for a in accesses)]
        self.accesses.wanted = self._reads is None

    def annotate(self, annotations: Mapping[str, Any]) -> None:
        """Add annotations (`T.block_attr`); these may also come after statements."""
        self._annotations.update(plain(annotations))
        if self.op is not None:
            with self._builder.scope():
                self.op.operation.attributes["annotations"] = to_attribute(self._annotations)

    def _header(self, what: str) -> None:
        if self.op is not None:
            raise Error(f"block {self.name}: {what} must come before the first statement")

    # -- body -------------------------------------------------------------------------------

    @contextmanager
    def init(self) -> Iterator[None]:
        """`with T.init():` what is written here initialises the reduction."""
        builder = self._builder
        builder.begin_statement()
        if self._has_init:
            raise Error(f"block {self.name} has two init statements")
        self._has_init = True
        with builder.at_end():
            op = InitOp()
            body = op.body.blocks.append()
        with builder.inside(body):
            yield

    def materialize(self) -> None:
        """Make the operation at the current place and move into its body."""
        emitter = self._builder.emitter
        with self._builder.at_end(self._location):
            domains: list[int | ir.Value] = []
            bindings: list[ir.Value] = []
            for _, low, extent, binding, _ in self._iters:
                domains += [emitter.mixed(low), emitter.mixed(extent)]
                bindings.append(emitter.index(binding))
            predicate = [] if self._predicate is None else [emitter.value(self._predicate)]
            static, dynamic = mixed.split(domains)
            kinds = ir.Attribute(
                ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind, *_ in self._iters])
            )
            name = ir.StringAttr.get(self.name)
            self.op = BlockOp(name, kinds, static, bindings, dynamic, predicate)
            here = ir.Location.current
            body = self.op.body.blocks.append(
                *[ir.IndexType.get()] * len(self._iters),
                arg_locs=[name_location(var.name, here) for *_, var in self._iters],
            )
            attributes = self.op.operation.attributes
            if self._annotations:
                attributes["annotations"] = to_attribute(self._annotations)
            if any(var.dtype == "int64" for *_, var in self._iters):
                attributes["iter_dtype"] = ir.StringAttr.get("int64")
        for (_, low, _, _, var), argument in zip(self._iters, body.arguments, strict=True):
            emitter.values[var] = argument
            if isinstance(low, IntImm) and low.value >= 0:
                emitter.non_negative.add(var)
        self._builder.push_block(body)

    def close(self) -> tuple[list[BufferRegion], list[BufferRegion], dict[Var, PrimExpr]]:
        """Emit the regions at the top; returns reads, writes and the bindings."""
        assert self.op is not None
        reads, writes = self._reads, self._writes
        if reads is None or writes is None:  # what is declared need not be found, which takes time
            found = self.accesses.finish(self.local_buffers, self._has_init)
            reads = found[0] if reads is None else reads
            writes = found[1] if writes is None else writes
        with self._builder.at(ir.InsertionPoint.at_block_begin(self.op.block), self._location):
            for kind, regions in ((ReadOp, reads), (WriteOp, writes)):
                for region in regions:
                    self._emit_region(kind, region)
        return reads, writes, {var: binding for *_, binding, var in self._iters}

    def _emit_region(self, kind: Any, region: BufferRegion) -> None:
        emitter = self._builder.emitter
        offsets, dynamic_offsets = mixed.split(emitter.mixed(r.min) for r in region.region)
        sizes, dynamic_sizes = mixed.split(emitter.mixed(r.extent) for r in region.region)
        buffer = emitter.buffer(region.buffer)
        kind(offsets, sizes, buffer, dynamic_offsets, dynamic_sizes)


def _domain(dom: Any) -> tuple[PrimExpr, PrimExpr]:
    if isinstance(dom, (tuple, list)):
        low, extent = dom
        return as_expr(low), as_expr(extent)
    if hasattr(dom, "extent"):
        return dom.min, dom.extent
    extent = as_expr(dom)
    return O.const(0, extent.dtype), extent
