"""`math-to-polynomials`: elementary functions of f32 in plain arithmetic.

Calls of the C library handle one element at a time; these expansions work on scalars (which LLVM
may vectorize) and on vectors alike.  f16 and bf16 go through f32.  f64, and functions without an
expansion, are left to the library.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_scf.structure import enclosing
from relax_mlir.lowering.to_llvm.integer_power import expand_ipowi
from relax_mlir.lowering.to_llvm.polynomials import AVX512_LANES, EXPANSIONS, Emitter
from relax_mlir.mlir import ir, operations_named

__all__ = ["MathToPolynomials"]


@register_pass("math-to-polynomials")
@dataclass(frozen=True)
class MathToPolynomials(Pass):
    """Expand exp, log, tanh, erf, sin, cos, rsqrt, pow and relatives; powers of integers too."""

    def run(self, state: ModuleState) -> None:
        module = state.module
        found = operations_named(module.operation, [*EXPANSIONS, "math.ipowi"])
        with module.context:
            for op in found:
                if op.name in EXPANSIONS and _element_type(op) is None:
                    continue
                with ir.InsertionPoint(op), op.location:
                    result = expand_ipowi(op) if op.name == "math.ipowi" else _expand(op)
                op.results[0].replace_all_uses_with(result)
                op.erase()


def _element_type(op: ir.Operation) -> ir.Type | None:
    """The element type of a result that is expanded, or None."""
    type_ = op.results[0].type
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    expanded = isinstance(element, (ir.F32Type, ir.F16Type, ir.BF16Type))
    return element if expanded else None


def _expand(op: ir.Operation) -> ir.Value:
    type_ = op.results[0].type
    shape = list(type_.shape) if isinstance(type_, ir.VectorType) else None
    emitter = Emitter(shape, portable=enclosing(op, "gpu.module") is not None)
    is_narrow = not isinstance(_element_type(op), ir.F32Type)
    operands = list(op.operands)
    if is_narrow:
        operands = [emitter.op("arith.extf", emitter.f32, operand) for operand in operands]
    if emitter.registers > 1:
        result = _by_registers(op.name, emitter, operands)
    else:
        result = EXPANSIONS[op.name](emitter, *operands)
    return emitter.op("arith.truncf", type_, result) if is_narrow else result


def _by_registers(function: str, whole: Emitter, operands: list[ir.Value]) -> ir.Value:
    """The function for one register after another, as an expansion may use its instructions."""
    part = Emitter([AVX512_LANES])
    one = ir.ArrayAttr.get([_i64(1)])
    result = whole.k(0)
    for register in range(whole.registers):
        start = ir.ArrayAttr.get([_i64(register * AVX512_LANES)])
        size = ir.ArrayAttr.get([_i64(AVX512_LANES)])
        where = {"offsets": start, "sizes": size, "strides": one}
        given = [part.op("vector.extract_strided_slice", part.f32, v, **where) for v in operands]
        made = EXPANSIONS[function](part, *given)
        result = whole.op(
            "vector.insert_strided_slice", whole.f32, made, result, offsets=start, strides=one
        )
    return result


def _i64(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
