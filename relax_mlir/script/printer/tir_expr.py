"""Reads scalar values of TensorIR in MLIR back as expressions, the inverse of `tir/emit.py`.

An expression is rebuilt node by node and never simplified, so that printing it and parsing the text
emits the same operations again.  Values known by name (parameters, loop and iteration variables,
`let` variables) are variables; everything else is the expression of the operation that makes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.mlir import arith, ir
from relax_mlir.tir import expr as E
from relax_mlir.tir.affine_text import constant_first, readable
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.lanes import lanes_of_type


class ExprReader:
    """Reads values; `variables` and `buffers` say what is known by name."""

    def __init__(self) -> None:
        self.variables: dict[ir.Value, E.PrimExpr] = {}
        self.buffers: dict[ir.Value, Buffer] = {}

    def read(self, value: ir.Value, hint: str | None = None) -> E.PrimExpr:
        """The expression of a value; `hint` is the dtype that the context gives a constant.

        Raises Error for an operation that has no spelling.
        """
        known = self.variables.get(value)
        if known is not None:
            return known
        op = value.owner
        if isinstance(op, ir.Block):
            raise Error(f"a block argument without a name in {value}")
        if op.name == "memref.extract_strided_metadata":
            return self._layout(op.operation, value)
        read = READERS.get(op.name)
        if read is None:
            raise Error(f"operation '{op.name}' has no TVMScript spelling: {op}")
        return read(self, op.operation, hint)

    def _layout(self, op: ir.Operation, value: ir.Value) -> E.PrimExpr:
        """The offset or a stride of a buffer: the symbol it was declared with."""
        buffer = self.buffer(op.operands[0])
        position = list(op.results).index(value)
        offset = E.IntImm("int32", 0) if buffer.elem_offset is None else buffer.elem_offset
        return offset if position == 1 else buffer.strides[position - 2 - buffer.ndim]

    def buffer(self, value: ir.Value) -> Buffer:
        known = self.buffers.get(value)
        if known is None:
            raise Error(f"a buffer without a TVMScript spelling: {value}")
        return known

    def index(self, value: ir.Value | int, dtype: str = "int32") -> E.PrimExpr:
        """A bound, size or subscript."""
        return E.IntImm(dtype, value) if isinstance(value, int) else self.read(value, dtype)

    def operands(self, op: ir.Operation, hint: str | None) -> list[E.PrimExpr]:
        """The operands; a constant takes the dtype of the other operand."""
        return self.alike(list(op.operands), hint)

    def alike(self, values: list[ir.Value], hint: str | None) -> list[E.PrimExpr]:
        """Values of one dtype: an unsigned one if any is, else that of the first which is no
        constant, else the hint."""
        found = {i: self.read(v, hint) for i, v in enumerate(values) if not is_constant(v)}
        known = [e.dtype for e in found.values()]
        dtype = next((d for d in known if d.startswith("uint")), known[0] if known else hint)
        return [
            found[i] if i in found and found[i].dtype == dtype else self.read(v, dtype)
            for i, v in enumerate(values)
        ]


def raw(node: type[E.PrimExpr], dtype: str, **fields: Any) -> Any:
    """A node as given: operands may differ in integer width, nothing is folded or cast."""
    made = object.__new__(node)
    made.__dict__.update(fields)
    made.dtype = dtype
    made.span = None
    return made


def region_end(low: E.PrimExpr, extent: E.PrimExpr, dtype: str) -> E.PrimExpr:
    """`low + extent`, folded where both are constants."""
    if isinstance(low, E.IntImm) and isinstance(extent, E.IntImm):
        return E.IntImm(dtype, low.value + extent.value)
    if isinstance(low, E.IntImm) and low.value == 0:
        return extent
    return raw(E.Add, dtype, a=low, b=extent)


def is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == "arith.constant"


def natural_dtype(kind: ir.Type) -> str:
    """The dtype of a value whose signedness is not known otherwise."""
    if isinstance(kind, ir.IndexType):
        return "int32"
    if isinstance(kind, ir.VectorType):
        return f"{dtypes.from_mlir(kind.element_type)}x{lanes_of_type(kind)}"
    return dtypes.from_mlir(kind)


def _width(dtype: str) -> int:
    return 1 if dtype == "bool" else dtypes.bits(dtype)


# -- constants and index arithmetic ---------------------------------------------------------------


def _constant(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    kind, attribute = op.results[0].type, op.attributes["value"]
    dtype = natural_dtype(kind)
    if isinstance(kind, ir.VectorType):
        splat = ir.DenseElementsAttr(attribute).get_splat_value()
        scalar = E.scalar_dtype(hint) if hint else E.scalar_dtype(dtype)
        return E.Broadcast(_number(splat, kind.element_type, scalar), lanes_of_type(kind))
    return _number(attribute, kind, hint or dtype)


def _number(attribute: ir.Attribute, kind: ir.Type, dtype: str) -> E.PrimExpr:
    natural = natural_dtype(kind)
    if isinstance(kind, ir.FloatType):
        return E.FloatImm(natural, _shortest(ir.FloatAttr(attribute).value, natural))
    if natural == "bool":
        return E.IntImm("bool", bool(ir.IntegerAttr(attribute).value))
    number = int(ir.IntegerAttr(attribute).value)
    if isinstance(kind, ir.IndexType):
        fits = -(2**31) <= number < 2**31
        return E.IntImm(dtype if dtype in ("int32", "int64") and fits else "int64", number)
    same_width = dtypes.is_integer(dtype) and _width(dtype) == _width(natural)
    dtype = dtype if same_width else natural
    if dtypes.is_unsigned(dtype):
        number %= 1 << _width(dtype)
    return E.IntImm(dtype, number)


def _shortest(value: float, dtype: str) -> float:
    """The number with the fewest digits that is `value` in `dtype`: 1e-05, not 9.99999974e-06."""
    if not math.isfinite(value) or value == math.floor(value) or dtype not in _SHORT:
        return value
    return next(
        short
        for short in (float(f"{value:.{digits}g}") for digits in range(1, 18))
        if np.dtype(_SHORT[dtype]).type(short) == value
    )


_SHORT = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def _apply(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    operands = [reader.read(v) for v in op.operands]
    wide = any(o.dtype == "int64" for o in operands)
    amap = ir.AffineMapAttr(op.attributes["map"]).value
    return _affine(amap.results[0], operands, amap.n_dims, "int64" if wide else "int32")


def _affine(form: ir.AffineExpr, operands: list[E.PrimExpr], dims: int, dtype: str) -> E.PrimExpr:
    if isinstance(form, ir.AffineConstantExpr):
        return E.IntImm(dtype, form.value)
    if isinstance(form, ir.AffineDimExpr):
        return operands[form.position]
    if isinstance(form, ir.AffineSymbolExpr):
        return operands[dims + form.position]
    if isinstance(form, ir.AffineAddExpr):
        form = readable(form)
        split = constant_first(form)
        if split is not None:
            rest = _affine(split[1], operands, dims, dtype)
            return raw(E.Sub, dtype, a=E.IntImm(dtype, split[0]), b=rest)
    a = _affine(form.lhs, operands, dims, dtype)
    b = _affine(form.rhs, operands, dims, dtype)
    if isinstance(form, ir.AffineAddExpr):
        return _sum(a, b, dtype)
    if isinstance(form, ir.AffineMulExpr):
        return raw(E.Mul, dtype, a=a, b=b)
    if isinstance(form, ir.AffineModExpr):
        return raw(E.FloorMod, dtype, a=a, b=b)
    if isinstance(form, ir.AffineFloorDivExpr):
        return raw(E.FloorDiv, dtype, a=a, b=b)
    # ceildiv(a, b) for a positive b
    assert isinstance(b, E.IntImm)
    return raw(E.FloorDiv, dtype, a=_sum(a, E.IntImm(dtype, b.value - 1), dtype), b=b)


def _sum(a: E.PrimExpr, b: E.PrimExpr, dtype: str) -> E.PrimExpr:
    """`a + b`, written as a difference where `b` is negative."""
    if isinstance(b, E.IntImm) and b.value < 0:
        return raw(E.Sub, dtype, a=a, b=E.IntImm(dtype, -b.value))
    if isinstance(b, E.Mul) and isinstance(b.b, E.IntImm) and b.b.value < 0:
        if b.b.value == -1:
            return raw(E.Sub, dtype, a=a, b=b.a)
        positive = raw(E.Mul, dtype, a=b.a, b=E.IntImm(dtype, -b.b.value))
        return raw(E.Sub, dtype, a=a, b=positive)
    return raw(E.Add, dtype, a=a, b=b)


def _index_cast(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    source, target = op.operands[0], op.results[0].type
    value = reader.read(source, hint)
    if isinstance(target, ir.IndexType):
        return value
    dtype = hint if hint and _width(hint) == target.width else dtypes.from_mlir(target)
    if value.dtype == dtype:
        return value
    return raw(E.Cast, dtype, value=value)


# -- arithmetic -----------------------------------------------------------------------------------

Reader = Callable[[ExprReader, ir.Operation, "str | None"], E.PrimExpr]


def _unsigned(value: ir.Value) -> str:
    """The unsigned dtype of a value's width."""
    natural = natural_dtype(value.type)
    return natural if natural.startswith(("bool", "uint")) else f"u{natural}"


