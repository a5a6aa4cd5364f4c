"""`wgmma.mma_async`: products of four warps, of matrices in shared memory that descriptors name.

Layouts are those of the PTX ISA, section "Asynchronous warpgroup level matrix instructions": in
rows of 128 bytes whose chunks of 16 are swizzled by the bits of their addresses.  Sums lie as those
of `mma.sync` (`matrix.py`), with more columns; warp w of a group has the rows from 16 w on.

An instruction is carried out where its group is waited for, as late as the program allows: what is
written into a matrix before that shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from relax_mlir.lowering.gpu_to_emulator.async_proxy import CHECK_FENCED, FENCE
from relax_mlir.lowering.gpu_to_emulator.checks import Place, check, place_of
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import KernelWriter, handles
from relax_mlir.lowering.gpu_to_emulator.layout import WARP, Access, Word
from relax_mlir.lowering.gpu_to_emulator.matrix import multiply_add, narrow, widen
from relax_mlir.lowering.to_nvvm.lower_matrix_descriptors import (
    LEADING_BIT,
    STRIDE_BIT,
    constant_part,
)
from relax_mlir.mlir import arith, func, ir, llvm, scf, vector

__all__: list[str] = []

_GROUP = 4 * WARP
_ROWS, _STEP = 64, 16
_CHUNK = 16
_FIELD = (1 << 14) - 1
_WAIT = "nvvm.wgmma.wait.group.sync.aligned"
_COMMIT = "nvvm.wgmma.commit.group.sync.aligned"
_MULTIPLY = "nvvm.wgmma.mma_async"
_ELEMENTS = {"f16": "f16", "bf16": "bf16", "f32": "f32"}


@dataclass(frozen=True)
class _Product:
    """Columns, factors, sums, and for A and B whether they lie along the products."""

    columns: int
    factors: str
    sums: str
    along_products: tuple[bool, bool]

    @property
    def name(self) -> str:
        orders = "".join("k" if along else "m" for along in self.along_products)
        return f"emu_wgmma_n{self.columns}_{self.factors}_{self.sums}_{orders}"

    @property
    def sums_type(self) -> ir.VectorType:
        return ir.VectorType.get([self.columns // 2], ir.Type.parse(self.sums))


# -- descriptors, fences and groups -----------------------------------------------------------
@handles("tir.matrix_descriptor")
def matrix_descriptor(writer: KernelWriter, op: ir.Operation) -> None:
    buffer, *indices = op.operands
    place = place_of(writer, buffer, indices)
    address = arith.subi(place.address, writer.word(Word.dynamic))
    units = arith.shrui(address, writer.constant(4))
    word = arith.ori(units, writer.constant(constant_part(op)))
    writer.matrix_sites[word] = writer.add_site(op, buffer)
    op.results[0].replace_all_uses_with(word)
    op.erase()


@handles("nvvm.fence.proxy")
def fence_proxy(writer: KernelWriter, op: ir.Operation) -> None:
    if writer.checks and "async" in str(op.attributes["kind"]):
        writer.call(FENCE, [])
    op.erase()


@handles("nvvm.wgmma.fence.aligned")
def fence(writer: KernelWriter, op: ir.Operation) -> None:
    """The warp comes together for what follows."""
    writer.exchange(op, [], [])
    op.erase()


@handles(_COMMIT, _WAIT)
def group(writer: KernelWriter, op: ir.Operation) -> None:
    """What the group has to do has been put before its wait."""
    op.erase()


# -- products ---------------------------------------------------------------------------------
@handles(_MULTIPLY)
def multiply(writer: KernelWriter, op: ir.Operation) -> None:
    registers, a, b = op.operands
    product = _product(writer, op)
    wait = _wait_of(writer, op)
    with ir.InsertionPoint(wait), op.location:
        if writer.checks:
            _check(writer, op, product, (a, b))
        sums = _as_vector(registers, product)
        base = llvm.inttoptr(writer.ptr, writer.word(Word.dynamic))
        _define(writer, product)
        thread = arith.remui(writer.thread, writer.constant(_GROUP))
        made = func.CallOp([product.sums_type], product.name, [base, thread, a, b, sums])
        result = _in_registers(made.results[0], registers.type)
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _product(writer: KernelWriter, op: ir.Operation) -> _Product:
    words = {
        name: str(op.attributes[name]).split("<")[-1].rstrip(">").split()[-1]
        for name in ("typeA", "typeB", "typeD", "scaleD", "scaleA", "scaleB", "layoutA", "layoutB")
    }
    sizes = dict(re.findall(r"([mnk])\s*=\s*(\d+)", str(op.attributes["shape"])))
    scales = {words[name] for name in ("scaleD", "scaleA", "scaleB")}
    kinds = (words["typeA"], words["typeD"])
    if scales != {"one"} or not set(kinds) <= set(_ELEMENTS) or words["typeB"] != kinds[0]:
        raise writer.error(op, f"the emulator multiplies float16 and bfloat16, not {words}")
    orders = (words["layoutA"] == "row", words["layoutB"] == "col")
    return _Product(int(sizes["n"]), *kinds, orders)


def _wait_of(writer: KernelWriter, op: ir.Operation) -> ir.Operation:
    """The operation that waits for the group of an instruction.

    Raises CompileError where the sums may be used before.
    """
    found, groups, is_behind = None, 0, False
    for view in op.block.operations:
        later = view.operation
        if is_behind and later.name == _COMMIT:
            groups += 1
        elif is_behind and later.name == _WAIT and groups > _left(later):
            found = later
            break
        is_behind = is_behind or later == op
    users = [use.owner.operation for use in op.results[0].uses]
    early = [u for u in users if u.name != _MULTIPLY and not _follows(found, u)]
    if found is None or early:
        raise writer.error(
            op, "its sums are used before the group that it is committed to is waited for"
        )
    return found


def _left(wait: ir.Operation) -> int:
    """The groups that a wait leaves under way."""
    return ir.IntegerAttr(wait.attributes["group"]).value


def _follows(wait: ir.Operation | None, user: ir.Operation) -> bool:
    return wait is not None and user.block == wait.block and wait.is_before_in_block(user)


def _as_vector(registers: ir.Value, product: _Product) -> ir.Value:
    kind = product.sums_type
    words = kind
    if product.sums != "f32":
        words = ir.VectorType.get([kind.shape[0] // 2], ir.IntegerType.get_signless(32))
    value = llvm.mlir_poison(words)
    for number in range(words.shape[0]):
        part = llvm.extractvalue(words.element_type, registers, [number])
        value = vector.insert(part, value, [], [number])
    return value if words == kind else vector.bitcast(kind, value)


def _in_registers(sums: ir.Value, kind: ir.Type) -> ir.Value:
    value, count = sums, str(kind).count(",") + 1
    if count != ir.VectorType(sums.type).shape[0]:
        value = vector.bitcast(ir.VectorType.get([count], ir.IntegerType.get_signless(32)), sums)
    struct = llvm.mlir_poison(kind)
    for number in range(count):
        struct = llvm.insertvalue(struct, vector.extract(value, [], [number]), [number])
    return struct


# -- where elements lie -----------------------------------------------------------------------
@dataclass(frozen=True)
class _Matrix:
    """A matrix that a descriptor names, its place relative to the block's memory."""

    descriptor: ir.Value
    along_products: bool

    def offset(self, row: ir.Value, k: ir.Value) -> ir.Value:
        """The byte of the element in a row (of A, or a column of B) and of a product."""
        stride = self._bytes(STRIDE_BIT)
        if self.along_products:
            place = _sum(_times(_over(row, 8), stride), _times(_rest(row, 8), 128), _times(k, 2))
        else:
            groups = _times(_over(row, 64), self._bytes(LEADING_BIT))
            within = _sum(_times(_over(k, 8), stride), _times(_rest(k, 8), 128))
            place = _sum(groups, _times(_rest(row, 64), 2), within)
        place = arith.addi(self._bytes(0), place)
        return arith.xori(place, _times(_rest(_over(place, 128), 8), _CHUNK))

    def _bytes(self, bit: int) -> ir.Value:
        field = arith.andi(arith.shrui(self.descriptor, _number(bit)), _number(_FIELD))
        return _times(field, _CHUNK)

    def chunk(self, number: ir.Value, rows: int) -> ir.Value:
        """The byte of one of the chunks that the matrix of so many rows consists of."""
        if self.along_products:
            return self.offset(_over(number, 2), _times(_rest(number, 2), 8))
        groups = rows // 8
        return self.offset(_times(_rest(number, groups), 8), _over(number, groups))


