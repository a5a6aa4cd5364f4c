"""`mma.sync`: the operation for a shape and dtypes.

nvgpu's operation for the dtypes that it lowers; bfloat16, of which it makes wrong registers, by
nvvm's.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.errors import CompileError
from relax_mlir.lowering.tir_to_gpu.kernel_roots import function_name
from relax_mlir.mlir import ir, vector

__all__ = ["multiply"]

# TVM's name of the factors' dtype -> elements of a register.
_ELEMENTS = {"fp16": 2, "bf16": 2, "tf32": 1, "int8": 4}


def multiply(
    op: ir.Operation, shape: tuple[int, int, int], kind: str, values: Sequence[ir.Value]
) -> ir.Value:
    """`C + A * B` of flat registers A, B, C; `op` is the intrinsic, for messages."""
    if kind not in _ELEMENTS:
        raise CompileError(
            f"{function_name(op)}: mma of {kind} is not supported",
            hint=f"the dtypes of factors are {', '.join(_ELEMENTS)}",
        )
    if kind == "bf16":
        return _by_nvvm(shape, values)
    per = _ELEMENTS[kind]
    a, b, c = (
        vector.shape_cast(_grouped(value, count), value)
        for value, count in zip(values, (per, per, 2), strict=True)
    )
    attributes: dict[str, ir.Attribute] = {
        "mmaShape": ir.ArrayAttr.get(
            [ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size) for size in shape]
        )
    }
    if kind == "tf32":
        attributes["tf32Enabled"] = ir.UnitAttr.get()
    made = ir.Operation.create(
        "nvgpu.mma.sync", results=[c.type], operands=[a, b, c], attributes=attributes
    )
    return vector.shape_cast(values[2].type, made.results[0])


def _grouped(value: ir.Value, count: int) -> ir.VectorType:
    kind = ir.VectorType(value.type)
    return ir.VectorType.get([kind.shape[0] // count, count], kind.element_type)


def _by_nvvm(shape: tuple[int, int, int], values: Sequence[ir.Value]) -> ir.Value:
    """Factors as pairs in 32 bits, sums one by one."""
    i32 = ir.IntegerType.get_signless(32)
    a, b, c = values
    registers: list[ir.Value] = []
    counts: list[int] = []
    for value in (a, b):
        pairs = ir.VectorType(value.type).shape[0] // 2
        words = vector.bitcast(ir.VectorType.get([pairs], i32), value)
        registers += [vector.extract(words, [], [n]) for n in range(pairs)]
        counts.append(pairs)
    sums = ir.VectorType(c.type).shape[0]
    registers += [vector.extract(c, [], [n]) for n in range(sums)]
    element = ir.VectorType(c.type).element_type
    struct = ir.Type.parse(f"!llvm.struct<({', '.join([str(element)] * sums)})>")
    m, n, k = shape
    made = ir.Operation.create(
        "nvvm.mma.sync",
        results=[struct],
        operands=registers,
        attributes={
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([*counts, sums]),
            "shape": ir.Attribute.parse(f"#nvvm.shape<m = {m}, n = {n}, k = {k}>"),
            "layoutA": ir.Attribute.parse("#nvvm.mma_layout<row>"),
            "layoutB": ir.Attribute.parse("#nvvm.mma_layout<col>"),
            "multiplicandAPtxType": ir.Attribute.parse("#nvvm.mma_type<bf16>"),
            "multiplicandBPtxType": ir.Attribute.parse("#nvvm.mma_type<bf16>"),
        },
    )
    result = c
    for number in range(sums):
        part = ir.Operation.create(
            "llvm.extractvalue",
            results=[element],
            operands=[made.results[0]],
            attributes={"position": ir.DenseI64ArrayAttr.get([number])},
        ).results[0]
        result = vector.insert(part, result, [], [number])
    return result
