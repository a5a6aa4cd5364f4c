"""What converting one kernel needs: its state, thread number, sites, and the table of handlers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from relax_mlir.errors import CompileError, Span
from relax_mlir.lowering.gpu_to_emulator.layout import EXCHANGE_BYTES, WARP, Event, Word
from relax_mlir.lowering.to_llvm.ffi_abi import memref_descriptor
from relax_mlir.mlir import arith, dynamic, func, ir, llvm, vector

__all__ = [
    "HANDLERS", "YIELD", "KernelWriter", "Site", "buffer_name", "flat", "handles", "source_place",
    "strip",
]  # fmt: skip

YIELD = "emu_yield"
"""The call that becomes a suspension of the coroutine."""

Handler = Callable[["KernelWriter", ir.Operation], None]
HANDLERS: dict[str, Handler] = {}
"""How an operation of a kernel is converted, by its name; others stay as they are."""


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Decorator: file a handler under the operations it converts."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


@dataclass(frozen=True)
class Site:
    """A place of a kernel that a report may name: an access of memory or a barrier."""

    op: str
    buffer: str = ""
    space: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def attribute(self) -> ir.Attribute:
        words = {k: ir.StringAttr.get(getattr(self, k)) for k in ("op", "buffer", "space", "dtype")}
        place = ir.StringAttr.get(f"{self.file}:{self.line}:{self.column}")
        return ir.DictAttr.get({
            **words, "place": place, "shape": ir.DenseI64ArrayAttr.get(list(self.shape)),
        })  # fmt: skip

    @classmethod
    def read(cls, attribute: ir.Attribute) -> Site:
        entry = ir.DictAttr(attribute)
        op, buffer, space, dtype, place = (
            ir.StringAttr(entry[k]).value for k in ("op", "buffer", "space", "dtype", "place")
        )
        file, line, column = place.rsplit(":", 2)
        shape = tuple(ir.DenseI64ArrayAttr(entry["shape"]))
        return cls(op, buffer, space, shape, dtype, file, int(line), int(column))


@dataclass
class KernelWriter:
    """One kernel while it becomes a coroutine's body.

    `state` is the pointer to the launch's state, `thread` the number of the thread in its block
    (i64); `entry` is the end of what runs before the kernel's code.  `shared_bytes` and
    `local_bytes` grow as buffers get their places.  `matrices` are the types that values of
    `!gpu.mma_matrix` had (`subgroup_matrices.Matrix`), `matrix_sites` the sites of descriptors;
    `pointers` are the arguments that are addresses, by their place, and `written` the places of
    those that the kernel writes through.
    """

    name: str
    function: ir.Operation
    entry: ir.Operation
    state: ir.Value
    thread: ir.Value
    checks: bool
    sites: list[Site]
    shared_bytes: int = 0
    local_bytes: int = 0
    spaces: dict[ir.Value, str] = field(default_factory=dict)
    names: dict[ir.Value, str] = field(default_factory=dict)
    matrices: dict[ir.Value, Any] = field(default_factory=dict)
    matrix_sites: dict[ir.Value, int] = field(default_factory=dict)
    pointers: dict[ir.Value, int] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.i64 = ir.IntegerType.get_signless(64)
        self.ptr = ir.Type.parse("!llvm.ptr")
        self.index = ir.IndexType.get()

    def error(self, op: ir.Operation, message: str) -> CompileError:
        file, line, column = source_place(op.location)
        span = Span(file, line, column) if file else None
        return CompileError(f"kernel {self.name}: {op.name}: {message}", span=span)

    # -- values -------------------------------------------------------------------------------
    def constant(self, value: int) -> ir.Value:
        return arith.constant(self.i64, value)

    def offset(self, pointer: ir.Value, amount: ir.Value | int) -> ir.Value:
        if isinstance(amount, int):
            amount = self.constant(amount)
        byte = ir.IntegerType.get_signless(8)
        dynamic_index = -(2**31)
        return llvm.getelementptr(self.ptr, pointer, [amount], [dynamic_index], byte, 0)

    def word(self, word: Word) -> ir.Value:
        """A word of the state, as an i64."""
        return llvm.load(self.i64, self.offset(self.state, int(word)))

    def as_i64(self, value: ir.Value) -> ir.Value:
        if isinstance(value.type, ir.IndexType):
            return arith.index_cast(self.i64, value)
        width = ir.IntegerType(value.type).width
        if width == 64:
            return value
        return arith.extsi(self.i64, value) if width < 64 else arith.trunci(self.i64, value)

    def as_index(self, value: ir.Value) -> ir.Value:
        return arith.index_cast(self.index, value)

    def call(self, name: str, operands: Sequence[ir.Value]) -> ir.Value:
        """Call a function of the emulator's runtime; the state is its first argument."""
        state = llvm.ptrtoint(self.i64, self.state)
        return func.CallOp([self.i64], name, [state, *operands]).results[0]

    def stop(self, event: Event, site: int) -> None:
        """The thread stops here until the scheduler lets it go on."""
        func.CallOp([], YIELD, [self.constant(int(event) | site << 8)])

    def add_site(self, op: ir.Operation, buffer: ir.Value | None = None) -> int:
        """The number of a site for an operation, which touches `buffer` if one is given."""
        file, line, column = source_place(op.location)
        if buffer is None:
            site = Site(op.name, file=file, line=line, column=column)
        else:
            shape: tuple[int, ...] = ()
            kind = str(buffer.type)
            if isinstance(buffer.type, ir.MemRefType):
                shape = tuple(-1 if size == dynamic() else size for size in buffer.type.shape)
                kind = str(buffer.type.element_type)
            name, space = self.describe(buffer)
            if space == "global" and any(word in op.name for word in _WRITERS):
                self._note_written(buffer)
            site = Site(op.name, name, space, shape, kind, file, line, column)
        self.sites.append(site)
        return len(self.sites) - 1

    def _note_written(self, buffer: ir.Value) -> None:
        """Remember the argument that a written buffer lies behind; any, when that is not seen."""
        value: ir.Value | None = buffer
        while value is not None and value not in self.pointers:
            value = _source(value)
        self.written |= set(self.pointers.values()) if value is None else {self.pointers[value]}

    def describe(self, value: ir.Value) -> tuple[str, str]:
        """Name and memory space of a buffer: of what a view was made of, when it has none."""
        name: str | None = None
        while True:
            name = name or self.names.get(value) or buffer_name(value)
            if value in self.spaces:
                return name or "a buffer", self.spaces[value]
            source = _source(value)
            if source is None:
                return name or "a buffer", "global"
            value = source

    # -- buffers ------------------------------------------------------------------------------
    def memref(
        self, pointer: ir.Value, kind: ir.MemRefType, sizes: Sequence[ir.Value] = ()
    ) -> ir.Value:
        """A row-major memref of type `kind` over memory; `sizes` are the dynamic ones (i64)."""
        given = iter(sizes)
        shape = [next(given) if size == dynamic() else self.constant(size) for size in kind.shape]
        strides: list[ir.Value] = []
        step = self.constant(1)
        for size in reversed(shape):
            strides.insert(0, step)
            step = arith.muli(step, size)
        struct = ir.Type.parse(memref_descriptor(len(shape)))
        whole = llvm.mlir_poison(struct)
        parts = [(pointer, [0]), (pointer, [1]), (self.constant(0), [2])]
        for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            parts += [(size, [3, axis]), (stride, [4, axis])]
        for value, position in parts:
            whole = llvm.insertvalue(whole, value, position)
        cast = ir.Operation.create("builtin.unrealized_conversion_cast", [kind], [whole])
        return cast.results[0]

    # -- the warp -----------------------------------------------------------------------------
    def exchange_slot(self, thread: ir.Value) -> ir.Value:
        """Where a thread puts what it hands to its warp this time; its warp has two such places,
        so that one exchange needs one stop."""
        warp = arith.divui(self.thread, self.constant(WARP))
        counts = llvm.inttoptr(self.ptr, self.word(Word.warp_counts))
        at = self.offset(counts, arith.muli(warp, self.constant(8)))
        turn = arith.andi(llvm.load(self.i64, at), self.constant(1))
        place = arith.addi(arith.muli(thread, self.constant(2)), turn)
        base = llvm.inttoptr(self.ptr, self.word(Word.exchange))
        return self.offset(base, arith.muli(place, self.constant(EXCHANGE_BYTES)))

    def exchange(
        self, op: ir.Operation, values: Sequence[ir.Value], places: Sequence[int] = (0,)
    ) -> WarpReader:
        """Hand values to the warp, at byte places of at most 64 in all, and wait for it."""
        own = self.exchange_slot(self.thread)
        for value, place in zip(values, places, strict=True):
            llvm.store(flat(value), self.offset(own, place), alignment=1)
        # What is read is in the slots of this turn, so their place is computed before the stop.
        first = arith.muli(arith.divui(self.thread, self.constant(WARP)), self.constant(WARP))
        base = self.exchange_slot(first)
        self.stop(Event.EXCHANGE, self.add_site(op))
        return WarpReader(self, base)

    def lane(self) -> ir.Value:
        return arith.remui(self.thread, self.constant(WARP))