def _number(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)


def _times(value: ir.Value, factor: ir.Value | int) -> ir.Value:
    return arith.muli(value, _number(factor) if isinstance(factor, int) else factor)


def _over(value: ir.Value, divisor: int) -> ir.Value:
    return arith.divui(value, _number(divisor))


def _rest(value: ir.Value, divisor: int) -> ir.Value:
    return arith.remui(value, _number(divisor))


def _sum(first: ir.Value, *others: ir.Value) -> ir.Value:
    for other in others:
        first = arith.addi(first, other)
    return first


def _check(
    writer: KernelWriter, op: ir.Operation, product: _Product, operands: tuple[ir.Value, ir.Value]
) -> None:
    """Check what is read: each thread of a group some chunks of A and of B."""
    thread = arith.remui(writer.thread, writer.constant(_GROUP))
    yes = arith.constant(ir.IntegerType.get_signless(1), 1)
    for operand, along, rows in zip(
        operands, product.along_products, (_ROWS, product.columns), strict=True
    ):
        site = writer.matrix_sites.get(operand)
        site = writer.add_site(op) if site is None else site
        matrix = _Matrix(operand, along)
        for first in range(0, rows * _STEP * 2 // _CHUNK, _GROUP):
            number = arith.addi(thread, writer.constant(first))
            place = arith.addi(matrix.chunk(number, rows), writer.word(Word.dynamic))
            check(writer, Place(place, yes), _CHUNK, Access.READ, _CHUNK, site)
            writer.call(CHECK_FENCED, [place, writer.constant(_CHUNK), writer.constant(site)])


# -- the function of a product ----------------------------------------------------------------
def _define(writer: KernelWriter, product: _Product) -> None:
    """The function that computes a thread's sums: (memory, thread of its group, A, B, sums)."""
    module = writer.function.parent
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func" and op.name.value == product.name:
            return
    i64, kind = ir.IntegerType.get_signless(64), product.sums_type
    inputs = [ir.Type.parse("!llvm.ptr"), i64, i64, i64, kind]
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        made = func.FuncOp(product.name, (inputs, [kind]), visibility="private")
    entry = made.add_entry_block()
    with ir.InsertionPoint(entry):
        func.ReturnOp([_body(writer, product, *entry.arguments)])


def _body(
    writer: KernelWriter, product: _Product, base: ir.Value, thread: ir.Value, a: ir.Value,
    b: ir.Value, sums: ir.Value,
) -> ir.Value:  # fmt: skip
    first, second = (
        _Matrix(value, along) for value, along in zip((a, b), product.along_products, strict=True)
    )
    element = ir.Type.parse(product.factors)

    def factor(matrix: _Matrix, row: ir.Value, k: ir.Value) -> ir.Value:
        at = writer.offset(base, matrix.offset(row, k))
        return widen(llvm.load(element, at), product.factors)

    lane, warp = _rest(thread, WARP), _over(thread, WARP)
    top = _sum(_times(warp, _STEP), _over(lane, 4))
    stack = llvm.alloca(writer.ptr, _number(product.columns // 2), ir.Type.parse(product.sums))
    llvm.store(sums, stack, alignment=_size(product.sums))
    loop = scf.ForOp(_number(0), _number(product.columns // 2), _number(1))
    with ir.InsertionPoint(loop.body):
        place = loop.induction_variable
        below, half = _rest(_over(place, 2), 2), _rest(place, 2)
        row = _sum(top, _times(below, 8))
        column = _sum(_times(_over(place, 4), 8), _times(_rest(lane, 4), 2), half)
        at = writer.offset(stack, _times(place, _size(product.sums)))
        total = widen(llvm.load(ir.Type.parse(product.sums), at), product.sums)
        steps = scf.ForOp(_number(0), _number(_STEP), _number(1), [total])
        with ir.InsertionPoint(steps.body):
            k = steps.induction_variable
            left, right = factor(first, row, k), factor(second, column, k)
            scf.yield_([multiply_add(left, right, steps.inner_iter_args[0])])
        llvm.store(narrow(steps.results[0], product.sums), at)
        scf.yield_([])
    return llvm.load(product.sums_type, stack, alignment=_size(product.sums))


def _size(element: str) -> int:
    return 4 if element == "f32" else 2
