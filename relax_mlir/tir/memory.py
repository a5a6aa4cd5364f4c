"""Statements about memory and scopes that only lowered programs have: the rest of the builder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.tir.free_variables import FreeVariableOp
from relax_mlir.dialects.tir.pointers import AllocConstOp, DeclBufferOp
from relax_mlir.dialects.tir.scopes import AttrOp, CommReducerOp, YieldOp
from relax_mlir.errors import Error
from relax_mlir.mlir import dynamic, ir, memref
from relax_mlir.tir import expr as E
from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.emit import ExprEmitter, bind_name, type_of
from relax_mlir.tir.signature import Signature, memref_type

__all__ = ["MemoryStatements", "subview"]


class MemoryStatements:
    """The part of `PrimFuncBuilder` for addresses, views and attributes of scopes."""

    emitter: ExprEmitter
    _signature: Signature
    _frames: list[Any]
    _views: list[ir.Operation]

    if TYPE_CHECKING:

        def _statement(self) -> AbstractContextManager[None]: ...
        def _prologue(self, frame: Any) -> AbstractContextManager[None]: ...
        def _set_last_prologue(self, frame: Any, op: ir.Operation) -> None: ...
        def _note(self, expr: E.PrimExpr) -> None: ...
        def inside(self, body: ir.Block) -> AbstractContextManager[None]: ...

    def decl_buffer(self, buffer: Buffer, data: E.PrimExpr) -> Buffer:
        """Declare a buffer on storage that exists: an address, or the data of another buffer."""
        with self._statement():
            address = self.emitter.pointer(data)
            sizes = [self.emitter.mixed(s) for s in buffer.shape]
            given = [s for s in sizes if not isinstance(s, int)]
            scope = ir.StringAttr.get(buffer.storage_scope)
            op = DeclBufferOp(scope, address, given, memref_type(buffer))
            self._describe(op.operation, buffer)
        return self._known(buffer, op.operation.results[0])

    def alloc_const(self, buffer: Buffer, values: np.ndarray[Any, Any]) -> Buffer:
        """Storage that holds constants, in the buffer's shape and dtype."""
        with self._statement():
            kind = memref_type(buffer)
            element = dtypes.storage(buffer.dtype)
            held = ir.RankedTensorType.get(list(kind.shape), element)
            attributes = [_number(v, element) for v in values.reshape(-1).tolist()]
            op = AllocConstOp(ir.DenseElementsAttr.get(attributes, held), kind)
            self._describe(op.operation, buffer)
        return self._known(buffer, op.operation.results[0])

    def view(self, buffer: Buffer, region: BufferRegion) -> Buffer:
        """A part of a buffer as a buffer of its own; symbols in its layout get their values."""
        with self._statement():
            source = self.emitter.buffer(region.buffer)
            offsets = [self.emitter.mixed(r.min) for r in region.region]
            sizes = [self.emitter.mixed(r.extent) for r in region.region]
            result = subview(source, offsets, sizes, len(buffer.shape))
            result.owner.location = name_location(buffer.name, ir.Location.current)
            self._layout_symbols(buffer, result)
            self._views.append(result.owner.operation)
        return self._known(buffer, result)

    def _erase_unused_views(self) -> None:
        """Views that nothing uses in the end: the Python function they were given to left them."""
        for view in reversed(self._views):
            readers = [use.owner.operation for use in view.results[0].uses]
            for reader in readers:
                if reader.name == "memref.extract_strided_metadata":
                    _erase_unused(reader)
            _erase_unused(view)

    def _describe(self, op: ir.Operation, buffer: Buffer) -> None:
        op.location = name_location(buffer.name, ir.Location.current)
        for key, value in self._signature.allocation_attributes(buffer).items():
            op.attributes[key] = to_attribute(value)

    def _known(self, buffer: Buffer, value: ir.Value) -> Buffer:
        self.emitter.buffers[buffer] = value
        if self._frames:
            self._frames[-1].local_buffers.append(buffer)
        return buffer

    def annotate_buffer(self, buffer: Buffer, annotations: Mapping[str, Any]) -> None:
        """Notes for the code generator on the allocation of a buffer."""
        with self._statement():
            op = self.emitter.buffers[buffer].owner
            op.attributes["annotations"] = to_attribute(dict(annotations))

    # -- layouts ------------------------------------------------------------------------------

    def _layout_symbols(self, buffer: Buffer, memory: ir.Value) -> None:
        symbols = [buffer.elem_offset, *buffer.strides]
        wanted = [s for s in symbols if isinstance(s, E.Var) and s not in self.emitter.values]
        if not wanted:
            return
        values = _layout_of(memory)
        for symbol, value in zip(symbols, values, strict=False):
            if isinstance(symbol, E.Var):
                self.emitter.values.setdefault(symbol, value)

    def _layout_value(self, var: E.Var) -> ir.Value | None:
        """The value of a variable that is the stride or the offset of a parameter."""
        found = self._signature.layout_binding_of(var)
        if found is None:
            return None
        buffer, axis = found
        with self._prologue(None):
            values = _layout_of(self.emitter.buffers[buffer])
            self._set_last_prologue(None, values[0].owner)
        self.emitter.values[var] = values[axis + 1]
        return values[axis + 1]

    def _free_variable(self, var: E.Var) -> ir.Value:
        """A variable without a value, made at the top of the function."""
        with self._prologue(None):
            op = FreeVariableOp(type_of(var.dtype)).operation
            bind_name(op.results[0], var.name)
            if var.dtype.startswith("uint"):
                op.attributes["dtype"] = ir.StringAttr.get(var.dtype)
            self._set_last_prologue(None, op)
        self.emitter.values[var] = op.results[0]
        return op.results[0]

    # -- scopes -------------------------------------------------------------------------------

    @contextmanager
    def attr(self, node: Any, key: str, value: Any) -> Iterator[None]:
        """Statements for which an attribute holds.

        `node` and `value` are expressions, or constants: strings, numbers, dictionaries.
        """
        with self._statement():
            operands: list[list[ir.Value]] = []
            constants: dict[str, Any] = {}
            for name, given in (("node", node), ("value", value)):
                constant = _constant(given)
                if constant is not None:
                    constants[name] = constant[0]
                    operands.append([])
                    continue
                self._note(given)
                operands.append([self.emitter.pointer(given)])
            op = AttrOp(ir.StringAttr.get(key), operands[0], operands[1])
            for name, constant in constants.items():
                op.operation.attributes[name] = to_attribute(constant)
            body = op.body.blocks.append()
        with self.inside(body):
            yield

    def comm_reducer(self, reducer: E.CommReducer) -> E.Var:
        """A reducer as a value, the node of an attribute."""
        with self._statement():
            identities = [self.emitter.value(i) for i in reducer.identity_element]
            op = CommReducerOp(identities, type_of("handle"))
            kinds = [value.type for value in identities]
            here = ir.Location.current
            variables = (*reducer.lhs, *reducer.rhs)
            locations = [name_location(v.name, here) for v in variables]
            body = op.body.blocks.append(*kinds, *kinds, arg_locs=locations)
            for variable, argument in zip(variables, body.arguments, strict=True):
                self.emitter.values[variable] = argument
            with ir.InsertionPoint(body):
                YieldOp([self.emitter.value(r) for r in reducer.result])
        made = E.Var("reducer", "handle")
        self.emitter.values[made] = op.operation.results[0]
        return made


