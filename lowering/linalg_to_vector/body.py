"""Scalar bodies of linalg ops on vectors of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.builder import Builder, defining_op
from relax_mlir.mlir import ir

__all__ = [
    "INLINE_EPILOGUE",
    "WIDENINGS",
    "Combiner",
    "body_cost",
    "can_widen",
    "combiners",
    "emit_body",
    "is_vectorizable",
    "multiplies",
    "narrowed",
    "wide_type",
    "widened",
    "widest_bits",
]

# Dialects whose operations act lane by lane on vectors.
_ELEMENTWISE_DIALECTS = ("arith", "math")
_CONVERSIONS = ("arith.extf", "arith.truncf")
_PRODUCTS = ("arith.mulf", "arith.muli")
WIDENINGS = ("arith.extf", "arith.extsi", "arith.extui")
"""What makes a wider number of the same value."""
_NARROW_FLOATS = (ir.F16Type, ir.BF16Type)

INLINE_EPILOGUE = 12
"""Of more work than this an epilogue is not copied for every vector of a tile but runs in a loop
over what was just stored, which is still in the first-level cache."""

# What an operation costs beside an addition, roughly; the rest counts one.
_EXPENSIVE = {
    "arith.divf": 4,
    "math.sqrt": 4,
    "math.rsqrt": 8,
    "math.exp": 14,
    "math.exp2": 14,
    "math.tanh": 28,
    "math.erf": 32,
    "math.log": 20,
    "math.sin": 25,
    "math.cos": 25,
    "math.powf": 60,
    "math.atan": 30,
}


@dataclass(frozen=True)
class Combiner:
    """How a reduction joins two partial results.

    op: the operation on two values; kind: that of `vector.reduction`; neutral: the value that
    changes nothing, for a given element type.
    """

    op: str
    kind: str
    neutral: Callable[[ir.Type], float | int]


def _lowest(type_: ir.Type) -> float | int:
    return float("-inf") if isinstance(type_, ir.FloatType) else -(1 << (_bits(type_) - 1))


def _highest(type_: ir.Type) -> float | int:
    return float("inf") if isinstance(type_, ir.FloatType) else (1 << (_bits(type_) - 1)) - 1


_COMBINERS = {
    "arith.addf": Combiner("arith.addf", "add", lambda _: 0.0),
    "arith.addi": Combiner("arith.addi", "add", lambda _: 0),
    "arith.mulf": Combiner("arith.mulf", "mul", lambda _: 1.0),
    "arith.muli": Combiner("arith.muli", "mul", lambda _: 1),
    "arith.maximumf": Combiner("arith.maximumf", "maximumf", _lowest),
    "arith.minimumf": Combiner("arith.minimumf", "minimumf", _highest),
    "arith.maxnumf": Combiner("arith.maxnumf", "maxnumf", _lowest),
    "arith.minnumf": Combiner("arith.minnumf", "minnumf", _highest),
    "arith.maxsi": Combiner("arith.maxsi", "maxsi", _lowest),
    "arith.minsi": Combiner("arith.minsi", "minsi", _highest),
    "arith.maxui": Combiner("arith.maxui", "maxui", lambda _: 0),
    "arith.minui": Combiner("arith.minui", "minui", lambda _: -1),
    "arith.andi": Combiner("arith.andi", "and", lambda _: -1),
    "arith.ori": Combiner("arith.ori", "or", lambda _: 0),
    "arith.xori": Combiner("arith.xori", "xor", lambda _: 0),
}


def _bits(type_: ir.Type) -> int:
    if isinstance(type_, ir.IndexType):
        return 64
    return int(type_.width)


def widest_bits(block: ir.Block) -> int:
    """Bits of the widest value in a body, i1 and indices aside; at least 8."""
    types = [argument.type for argument in block.arguments]
    types += [result.type for op in block.operations for result in op.operation.results]
    return max([8, *(_bits(t) for t in types if not isinstance(t, ir.IndexType))])


def is_vectorizable(block: ir.Block) -> bool:
    """Whether every operation of a body acts lane by lane."""
    for op in block.operations:
        name = op.operation.name
        known = name in ("linalg.yield", "linalg.index") or (
            name.partition(".")[0] in _ELEMENTWISE_DIALECTS
        )
        if not known or len(list(op.operation.regions)):
            return False
    return all(isinstance(a.type, (ir.FloatType, ir.IntegerType)) for a in block.arguments)


def body_cost(block: ir.Block) -> int:
    """The body's work, in additions."""
    names = [op.operation.name for op in block.operations]
    return sum(_EXPENSIVE.get(name, 1) for name in names if name != "linalg.yield")


