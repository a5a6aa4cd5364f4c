"""relax-call-tir-rewrite."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import outputs_of
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.rewriting import replace, unnamed
from relax_mlir.mlir import ir, operations_named

_CALLS = (
    "relax.call_tir",
    "relax.call_tir_inplace",
    "relax.call_tir_with_grad",
    "relax.call_dps_packed",
)


@register_pass("relax-call-tir-rewrite")
@dataclass(frozen=True)
class CallTIRRewrite(Pass):
    """Allocate the results of calls in destination-passing style, and hand them to the calls.

    `relax.call_tir` becomes `relax.builtin_alloc_tensor` and `relax.call` of the TensorIR function,
    or `relax.vm_call_tir_dyn` where it has `tir_vars`; `relax.call_dps_packed` becomes
    `relax.call_packed`.  Dataflow blocks have no place for such calls: `relax-to-non-dataflow`
    comes before.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, _CALLS):
                if op.parent.operation.name != "relax.dataflow":
                    _rewrite(op)


def _rewrite(op: ir.Operation) -> None:
    result = op.results[0]
    kinds = outputs_of(result.type)
    shapes = [value for value in op.operands if types.shape_info(value.type) is not None]
    given = [value for value in op.operands if value not in shapes]
    indices = [-1] * len(kinds)
    if op.name == "relax.call_tir_inplace":
        indices = list(ir.DenseI64ArrayAttr(op.attributes["inplace_indices"]))
    fresh: list[ir.Value] = []
    outputs: list[ir.Value] = []
    for kind, index in zip(kinds, indices, strict=True):
        outputs.append(given[index] if index >= 0 else _allocate(op, kind))
        if index < 0:
            fresh.append(outputs[-1])
    _call(op, [*given, *fresh], shapes)
    value = outputs[0]
    if types.tuple_fields(result.type) is not None:
        with ir.InsertionPoint(op):
            loc = unnamed(op.location)
            value = create("relax.tuple", [result.type], outputs, loc=loc).result
    replace(op, value)


def _allocate(op: ir.Operation, kind: ir.Type) -> ir.Value:
    info = types.tensor_info(kind)
    assert info is not None and info.dims is not None
    loc = unnamed(op.location)
    with ir.InsertionPoint(op):
        shape = create("relax.shape_expr", [types.shape_type(info.dims)], loc=loc).result
        row = SPECS["builtin.alloc_tensor"]
        return build(row, [shape], {"dtype": info.dtype}, loc=loc)


def _call(op: ir.Operation, values: list[ir.Value], shapes: list[ir.Value]) -> None:
    name = "relax.vm_call_tir_dyn" if shapes else "relax.call"
    if op.name == "relax.call_dps_packed":
        name = "relax.call_packed"
    nothing = types.tuple_type([])
    attributes = {"callee": op.attributes["callee"]}
    with ir.InsertionPoint(op):
        create(name, [nothing], [*values, *shapes], attributes, loc=unnamed(op.location))
