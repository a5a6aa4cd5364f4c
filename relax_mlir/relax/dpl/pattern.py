"""Patterns of dataflow: what an expression may look like (TVM's `relax.dpl.pattern`).

A pattern is a small immutable tree; the same pattern object used twice stands for the same
expression.  `matcher.py` finds what it matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.relax.expr import Expr, Var


class DFPattern:
    """Base of patterns."""

    def __init__(self) -> None:
        _register(self)

    def children(self) -> tuple[DFPattern, ...]:
        """The patterns this one is made of."""
        return ()

    def __call__(self, *args: Any, varg_default_wildcard: bool = False) -> CallPattern:
        """A call of what this pattern matches.  Without arguments given and with
        `varg_default_wildcard`, any arguments."""
        return CallPattern(self, list(args), varg_default_wildcard)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("relax.divide")(self, other)

    def __xor__(self, other: Any) -> PatternSeq:
        """`a ^ b`: b uses a, and others may."""
        return PatternSeq([self]) ^ other

    def __rshift__(self, other: Any) -> PatternSeq:
        """`a >> b`: only b uses a."""
        return PatternSeq([self]) >> other

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """The same with these attributes: of a call, or of a function."""
        return AttrPattern(self, attrs)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        return ShapePattern(self, shape)

    def has_struct_info(self, struct_info: Any) -> TypePattern:
        return TypePattern(self, struct_info)

    has_type = has_ty = has_struct_info

    def optional(self, option: Callable[[DFPattern], DFPattern]) -> OrPattern:
        """What this matches, or what `option` makes of it: `conv.optional(lambda x: bias(x))`."""
        return option(self) | self

    def used_by(self, other: Any, index: int = -1) -> PatternSeq:
        """As `^`; `index` says as which argument."""
        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: Any, index: int = -1) -> PatternSeq:
        """As `>>`; `index` says as which argument."""
        return PatternSeq([self]).only_used_by(other, index)

    def fork_to(self, *items: DFPattern) -> None:
        """All of `items` use this."""
        for item in items:
            self.used_by(item)

    def same_shape_as(self, *args: DFPattern) -> SameShapeConstraint:
        """In the current PatternContext: these have one shape."""
        return SameShapeConstraint(self, *args)

    def match(self, expr: Expr, var2val: Mapping[Var, Expr] | None = None) -> bool:
        """Whether an expression matches; `var2val` lets variables stand for their values."""
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: Expr, var2val: Mapping[Var, Expr] | None = None
    ) -> dict[DFPattern, Expr] | None:
        """What each part of the pattern matches, or None."""
        from relax_mlir.relax.dpl.matcher import extract_matched_expr

        return extract_matched_expr(self, expr, var2val)

    def dup(self) -> DFPattern:
        """A pattern like this that may match something else."""
        import copy

        made = copy.copy(self)
        _register(made)
        return made

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self.children()))
        return f"{type(self).__name__}({parts})"


def _register(item: Any) -> None:
    from relax_mlir.relax.dpl.context import PatternContext

    current = PatternContext.current()
    if current is not None and isinstance(item, DFPattern):
        current.add_pattern(item)


class ExprPattern(DFPattern):
    """Exactly an operator, or an expression equal to the given one."""

    def __init__(self, expr: Any):
        self.expr = expr
        super().__init__()

    def __repr__(self) -> str:
        return f"ExprPattern({self.expr})"


class VarPattern(DFPattern):
    """A variable, of that name unless it is empty."""

    def __init__(self, name_hint: str = ""):
        self.name = name_hint
        super().__init__()


class DataflowVarPattern(VarPattern):
    """A variable of a dataflow block."""


class GlobalVarPattern(VarPattern):
    """A function of the module."""


class ExternFuncPattern(DFPattern):
    """A registered function, of that name unless it is empty."""

    def __init__(self, global_symbol: str = ""):
        self.global_symbol = global_symbol
        super().__init__()


class ConstantPattern(DFPattern):
    """A constant."""


class WildcardPattern(DFPattern):
    """Anything."""

    def redirect_to(self, pattern: DFPattern) -> None:
        """Replaced by a pattern made later.  Refused: patterns are immutable."""
        raise TypeError("a wildcard cannot be redirected: build the inner pattern first")


class CallPattern(DFPattern):
    """A call of what `op` matches on arguments that match, or on any (`args` None)."""

    def __init__(
        self,
        op: DFPattern,
        args: Sequence[DFPattern] | None,
        varg_default_wildcard: bool = False,
        add_constraint: bool = True,
    ):
        self.op = op
        self.args = None if args is None else tuple(args)
        self.varg_default_wildcard = varg_default_wildcard
        super().__init__()

    def children(self) -> tuple[DFPattern, ...]:
        return (self.op, *(self.args or ()))


class TuplePattern(DFPattern):
    """A tuple of fields that match, in order."""

    def __init__(self, fields: Sequence[DFPattern]):
        self.fields = tuple(fields)
        super().__init__()

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        return is_tuple_get_item(self, index)

    def children(self) -> tuple[DFPattern, ...]:
        return self.fields


class UnorderedTuplePattern(TuplePattern):
    """A tuple of fields that match in some order."""


class TupleGetItemPattern(DFPattern):
    """A field of a tuple; any one when `index` is None."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None):
        self.tuple = tuple_value
        self.index = index
        super().__init__()

    def children(self) -> tuple[DFPattern, ...]:
        return (self.tuple,)