def combiners(block: ir.Block, accumulators: Sequence[int]) -> list[Combiner] | None:
    """The combiner of each accumulator (a block argument); None if one is of no known form.

    Known is `acc' = op(acc, x)` where nothing else reads `acc`.
    """
    yielded = list(list(block.operations)[-1].operation.operands)
    found: list[Combiner] = []
    for position, argument in enumerate(accumulators):
        accumulator = block.arguments[argument]
        owner = defining_op(yielded[position])
        if owner is None or len(list(accumulator.uses)) != 1:
            return None
        combiner = _COMBINERS.get(owner.name)
        if combiner is None or accumulator not in list(owner.operands):
            return None
        if len(list(yielded[position].uses)) != 1:
            return None
        found.append(combiner)
    return found


def multiplies(block: ir.Block, a: int, b: int) -> bool:
    """Whether the only product in a body is that of two of its arguments, widened or not: `x * x`
    is none of x and y."""
    products = [op.operation for op in block.operations if op.operation.name in _PRODUCTS]
    if len(products) != 1:
        return False
    factors = [_before_widening(factor) for factor in products[0].operands]
    wanted = [block.arguments[a], block.arguments[b]]
    return factors in (wanted, wanted[::-1])


def _before_widening(value: ir.Value) -> ir.Value:
    owner = defining_op(value)
    return owner.operands[0] if owner is not None and owner.name in WIDENINGS else value


def emit_body(
    b: Builder,
    block: ir.Block,
    arguments: Sequence[ir.Value],
    lanes: int,
    index: Callable[[int], ir.Value] | None = None,
    contract: bool = False,
    widen: bool = False,
) -> list[ir.Value]:
    """The body on `arguments` (scalars or vectors of `lanes`); returns what it yields.

    Operations on scalars only stay scalar; a scalar that meets a vector is broadcast.  `index(d)`
    gives the value of `linalg.index d`.  With `contract`, a multiplication that feeds an addition
    alone becomes one `math.fma`.  With `widen`, f16 and bf16 are computed in f32: arguments must be
    wide already (see `widened`), results are wide, and conversions between the two disappear.
    """
    emitter = _BodyEmitter(b, lanes, index, contract, widen)
    emitter.values.update(zip(block.arguments, arguments, strict=True))
    for view in block.operations:
        if view.operation.name == "linalg.yield":
            return [emitter.value_of(operand) for operand in view.operation.operands]
        emitter.emit(view.operation)
    raise AssertionError("a linalg body ends in linalg.yield")


