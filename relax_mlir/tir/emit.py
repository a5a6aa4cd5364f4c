"""Scalar expressions as MLIR operations at the current insertion point.

Two views of an integer expression: `index` gives an `index` value, for subscripts, bounds and
bindings; `value` gives the dtype's own type (i32, i64), for data.  An expression over loop and
iteration variables and symbols is one `affine.apply` with a simplified map wherever it is affine.
What is not affine is `arith` on `index`; `a % b` with a symbolic `b` is then `arith.remsi` if
neither side can be negative, `a - a // b * b` otherwise.  A `Select` is `arith.select`,
`if_then_else` is `scf.if` with a result, a `Cast` the matching conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.tir.calls import CallOp
from relax_mlir.dialects.tir.pointers import AddressOfOp, BufferDataOp
from relax_mlir.errors import Error
from relax_mlir.mlir import affine, arith, dynamic, ir, memref, scf, vector
from relax_mlir.tir import expr as E
from relax_mlir.tir import math_ops
from relax_mlir.tir.affine_text import settle
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.lanes import Scalable, lanes_of_type, vector_type

_PREDICATES: dict[type[E.PrimExpr], str] = {
    E.EQ: "eq",
    E.NE: "ne",
    E.LT: "lt",
    E.LE: "le",
    E.GT: "gt",
    E.GE: "ge",
}
_EXTERN_KINDS = {
    "call_extern": "extern",
    "call_pure_extern": "pure_extern",
    "call_packed": "packed",
    "tvm_call_packed": "packed",
    "call_function": "function",
}
_AFFINE_DIVISIONS: dict[type[E.PrimExpr], Callable[..., ir.AffineExpr]] = {
    E.FloorDiv: ir.AffineExpr.get_floor_div,
    E.FloorMod: ir.AffineExpr.get_mod,
}
_STRUCTURE = (E.Add, E.Sub, E.Mul, E.FloorDiv, E.FloorMod, E.Min, E.Max)


Leaf = ir.Value | E.PrimExpr
"""What an affine map is over: an `index` value, or an expression that has yet to be computed."""


def type_of(dtype: str) -> ir.Type:
    """The type of values of a dtype: signless integers, i1 for bool, vectors for several lanes."""
    lanes = E.lanes_of(dtype)
    if lanes > 1:
        return vector_type(lanes, dtypes.storage(E.scalar_dtype(dtype)))
    return dtypes.storage(dtype)


class ExprEmitter:
    """Emits expressions; `values` and `buffers` say what variables and buffers are in MLIR.

    `resolve` is asked for variables that are not in `values` (symbolic sizes).
    """

    def __init__(self, resolve: Callable[[E.Var], ir.Value]):
        self.values: dict[E.Var, ir.Value] = {}
        self.buffers: dict[Buffer, ir.Value] = {}
        self.non_negative: set[E.Var] = set()
        self._resolve = resolve

    # -- entry points -----------------------------------------------------------------------

    def value(self, expr: E.PrimExpr) -> ir.Value:
        """The value of `expr` in the type of its dtype."""
        if self._is_index_expr(expr):
            result = self.index(expr)
            return arith.index_cast(type_of(expr.dtype), result)
        for kind, emit in _EMITTERS.items():
            if isinstance(expr, kind):
                return emit(self, expr)
        raise Error(f"a {type(expr).__name__} cannot be computed here: {expr}", span=expr.span)

    def index(self, expr: E.PrimExpr) -> ir.Value:
        """The value of an integer expression as an `index`.

        What is not affine in it is computed in the order in which the map names it, the order of
        the text that is printed from the map.
        """
        leaves: list[Leaf] = []
        form = self._affine(expr, leaves)
        form = settle(form, len(leaves))
        constant = _constant_of(form)
        if constant is not None:
            return arith.constant(ir.IndexType.get(), constant)
        form = form.maybe_downcast()
        if isinstance(form, ir.AffineDimExpr):
            return self._leaf(leaves[form.position])
        form, used = _compress(form, leaves)
        operands = [self._leaf(leaf) for leaf in used]
        return affine.AffineApplyOp(ir.AffineMap.get(len(used), 0, [form]), operands).result

    def _leaf(self, leaf: Leaf) -> ir.Value:
        return self._index_arith(leaf) if isinstance(leaf, E.PrimExpr) else leaf

    def mixed(self, expr: E.PrimExpr) -> int | ir.Value:
        """An int where the expression is constant, an `index` value otherwise."""
        if isinstance(expr, E.IntImm):
            return expr.value
        result = self.index(expr)
        owner = result.owner
        if isinstance(owner, ir.Operation | ir.OpView) and owner.name == "arith.constant":
            number = ir.IntegerAttr(owner.attributes["value"]).value
            owner.erase()
            return number
        return result

    def variable(self, var: E.Var) -> ir.Value:
        """The MLIR value of a variable.  Raises Error if it is not defined here."""
        found = self.values.get(var)
        return self._resolve(var) if found is None else found

    def buffer(self, buffer: Buffer) -> ir.Value:
        """The memref of a buffer.  Raises Error if it is not defined here."""
        if buffer not in self.buffers:
            raise Error(f"buffer {buffer.name} is not defined in this function")
        return self.buffers[buffer]

    def indices(self, expr: E.BufferLoad) -> list[ir.Value]:
        return [self.index(i) for i in expr.indices]

    def pointer(self, expr: E.PrimExpr) -> ir.Value:
        """The address that an expression of dtype handle stands for."""
        value = self.value(expr)
        if isinstance(value.type, ir.MemRefType):
            return BufferDataOp(value, type_of("handle")).result
        return value

    # -- indices ----------------------------------------------------------------------------

    def _is_index_expr(self, expr: E.PrimExpr) -> bool:
        """Whether all leaves are constants or `index` values, with at least one of the latter."""
        found = False

        def check(node: E.PrimExpr) -> bool:
            nonlocal found
            if isinstance(node, E.IntImm):
                return node.dtype != "bool"
            if isinstance(node, E.Var):
                is_index = isinstance(self.variable(node).type, ir.IndexType)
                found |= is_index
                return is_index
            if isinstance(node, E.Cast):
                return _is_integer(node.dtype) and check(node.value)
            return isinstance(node, _STRUCTURE) and all(check(c) for c in E.children(node))

        return _is_integer(expr.dtype) and check(expr) and found

    def _affine(self, expr: E.PrimExpr, leaves: list[Leaf]) -> ir.AffineExpr:
        """The affine form of `expr` over `leaves`, which grow by what is not affine in it."""
        if isinstance(expr, E.IntImm):
            return ir.AffineConstantExpr.get(expr.value)
        if isinstance(expr, E.Cast) and _is_integer(expr.dtype) and _is_integer(expr.value.dtype):
            return self._affine(expr.value, leaves)
        if isinstance(expr, E.Add):
            return self._affine(expr.a, leaves) + self._affine(expr.b, leaves)
        if isinstance(expr, E.Sub):
            return self._affine(expr.a, leaves) - self._affine(expr.b, leaves)
        if isinstance(expr, E.Mul):
            for operand, factor in ((expr.a, _as_int(expr.b)), (expr.b, _as_int(expr.a))):
                if factor is not None:
                    return self._affine(operand, leaves) * factor
        if isinstance(expr, (E.FloorDiv, E.FloorMod)):
            divisor = _as_int(expr.b)
            if divisor is not None and divisor > 0:
                divide = _AFFINE_DIVISIONS[type(expr)]
                return divide(self._affine(expr.a, leaves), ir.AffineConstantExpr.get(divisor))
        leaf: Leaf = expr
        if isinstance(expr, E.Var) and isinstance(self.variable(expr).type, ir.IndexType):
            leaf = self.variable(expr)
        return ir.AffineDimExpr.get(_position(leaf, leaves))

    def _index_arith(self, expr: E.PrimExpr) -> ir.Value:
        """The `index` value of an expression that is not affine at its top."""
        if isinstance(expr, E.Var) and isinstance(self.variable(expr).type, ir.IndexType):
            return self.variable(expr)
        if not _is_integer(expr.dtype):
            message = f"an index must be an integer, given {expr} of {expr.dtype}"
            raise Error(message, span=expr.span)
        choice = _index_choice(expr)
        if choice is not None:
            condition, *sides = choice
            return arith.select(self.value(condition), *(self.index(s) for s in sides))
        if isinstance(expr, (E.Mul, E.FloorDiv, E.FloorMod, E.Min, E.Max)):
            a, b = self.index(expr.a), self.index(expr.b)
            if isinstance(expr, E.FloorMod) and self._never_negative(expr):
                return arith.remsi(a, b)
            return math_ops.binary(type(expr).__name__, a, b, "int64")
        cast = arith.index_castui if dtypes.is_unsigned(expr.dtype) else arith.index_cast
        return cast(ir.IndexType.get(), self.value(expr))

    def _never_negative(self, expr: E.PrimExpr) -> bool:
        if isinstance(expr, E.IntImm):
            return expr.value >= 0
        if isinstance(expr, E.Var):
            return expr in self.non_negative or isinstance(expr, E.SizeVar)
        base, offset = _without_constants(expr)
        if base is not expr:  # `i + 1 - 1` is i, as it is printed
            return offset >= 0 and self._never_negative(base)
        if isinstance(expr, (E.Add, E.Mul, E.FloorDiv, E.FloorMod, E.Min, E.Max, E.Cast)):
            return all(self._never_negative(c) for c in E.children(expr))
        return False

    # -- values -----------------------------------------------------------------------------

    def emit_constant(self, expr: E.IntImm | E.FloatImm) -> ir.Value:
        if expr.dtype == "handle":
            address = self.emit_constant(E.IntImm("uint64", int(expr.value)))
            return math_ops.reinterpret(address, "handle")
        kind = type_of(expr.dtype)
        return arith.constant(kind, math_ops.constant_attribute(kind, expr.value))

    def emit_variable(self, expr: E.Var) -> ir.Value:
        value = self.variable(expr)
        if isinstance(value.type, ir.IndexType):
            return arith.index_cast(type_of(expr.dtype), value)
        return value

    def emit_cast(self, expr: E.Cast) -> ir.Value:
        value = self.value(expr.value)
        return math_ops.convert(value, expr.value.dtype, expr.dtype, type_of(expr.dtype))

    def emit_compare(self, expr: E.CompareExpr) -> ir.Value:
        predicate = _PREDICATES[type(expr)]
        sides = (expr.a, expr.b)
        constant_or_index = [isinstance(s, E.IntImm) or self._is_index_expr(s) for s in sides]
        if all(constant_or_index) and _is_integer(expr.a.dtype):
            return math_ops.compare(predicate, self.index(expr.a), self.index(expr.b), "int64")
        return math_ops.compare(predicate, self.value(expr.a), self.value(expr.b), expr.a.dtype)

    def emit_binary(self, expr: E.BinaryExpr) -> ir.Value:
        a, b = self.value(expr.a), self.value(expr.b)
        return math_ops.binary(type(expr).__name__, a, b, expr.dtype)

    def emit_not(self, expr: E.Not) -> ir.Value:
        value = self.value(expr.a)
        return arith.xori(value, math_ops.constant_like(value, 1))

    def emit_select(self, expr: E.Select) -> ir.Value:
        condition = self.value(expr.condition)
        return arith.select(condition, self.value(expr.true_value), self.value(expr.false_value))

    def emit_let(self, expr: E.Let) -> ir.Value:
        uses = sum(node is expr.var for node in E.post_order(expr.body))
        if uses == 1:  # computed where it is used, as text without the name has it
            return self.value(E.substitute(expr.body, {expr.var: expr.value}))
        self.values[expr.var] = self.value(expr.value)
        return self.value(expr.body)

    def emit_load(self, expr: E.BufferLoad) -> ir.Value:
        source = self.buffer(expr.buffer)
        if expr.indices and isinstance(expr.indices[-1], E.Ramp):
            return self._vector_load(expr, expr.indices[-1], source)
        return memref.load(source, self.indices(expr))

    def _vector_load(self, expr: E.BufferLoad, ramp: E.Ramp, source: ir.Value) -> ir.Value:
        if _as_int(ramp.stride) == 1:
            outer = [self.index(i) for i in expr.indices[:-1]]
            start = self.index(ramp.base)
            return vector.load(type_of(expr.dtype), source, [*outer, start])
        if isinstance(ramp.lanes, Scalable):
            everywhere = E.Broadcast(E.IntImm("bool", 1), ramp.lanes)
            return self._masked_load(expr, everywhere)
        loads = [memref.load(source, self.indices(lane)) for lane in lanes_of_access(expr)]
        return vector.from_elements(type_of(expr.dtype), loads)

    def _masked_load(self, load: E.BufferLoad, predicate: E.PrimExpr) -> ir.Value:
        memory, indices = self.buffer(load.buffer), self.vector_place(load)
        kind = type_of(load.dtype)
        zero = arith.constant(kind, math_ops.constant_attribute(kind, 0))
        steps = self.lane_steps(load)
        if steps is not None:
            return vector.gather(kind, memory, indices, steps, self.value(predicate), zero)
        return vector.maskedload(kind, memory, indices, self.value(predicate), zero)

    def vector_place(self, access: E.BufferLoad) -> list[ir.Value]:
        """The indices of the first lane of a vector access.  Raises Error for a scalar access."""
        *outer, ramp = access.indices
        if not isinstance(ramp, E.Ramp):
            raise Error(f"a predicate goes with a vector: {access}")
        return [*(self.index(i) for i in outer), self.index(ramp.base)]

    def lane_steps(self, access: E.BufferLoad) -> ir.Value | None:
        """How far the lanes are from the first one; None where they lie side by side."""
        ramp = access.indices[-1]
        assert isinstance(ramp, E.Ramp)
        stride = _as_int(ramp.stride)
        if stride == 1:
            return None
        if stride is None:
            raise Error(f"a vector access has a constant stride, not {ramp.stride}: {access}")
        kind = vector_type(ramp.lanes, ir.IntegerType.get_signless(32))
        if isinstance(ramp.lanes, Scalable):
            return scaled_step(kind, self.value(E.IntImm("int32", stride)))
        text = ", ".join(str(lane * stride) for lane in range(ramp.lanes))
        return arith.constant(kind, ir.Attribute.parse(f"dense<[{text}]> : {kind}"))

    def emit_ramp(self, expr: E.Ramp) -> ir.Value:
        if isinstance(expr.lanes, Scalable):
            kind = type_of(expr.dtype)
            base = vector.broadcast(kind, self.value(expr.base))
            return arith.addi(base, scaled_step(kind, self.value(expr.stride)))
        lanes = [self.value(expr.base + expr.stride * i) for i in range(expr.lanes)]
        return vector.from_elements(type_of(expr.dtype), lanes)

    def emit_broadcast(self, expr: E.Broadcast) -> ir.Value:
        return vector.broadcast(type_of(expr.dtype), self.value(expr.value))

    def emit_shuffle(self, expr: E.Shuffle) -> ir.Value:
        """`vector.extract` of a lane, `vector.shuffle` of one or two vectors; the lanes of more
        one by one."""
        vectors = [self.value(v) for v in expr.vectors]
        lanes = [E.lanes_of(v.dtype) for v in expr.vectors]
        places = [_as_int(i) for i in expr.indices]
        if len(vectors) == 1 and places == [None]:
            return vector.extract(vectors[0], [self.index(expr.indices[0])], [dynamic()])
        chosen = [p for p in places if p is not None and 0 <= p < sum(lanes)]
        if len(chosen) < len(places) or any(isinstance(n, Scalable) for n in lanes):
            raise Error(f"Shuffle: constant lanes of {sum(lanes)} expected: {expr}", span=expr.span)
        if len(vectors) < 3 and len(chosen) > 1 and min(lanes) > 1:
            return vector.shuffle(vectors[0], vectors[-1], chosen)
        taken = [_lane(vectors, lanes, p) for p in chosen]
        return vector.from_elements(type_of(expr.dtype), taken) if len(taken) > 1 else taken[0]

    def emit_call(self, expr: E.Call) -> ir.Value:
        if expr.op == "if_then_else":
            return self._if_then_else(expr)
        if expr.op == "reinterpret":
            return math_ops.reinterpret(self.value(expr.args[0]), expr.dtype)
        if expr.op == "address_of" and isinstance(expr.args[0], E.BufferLoad):
            return self._address(expr.args[0])
        if expr.op == "masked_load" and isinstance(expr.args[0], E.BufferLoad):
            return self._masked_load(expr.args[0], expr.args[1])
        emit = math_ops.EMITTERS.get(expr.op)
        if emit is None:
            result = self.call(expr)
            if result is None:
                raise Error(f"{expr} gives no value: say its dtype", span=expr.span)
            return result
        return emit([self.value(a) for a in expr.args], expr.args[0].dtype)

    def _if_then_else(self, expr: E.Call) -> ir.Value:
        """`scf.if`: only the taken side is evaluated, so that its loads stay in bounds."""
        condition, *sides = expr.args
        op = scf.IfOp(self.value(condition), [type_of(expr.dtype)], has_else=True)
        for block, side in zip((op.then_block, op.else_block), sides, strict=True):
            with ir.InsertionPoint(block):
                scf.yield_([self.value(side)])
        return op.results[0]

    def _address(self, place: E.BufferLoad) -> ir.Value:
        """The address of an element; of a vector, that of its first."""
        indices = list(place.indices)
        lanes = 0
        if indices and isinstance(indices[-1], E.Ramp):
            lanes = indices[-1].lanes
            indices[-1] = indices[-1].base
        memory = self.buffer(place.buffer)
        op = AddressOfOp(memory, [self.index(i) for i in indices], type_of("handle"))
        if isinstance(lanes, Scalable):
            op.operation.attributes["scalable"] = ir.UnitAttr.get()
        if lanes:
            op.operation.attributes["lanes"] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(64), int(lanes)
            )
        return op.result

    def call(self, expr: E.Call) -> ir.Value | None:
        """A call that stays one: extern, packed, or an intrinsic without counterpart in MLIR."""
        arguments = list(expr.args)
        kind = _EXTERN_KINDS.get(expr.op, "intrinsic")
        if expr.op == "tvm_call_packed" and not isinstance(expr.args[0], E.StringImm):
            kind = "intrinsic"
        callee = expr.op
        if kind != "intrinsic":
            first = arguments.pop(0) if arguments else None
            if not isinstance(first, E.StringImm):
                raise Error(f"{expr.op}: the function's name expected first", span=expr.span)
            callee = first.value
        literals: list[ir.Attribute] = []
        operands: list[ir.Value] = []
        buffer_dtypes = [a.buffer.dtype if isinstance(a, E.BufferRef) else "" for a in arguments]
        for argument in arguments:
            if isinstance(argument, E.StringImm):
                literals.append(ir.StringAttr.get(argument.value))
                continue
            literals.append(ir.UnitAttr.get())
            operands.append(self.value(argument))
        results = [] if expr.dtype in ("", "void") else [type_of(expr.dtype)]
        text = ir.StringAttr.get
        described = ir.Attribute(ir.ArrayAttr.get(literals))
        op = CallOp(text(kind), text(callee), described, operands, results)
        if any(buffer_dtypes):
            described = ir.ArrayAttr.get([text(dtype) for dtype in buffer_dtypes])
            op.operation.attributes["buffer_dtypes"] = described
        if results and E.scalar_dtype(expr.dtype).startswith("uint"):
            op.operation.attributes["dtype"] = text(expr.dtype)
        return op.operation.results[0] if results else None


def lanes_of_access(expr: E.BufferLoad) -> list[E.BufferLoad]:
    """The scalar accesses that a vector access stands for."""
    ramp = expr.indices[-1]
    assert isinstance(ramp, E.Ramp)
    return [
        E.BufferLoad(expr.buffer, [*expr.indices[:-1], ramp.base + ramp.stride * i])
        for i in range(ramp.lanes)
    ]


def scaled_step(kind: ir.Type, stride: ir.Value) -> ir.Value:
    """The scalable vector `0, stride, 2 * stride, ...`."""
    steps = vector.step(vector_type(lanes_of_type(kind), ir.IndexType.get()))
    return arith.muli(arith.index_cast(kind, steps), vector.broadcast(kind, stride))


def _lane(vectors: Sequence[ir.Value], lanes: Sequence[int], place: int) -> ir.Value:
    """The lane at a place in several vectors; scalars are vectors of one lane."""
    for one, count in zip(vectors, lanes, strict=True):
        if place < count:
            return one if count == 1 else vector.extract(one, [], [place])
        place -= count
    raise AssertionError("the place was checked")


def bind_name(value: ir.Value, name: str) -> None:
    """Give the operation that makes a value a name."""
    owner = value.owner
    if isinstance(owner, (ir.Operation, ir.OpView)):
        owner.location = name_location(name, owner.location)


def _without_constants(expr: E.PrimExpr) -> tuple[E.PrimExpr, int]:
    """`x` and the sum of the constants of `x + 3 - 1`."""
    offset = 0
    while isinstance(expr, (E.Add, E.Sub)) and isinstance(expr.b, E.IntImm):
        offset += expr.b.value if isinstance(expr, E.Add) else -expr.b.value
        expr = expr.a
    return expr, offset


def _index_choice(expr: E.PrimExpr) -> list[E.PrimExpr] | None:
    """Condition and values of a choice that may evaluate both sides: no load can go astray."""
    if isinstance(expr, E.Select):
        return [expr.condition, expr.true_value, expr.false_value]
    if not isinstance(expr, E.Call) or expr.op != "if_then_else":
        return None
    loads = any(isinstance(n, E.BufferLoad) for side in expr.args[1:] for n in E.post_order(side))
    return None if loads else list(expr.args)


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint")) and E.lanes_of(dtype) == 1


def _as_int(expr: E.PrimExpr) -> int | None:
    if isinstance(expr, E.Cast) and _is_integer(expr.dtype):
        return _as_int(expr.value)
    return expr.value if isinstance(expr, E.IntImm) else None


def _position(found: Leaf, leaves: list[Leaf]) -> int:
    if isinstance(found, ir.Value):
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, ir.Value) and leaf == found:
                return position
    leaves.append(found)
    return len(leaves) - 1


def _constant_of(form: ir.AffineExpr) -> int | None:
    form = form.maybe_downcast()
    return form.value if isinstance(form, ir.AffineConstantExpr) else None


def _dims_of(form: ir.AffineExpr, found: list[int]) -> None:
    """The dimensions of a form in order of appearance."""
    form = form.maybe_downcast()
    if isinstance(form, ir.AffineDimExpr):
        if form.position not in found:
            found.append(form.position)
    elif isinstance(form, ir.AffineBinaryExpr):
        _dims_of(form.lhs, found)
        _dims_of(form.rhs, found)


def _compress(form: ir.AffineExpr, leaves: Sequence[Leaf]) -> tuple[ir.AffineExpr, list[Leaf]]:
    """Number the dimensions as they appear and drop those that simplification removed.

    Equal expressions then give equal maps: text that is printed from a map gives it back.
    """
    for _ in range(4):  # simplification sorts by number, so numbering may change the order again
        found: list[int] = []
        _dims_of(form, found)
        if found == list(range(len(leaves))):
            break
        renamed = [
            ir.AffineDimExpr.get(found.index(i)) if i in found else ir.AffineConstantExpr.get(0)
            for i in range(len(leaves))
        ]
        leaves = [leaves[i] for i in found]
        form = form.compose(ir.AffineMap.get(len(found), 0, renamed))
        form = settle(form, len(found))
    return form, list(leaves)


_EMITTERS: dict[type[E.PrimExpr], Callable[[ExprEmitter, Any], ir.Value]] = {
    E.IntImm: ExprEmitter.emit_constant,
    E.FloatImm: ExprEmitter.emit_constant,
    E.Var: ExprEmitter.emit_variable,
    E.Cast: ExprEmitter.emit_cast,
    E.CompareExpr: ExprEmitter.emit_compare,
    E.BinaryExpr: ExprEmitter.emit_binary,
    E.Not: ExprEmitter.emit_not,
    E.Select: ExprEmitter.emit_select,
    E.Let: ExprEmitter.emit_let,
    E.BufferLoad: ExprEmitter.emit_load,
    E.BufferRef: lambda emitter, expr: emitter.buffer(expr.buffer),
    E.Ramp: ExprEmitter.emit_ramp,
    E.Broadcast: ExprEmitter.emit_broadcast,
    E.Shuffle: ExprEmitter.emit_shuffle,
    E.Call: ExprEmitter.emit_call,
}