class OrPattern(DFPattern):
    """Either; the left one is tried first."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left, self.right = left, right
        super().__init__()

    def children(self) -> tuple[DFPattern, ...]:
        return (self.left, self.right)


class AndPattern(OrPattern):
    """Both."""


class NotPattern(DFPattern):
    """What does not match."""

    def __init__(self, to_reject: DFPattern):
        self.reject = to_reject
        super().__init__()

    def children(self) -> tuple[DFPattern, ...]:
        return (self.reject,)


class _Constrained(DFPattern):
    """Base of patterns that ask more of what another one matches."""

    def __init__(self, pattern: DFPattern):
        self.pattern = pattern
        super().__init__()

    def children(self) -> tuple[DFPattern, ...]:
        return (self.pattern,)


class AttrPattern(_Constrained):
    """With these attributes."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]):
        self.attrs = dict(attrs)
        super().__init__(pattern)


class DataTypePattern(_Constrained):
    """A tensor of this dtype."""

    def __init__(self, pattern: DFPattern, dtype: str):
        self.dtype = dtype
        super().__init__(pattern)


class ShapePattern(_Constrained):
    """A tensor of this shape."""

    def __init__(self, pattern: DFPattern, shape: Sequence[Any]):
        self.shape = list(shape)
        super().__init__(pattern)


class TypePattern(_Constrained):
    """A value whose type is this one or more precise."""

    def __init__(self, pattern: DFPattern, struct_info: Any):
        self.struct_info = struct_info
        super().__init__(pattern)


class PrimArrPattern(DFPattern):
    """A shape of these dimensions."""

    def __init__(self, shape: Sequence[Any]):
        self.shape = list(shape)
        super().__init__()


class FunctionPattern(DFPattern):
    """A Relax function whose parameters and result match."""

    def __init__(self, params: Sequence[DFPattern], body: DFPattern):
        self.params, self.body = tuple(params), body
        super().__init__()

    def children(self) -> tuple[DFPattern, ...]:
        return (*self.params, self.body)


class DFConstraint:
    """Base of constraints between what patterns of a PatternContext match."""

    def __init__(self) -> None:
        from relax_mlir.relax.dpl.context import PatternContext

        current = PatternContext.current()
        if current is not None:
            current.add_constraint(self)


class SameShapeConstraint(DFConstraint):
    """Tensors of one shape."""

    def __init__(self, *args: DFPattern):
        self.args = args
        super().__init__()