@dataclass(frozen=True)
class WarpReader:
    """What the threads of a warp have put into their slots; `base` is the slot of the first."""

    writer: KernelWriter
    base: ir.Value

    def __call__(self, lane: ir.Value, byte: ir.Value | int, kind: ir.Type) -> ir.Value:
        """What the thread of that lane (i64) has put at a byte."""
        step = self.writer.constant(2 * EXCHANGE_BYTES)
        slot = self.writer.offset(self.base, arith.muli(lane, step))
        return llvm.load(kind, self.writer.offset(slot, byte))


def flat(value: ir.Value) -> ir.Value:
    """A vector of several dimensions as one of one, which is what can be stored; others as they
    are."""
    if not isinstance(value.type, ir.VectorType) or value.type.rank == 1:
        return value
    element = value.type.element_type
    count = byte_size(value.type) // byte_size(element)
    return vector.shape_cast(ir.VectorType.get([count], element), value)


def byte_size(kind: ir.Type) -> int:
    """Bytes of a scalar or vector in memory."""
    if isinstance(kind, ir.VectorType):
        return prod(kind.shape) * byte_size(kind.element_type)
    if isinstance(kind, (ir.IntegerType, ir.FloatType)):
        return (kind.width + 7) // 8
    return 8  # addresses and indices


