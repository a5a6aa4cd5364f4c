"""`wgmma.mma_async`: a slice of products by the tensor cores of a warpgroup.

Tiles in shared memory have rows of 128 bytes, whose chunks `gpu-swizzle-shared-memory` swizzles.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.matrices import SWIZZLED_BYTES
from relax_mlir.errors import CompileError
from relax_mlir.lowering.tir_to_gpu.fragments import Place
from relax_mlir.lowering.tir_to_gpu.kernel_roots import function_name
from relax_mlir.mlir import ir, llvm, vector
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.index import Index, as_index, floordiv, leaf, mod
from relax_mlir.tir.schedule.index_write import write

__all__ = ["GROUP_ROWS", "Operand", "first_row", "multiply_slice"]

GROUP_ROWS = 64
"""Rows of A that a warpgroup multiplies, 16 a warp."""

_STEP = 16
"""Products of an instruction."""

_WARPS = 4
_PATTERN = 8 * SWIZZLED_BYTES
"""The bytes after which a swizzled tile repeats: eight rows."""

_FACTORS = {"fp16": "f16", "bf16": "bf16"}


@dataclass(frozen=True)
class Operand:
    """A tile's first element, and whether its rows in memory are those along the products."""

    start: Place
    by_products: bool

    def descriptor(self, step: int) -> ir.Value:
        """Of the matrix that instruction `step` of a slice reads."""
        moved = self.start.moved(step, 0) if self.by_products else self.start.moved(step)
        at, here = ir.InsertionPoint.current, ir.Location.current
        # Between groups of 64 columns, which are a slice's rows; without groups nothing reads it.
        leading = 4 * _STEP * SWIZZLED_BYTES if self.by_products else _STEP
        i64 = ir.IntegerType.get_signless(64)
        return ir.Operation.create(
            "tir.matrix_descriptor",
            results=[i64],
            operands=[self.start.buffer, *(write(index, at, here) for index in moved.indices)],
            attributes={
                "leading": ir.IntegerAttr.get(i64, leading),
                "stride": ir.IntegerAttr.get(i64, _PATTERN),
            },
        ).result


def first_row(op: ir.Operation, row: Index, warp: ir.Value | None) -> Index:
    """The first row of a warpgroup's tile, given a warp's.

    Raises CompileError where the warps of a group do not have its rows in their order.
    """
    rows = Index({}, GROUP_ROWS)
    own = None if warp is None else mod(leaf(warp) * (GROUP_ROWS // _WARPS), rows)
    if own is None or mod(_of_loops(op, row), rows) != own:
        raise CompileError(
            f"{function_name(op)}: the four warps of a warpgroup do not have 16 rows each of the "
            "64 that wgmma multiplies",
            hint="split the rows by 16 and bind the loop over them, of a multiple of four steps, "
            "to threadIdx.y",
        )
    return floordiv(row, rows) * GROUP_ROWS


def _of_loops(op: ir.Operation, index: Index) -> Index:
    """An index over the variables of the loops around, where it is one over blocks' own."""
    outer = op.parent
    while outer is not None and outer.operation.name != "func.func":
        block = outer.operation.opview
        if isinstance(block, BlockOp):
            values = map(as_index, block.bindings)
            index = index.substitute(dict(zip(nest.iter_vars(block), values, strict=True)))
        outer = outer.operation.parent
    return index


def multiply_slice(
    op: ir.Operation, shape: str, kind: str, a: Operand, b: Operand, sums: ir.Value
) -> ir.Value:
    """`C + A * B` of a slice of 64 products; `op` is the intrinsic, for messages.

    Returns when the products have arrived."""
    if kind not in _FACTORS:
        raise CompileError(
            f"{function_name(op)}: wgmma of {kind} is not supported",
            hint=f"the dtypes of factors are {', '.join(_FACTORS)}",
        )
    steps = range(0, 4 * _STEP, _STEP)
    matrices = [[operand.descriptor(step) for operand in (a, b)] for step in steps]
    registers = _in_registers(sums)
    ir.Operation.create("nvvm.wgmma.fence.aligned")
    for descriptors in matrices:
        registers = ir.Operation.create(
            "nvvm.wgmma.mma_async",
            results=[registers.type],
            operands=[registers, *descriptors],
            attributes=_attributes(shape, _FACTORS[kind], sums, b.by_products),
        ).result
    ir.Operation.create("nvvm.wgmma.commit.group.sync.aligned")
    ir.Operation.create(
        "nvvm.wgmma.wait.group.sync.aligned",
        attributes={"group": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)},
    )
    return _as_vector(registers, sums.type)


def _attributes(
    shape: str, factors: str, sums: ir.Value, columns_first: bool
) -> dict[str, ir.Attribute]:
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    words = {
        "shape": f"shape<m = {m}, n = {n}, k = {k}>",
        "typeA": f"wgmma_type<{factors}>",
        "typeB": f"wgmma_type<{factors}>",
        "typeD": f"wgmma_type<{ir.VectorType(sums.type).element_type}>",
        "scaleD": "wgmma_scale_out<one>",
        "scaleA": "wgmma_scale_in<one>",
        "scaleB": "wgmma_scale_in<one>",
        "layoutA": "mma_layout<row>",
        "layoutB": f"mma_layout<{'row' if columns_first else 'col'}>",
    }
    return {name: ir.Attribute.parse(f"#nvvm.{word}") for name, word in words.items()}


def _words(kind: ir.VectorType) -> ir.VectorType:
    """Sums of 16 bits lie in pairs in registers of 32."""
    if str(kind.element_type) == "f32":
        return kind
    return ir.VectorType.get([kind.shape[0] // 2], ir.IntegerType.get_signless(32))


def _in_registers(sums: ir.Value) -> ir.Value:
    words = _words(ir.VectorType(sums.type))
    value = sums if sums.type == words else vector.bitcast(words, sums)
    element, count = words.element_type, words.shape[0]
    struct = llvm.mlir_undef(ir.Type.parse(f"!llvm.struct<({', '.join([str(element)] * count)})>"))
    for number in range(count):
        struct = llvm.insertvalue(struct, vector.extract(value, [], [number]), [number])
    return struct


def _as_vector(registers: ir.Value, kind: ir.Type) -> ir.Value:
    words = _words(ir.VectorType(kind))
    element = words.element_type
    value = llvm.mlir_undef(words)
    for number in range(words.shape[0]):
        part = llvm.extractvalue(element, registers, [number])
        value = vector.insert(part, value, [], [number])
    return value if words == kind else vector.bitcast(kind, value)