class _BodyEmitter:
    def __init__(
        self,
        b: Builder,
        lanes: int,
        index: Callable[[int], ir.Value] | None,
        contract: bool,
        widen: bool,
    ):
        self.b = b
        self.lanes = lanes
        self.index = index
        self.contract = contract
        self.widen = widen
        self.type_of = wide_type if widen else _same_type
        self.values: dict[ir.Value, ir.Value] = {}
        self._spread: dict[ir.Value, ir.Value] = {}

    def value_of(self, value: ir.Value) -> ir.Value:
        """What a value of the body has become; one from outside stands for itself."""
        if value not in self.values:
            self.values[value] = self._widened(value)
        return self.values[value]

    def _widened(self, value: ir.Value) -> ir.Value:
        return widened(self.b, value, self.lanes) if self.widen else value

    def _vector(self, value: ir.Value) -> ir.Value:
        if isinstance(value.type, ir.VectorType):
            return value
        if value not in self._spread:
            self._spread[value] = self.b.broadcast(value, self.lanes)
        return self._spread[value]

    def emit(self, op: ir.Operation) -> None:
        if op.name == "linalg.index":
            assert self.index is not None
            self.values[op.result] = self.index(ir.IntegerAttr(op.attributes["dim"]).value)
        elif op.name == "arith.constant":
            constant = self.b.constant(op.result.type, op.attributes["value"])
            self.values[op.result] = self._widened(constant)
        elif self.widen and op.name in _CONVERSIONS and self._is_conversion_gone(op):
            self.values[op.result] = self.value_of(op.operands[0])
        else:
            self._emit_operation(op)

    def _is_conversion_gone(self, op: ir.Operation) -> bool:
        return _scalar_type(self.value_of(op.operands[0])) == self.type_of(op.result.type)

    def _emit_operation(self, op: ir.Operation) -> None:
        name, sources = op.name, list(op.operands)
        if self.contract and name == "arith.addf":
            factors = _fused_operands(op)
            if factors is not None:
                name, sources = "math.fma", factors
        operands = [self.value_of(source) for source in sources]
        is_vector = any(isinstance(o.type, ir.VectorType) for o in operands)
        if is_vector:
            # A select keeps a scalar condition.
            keep = 1 if name == "arith.select" else 0
            if keep and isinstance(operands[0].type, ir.VectorType):
                keep = 0
            operands = operands[:keep] + [self._vector(o) for o in operands[keep:]]
        types = [self.type_of(result.type) for result in op.results]
        if is_vector:
            types = [self.b.vector_type(self.lanes, type_) for type_ in types]
        attributes = {} if name != op.name else {a: op.attributes[a] for a in op.attributes}
        clone = ir.Operation.create(name, results=types, operands=operands, attributes=attributes)
        self.values.update(zip(op.results, clone.results, strict=True))


def _same_type(type_: ir.Type) -> ir.Type:
    return type_


def _scalar_type(value: ir.Value) -> ir.Type:
    type_ = value.type
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def wide_type(type_: ir.Type) -> ir.Type:
    """f32 for the narrow float types, others as they are."""
    return ir.F32Type.get() if isinstance(type_, _NARROW_FLOATS) else type_


def can_widen(block: ir.Block) -> bool:
    """Whether a body computes in a narrow float type and nothing in it looks at its bits."""
    operations = [op.operation for op in block.operations]
    types = [r.type for op in operations for r in op.results] + [a.type for a in block.arguments]
    narrow = any(isinstance(type_, _NARROW_FLOATS) for type_ in types)
    return narrow and all(op.name != "arith.bitcast" for op in operations)


def widened(b: Builder, value: ir.Value, lanes: int) -> ir.Value:
    """A narrow float (or vector of `lanes` of them) in f32; other values as they are."""
    element = _scalar_type(value)
    if not isinstance(element, _NARROW_FLOATS):
        return value
    wide = wide_type(element)
    is_vector = isinstance(value.type, ir.VectorType)
    return b.op("arith.extf", b.vector_type(lanes, wide) if is_vector else wide, [value])


def narrowed(b: Builder, value: ir.Value, element_type: ir.Type, lanes: int) -> ir.Value:
    """An f32 (or vector of `lanes` of them) rounded to a narrow float type, if it is one."""
    if _scalar_type(value) == element_type:
        return value
    is_vector = isinstance(value.type, ir.VectorType)
    type_ = b.vector_type(lanes, element_type) if is_vector else element_type
    return b.op("arith.truncf", type_, [value])


def _fused_operands(addition: ir.Operation) -> list[ir.Value] | None:
    """Operands of the `math.fma` that an addition and the product before it make together."""
    lhs, rhs = addition.operands
    for product, addend in ((rhs, lhs), (lhs, rhs)):
        owner = defining_op(product)
        if owner is None or owner.name != "arith.mulf":
            continue
        if len(list(product.uses)) == 1 and owner.block == addition.block:
            return [*owner.operands, addend]
    return None
