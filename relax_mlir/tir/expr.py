"""Scalar expressions of TensorIR, as immutable trees with TVM's class names.

Expressions live only while a function is written (by te, topi, the TVMScript parser or the
builder); `PrimFuncBuilder` turns them into MLIR.  Python operators build trees with the type
promotion and constant folding of TVM's operators (`operators.py`).  `==` builds an `EQ`; its truth
value is structural equality, so that lists of expressions compare as expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error, Span
from relax_mlir.tir.expr_op import ExprOp, operator_functions
from relax_mlir.tir.lanes import canonical_dtype, lanes_of, scalar_dtype

if TYPE_CHECKING:
    from relax_mlir.tir.buffer import Buffer

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BinaryExpr",
    "Broadcast",
    "BufferLoad",
    "BufferRef",
    "Call",
    "Cast",
    "CommReducer",
    "CompareExpr",
    "Div",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "IterVar",
    "Let",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimExpr",
    "ProducerLoad",
    "Ramp",
    "Range",
    "Reduce",
    "Select",
    "Shuffle",
    "SizeVar",
    "StringImm",
    "Sub",
    "Var",
    "as_expr",
    "canonical_dtype",
    "children",
    "lanes_of",
    "post_order",
    "scalar_dtype",
    "structural_key",
    "substitute",
    "transform",
]  # fmt: skip


class PrimExpr(ExprOp):
    """Base of expressions.  `dtype` is TVM's dtype name; `span` the source place, when known."""

    fields: tuple[str, ...] = ()
    """The names of the sub-expressions, in order; a field may hold a tuple of them."""

    dtype: str
    span: Span | None = None

    def same_as(self, other: object) -> bool:
        """Identity of nodes."""
        return self is other

    @property
    def ty(self) -> str:
        return self.dtype

    def __str__(self) -> str:
        from relax_mlir.tir.expr_text import expr_text

        return expr_text(self)

    __repr__ = __str__


class Var(PrimExpr):
    """A variable; two variables are the same only if they are one object."""

    def __init__(self, name: str, dtype: object = "int32", span: Span | None = None):
        self.name = name
        self.dtype = canonical_dtype(dtype)
        self.span = span

    @property
    def name_hint(self) -> str:
        return self.name


class SizeVar(Var):
    """A variable that stands for a size, hence is not negative."""


class Range:
    """`[min, min + extent)`."""

    def __init__(self, begin: Any, end: Any = None):
        self.min = as_expr(0 if end is None else begin)
        self.extent = as_expr(begin if end is None else operator_functions().subtract(end, begin))

    @classmethod
    def from_min_extent(cls, min_value: Any, extent: Any) -> Range:
        made = cls(0)
        made.min, made.extent = as_expr(min_value), as_expr(extent)
        return made

    def __repr__(self) -> str:
        return f"T.Range({self.min}, {operator_functions().add(self.min, self.extent)})"


class IterVar(ExprOp):
    """An iteration variable: its domain, variable, kind and, if bound, its thread."""

    DataPar, ThreadIndex, CommReduce, Ordered, Opaque = 0, 1, 2, 3, 4
    Unrolled, Vectorized, Parallelized, Tensorized = 5, 6, 7, 8

    def __init__(self, dom: Range | None, var: Var | str, iter_type: int, thread_tag: str = ""):
        self.dom = dom
        self.var = Var(var) if isinstance(var, str) else var
        self.iter_type = iter_type
        self.thread_tag = thread_tag

    @property
    def dtype(self) -> str:
        return self.var.dtype

    def asobject(self) -> Var:
        return self.var

    def __repr__(self) -> str:
        return f"T.iter_var({self.var.name}, {self.dom})"


class IntImm(PrimExpr):
    """An integer (or bool) constant."""

    def __init__(self, dtype: object, value: int, span: Span | None = None):
        self.dtype = canonical_dtype(dtype)
        self.value = int(value)
        self.span = span

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __bool__(self) -> bool:
        return self.value != 0


class FloatImm(PrimExpr):
    """A floating-point constant."""

    def __init__(self, dtype: object, value: float, span: Span | None = None):
        self.dtype = canonical_dtype(dtype)
        self.value = float(value)
        self.span = span

    def __float__(self) -> float:
        return self.value


