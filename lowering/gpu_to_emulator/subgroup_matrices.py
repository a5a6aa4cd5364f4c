"""Matrices of a warp (`!gpu.mma_matrix`): loads, stores, products and elementwise operations.

Which thread holds which element is the device's own business; here lane l holds the elements
l * E to l * E + E - 1 in row-major order, as a vector.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.lowering.gpu_to_emulator.checks import Place, announce, check, place_of
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import (
    KernelWriter,
    WarpReader,
    byte_size,
    handles,
)
from relax_mlir.lowering.gpu_to_emulator.layout import EXCHANGE_BYTES, WARP, Access
from relax_mlir.mlir import arith, func, ir, llvm, memref, scf, vector

__all__ = ["Matrix", "matrix_of"]

_TYPE = re.compile(r'!gpu\.mma_matrix<(\d+)x(\d+)x(\w+), "(\w+)">')
_ELEMENTS = {"si8": "i8", "ui8": "i8"}
_B_AT = EXCHANGE_BYTES // 2


@dataclass(frozen=True)
class Matrix:
    """The type of a matrix: its shape, the element type as it is spelled, what it is for."""

    rows: int
    columns: int
    spelled: str

    @property
    def element(self) -> ir.Type:
        return ir.Type.parse(_ELEMENTS.get(self.spelled, self.spelled))

    @property
    def per_lane(self) -> int:
        return self.rows * self.columns // WARP

    @property
    def vector(self) -> ir.Type:
        """What a lane holds."""
        return ir.VectorType.get([self.per_lane], self.element)


def matrix_of(kind: ir.Type) -> Matrix | None:
    """The matrix that a type is; None for another type."""
    match = _TYPE.fullmatch(str(kind))
    return None if match is None else Matrix(int(match[1]), int(match[2]), match[3])


def _position(writer: KernelWriter, matrix: Matrix, number: int) -> tuple[ir.Value, ir.Value]:
    """Row and column of a lane's element."""
    first = arith.muli(writer.lane(), writer.constant(matrix.per_lane))
    place = arith.addi(first, writer.constant(number))
    columns = writer.constant(matrix.columns)
    return arith.divui(place, columns), arith.remui(place, columns)


def _address(
    writer: KernelWriter, op: ir.Operation, origin: Place, element: ir.Type,
    position: tuple[ir.Value, ir.Value],
) -> Place:  # fmt: skip
    lead = writer.constant(ir.IntegerAttr(op.attributes["leadDimension"]).value)
    row, column = position if "transpose" not in op.attributes else position[::-1]
    offset = arith.addi(arith.muli(row, lead), column)
    size = writer.constant(byte_size(element))
    return Place(arith.addi(origin.address, arith.muli(offset, size)), origin.in_bounds)


@handles("gpu.subgroup_mma_load_matrix")
def load_matrix(writer: KernelWriter, op: ir.Operation) -> None:
    view, matrix = op.opview, writer.matrices[op.results[0]]
    origin = place_of(writer, view.srcMemref, list(view.indices))
    site = writer.add_site(op, view.srcMemref)
    result = ir.Operation.create("ub.poison", [matrix.vector]).results[0]
    size = byte_size(matrix.element)
    for number in range(matrix.per_lane):
        place = _address(writer, op, origin, matrix.element, _position(writer, matrix, number))
        if writer.checks:
            check(writer, place, size, Access.READ, size, site)
        element = llvm.load(matrix.element, llvm.inttoptr(writer.ptr, place.address))
        result = vector.insert(element, result, [], [number])
    _replace(writer, op, result)


@handles("gpu.subgroup_mma_store_matrix")
def store_matrix(writer: KernelWriter, op: ir.Operation) -> None:
    view = op.opview
    matrix = writer.matrices[view.src]
    origin = place_of(writer, view.dstMemref, list(view.indices))
    site = writer.add_site(op, view.dstMemref)
    size = byte_size(matrix.element)
    for number in range(matrix.per_lane):
        place = _address(writer, op, origin, matrix.element, _position(writer, matrix, number))
        element = vector.extract(view.src, [], [number])
        if writer.checks:
            announce(writer, element)
            check(writer, place, size, Access.WRITE, size, site)
        llvm.store(element, llvm.inttoptr(writer.ptr, place.address))
    op.erase()


@handles("gpu.subgroup_mma_constant_matrix")
def constant_matrix(writer: KernelWriter, op: ir.Operation) -> None:
    matrix = writer.matrices[op.results[0]]
    _replace(writer, op, vector.broadcast(matrix.vector, op.operands[0]))


def _replace(writer: KernelWriter, op: ir.Operation, value: ir.Value) -> None:
    writer.matrices[value] = writer.matrices[op.results[0]]
    op.results[0].replace_all_uses_with(value)
    op.erase()


_ELEMENTWISE: dict[str, Callable[..., ir.Value]] = {
    "addf": arith.addf, "mulf": arith.mulf, "subf": arith.subf, "divf": arith.divf,
    "maxf": arith.maximumf, "minf": arith.minimumf, "addi": arith.addi, "muli": arith.muli,
    "subi": arith.subi, "divs": arith.divsi, "divu": arith.divui, "negatef": arith.negf,
}  # fmt: skip