def _constant(value: Any) -> tuple[Any] | None:
    """A constant as a Python value, in a tuple; None for an expression."""
    if isinstance(value, (E.IntImm, E.FloatImm, E.StringImm)):
        is_bool = value.dtype == "bool"
        return (bool(value.value) if is_bool else value.value,)
    return None if isinstance(value, E.PrimExpr) else (value,)


def _number(value: Any, element: ir.Type) -> ir.Attribute:
    if isinstance(element, ir.IntegerType):
        width = element.width
        wrapped = int(value) & ((1 << width) - 1)
        signed = wrapped - (1 << width) if width > 1 and wrapped >> (width - 1) else wrapped
        return ir.IntegerAttr.get(element, signed)
    return ir.FloatAttr.get(element, float(value))


def _layout_of(memory: ir.Value) -> list[ir.Value]:
    """The offset and the strides of a memref, as `index` values."""
    kind = ir.MemRefType(memory.type)
    index = ir.IndexType.get()
    base = ir.MemRefType.get([], kind.element_type)
    types = [base, index, *[index] * (2 * kind.rank)]
    op = ir.Operation.create("memref.extract_strided_metadata", results=types, operands=[memory])
    results = list(op.results)
    return [results[1], *results[2 + kind.rank :]]


def subview(
    source: ir.Value, offsets: Sequence[int | ir.Value], sizes: Sequence[int | ir.Value], rank: int
) -> ir.Value:
    """`memref.subview`, without the leading dimensions beyond `rank`."""
    kind = ir.MemRefType(source.type)
    strides, start = kind.get_strides_and_offset()
    constants = [o for o in offsets if isinstance(o, int)]
    known = len(constants) == len(offsets) and dynamic() not in (start, *strides)
    offset = dynamic()
    if known:
        offset = start + sum(o * s for o, s in zip(constants, strides, strict=True))
    dropped = kind.rank - rank
    shape = [s if isinstance(s, int) else dynamic() for s in sizes][dropped:]
    layout = ir.StridedLayoutAttr.get(offset, list(strides)[dropped:])
    result = ir.MemRefType.get(shape, kind.element_type, layout)
    values = [[v for v in group if not isinstance(v, int)] for group in (offsets, sizes)]
    static = [[v if isinstance(v, int) else dynamic() for v in group] for group in (offsets, sizes)]
    if dropped and any(s != 1 for s in static[1][:dropped]):
        raise Error("a view drops leading dimensions of size one only")
    return memref.SubViewOp(
        result, source, values[0], values[1], [], static[0], static[1], [1] * kind.rank
    ).result


def _erase_unused(op: ir.Operation) -> None:
    """Erase an operation without uses, and the arithmetic that was only for it."""
    if any(next(iter(result.uses), None) is not None for result in op.results):
        return
    owners = [value.owner for value in dict.fromkeys(op.operands)]
    op.erase()
    for owner in owners:
        if not isinstance(owner, ir.Block) and owner.name.startswith(("arith.", "affine.apply")):
            _erase_unused(owner.operation)