class StringImm(PrimExpr):
    """A string constant, an argument of calls."""

    def __init__(self, value: str, span: Span | None = None):
        self.dtype = "handle"
        self.value = value
        self.span = span


class Cast(PrimExpr):
    """`value` converted to `dtype`."""

    fields = ("value",)

    def __init__(self, dtype: object, value: Any, span: Span | None = None):
        self.dtype = canonical_dtype(dtype)
        self.value = as_expr(value)
        self.span = span


class BinaryExpr(PrimExpr):
    """An operation on two operands of one dtype, which is the result's."""

    fields = ("a", "b")

    def __init__(self, a: Any, b: Any, span: Span | None = None):
        self.a, self.b = as_expr(a), as_expr(b)
        if self.a.dtype != self.b.dtype:
            raise Error(
                f"{type(self).__name__}: operands of one dtype expected, "
                f"given {self.a.dtype} and {self.b.dtype}",
                span=span,
            )
        self.dtype = self.result_dtype(self.a.dtype)
        self.span = span

    @staticmethod
    def result_dtype(dtype: str) -> str:
        return dtype


class Add(BinaryExpr):
    """`a + b`."""


class Sub(BinaryExpr):
    """`a - b`."""


class Mul(BinaryExpr):
    """`a * b`."""


class Div(BinaryExpr):
    """`a / b`; truncates towards zero on integers, as C does."""


class Mod(BinaryExpr):
    """The remainder of truncated division."""


class FloorDiv(BinaryExpr):
    """`a // b`."""


class FloorMod(BinaryExpr):
    """`a % b`, with the sign of `b`."""


class Min(BinaryExpr):
    """The smaller operand; NaN if either is."""


class Max(BinaryExpr):
    """The larger operand; NaN if either is."""


class CompareExpr(BinaryExpr):
    """A comparison; the result is bool (with the operands' lanes)."""

    @staticmethod
    def result_dtype(dtype: str) -> str:
        lanes = lanes_of(dtype)
        return "bool" if lanes == 1 else f"boolx{lanes}"


class EQ(CompareExpr):
    """`a == b`.  Its truth value is structural equality of the two sides."""

    def __bool__(self) -> bool:
        return structural_key(self.a) == structural_key(self.b)


class NE(CompareExpr):
    """`a != b`.  Its truth value is structural difference of the two sides."""

    def __bool__(self) -> bool:
        return structural_key(self.a) != structural_key(self.b)


class LT(CompareExpr):
    """`a < b`."""


class LE(CompareExpr):
    """`a <= b`."""


class GT(CompareExpr):
    """`a > b`."""


class GE(CompareExpr):
    """`a >= b`."""


class And(BinaryExpr):
    """`a and b`, of bools."""


class Or(BinaryExpr):
    """`a or b`, of bools."""


class Not(PrimExpr):
    """`not a`, of a bool."""

    fields = ("a",)

    def __init__(self, a: Any, span: Span | None = None):
        self.a = as_expr(a)
        self.dtype = self.a.dtype
        self.span = span


class Select(PrimExpr):
    """`true_value if condition else false_value`; both may be evaluated."""

    fields = ("condition", "true_value", "false_value")

    def __init__(self, condition: Any, true_value: Any, false_value: Any, span: Span | None = None):
        self.condition = as_expr(condition)
        self.true_value, self.false_value = as_expr(true_value), as_expr(false_value)
        if self.true_value.dtype != self.false_value.dtype:
            raise Error(
                "Select: values of one dtype expected, given "
                f"{self.true_value.dtype} and {self.false_value.dtype}",
                span=span,
            )
        self.dtype = self.true_value.dtype
        self.span = span


class BufferLoad(PrimExpr):
    """An element of a buffer (several, if the last index is a vector)."""

    fields = ("indices",)

    def __init__(self, buffer: Buffer, indices: Sequence[Any], span: Span | None = None):
        self.buffer = buffer
        self.indices = tuple(as_expr(i) for i in indices)
        if len(self.indices) != len(buffer.shape):
            raise Error(
                f"buffer {buffer.name} has {len(buffer.shape)} dimensions, "
                f"{len(self.indices)} indices given",
                span=span,
            )
        lanes = lanes_of(self.indices[-1].dtype) if self.indices else 1
        self.dtype = buffer.dtype if lanes == 1 else f"{buffer.dtype}x{lanes}"
        self.span = span


