"""Tensor cores: ldmatrix and mma.sync, whose operands are spread over the registers of a warp.

Layouts are those of the PTX ISA, section "Matrix multiply-accumulate operation using mma
instruction": with g = lane / 4 and t = lane % 4, and registers of 32 bits that hold `e` elements,
register i of A has row g (+ 8 for odd i) and columns t * e + 4 * e * (i / 2) on, register i of B
rows t * e + 4 * e * i on of column g, and C elements 2 * t and 2 * t + 1 of the rows g and g + 8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.gpu_to_emulator.checks import Place, check, place_of
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import (
    KernelWriter,
    byte_size,
    flat,
    handles,
)
from relax_mlir.lowering.gpu_to_emulator.layout import EXCHANGE_BYTES, WARP, Access
from relax_mlir.mlir import arith, func, ir, llvm, scf, vector

__all__ = ["multiply_add", "narrow", "widen"]

_REGISTER = 4
_ROW_BYTES = 16
# In an exchange slot B comes after A.
_B_AT = 16


# -- ldmatrix ---------------------------------------------------------------------------------
@handles("nvgpu.ldmatrix")
def ldmatrix(writer: KernelWriter, op: ir.Operation) -> None:
    view, kind = op.opview, ir.VectorType(op.results[0].type)
    place = place_of(writer, view.srcMemref, list(view.indices))
    transposed = ir.BoolAttr(op.attributes["transpose"]).value
    count = ir.IntegerAttr(op.attributes["numTiles"]).value
    registers = _load_matrices(writer, op, place, view.srcMemref, count, transposed)
    result = _poison(kind)
    for number, register in enumerate(registers):
        row = _cast(register, ir.VectorType.get([kind.shape[1]], kind.element_type))
        result = vector.insert(row, result, [], [number])
    op.results[0].replace_all_uses_with(result)
    op.erase()


@handles("nvvm.ldmatrix")
def nvvm_ldmatrix(writer: KernelWriter, op: ir.Operation) -> None:
    pointer = op.operands[0]
    yes = arith.constant(ir.IntegerType.get_signless(1), 1)
    place = Place(llvm.ptrtoint(writer.i64, pointer), yes)
    transposed = "col" in str(op.attributes["layout"])
    count = ir.IntegerAttr(op.attributes["num"]).value
    registers = _load_matrices(writer, op, place, pointer, count, transposed)
    _give_registers(op, registers)


def _give_registers(op: ir.Operation, registers: Sequence[ir.Value]) -> None:
    """Replace a result that is one register or a struct of several."""
    kind = op.results[0].type
    result = registers[0]
    if str(kind).startswith("!llvm.struct"):
        result = llvm.mlir_poison(kind)
        for number, register in enumerate(registers):
            result = llvm.insertvalue(result, register, [number])
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _load_matrices(
    writer: KernelWriter, op: ir.Operation, place: Place, buffer: ir.Value, count: int,
    transposed: bool,
) -> list[ir.Value]:  # fmt: skip
    """The registers (i32) of a lane; lanes 8 i to 8 i + 7 give the rows of matrix i."""
    i16, i32, lane = (ir.IntegerType.get_signless(16), ir.IntegerType.get_signless(32),
                      writer.lane())  # fmt: skip
    if writer.checks:
        used = arith.cmpi(arith.CmpIPredicate.ult, lane, writer.constant(8 * count))
        branch = scf.IfOp(used)
        site = writer.add_site(op, buffer)
        with ir.InsertionPoint(branch.then_block):
            check(writer, place, _ROW_BYTES, Access.READ, _ROW_BYTES, site)
            scf.yield_([])
    read = writer.exchange(op, [place.address])
    four = writer.constant(4)
    group, within = arith.divui(lane, four), arith.remui(lane, four)

    def element(matrix: int, row: ir.Value, byte: ir.Value, kind: ir.Type) -> ir.Value:
        source = arith.addi(row, writer.constant(8 * matrix))
        address = arith.addi(read(source, 0, writer.i64), byte)
        return llvm.load(kind, llvm.inttoptr(writer.ptr, address))

    registers: list[ir.Value] = []
    for matrix in range(count):
        if not transposed:
            byte = arith.muli(within, writer.constant(_REGISTER))
            registers.append(element(matrix, group, byte, i32))
            continue
        pair = llvm.mlir_poison(ir.VectorType.get([2], i16))
        column = arith.muli(group, writer.constant(2))
        for part in range(2):
            row = arith.addi(arith.muli(within, writer.constant(2)), writer.constant(part))
            pair = vector.insert(element(matrix, row, column, i16), pair, [], [part])
        registers.append(_cast(pair, i32))
    return registers


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    """The same bits as another type, scalar or vector."""
    if value.type == kind:
        return value
    if not isinstance(value.type, ir.VectorType):
        value = vector.broadcast(ir.VectorType.get([1], value.type), value)
    if isinstance(kind, ir.VectorType):
        return vector.bitcast(kind, value)
    cast = vector.bitcast(ir.VectorType.get([1], kind), value)
    return vector.extract(cast, [], [0])


def _poison(kind: ir.Type) -> ir.Value:
    """A value of any type of which every part is set later."""
    return ir.Operation.create("ub.poison", [kind]).results[0]


# -- mma.sync ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Product:
    """A product of a warp: shape, element types of A, B ("f16", "tf32", "s8" ...) and C."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str

    @property
    def name(self) -> str:
        return f"emu_mma_m{self.m}n{self.n}k{self.k}_{self.a}_{self.b}_{self.c}"

    @property
    def bits(self) -> int:
        return {"f64": 64, "tf32": 32, "s8": 8, "u8": 8}.get(self.a, 16)

    @property
    def elements(self) -> int:
        """Elements in a register of A or B (f64 fills one of its own)."""
        return max(1, 32 // self.bits)

    @property
    def groups(self) -> int:
        """Registers of B: parts of k."""
        return self.k // (4 * self.elements)


_STORAGE = {"f64": "f64", "f32": "f32", "tf32": "f32", "f16": "f16", "bf16": "bf16", "s8": "i8",
            "u8": "i8", "s32": "i32"}  # fmt: skip


@handles("nvgpu.mma.sync")
def mma_sync(writer: KernelWriter, op: ir.Operation) -> None:
    a, b, c = op.operands
    m, n, k = (ir.IntegerAttr(size).value for size in ir.ArrayAttr(op.attributes["mmaShape"]))
    kind = _ptx_type(ir.VectorType(a.type).element_type, "tf32Enabled" in op.attributes)
    total = _ptx_type(ir.VectorType(c.type).element_type, False)
    product = _Product(m, n, k, kind, kind, total)
    result = _multiply(writer, op, product, [a, b], flat(c))
    op.results[0].replace_all_uses_with(vector.shape_cast(c.type, result))
    op.erase()


def _ptx_type(kind: ir.Type, tf32: bool) -> str:
    text = str(kind)
    return {"f32": "tf32" if tf32 else "f32", "i8": "s8", "i32": "s32"}.get(text, text)


@handles("nvvm.mma.sync")
def nvvm_mma_sync(writer: KernelWriter, op: ir.Operation) -> None:
    view = op.opview
    operands = [list(group) for group in (view.operandA, view.operandB, view.operandC)]
    sizes = _shape_attribute(str(op.attributes["shape"]))
    kinds = [
        _multiplicand(op, f"multiplicand{side}PtxType", operands[number][0])
        for number, side in enumerate("AB")
    ]
    first = operands[2][0].type
    total = _ptx_type(first.element_type if isinstance(first, ir.VectorType) else first, False)
    product = _Product(sizes["m"], sizes["n"], sizes["k"], kinds[0], kinds[1], total)
    element = ir.Type.parse(_STORAGE[total])
    parts = _scalars(operands[2])
    whole = llvm.mlir_poison(ir.VectorType.get([len(parts)], element))
    for number, part in enumerate(parts):
        whole = vector.insert(part, whole, [], [number])
    result = _multiply(writer, op, product, [*operands[0], *operands[1]], whole)
    scalars = [vector.extract(result, [], [number]) for number in range(len(parts))]
    if isinstance(first, ir.VectorType):  # pairs of f16
        pairs = []
        for number in range(0, len(scalars), 2):
            pair = llvm.mlir_poison(first)
            pair = vector.insert(scalars[number], pair, [], [0])
            pairs.append(vector.insert(scalars[number + 1], pair, [], [1]))
        scalars = pairs
    _give_registers(op, scalars)


def _scalars(registers: Sequence[ir.Value]) -> list[ir.Value]:
    parts: list[ir.Value] = []
    for register in registers:
        if isinstance(register.type, ir.VectorType):
            count = register.type.shape[0]
            parts += [vector.extract(register, [], [number]) for number in range(count)]
        else:
            parts.append(register)
    return parts


def _shape_attribute(text: str) -> dict[str, int]:
    return {name: int(size) for name, size in re.findall(r"([mnk])\s*=\s*(\d+)", text)}


def _multiplicand(op: ir.Operation, key: str, register: ir.Value) -> str:
    if key in op.attributes:
        return str(op.attributes[key]).split("<")[-1].rstrip(">").split()[-1]
    kind = register.type
    return _ptx_type(kind.element_type if isinstance(kind, ir.VectorType) else kind, False)


def _multiply(
    writer: KernelWriter, op: ir.Operation, product: _Product, operands: Sequence[ir.Value],
    c: ir.Value,
) -> ir.Value:  # fmt: skip
    """Exchange A and B, then compute this lane's part of C (a vector)."""
    if product.m not in (8, 16) or product.n != 8 or product.a not in _STORAGE:
        raise writer.error(op, f"the emulator has no {product.name}")
    _define_product(writer, product, c.type)
    # A fills the first bytes of a slot, B those from _B_AT on.
    places, at = [], 0
    a_bytes = product.m * product.k * product.bits // 8 // WARP
    for value in operands:
        at = max(at, _B_AT) if at >= a_bytes else at
        places.append(at)
        at += byte_size(value.type)
    read = writer.exchange(op, operands, places)
    return func.CallOp([c.type], product.name, [read.base, writer.lane(), c]).results[0]


def _define_product(writer: KernelWriter, product: _Product, c_type: ir.Type) -> None:
    """The function that computes a lane's part of C from the slots of its warp."""
    module = writer.function.parent
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and op.name.value == product.name:
            return
    i64, ptr = ir.IntegerType.get_signless(64), ir.Type.parse("!llvm.ptr")
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        made = func.FuncOp(product.name, ([ptr, i64, c_type], [c_type]), visibility="private")
    entry = made.add_entry_block()
    with ir.InsertionPoint(entry):
        func.ReturnOp([_product_body(writer, product, *entry.arguments)])


def _product_body(
    writer: KernelWriter, product: _Product, base: ir.Value, lane: ir.Value, c: ir.Value
) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    e, width = product.elements, max(_REGISTER, product.bits // 8)

    def constant(value: int) -> ir.Value:
        return arith.constant(i64, value)

    def operand(kind: str, owner: ir.Value, byte: int) -> ir.Value:
        slot = arith.addi(arith.muli(owner, constant(2 * EXCHANGE_BYTES)), constant(byte))
        return widen(llvm.load(ir.Type.parse(_STORAGE[kind]), writer.offset(base, slot)), kind)

    group = arith.divui(lane, constant(4))
    within = arith.remui(lane, constant(4))
    result, halves = c, product.m // 8
    for index in range(2 * halves):
        half, column = index // 2, arith.addi(arith.muli(within, constant(2)), constant(index % 2))
        total = widen(vector.extract(c, [], [index]), product.c)
        for part in range(product.groups):
            for thread in range(4):
                a_lane = arith.addi(arith.muli(group, constant(4)), constant(thread))
                b_lane = arith.addi(arith.muli(column, constant(4)), constant(thread))
                for j in range(e):
                    element = j * product.bits // 8
                    a = operand(product.a, a_lane, (half + halves * part) * width + element)
                    b = operand(product.b, b_lane, _B_AT + part * width + element)
                    total = multiply_add(a, b, total)
        result = vector.insert(narrow(total, product.c), result, [], [index])
    return result


def widen(value: ir.Value, kind: str) -> ir.Value:
    """The value in the type that products are computed in: i32, f32 or f64."""
    i32, f32 = ir.IntegerType.get_signless(32), ir.F32Type.get()
    if kind in ("f16", "bf16"):
        return arith.extf(f32, value)
    if kind == "s8":
        return arith.extsi(i32, value)
    if kind == "u8":
        return arith.extui(i32, value)
    if kind == "tf32":  # ten bits of mantissa
        bits = arith.andi(arith.bitcast(i32, value), arith.constant(i32, -(1 << 13)))
        return arith.bitcast(f32, bits)
    return value


def multiply_add(a: ir.Value, b: ir.Value, total: ir.Value) -> ir.Value:
    """`a * b + total` in the type that products are computed in."""
    if isinstance(total.type, ir.IntegerType):
        return arith.addi(total, arith.muli(a, b))
    return arith.addf(total, arith.mulf(a, b))


def narrow(value: ir.Value, kind: str) -> ir.Value:
    """The value in the type that it is kept in."""
    stored = ir.Type.parse(_STORAGE[kind])
    return value if value.type == stored else arith.truncf(stored, value)
