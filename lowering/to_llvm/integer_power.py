"""Powers of integers by repeated squaring, for scalars and vectors, without branches."""

from __future__ import annotations

from relax_mlir.mlir import ir

__all__ = ["expand_ipowi"]

_EQUAL, _LESS = 0, 2


class _Emitter:
    def __init__(self, type_: ir.Type):
        self.type = type_
        is_vector = isinstance(type_, ir.VectorType)
        self.element = type_.element_type if is_vector else type_
        bit = ir.IntegerType.get_signless(1)
        self.bit = ir.VectorType.get(type_.shape, bit) if is_vector else bit

    def op(self, name: str, *operands: ir.Value) -> ir.Value:
        return ir.Operation.create(f"arith.{name}", results=[self.type], operands=operands).result

    def constant(self, value: int) -> ir.Value:
        attribute: ir.Attribute = ir.IntegerAttr.get(self.element, value)
        if isinstance(self.type, ir.VectorType):
            attribute = ir.DenseElementsAttr.get_splat(self.type, attribute)
        return ir.Operation.create(
            "arith.constant", results=[self.type], operands=[], attributes={"value": attribute}
        ).result

    def compare(self, predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
        i64 = ir.IntegerType.get_signless(64)
        attribute = ir.IntegerAttr.get(i64, predicate)
        return ir.Operation.create(
            "arith.cmpi", results=[self.bit], operands=[a, b], attributes={"predicate": attribute}
        ).result

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("select", condition, a, b)


def expand_ipowi(op: ir.Operation) -> ir.Value:
    """The value of a `math.ipowi` at the insertion point.

    Products wrap.  A negative exponent gives 1 for 1, 1 or -1 for -1, and 0 otherwise, as
    `math.ipowi` defines it (but for 0, where it leaves the result open).
    """
    base, exponent = op.operands
    e = _Emitter(op.result.type)
    zero, one = e.constant(0), e.constant(1)
    result, square, rest = one, base, exponent
    for _ in range(e.element.width):
        is_odd = e.compare(_EQUAL, e.op("andi", rest, one), one)
        result = e.select(is_odd, e.op("muli", result, square), result)
        square = e.op("muli", square, square)
        rest = e.op("shrui", rest, one)
    is_odd = e.compare(_EQUAL, e.op("andi", exponent, one), one)
    minus_one = e.constant(-1)
    of_minus_one = e.select(is_odd, minus_one, one)
    inverse = e.select(e.compare(_EQUAL, base, minus_one), of_minus_one, zero)
    inverse = e.select(e.compare(_EQUAL, base, one), one, inverse)
    return e.select(e.compare(_LESS, exponent, zero), inverse, result)