class BufferRef(PrimExpr):
    """A whole buffer, as an argument of a call."""

    def __init__(self, buffer: Buffer):
        self.buffer = buffer
        self.dtype = "handle"


class ProducerLoad(PrimExpr):
    """An element of a te tensor."""

    fields = ("indices",)

    def __init__(self, producer: Any, indices: Sequence[Any], span: Span | None = None):
        self.producer = producer
        self.indices = tuple(as_expr(i) for i in indices)
        self.dtype = producer.dtype
        self.span = span


class Call(PrimExpr):
    """A call of the intrinsic or extern function named `op` (without TVM's `tir.` prefix, or as an
    `ir.Op`).  TVM 0.27 gives the operator first: `Call(op, args, ret_ty="int32")`."""

    fields = ("args",)

    def __init__(
        self, dtype: Any, op: Any, args: Any = None, span: Span | None = None, ret_ty: Any = None
    ):
        if args is None:
            dtype, op, args = "" if ret_ty is None else ret_ty, dtype, op
        self.dtype = canonical_dtype(dtype)
        self.op = str(getattr(op, "name", op)).removeprefix("tir.").removeprefix("tirx.")
        self.args = tuple(as_expr(a) for a in args or ())
        self.span = span


class Let(PrimExpr):
    """`body` with `var` standing for `value`."""

    fields = ("value", "body")

    def __init__(self, var: Var, value: Any, body: Any, span: Span | None = None):
        self.var = var
        self.value, self.body = as_expr(value), as_expr(body)
        self.dtype = self.body.dtype
        self.span = span


class Ramp(PrimExpr):
    """The vector `base, base + stride, ...` of `lanes` elements."""

    fields = ("base", "stride")

    def __init__(self, base: Any, stride: Any, lanes: Any, span: Span | None = None):
        self.base, self.stride = as_expr(base), as_expr(stride)
        self.lanes = operator_functions().as_lanes(lanes)
        self.dtype = f"{self.base.dtype}x{self.lanes}"
        self.span = span


class Broadcast(PrimExpr):
    """The vector of `lanes` times `value`."""

    fields = ("value",)

    def __init__(self, value: Any, lanes: Any, span: Span | None = None):
        self.value = as_expr(value)
        self.lanes = operator_functions().as_lanes(lanes)
        self.dtype = f"{self.value.dtype}x{self.lanes}"
        self.span = span


class Shuffle(PrimExpr):
    """Lanes of `vectors`, which are counted through all of them (a scalar is one lane); with one
    index the lane itself."""

    fields = ("vectors", "indices")

    def __init__(self, vectors: Sequence[Any], indices: Sequence[Any], span: Span | None = None):
        self.vectors = tuple(as_expr(v) for v in vectors)
        self.indices = tuple(as_expr(i) for i in indices)
        if not self.vectors or not self.indices:
            raise Error("Shuffle: at least one vector and one index expected", span=span)
        kinds = list(dict.fromkeys(scalar_dtype(v.dtype) for v in self.vectors))
        if len(kinds) > 1:
            message = f"Shuffle: vectors of one dtype expected, given {' and '.join(kinds)}"
            raise Error(message, span=span)
        many = f"x{len(self.indices)}" if len(self.indices) > 1 else ""
        self.dtype = kinds[0] + many
        self.span = span