class PatternSeq:
    """A chain of patterns, each used by the next; made by `^` and `>>`."""

    def __init__(self, patterns: Sequence[DFPattern], only_use: bool = False):
        self.patterns = list(patterns)
        for left, right in zip(self.patterns, self.patterns[1:], strict=False):
            _connect(left, right, -1, only_use)

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def used_by(self, other: Any, index: int = -1) -> PatternSeq:
        return self._join(other, index, False)

    def only_used_by(self, other: Any, index: int = -1) -> PatternSeq:
        return self._join(other, index, True)

    def _join(self, other: Any, index: int, only: bool) -> PatternSeq:
        behind = other if isinstance(other, PatternSeq) else PatternSeq([other])
        _connect(self.patterns[-1], behind.patterns[0], index, only)
        joined = PatternSeq([])
        joined.patterns = [*self.patterns, *behind.patterns]
        return joined

    __xor__ = used_by
    __rshift__ = only_used_by

    def dup(self) -> PatternSeq:
        """A chain like this of new patterns; its uses are those of `^`."""
        return PatternSeq([pattern.dup() for pattern in self.patterns])


def _connect(left: DFPattern, right: DFPattern, index: int, only: bool) -> None:
    from relax_mlir.relax.dpl.context import PatternContext

    current = PatternContext.current()
    if current is None:
        raise ValueError("`^` and `>>` are used in a `with PatternContext() as ctx:`")
    current.add_edge(left, right, index, only)


# -- TVM's functions --------------------------------------------------------------------------


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_op(op_name: str) -> ExprPattern:
    """An operator by name, `relax.add`; call it with patterns of the arguments."""
    from relax_mlir.relax.expr import Op

    return ExprPattern(Op.get(op_name))


def is_expr(expr: Any) -> ExprPattern:
    """An expression equal to this one."""
    return ExprPattern(expr)


def is_var(name: str = "") -> VarPattern:
    """A variable."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """A variable of a dataflow block."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """A function of the module."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_tuple(fields: Sequence[DFPattern], unordered: bool = False) -> TuplePattern:
    """A tuple of these fields."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[Any]) -> PrimArrPattern:
    """A shape value."""
    return PrimArrPattern(shape)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Anything (or what `pattern` matches) of a dtype."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Anything (or what `pattern` matches) with these attributes."""
    return AttrPattern(pattern or wildcard(), attrs)


def reject(pattern: DFPattern) -> NotPattern:
    """What does not match."""
    return ~pattern


def _fields(args: Any) -> DFPattern:
    if args is None:
        return wildcard()
    return TuplePattern(args) if isinstance(args, (list, tuple)) else args


def is_call_tir(func_name: str, args: Any = None) -> CallPattern:
    """`R.call_tir(cls.func_name, args)`; `args` is a list of patterns, or None for any."""
    return is_op("relax.call_tir")(
        GlobalVarPattern(func_name), _fields(args), varg_default_wildcard=True
    )


def is_call_dps_packed(func_name: str, args: Any = None) -> CallPattern:
    """`R.call_dps_packed(func_name, args)`."""
    return is_op("relax.call_dps_packed")(
        ExternFuncPattern(func_name), _fields(args), varg_default_wildcard=True
    )


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """`R.call_packed(func_name, *args)`; any arguments when `args` is None."""
    callee = ExternFuncPattern(func_name)
    return CallPattern(callee, [], True) if args is None else callee(*args)


_ACTIVATIONS = frozenset(("relax.nn.relu", "relax.nn.gelu", "relax.nn.silu", "relax.nn.gelu_tanh"))


def make_fused_bias_activation_pattern(
    op_name: str,
    with_bias: bool = False,
    activation: str | None = None,
    allow_reshape: bool = False,
) -> DFPattern:
    """An operator of two operands, then perhaps a bias, then perhaps an activation.

    Raises ValueError for an operator that is no activation.
    """
    out: DFPattern = is_op(op_name)(wildcard(), wildcard())
    if allow_reshape:
        out = is_op("relax.reshape")(out, wildcard()) | out
    if with_bias:
        out = is_op("relax.add")(out, wildcard())
    if activation:
        if activation not in _ACTIVATIONS:
            raise ValueError(f"'{activation}' is none of {', '.join(sorted(_ACTIVATIONS))}")
        out = is_op(activation)(out)
    return out
