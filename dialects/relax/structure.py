"""The operations a Relax function is made of, besides the operators: dataflow blocks, bindings,
constants, tuples, shapes, calls and branches.

No `from __future__ import annotations` here: the bindings evaluate the field annotations.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.dialect import ObjectType, PrimType, Relax, ShapeType
from relax_mlir.dialects.variadic import variadic
from relax_mlir.mlir import ext, ir

Operand = ext.Operand
Region = ext.Region
Result = ext.Result


def _fail(op: ir.OpView, message: str) -> bool:
    op.location.emit_error(f"{op.operation.name}: {message}")
    return False


@variadic
class VariadicOperation(Relax.Operation):
    """Base of operations that take or give any number of values."""


class DataflowOp(VariadicOperation, name="dataflow"):
    """`with R.dataflow():`; its results are the values given to `relax.output`."""

    outputs: Sequence[Result[Any]]
    body: Region

    def verify_region_invariants(self) -> bool:
        blocks = list(self.body.blocks)
        if len(blocks) != 1 or not len(blocks[0].operations):
            return _fail(self, "needs one block that ends in relax.output")
        last = blocks[0].operations[len(blocks[0].operations) - 1].operation
        if last.name != "relax.output":
            return _fail(self, f"must end in relax.output, ends in {last.name}")
        given = [v.type for v in last.operands]
        if given != [r.type for r in self.operation.results]:
            return _fail(self, "result types differ from the types given to relax.output")
        return True


class OutputOp(VariadicOperation, name="output", traits=[ir.IsTerminatorTrait]):
    """`R.output(...)`: the values a dataflow block makes visible."""

    values: Sequence[Operand[Any]]


class BindOp(Relax.Operation, name="bind", traits=[ext.Pure]):
    """A second name for a value: `gv = lv`."""

    value: Operand[Any]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        reason = types.conflict(self.value.type, self.result.type)
        if reason:
            return _fail(self, f"{self.value.type} cannot be bound as {self.result.type}: {reason}")
        return True


class MatchCastOp(Relax.Operation, name="match_cast"):
    """`R.match_cast`: checks at run time that a value has a type and binds its symbols."""

    value: Operand[Any]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        reason = types.conflict(self.value.type, self.result.type)
        if reason:
            return _fail(self, f"{self.value.type} is never {self.result.type}: {reason}")
        return True


class ConstantOp(Relax.Operation, name="constant", traits=[ext.Pure]):
    """A constant tensor.  Small ones carry `value = dense<...>`; large ones a `key` into the
    module's table of constants (DESIGN.md, decision 11)."""

    result: Result[Any]

    def verify_invariants(self) -> bool:
        present = [name for name in ("value", "key") if name in self.operation.attributes]
        if len(present) != 1:
            return _fail(self, "needs either 'value' or 'key'")
        if not types.is_tensor(self.result.type):
            return _fail(self, "must be a tensor")
        if present == ["key"]:
            return True
        value = self.operation.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr):
            return _fail(self, "needs its elements as dense<...>")
        reason = types.conflict(value.type, self.result.type)
        return reason is None or _fail(self, f"{value.type} cannot be {self.result.type}: {reason}")


class TupleOp(VariadicOperation, name="tuple", traits=[ext.Pure]):
    """Makes a tuple of its operands."""

    fields: Sequence[Operand[Any]]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        expected = types.tuple_type([v.type for v in self.operation.operands])
        reason = types.conflict(expected, self.result.type)
        return reason is None or _fail(self, f"makes {expected}, not {self.result.type}: {reason}")


class TupleGetItemOp(Relax.Operation, name="tuple_get_item", traits=[ext.Pure]):
    """The field `index` of a tuple."""

    index: ir.IntegerAttr
    value: Operand[Any]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        fields = types.tuple_fields(self.value.type)
        if fields is None:
            return _fail(self, f"needs a tuple, got {self.value.type}")
        index = self.index.value
        if not 0 <= index < len(fields):
            return _fail(self, f"index {index} is out of range for {self.value.type}")
        reason = types.conflict(fields[index], self.result.type)
        return reason is None or _fail(self, f"field {index} is {fields[index]}: {reason}")


class ShapeExprOp(Relax.Operation, name="shape_expr", traits=[ext.Pure]):
    """A shape value; the dimensions are in its type: `!relax.shape<["n", 4], 2>`."""

    result: Result[Any]

    def verify_invariants(self) -> bool:
        info = types.shape_info(self.result.type)
        if info is None or info.dims is None:
            return _fail(self, f"needs a shape type with known dimensions, got {self.result.type}")
        return True