@handles("gpu.subgroup_mma_elementwise")
def elementwise(writer: KernelWriter, op: ir.Operation) -> None:
    name = str(op.attributes["opType"]).split()[-1].rstrip(">")
    target = writer.matrices[op.results[0]].vector
    if name in ("extf", "truncf"):
        made = getattr(arith, name)(target, op.operands[0])
    elif name in _ELEMENTWISE:
        made = _ELEMENTWISE[name](*op.operands)
    else:
        raise writer.error(op, f"the emulator has no elementwise {name}")
    _replace(writer, op, made)


@handles("gpu.subgroup_mma_compute")
def compute(writer: KernelWriter, op: ir.Operation) -> None:
    a, b, c = op.operands
    types = [writer.matrices[value] for value in (a, b, c)]
    turned = tuple(key in op.attributes for key in ("a_transpose", "b_transpose"))
    name = _define_product(writer, types, turned)
    read: WarpReader = writer.exchange(op, [a, b], [0, _B_AT])
    result = func.CallOp([c.type], name, [read.base, writer.lane(), c]).results[0]
    _replace(writer, op, result)


def _define_product(writer: KernelWriter, types: list[Matrix], turned: tuple[bool, ...]) -> str:
    """The function that computes a lane's elements of C from the slots of its warp."""
    a, b, c = types
    words = [f"{m.rows}x{m.columns}x{m.spelled}" for m in types]
    name = "_".join(["emu_matrix", *words, *(str(int(flag)) for flag in turned)])
    module = writer.function.parent
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and op.name.value == name:
            return name
    signature = ([writer.ptr, writer.i64, c.vector], [c.vector])
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        made = func.FuncOp(name, signature, visibility="private")
    entry = made.add_entry_block()
    with ir.InsertionPoint(entry):
        func.ReturnOp([_product(writer, a, b, c, turned, *entry.arguments)])
    return name


def _product(
    writer: KernelWriter, a: Matrix, b: Matrix, c: Matrix, turned: tuple[bool, ...],
    base: ir.Value, lane: ir.Value, start: ir.Value,
) -> ir.Value:  # fmt: skip
    """Elements of C by loops over a lane's elements and over k; the sum is in a wide type."""
    index = writer.index
    wide = _wide(c.element)
    storage = memref.alloca(ir.MemRefType.get([c.per_lane], c.element), [], [])
    zero, one = arith.constant(index, 0), arith.constant(index, 1)
    vector.store(start, storage, [zero])
    depth = a.rows if turned[0] else a.columns
    outer = scf.ForOp(zero, arith.constant(index, c.per_lane), one)
    with ir.InsertionPoint(outer.body):
        number = writer.as_i64(outer.induction_variable)
        place = arith.addi(arith.muli(lane, writer.constant(c.per_lane)), number)
        row = arith.divui(place, writer.constant(c.columns))
        column = arith.remui(place, writer.constant(c.columns))
        first = _widen(memref.load(storage, [outer.induction_variable]), wide, c.spelled)
        inner = scf.ForOp(zero, arith.constant(index, depth), one, [first])
        with ir.InsertionPoint(inner.body):
            k = writer.as_i64(inner.induction_variable)
            left = _element(writer, base, a, (k, row) if turned[0] else (row, k), 0)
            right = _element(writer, base, b, (column, k) if turned[1] else (k, column), _B_AT)
            pair = [_widen(left, wide, a.spelled), _widen(right, wide, b.spelled)]
            total = inner.inner_iter_args[0]
            if isinstance(wide, ir.IntegerType):
                total = arith.addi(total, arith.muli(*pair))
            else:
                total = arith.addf(total, arith.mulf(*pair))
            scf.yield_([total])
        done = inner.results[0]
        if done.type != c.element:
            done = arith.truncf(c.element, done)
        memref.store(done, storage, [outer.induction_variable])
        scf.yield_([])
    return vector.load(c.vector, storage, [zero])


def _element(
    writer: KernelWriter, base: ir.Value, matrix: Matrix, at: tuple[ir.Value, ir.Value], byte: int
) -> ir.Value:
    place = arith.addi(arith.muli(at[0], writer.constant(matrix.columns)), at[1])
    per_lane = writer.constant(matrix.per_lane)
    slot = arith.muli(arith.divui(place, per_lane), writer.constant(2 * EXCHANGE_BYTES))
    size = writer.constant(byte_size(matrix.element))
    within = arith.muli(arith.remui(place, per_lane), size)
    offset = arith.addi(arith.addi(slot, within), writer.constant(byte))
    return llvm.load(matrix.element, writer.offset(base, offset))


def _wide(element: ir.Type) -> ir.Type:
    if isinstance(element, (ir.IntegerType, ir.F64Type)):
        return element
    return ir.F32Type.get()


def _widen(value: ir.Value, wide: ir.Type, spelled: str) -> ir.Value:
    if value.type == wide:
        return value
    if isinstance(wide, ir.IntegerType):
        return (arith.extui if spelled == "ui8" else arith.extsi)(wide, value)
    return arith.extf(wide, value)
