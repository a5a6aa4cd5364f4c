"""Calls beyond those of `structure.py`: in place, with a gradient, of Python, of the runtime.

No `from __future__ import annotations` here: the bindings evaluate the field annotations.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.dialect import PrimType, ShapeType
from relax_mlir.dialects.relax.structure import VariadicOperation
from relax_mlir.mlir import ext, ir

Operand = ext.Operand
Result = ext.Result


def outputs_of(kind: ir.Type) -> list[ir.Type]:
    """The outputs that the result type of a call stands for."""
    fields = types.tuple_fields(kind)
    return [kind] if fields is None else fields


def reuse_conflict(
    indices: Sequence[int], arguments: Sequence[ir.Type], outputs: Sequence[ir.Type]
) -> str | None:
    """Why outputs cannot be written into the arguments at `indices` (-1: a new tensor)."""
    if len(indices) != len(outputs):
        return f"{len(outputs)} outputs need as many inplace_indices, there are {len(indices)}"
    reused = [index for index in indices if index != -1]
    if not reused:
        return "no output reuses an argument; at least one of inplace_indices is not -1"
    if len(set(reused)) < len(reused):
        return f"two outputs reuse the same argument: {list(indices)}"
    for output, index in zip(outputs, indices, strict=True):
        if not -1 <= index < len(arguments):
            return f"inplace_indices has {index}, there are {len(arguments)} arguments"
        reason = None if index < 0 else types.conflict(arguments[index], output)
        if reason is not None:
            return f"argument {index} is {arguments[index]}, its output {output}: {reason}"
    return None


class _Call(VariadicOperation):
    def fail(self, message: str) -> bool:
        self.location.emit_error(f"{self.operation.name}: {message}")
        return False

    def check_outputs(self, outputs: Sequence[ir.Type]) -> bool:
        for kind in outputs:
            info = types.tensor_info(kind)
            if info is None or info.dims is None or info.dtype is None:
                return self.fail(f"output {kind} must be a tensor of known shape and dtype")
        return True


class CallInplacePackedOp(_Call, name="call_inplace_packed"):
    """`R.call_inplace_packed`: a registered function that changes some of its arguments and
    returns them: result i is argument `inplace_indices[i]` (-1: something new)."""

    callee: ir.StringAttr
    inplace_indices: Any
    arguments: Sequence[Operand[Any]]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        op = self.operation
        indices = list(ir.DenseI64ArrayAttr(op.attributes["inplace_indices"]))
        given = [value.type for value in op.operands]
        reason = reuse_conflict(indices, given, outputs_of(op.results[0].type))
        return reason is None or self.fail(reason)


class CallTIRWithGradOp(_Call, name="call_tir_with_grad", traits=[ext.Pure]):
    """`R.call_tir_with_grad`: as call_tir; the gradient is computed by the tensor expressions that
    are registered as `te_grad_name`, which get `te_grad_kwargs`."""

    callee: ir.FlatSymbolRefAttr
    te_grad_name: ir.StringAttr
    te_grad_kwargs: Any
    arguments: Sequence[Operand[Any]]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        for index, value in enumerate(self.operation.operands):
            if not types.is_tensor(value.type):
                return self.fail(f"argument {index} must be a tensor, got {value.type}")
        return self.check_outputs(outputs_of(self.operation.results[0].type))


class CallBuiltinWithCtxOp(_Call, name="call_builtin_with_ctx"):
    """`R.call_builtin_with_ctx`: a function of the runtime, by the name it is registered by."""

    callee: ir.StringAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]


class CallPyFuncOp(_Call, name="call_py_func"):
    """`R.call_py_func`: a Python function of the module (`@I.pyfunc`), by name."""

    callee: ir.StringAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]


class CallTIRDynOp(_Call, name="vm_call_tir_dyn"):
    """`R.vm.call_tir_dyn`: a TensorIR function on tensors to read and to write; a shape behind
    them gives the values of its symbols."""

    callee: ir.FlatSymbolRefAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        values = list(self.operation.operands)
        for index, value in enumerate(values):
            last = index == len(values) - 1 and isinstance(value.type, ShapeType)
            if (
                not last
                and not types.is_tensor(value.type)
                and not isinstance(value.type, PrimType)
            ):
                return self.fail(f"argument {index} must be a tensor, got {value.type}")
        nothing = types.tuple_fields(self.operation.results[0].type) == []
        return nothing or self.fail("gives nothing: its type is R.Tuple()")