def strip(kind: ir.Type) -> ir.Type:
    """A type without memory spaces: all memory of the emulator is the CPU's."""
    if isinstance(kind, ir.MemRefType):
        if kind.memory_space is None:
            return kind
        return ir.MemRefType.get(kind.shape, kind.element_type, layout=kind.layout)
    text = str(kind)
    if text.startswith("!llvm.") and "ptr<" in text:
        return ir.Type.parse(re.sub(r"ptr<\d+>", "ptr", text))
    return kind


# Parts of the names of operations that write.
_WRITERS = ("store", "atomic", "cmpxchg", "copy", "cp.async")

_VIEWS = frozenset(
    "memref.subview memref.view memref.cast memref.reinterpret_cast memref.collapse_shape "
    "memref.expand_shape memref.transpose memref.memory_space_cast memref.reshape "
    "memref.assume_alignment memref.extract_strided_metadata llvm.getelementptr llvm.bitcast "
    "llvm.addrspacecast builtin.unrealized_conversion_cast llvm.insertvalue llvm.inttoptr "
    "vector.type_cast arith.index_cast memref.extract_aligned_pointer_as_index".split()
)


def _source(value: ir.Value) -> ir.Value | None:
    """What a view of memory was made of."""
    if not isinstance(value, ir.OpResult):
        return None
    op = value.owner.operation
    if op.name not in _VIEWS:
        return None
    if op.name == "llvm.insertvalue":
        # A descriptor is put together from its pointer: the second operand, or further in.
        inserted = op.operands[1]
        return inserted if str(inserted.type) == "!llvm.ptr" else op.operands[0]
    return op.operands[0]


def buffer_name(value: ir.Value) -> str | None:
    """The name that the location of a value carries."""
    location = value.location
    return location.name_str if isinstance(location, ir.NameLoc) else None


def source_place(location: ir.Location) -> tuple[str, int, int]:
    """File, line and column of the first source place in a location; ("", 0, 0) without one."""
    if isinstance(location, ir.NameLoc):
        return source_place(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return source_place(location.callee)
    if isinstance(location, ir.FusedLoc):
        places = (source_place(part) for part in location.locations)
        return next((place for place in places if place[0]), ("", 0, 0))
    if isinstance(location, ir.FileLineColLoc):
        return str(location.filename).strip('"'), location.start_line, location.start_col
    return "", 0, 0
