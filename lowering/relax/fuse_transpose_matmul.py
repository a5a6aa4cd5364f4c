"""relax-fuse-transpose-matmul."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    binding_blocks,
    call_tir_operands,
    callee_of,
    operations,
    prim_functions,
    relax_functions,
)
from relax_mlir.lowering.relax.fuse_ops import FusedFunctions, Fuser
from relax_mlir.lowering.relax.op_pattern import is_transpose, multiplied_parameters
from relax_mlir.mlir import ir


@register_pass("relax-fuse-transpose-matmul")
@dataclass(frozen=True)
class FuseTransposeMatmul(Pass):
    """Group each matmul with the transpositions of its operands, so that none is written out.

    Works on calls of TensorIR functions, fused ones too; `relax-fuse-tir` has to follow.  A
    transposition that others use as well is repeated for each matmul: reading in another order is
    cheaper than writing.
    """

    def run(self, state: ModuleState) -> None:
        kernels = prim_functions(state)
        transposes = {name for name, kernel in kernels.items() if is_transpose(kernel)}
        if not transposes:
            return
        multiplied = {name: multiplied_parameters(kernel) for name, kernel in kernels.items()}
        made = FusedFunctions()
        for function in relax_functions(state):
            if "Primitive" in attributes_of_function(function):
                continue
            fuser = Fuser(state, function, made)
            for block in list(binding_blocks(function)):
                for op in operations(block):
                    if op.name == "relax.call_tir" and multiplied.get(callee_of(op)):
                        _fuse(op, transposes, multiplied[callee_of(op)], fuser)


def _fuse(call: ir.Operation, transposes: set[str], positions: set[int], fuser: Fuser) -> None:
    arguments, _ = call_tir_operands(call)
    group: list[ir.Operation] = []
    for position in sorted(positions & set(range(len(arguments)))):
        source = _transpose_of(arguments[position], call, transposes)
        if source is None:
            continue
        if sum(1 for _ in source.results[0].uses) > 1:
            with ir.InsertionPoint(call):
                copy = source.clone()
            call.operands[position] = copy.results[0]
            source = copy
        group.append(source)
    if group:
        fuser.fuse([*group, call])


def _transpose_of(value: ir.Value, call: ir.Operation, transposes: set[str]) -> ir.Operation | None:
    """The transposition that makes `value`, if it is made in the same block as the call."""
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name != "relax.call_tir" or op.block != call.block or callee_of(op) not in transposes:
        return None
    return op