class CommReducer:
    """An associative, commutative combiner of tuples, with its identity."""

    def __init__(
        self,
        lhs: Sequence[Var],
        rhs: Sequence[Var],
        result: Sequence[PrimExpr],
        identity_element: Sequence[PrimExpr],
    ):
        self.lhs, self.rhs = tuple(lhs), tuple(rhs)
        self.result = tuple(as_expr(r) for r in result)
        self.identity_element = tuple(as_expr(i) for i in identity_element)

    def combine(self, a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """The combination of two tuples of values."""
        values = dict(zip((*self.lhs, *self.rhs), (*a, *b), strict=True))
        return tuple(substitute(r, values) for r in self.result)


class Reduce(PrimExpr):
    """One value of a reduction over te reduce axes; only at the top of a compute's body."""

    fields = ("source", "condition", "init")

    def __init__(
        self,
        combiner: CommReducer,
        source: Sequence[Any],
        axis: Sequence[IterVar],
        condition: Any = None,
        value_index: int = 0,
        init: Sequence[Any] = (),
    ):
        self.combiner = combiner
        self.source = tuple(as_expr(s) for s in source)
        self.axis = tuple(axis)
        self.condition = as_expr(True if condition is None else condition)
        self.value_index = value_index
        self.init = tuple(as_expr(i) for i in init)
        self.dtype = self.source[value_index].dtype


def as_expr(value: Any, dtype: object | None = None) -> PrimExpr:
    """`value` as an expression: expressions stay, Python numbers and strings become constants.

    Without `dtype` an int is int32 (int64 if it does not fit), a float float32, as in TVM.
    """
    if isinstance(value, PrimExpr):
        return value
    if hasattr(value, "asobject"):
        return as_expr(value.asobject(), dtype)
    if isinstance(value, str):
        return StringImm(value)
    return operator_functions().const(value, dtype)


def children(expr: PrimExpr) -> Iterator[PrimExpr]:
    """The direct sub-expressions."""
    for name in expr.fields:
        value = getattr(expr, name)
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def post_order(expr: PrimExpr) -> Iterator[PrimExpr]:
    """Every sub-expression, operands before users, the expression itself last."""
    for child in children(expr):
        yield from post_order(child)
    yield expr


def transform(expr: PrimExpr, visit: Callable[[PrimExpr], PrimExpr | None]) -> PrimExpr:
    """Rebuild an expression: `visit` returns a replacement, or None to go on into the operands."""
    replacement = visit(expr)
    if replacement is not None:
        return replacement
    changed = False
    values: dict[str, Any] = {}
    for name in expr.fields:
        old = getattr(expr, name)
        if isinstance(old, tuple):
            new = tuple(transform(o, visit) for o in old)
            changed |= any(a is not b for a, b in zip(old, new, strict=True))
        else:
            new = transform(old, visit)
            changed |= new is not old
        values[name] = new
    return _rebuilt(expr, values) if changed else expr


def _rebuilt(expr: PrimExpr, values: dict[str, Any]) -> PrimExpr:
    folded = operator_functions().BINARY_FUNCTIONS.get(type(expr))
    if folded is not None:  # folds again, as TVM's substitution of constants does
        return folded(values["a"], values["b"])
    made = object.__new__(type(expr))
    made.__dict__.update(expr.__dict__)
    made.__dict__.update(values)
    return made


def substitute(expr: PrimExpr, values: Mapping[Var, Any]) -> PrimExpr:
    """Replace variables by expressions."""
    if not values:
        return expr

    def visit(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, Var):
            return as_expr(values[node]) if node in values else node
        return None

    return transform(expr, visit)


def structural_key(expr: Any) -> Any:
    """A hashable value that is equal for equal trees; variables and buffers count by identity."""
    if isinstance(expr, (IntImm, FloatImm, StringImm)):
        return (type(expr).__name__, expr.dtype, repr(expr.value))
    if isinstance(expr, Var):
        return ("Var", id(expr))
    if not isinstance(expr, PrimExpr):
        return structural_key(as_expr(expr))
    extra: tuple[Any, ...] = (expr.dtype,)
    if isinstance(expr, (BufferLoad, BufferRef)):
        extra += (id(expr.buffer),)
    elif isinstance(expr, ProducerLoad):
        extra += (id(expr.producer),)
    elif isinstance(expr, Call):
        extra += (expr.op,)
    elif isinstance(expr, Let):
        extra += (id(expr.var),)
    elif isinstance(expr, Reduce):
        extra += (id(expr.combiner), tuple(id(a) for a in expr.axis), expr.value_index)
    return (type(expr).__name__, *extra, *(structural_key(c) for c in children(expr)))