def _binary(node: type[E.PrimExpr], unsigned: bool = False) -> Reader:
    def read(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
        a, b = reader.operands(op, _unsigned(op.operands[0]) if unsigned else hint)
        dtype = "int64" if "int64" in (a.dtype, b.dtype) else a.dtype
        return raw(node, dtype, a=a, b=b)

    return read


add_integers = _binary(E.Add)


def _logical(node: type[E.PrimExpr], intrinsic: str) -> Reader:
    """And, or: of bools a node, of integers an intrinsic."""

    def read(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
        a, b = reader.operands(op, hint)
        if a.dtype == "bool" or a.dtype.startswith("boolx"):
            return raw(node, a.dtype, a=a, b=b)
        return raw(E.Call, a.dtype, op=intrinsic, args=(a, b))

    return read


def _xor(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    a, b = reader.operands(op, hint)
    ones = b.value if isinstance(b, E.Broadcast) else b
    if isinstance(ones, E.IntImm):
        if ones.dtype == "bool" and ones.value:
            return raw(E.Not, a.dtype, a=a)
        if ones.value in (-1, (1 << _width(ones.dtype)) - 1):
            return raw(E.Call, a.dtype, op="bitwise_not", args=(a,))
    return raw(E.Call, a.dtype, op="bitwise_xor", args=(a, b))


def _subtract(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """`a - a // b * b` is a remainder."""
    a, b = reader.operands(op, hint)
    if isinstance(b, E.Mul) and isinstance(b.a, E.FloorDiv):
        product = op.operands[1].owner  # an affine.apply may be all of it
        quotient = product.operands[0].owner if product.name == "arith.muli" else op
        if list(quotient.operands) == [op.operands[0], product.operands[-1]]:
            return raw(E.FloorMod, a.dtype, a=a, b=b.b)
    return raw(E.Sub, "int64" if "int64" in (a.dtype, b.dtype) else a.dtype, a=a, b=b)


def _remainder(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    a, b = reader.operands(op, hint)
    # Of indices it is emitted where neither side can be negative.
    node = E.FloorMod if isinstance(op.results[0].type, ir.IndexType) else E.Mod
    return raw(node, a.dtype, a=a, b=b)


def _negate(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    value = reader.read(op.operands[0], hint)
    return raw(E.Mul, value.dtype, a=value, b=E.FloatImm(E.scalar_dtype(value.dtype), -1.0))


def _divide(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    argument = _sigmoid_argument(op)
    if argument is not None:
        value = reader.read(argument)
        return raw(E.Call, value.dtype, op="sigmoid", args=(value,))
    return _binary(E.Div)(reader, op, hint)


def _sigmoid_argument(op: ir.Operation) -> ir.Value | None:
    """x of `1 / (1 + exp(-x))` as the intrinsic is emitted."""
    one, denominator = op.operands
    total = denominator.owner
    if isinstance(total, ir.Block) or total.name != "arith.addf":
        return None
    exponential = total.operands[1].owner
    if isinstance(exponential, ir.Block) or exponential.name != "math.exp":
        return None
    negated = exponential.operands[0].owner
    if isinstance(negated, ir.Block) or negated.name != "arith.negf":
        return None
    if total.operands[0] != one or not is_constant(one):
        return None
    return negated.operands[0]


_INTEGER_PREDICATES = {
    "eq": E.EQ, "ne": E.NE, "slt": E.LT, "sle": E.LE, "sgt": E.GT, "sge": E.GE,
    "ult": E.LT, "ule": E.LE, "ugt": E.GT, "uge": E.GE,
}  # fmt: skip
_FLOAT_PREDICATES = {
    "oeq": E.EQ, "une": E.NE, "olt": E.LT, "ole": E.LE, "ogt": E.GT, "oge": E.GE,
}  # fmt: skip
# Unordered comparisons are the negations of ordered ones.
_NEGATED = {"one": "oeq", "ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt", "ueq": "one"}


def _bools(dtype: str) -> str:
    lanes = E.lanes_of(dtype)
    return "bool" if lanes == 1 else f"boolx{lanes}"


def _predicate(op: ir.Operation, enum: Any) -> str:
    number = ir.IntegerAttr(op.attributes["predicate"]).value
    return enum(number).name.lower()


def _compare_integers(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    predicate = _predicate(op, arith.CmpIPredicate)
    a, b = reader.operands(op, _unsigned(op.operands[0]) if predicate[0] == "u" else None)
    node = _INTEGER_PREDICATES[predicate]
    if node is E.NE and isinstance(b, E.IntImm) and b.value == 0 and _is_truth_test(op):
        return raw(E.Cast, _bools(a.dtype), value=a)
    return raw(node, _bools(a.dtype), a=a, b=b)


def _is_truth_test(op: ir.Operation) -> bool:
    """A conversion to bool is emitted as `x != 0`."""
    return not isinstance(op.operands[0].type, ir.IndexType)


def _compare_floats(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    a, b = reader.operands(op, None)
    predicate = _predicate(op, arith.CmpFPredicate)
    dtype = _bools(a.dtype)
    if predicate == "uno" and op.operands[0] == op.operands[1]:
        return raw(E.Call, dtype, op="isnan", args=(a,))
    node = _FLOAT_PREDICATES.get(predicate)
    if node is not None:
        return raw(node, dtype, a=a, b=b)
    opposite = _NEGATED.get(predicate)
    if opposite in _FLOAT_PREDICATES:
        return raw(E.Not, dtype, a=raw(_FLOAT_PREDICATES[opposite], dtype, a=a, b=b))
    raise Error(f"a comparison with predicate '{predicate}' has no TVMScript spelling")


def _cast(
    unsigned: bool = False, unsigned_source: bool = False, any_source: bool = False
) -> Reader:
    def read(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
        source = op.operands[0]
        value = reader.read(source, _unsigned(source) if unsigned_source else None)
        as_it_is = unsigned_source or any_source
        if not as_it_is and dtypes.is_unsigned(E.scalar_dtype(value.dtype)):
            value = raw(E.Cast, value.dtype.removeprefix("u"), value=value)  # the same bits
        target = natural_dtype(op.results[0].type)
        scalar = E.scalar_dtype(target)
        if hint and dtypes.is_integer(E.scalar_dtype(hint)) and dtypes.is_integer(scalar):
            same = _width(E.scalar_dtype(hint)) == _width(scalar)
            target = hint if same else target
        elif unsigned:
            target = f"u{target}"
        return raw(E.Cast, target, value=value)

    return read


def _select(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    condition = reader.read(op.operands[0])
    a, b = reader.alike(list(op.operands)[1:], hint)
    return raw(E.Select, a.dtype, condition=condition, true_value=a, false_value=b)


def _intrinsic(name: str, unsigned: bool = False) -> Reader:
    def read(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
        args = tuple(reader.operands(op, _unsigned(op.operands[0]) if unsigned else hint))
        return raw(E.Call, args[0].dtype, op=name, args=args)

    return read


def _bitcast(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    value = reader.read(op.operands[0])
    dtype = natural_dtype(op.results[0].type)
    if hint and dtypes.is_integer(E.scalar_dtype(hint)) and hint == f"u{dtype}":
        dtype = hint
    return raw(E.Call, dtype, op="reinterpret", args=(value,))


# -- memory, branches, calls ----------------------------------------------------------------------


def _load(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    buffer = reader.buffer(op.operands[0])
    indices = tuple(reader.read(v, buffer.index_dtype) for v in list(op.operands)[1:])
    return raw(E.BufferLoad, buffer.dtype, buffer=buffer, indices=indices)


def _dimension(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    axis = reader.read(op.operands[1])
    assert isinstance(axis, E.IntImm)
    return reader.buffer(op.operands[0]).shape[axis.value]


def _if_then_else(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    condition = reader.read(op.operands[0])
    yields = [list(region.blocks[0].operations)[-1].operation for region in op.regions]
    values = [y.operands[0] for y in yields]
    sides = reader.alike(values, hint)
    return raw(E.Call, sides[0].dtype, op="if_then_else", args=(condition, sides[0], sides[1]))


_CALLS = {
    "extern": "call_extern",
    "pure_extern": "call_pure_extern",
    "packed": "call_packed",
    "function": "call_function",
}


def read_call(reader: ExprReader, op: ir.Operation, hint: str | None = None) -> E.Call:
    """A `tir.call` as an expression."""
    kind = ir.StringAttr(op.attributes["kind"]).value
    callee = ir.StringAttr(op.attributes["callee"]).value
    operands = iter(list(op.operands))
    args: list[E.PrimExpr] = []
    for literal in ir.ArrayAttr(op.attributes["literals"]):
        if isinstance(literal, ir.StringAttr):
            args.append(E.StringImm(literal.value))
            continue
        value = next(operands)
        known = reader.buffers.get(value)
        args.append(reader.read(value) if known is None else E.BufferRef(known))
    dtype = natural_dtype(op.results[0].type) if len(op.results) else "void"
    if "dtype" in op.attributes:
        dtype = ir.StringAttr(op.attributes["dtype"]).value
    name = _CALLS.get(kind, callee)
    arguments = tuple(args) if kind == "intrinsic" else (E.StringImm(callee), *args)
    return raw(E.Call, dtype, op=name, args=arguments)


_MATH = {
    name: name
    for name in (
        "acos acosh asin asinh atan atanh atan2 ceil copysign cos cosh erf exp exp2 floor log "
        "log10 log1p log2 round rsqrt sin sinh sqrt tan tanh trunc"
    ).split()
} | {
    "roundeven": "nearbyint",
    "ctpop": "popcount",
    "ctlz": "clz",
    "absf": "fabs",
    "absi": "fabs",
    "powf": "pow",
    "ipowi": "pow",
}

READERS: dict[str, Reader] = {
    "arith.constant": _constant,
    "affine.apply": _apply,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "arith.addf": _binary(E.Add),
    "arith.addi": add_integers,
    **{f"arith.{op}": _binary(E.Mul) for op in ("mulf", "muli")},
    "arith.subf": _binary(E.Sub),
    "arith.subi": _subtract,
    "arith.divf": _divide,
    "arith.divsi": _binary(E.Div),
    "arith.divui": _binary(E.FloorDiv, unsigned=True),
    "arith.floordivsi": _binary(E.FloorDiv),
    "arith.remsi": _remainder,
    "arith.remui": _binary(E.FloorMod, unsigned=True),
    "arith.remf": _intrinsic("fmod"),
    "arith.negf": _negate,
    **{f"arith.{op}": _binary(E.Min) for op in ("minimumf", "minnumf", "minsi")},
    **{f"arith.{op}": _binary(E.Max) for op in ("maximumf", "maxnumf", "maxsi")},
    "arith.minui": _binary(E.Min, unsigned=True),
    "arith.maxui": _binary(E.Max, unsigned=True),
    "arith.andi": _logical(E.And, "bitwise_and"),
    "arith.ori": _logical(E.Or, "bitwise_or"),
    "arith.xori": _xor,
    "arith.shli": _intrinsic("shift_left"),
    "arith.shrsi": _intrinsic("shift_right"),
    "arith.shrui": _intrinsic("shift_right", unsigned=True),
    "arith.cmpi": _compare_integers,
    "arith.cmpf": _compare_floats,
    "arith.select": _select,
    "arith.bitcast": _bitcast,
    **{f"arith.{op}": _cast() for op in "extf truncf extsi sitofp fptosi".split()},
    "arith.trunci": _cast(any_source=True),
    **{f"arith.{op}": _cast(unsigned_source=True) for op in ("extui", "uitofp")},
    "arith.fptoui": _cast(unsigned=True),
    **{f"math.{op}": _intrinsic(name) for op, name in _MATH.items()},
    "memref.load": _load,
    "memref.dim": _dimension,
    "scf.if": _if_then_else,
    "tir.call": read_call,
}
"""Operation -> how to read it."""

__all__ = [
    "READERS",
    "ExprReader",
    "add_integers",
    "is_constant",
    "natural_dtype",
    "raw",
    "read_call",
]