class PrimValueOp(Relax.Operation, name="prim_value", traits=[ext.Pure]):
    """A scalar.  Integers and expressions are in the type, other values in `value`."""

    result: Result[Any]

    def verify_invariants(self) -> bool:
        info = types.prim_info(self.result.type)
        if info is None:
            return _fail(self, f"must be a !relax.prim, got {self.result.type}")
        if info[1] is None and "value" not in self.operation.attributes:
            return _fail(self, "has no value")
        return True


class StringOp(Relax.Operation, name="string", traits=[ext.Pure]):
    """A string given to a packed function."""

    value: ir.StringAttr
    result: Result[Any]


class DataTypeOp(Relax.Operation, name="data_type", traits=[ext.Pure]):
    """A dtype given to a packed function."""

    value: ir.TypeAttr
    result: Result[Any]


class FunctionRefOp(Relax.Operation, name="function_ref", traits=[ext.Pure]):
    """A function of the module as a value."""

    callee: ir.FlatSymbolRefAttr
    result: Result[Any]


class CallOp(VariadicOperation, name="call"):
    """Calls a Relax function of the module; argument types may be more precise than the
    parameters'."""

    callee: ir.FlatSymbolRefAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]


class _CallsTIR(VariadicOperation):
    """Arguments are tensors; a shape behind them is `tir_vars`."""

    @staticmethod
    def belongs_last(value: ir.Value) -> bool:
        return isinstance(value.type, ShapeType)


class CallTIROp(_CallsTIR, name="call_tir", traits=[ext.Pure]):
    """`R.call_tir`: allocates the result and calls a TensorIR function in destination-passing
    style.  A tuple result stands for several outputs; `tir_vars` is at most one shape, the last
    operand."""

    callee: ir.FlatSymbolRefAttr
    arguments: Sequence[Operand[Any]]
    tir_vars: Sequence[Operand[Any]]
    result: Result[Any]

    def verify_invariants(self) -> bool:
        for i, value in enumerate(self.arguments):
            if not types.is_tensor(value.type) and not isinstance(
                value.type, (PrimType, ObjectType)
            ):
                return _fail(self, f"argument {i} must be a tensor, got {value.type}")
        if len(self.tir_vars) > 1:
            return _fail(self, "tir_vars must be one shape")
        outputs = types.tuple_fields(self.result.type) or [self.result.type]
        for kind in outputs:
            info = types.tensor_info(kind)
            if info is None or info.dims is None or info.dtype is None:
                return _fail(self, f"output {kind} must be a tensor of known shape and dtype")
        return True


class CallTIRInplaceOp(_CallsTIR, name="call_tir_inplace"):
    """`R.call_tir_inplace`: as call_tir, but output i reuses argument `inplace_indices[i]`
    (-1: a new tensor)."""

    callee: ir.FlatSymbolRefAttr
    inplace_indices: Any
    arguments: Sequence[Operand[Any]]
    tir_vars: Sequence[Operand[Any]]
    result: Result[Any]


class CallDPSPackedOp(VariadicOperation, name="call_dps_packed", traits=[ext.Pure]):
    """`R.call_dps_packed`: as call_tir, with a registered function by name."""

    callee: ir.StringAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]


class CallPackedOp(VariadicOperation, name="call_packed"):
    """`R.call_packed`: calls a registered function for its result and effects."""

    callee: ir.StringAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]


class CallPurePackedOp(VariadicOperation, name="call_pure_packed", traits=[ext.Pure]):
    """`R.call_pure_packed`: a registered function that is promised to have no effects."""

    callee: ir.StringAttr
    arguments: Sequence[Operand[Any]]
    result: Result[Any]


class IfOp(Relax.Operation, name="if"):
    """`if cond: ... else: ...` on a scalar bool; both branches end in `relax.yield`."""

    condition: Operand[Any]
    result: Result[Any]
    then_body: Region
    else_body: Region

    def verify_invariants(self) -> bool:
        info = types.tensor_info(self.condition.type)
        if isinstance(self.condition.type, PrimType):
            return True
        if info is None or info.dtype not in (None, "bool") or info.ndim not in (-1, 0):
            return _fail(self, f"condition must be a scalar bool, got {self.condition.type}")
        return True


class YieldOp(Relax.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """The value of a branch."""

    value: Operand[Any]
