"""Integer index expressions read from IR, rewritten with the loops' ranges, and written back.

An `Index` is a sum of products of atoms with integer coefficients.  Atoms are IR values (loop and
iteration variables, symbolic sizes) and `floordiv`, `mod`, `min`, `max` of other expressions.  The
constructors simplify with the ranges of the values, so that `(i_0 * 4 + i_1) // 4` is `i_0` when
`i_1` runs over `[0, 4)`: what fusing and splitting loops again would otherwise pile up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd
from typing import NamedTuple, TypeAlias

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.affine_form import affine_form, evaluate
from relax_mlir.tir.schedule.facts import known_facts, remembered
from relax_mlir.tir.schedule.intervals import UNBOUNDED, Bounds, of_function, of_product


class Leaf(NamedTuple):
    """An IR value taken as it is; a tuple, whose hash, taken at each step, calls no Python."""

    value: ir.Value


class Apply(NamedTuple):
    """`floordiv`, `mod`, `min` or `max` of two expressions."""

    function: str
    left: Index
    right: Index


Atom: TypeAlias = "Leaf | Apply"
Monomial: TypeAlias = "tuple[Atom, ...]"


class Index:
    """`sum(coefficient * product(atoms)) + constant`; equal expressions compare equal."""

    __slots__ = ("_hash", "_leaves", "constant", "terms")

    def __init__(self, terms: Mapping[Monomial, int] | None = None, constant: int = 0):
        self.terms = {m: k for m, k in terms.items() if k} if terms else {}
        self.constant = constant
        self._hash: int | None = None
        self._leaves: tuple[ir.Value, ...] | None = None

    @classmethod
    def of(cls, terms: dict[Monomial, int], constant: int = 0) -> Index:
        """An expression of terms without a zero among them, which nobody changes."""
        made = cls.__new__(cls)
        made.terms, made.constant, made._hash, made._leaves = terms, constant, None, None
        return made

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Index)
            and self.constant == other.constant
            and self.terms == other.terms
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), self.constant))
        return self._hash

    def __add__(self, other: Index | int) -> Index:
        other = other if isinstance(other, Index) else as_index(other)
        if not self.terms and not self.constant:
            return other
        return self._plus(other, 1)

    def __neg__(self) -> Index:
        return self._scaled(-1)

    def __sub__(self, other: Index | int) -> Index:
        return self._plus(other if isinstance(other, Index) else as_index(other), -1)

    def _plus(self, other: Index, sign: int) -> Index:
        constant = self.constant + sign * other.constant
        if not other.terms:
            return self if constant == self.constant else Index.of(self.terms, constant)
        terms = dict(self.terms)
        for monomial, k in other.terms.items():
            total = terms.get(monomial, 0) + sign * k
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]  # it was there, as `k` is not zero
        return Index.of(terms, constant)

    def _scaled(self, factor: int) -> Index:
        if factor == 1:
            return self
        if not factor:
            return Index()
        return Index.of({m: k * factor for m, k in self.terms.items()}, self.constant * factor)

    def __mul__(self, other: Index | int) -> Index:
        other = as_index(other)
        if not other.terms:
            return self._scaled(other.constant)
        if not self.terms:
            return other._scaled(self.constant)
        terms: dict[Monomial, int] = {}
        for a, ka in [*self.terms.items(), ((), self.constant)]:
            for b, kb in [*other.terms.items(), ((), other.constant)]:
                if ka * kb:
                    product = tuple(sorted(a + b, key=_order)) if a and b else a + b
                    terms[product] = terms.get(product, 0) + ka * kb
        constant = terms.pop((), 0)
        return Index(terms, constant)

    def __floordiv__(self, other: Index | int) -> Index:
        return floordiv(self, as_index(other))

    def __mod__(self, other: Index | int) -> Index:
        return mod(self, as_index(other))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def as_constant(self) -> int | None:
        return None if self.terms else self.constant

    def as_leaf(self) -> ir.Value | None:
        """The value this is, when it is just one."""
        if self.constant or len(self.terms) != 1:
            return None
        ((first, *others), k) = next(iter(self.terms.items()))
        return first.value if k == 1 and not others and isinstance(first, Leaf) else None

    def leaves(self) -> list[ir.Value]:
        """The IR values in order of appearance."""
        return list(self._values())

    def _values(self) -> tuple[ir.Value, ...]:
        if self._leaves is None:
            found: dict[ir.Value, None] = {}
            for atom in (atom for monomial in self.terms for atom in monomial):
                if isinstance(atom, Leaf):
                    found[atom.value] = None
                else:
                    found.update(dict.fromkeys(atom.left._values() + atom.right._values()))
            self._leaves = tuple(found)
        return self._leaves

    def uses(self, value: ir.Value) -> bool:
        return value in self._values()

    def bounds(self, ranges: Mapping[ir.Value, Bounds] | None = None) -> Bounds:
        """The least and largest value, None where unknown; `ranges` overrides what the IR says."""
        low: int | None = self.constant
        high: int | None = self.constant
        for monomial, k in self.terms.items():
            lo, hi = _monomial_bounds(monomial, ranges)
            if k < 0:
                lo, hi = hi, lo
            low = None if low is None or lo is None else low + k * lo
            high = None if high is None or hi is None else high + k * hi
        return low, high

    def substitute(self, values: Mapping[ir.Value, Index]) -> Index:
        """Replace values by expressions and simplify."""
        if not values or not any(v in values for v in self._values()):
            return self
        total = Index({}, self.constant)
        for monomial, k in self.terms.items():
            first = monomial[0]
            if len(monomial) == 1 and isinstance(first, Leaf):
                value = values.get(first.value)
                total = total + (Index.of({monomial: k}) if value is None else value._scaled(k))
                continue
            product = Index({}, k)
            for atom in monomial:
                product = product * _substituteatom_index(atom, values)
            total = total + product
        return merge_split(total)

    def __str__(self) -> str:
        from relax_mlir.tir.schedule.index_write import show

        return show(self)

    __repr__ = __str__


def _order(atom: Atom) -> tuple[str, int, int]:
    """A sorting key for the factors of a product: the same from run to run as far as names go."""
    if isinstance(atom, Apply):
        return atom.function, 0, hash(atom)
    number = atom.value.arg_number if isinstance(atom.value, ir.BlockArgument) else -1
    return getattr(atom.value.location, "name_str", ""), number, hash(atom)


def as_index(value: Index | int | ir.Value) -> Index:
    """The expression of an int, of an index value (read through its arithmetic), or itself."""
    if isinstance(value, Index):
        return value
    if isinstance(value, int):
        return Index({}, value)
    return read(value)


def defining(value: ir.Value) -> ir.Operation | None:
    """The operation that makes a value, None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def leaf(value: ir.Value) -> Index:
    return Index.of({(Leaf(value),): 1}, 0)


def atom_index(atom: Atom) -> Index:
    return Index.of({(atom,): 1}, 0)


def _substituteatom_index(atom: Atom, values: Mapping[ir.Value, Index]) -> Index:
    if isinstance(atom, Leaf):
        return values.get(atom.value) or atom_index(atom)
    left, right = atom.left.substitute(values), atom.right.substitute(values)
    return FUNCTIONS[atom.function](left, right)


# -- ranges -----------------------------------------------------------------------------------


@remembered
def value_domain(value: ir.Value) -> tuple[Index, Index] | None:
    """(min, extent) of a loop or iteration variable, None for other values."""
    owner = value.owner
    if not isinstance(owner, ir.Block):
        return None
    op = owner.owner.operation.opview
    if isinstance(op, ForOp):
        return as_index(op.min), as_index(op.extent)
    if isinstance(op, BlockOp):
        low, extent = op.domain_pairs[ir.BlockArgument(value).arg_number]
        return as_index(low), as_index(extent)
    return None


@remembered
def value_bounds(value: ir.Value) -> Bounds:
    """The constant range of a value as the IR declares it."""
    domain = value_domain(value)
    if domain is None:
        producer = defining(value)
        is_size = producer is not None and producer.name == "memref.dim"
        return (0, None) if is_size else UNBOUNDED
    (low, low_high), (_, extent) = domain[0].bounds(), domain[1].bounds()
    high = None if low_high is None or extent is None else low_high + extent - 1
    return low, high


def _monomial_bounds(monomial: Monomial, ranges: Mapping[ir.Value, Bounds] | None) -> Bounds:
    bounds = atom_bounds(monomial[0], ranges)
    for atom in monomial[1:]:
        bounds = of_product(bounds, atom_bounds(atom, ranges))
    return bounds


def atom_bounds(atom: Atom, ranges: Mapping[ir.Value, Bounds] | None = None) -> Bounds:
    """The least and largest value of an atom, as `Index.bounds` has them."""
    if isinstance(atom, Leaf):
        if ranges is not None and atom.value in ranges:
            return ranges[atom.value]
        return value_bounds(atom.value)
    return of_function(atom.function, atom.left.bounds(ranges), atom.right.bounds(ranges))


def proves_nonnegative(expr: Index, ranges: Mapping[ir.Value, Bounds] | None = None) -> bool:
    """True when `expr >= 0` follows from the ranges, symbolic extents included."""
    if _nonnegative_by_ranges(expr, ranges):
        return True
    relaxed = _without_quotients(expr)
    return relaxed is not None and _nonnegative_by_ranges(relaxed, ranges)


def _nonnegative_by_ranges(expr: Index, ranges: Mapping[ir.Value, Bounds] | None) -> bool:
    for _ in range(4):
        low = expr.bounds(ranges)[0]
        if low is not None:
            return low >= 0
        extremes = _least_values(expr, ranges)
        if not extremes:
            return False
        expr = expr.substitute(extremes)
    return False


def _without_quotients(expr: Index) -> Index | None:
    """A lower bound without quotients: `x // c * c` is between `x - c + 1` and `x`.  None where
    there is no multiple of such a quotient."""
    bound = expr
    for monomial, k in expr.terms.items():
        atom = monomial[0]
        if len(monomial) != 1 or isinstance(atom, Leaf) or atom.function != "floordiv":
            continue
        c = atom.right.as_constant()
        if c is None or c <= 0 or k % c:
            continue
        least = atom.left - (c - 1) if k > 0 else atom.left
        bound = bound - Index({monomial: k}) + least * (k // c)
    return None if bound is expr else bound


def _least_values(expr: Index, ranges: Mapping[ir.Value, Bounds] | None) -> dict[ir.Value, Index]:
    """For each variable with a symbolic range, the end of it at which a linear `expr` is least."""
    extremes: dict[ir.Value, Index] = {}
    for monomial, k in expr.terms.items():
        if len(monomial) != 1 or not isinstance(monomial[0], Leaf):
            continue
        value = monomial[0].value
        domain = value_domain(value) if not ranges or value not in ranges else None
        others = [m for m in expr.terms if m != monomial]
        alone = not any(value in Index({m: 1}).leaves() for m in others)
        if domain is not None and alone:
            extremes[value] = domain[0] if k > 0 else domain[0] + domain[1] - 1
    return extremes


# -- simplifying constructors -----------------------------------------------------------------


def floordiv(num: Index, den: Index) -> Index:
    """`num // den`, simplified with the ranges of the values in it."""
    quotient, rest = _split_multiples(num, den)
    if _is_within(rest, den):
        return quotient
    c = den.as_constant()
    if c is None or c <= 0:
        return quotient + atom_index(Apply("floordiv", rest, den))
    if rest.is_constant:
        return quotient + rest.constant // c
    common = gcd(c, *rest.terms.values())
    if common > 1:
        inner = Index({m: k // common for m, k in rest.terms.items()}, rest.constant // common)
        return quotient + floordiv(inner, Index({}, c // common))
    nested = _single_apply(rest, "floordiv")
    if nested is not None and (nested.right.as_constant() or 0) > 0:
        return quotient + floordiv(nested.left, nested.right * c)
    large = _without_small_terms(rest, c)
    if large is not None:
        return quotient + floordiv(*large)
    return quotient + atom_index(Apply("floordiv", rest, den))


def _without_small_terms(num: Index, c: int) -> tuple[Index, Index] | None:
    """`num // c` as (numerator, divisor) where terms that make no difference are left out: the
    others have a factor in common with `c` that those stay below."""
    common = c
    ordered = sorted(num.terms.items(), key=lambda term: -abs(term[1]))
    for count, (_, k) in enumerate(ordered, 1):
        common = gcd(common, k)
        if common == 1:
            return None
        low, high = Index(dict(ordered[count:]), num.constant).bounds()
        if low is not None and high is not None and low >= 0 and high < common:
            kept = Index({m: k // common for m, k in ordered[:count]})
            return kept, Index({}, c // common)
    return None


def mod(num: Index, den: Index) -> Index:
    """`num % den` (floor), simplified with the ranges of the values in it."""
    _, rest = _split_multiples(num, den)
    if _is_within(rest, den):
        return rest
    c = den.as_constant()
    if c is None or c <= 0:
        return atom_index(Apply("mod", rest, den))
    if rest.is_constant:
        return Index({}, rest.constant % c)
    common = gcd(c, *rest.terms.values())
    if common > 1:
        inner = Index({m: k // common for m, k in rest.terms.items()}, rest.constant // common)
        return mod(inner, Index({}, c // common)) * common + rest.constant % common
    return atom_index(Apply("mod", rest, den))


def _is_within(rest: Index, den: Index) -> bool:
    """True when `0 <= rest < den` follows from the ranges, or `rest` is 0."""
    if not rest.terms and not rest.constant:
        return True
    c = den.as_constant()
    low, high = rest.bounds()
    if c is not None and low is not None and high is not None:
        if low >= 0 and high < c:
            return True
        if not any(isinstance(monomial[0], Apply) for monomial in rest.terms):
            return False  # what follows has more to say of quotients only
    return proves_nonnegative(rest) and proves_nonnegative(den - rest - 1)


def minimum(left: Index, right: Index) -> Index:
    if proves_nonnegative(right - left):
        return left
    if proves_nonnegative(left - right):
        return right
    return atom_index(Apply("min", left, right))


def maximum(left: Index, right: Index) -> Index:
    if proves_nonnegative(right - left):
        return right
    if proves_nonnegative(left - right):
        return left
    return atom_index(Apply("max", left, right))


def ceildiv(num: Index | int, den: Index | int) -> Index:
    return floordiv(as_index(num) + as_index(den) - 1, as_index(den))


FUNCTIONS: dict[str, Callable[[Index, Index], Index]] = {
    "floordiv": floordiv, "mod": mod, "min": minimum, "max": maximum, "ceildiv": ceildiv,
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b,
}  # fmt: skip


def _split_multiples(num: Index, den: Index) -> tuple[Index, Index]:
    """`num = den * quotient + rest` with every multiple of `den` in the quotient."""
    c = den.as_constant()
    if c is not None:
        if c <= 0:
            return Index(), num
        quotient = {m: k // c for m, k in num.terms.items() if k % c == 0}
        rest = {m: k for m, k in num.terms.items() if k % c}
        return Index(quotient, num.constant // c), Index(rest, num.constant % c)
    if num == den:
        return Index({}, 1), Index()
    factors = next(iter(den.terms)) if len(den.terms) == 1 and not den.constant else None
    if factors is None or den.terms[factors] != 1:
        return Index(), num
    quotient, rest = Index(), Index({}, num.constant)
    for monomial, k in num.terms.items():
        remaining = _without(monomial, factors)
        if remaining is None:
            rest = rest + Index({monomial: k})
        else:
            quotient = quotient + (Index({remaining: k}) if remaining else Index({}, k))
    return quotient, rest


def _without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    remaining = list(monomial)
    for factor in factors:
        if factor not in remaining:
            return None
        remaining.remove(factor)
    return tuple(remaining)


def _single_apply(expr: Index, function: str) -> Apply | None:
    if expr.constant or len(expr.terms) != 1:
        return None
    (monomial, k) = next(iter(expr.terms.items()))
    if k != 1 or len(monomial) != 1 or isinstance(monomial[0], Leaf):
        return None
    return monomial[0] if monomial[0].function == function else None


def merge_split(expr: Index) -> Index:
    """Put `x // c * c + x % c` together again, also under an outer `% d`; `x - x // c * c`, which
    MLIR makes of some, is `x % c`."""
    for monomial, k in expr.terms.items():
        inner = monomial[0]
        if len(monomial) != 1 or isinstance(inner, Leaf):
            continue
        if inner.function == "floordiv":
            remainder = _as_remainder(expr, inner, k)
            if remainder is not None:
                return merge_split(remainder)
        if inner.function != "mod" or len(expr.terms) == 1:
            continue
        whole = floordiv(inner.left, inner.right)
        for candidate, merged in _recombined(expr, inner, whole):
            removed = candidate * inner.right * k
            if all(expr.terms.get(m) == v for m, v in removed.terms.items()) and removed.terms:
                return merge_split(expr - removed - Index({monomial: k}) + merged * k)
    return expr


def _as_remainder(expr: Index, quotient: Apply, k: int) -> Index | None:
    """`expr` with `x * f - quotient * f * c` written as `x % c * f`, None where it has no such
    part; `k` is the coefficient of the quotient `x // c`."""
    c = quotient.right.as_constant()
    if c is None or c <= 1 or k % c:
        return None
    dividend = quotient.left * (-k // c)
    if not dividend.terms or any(expr.terms.get(m) != f for m, f in dividend.terms.items()):
        return None
    rest = expr - dividend - atom_index(quotient) * k
    return rest + mod(quotient.left, quotient.right) * (-k // c)


def _recombined(expr: Index, inner: Apply, whole: Index) -> list[tuple[Index, Index]]:
    """Pairs (q, x) such that `q * c + inner` is `x`."""
    pairs = [(whole, inner.left)]
    for monomial in expr.terms:
        outer = monomial[0]
        if len(monomial) != 1 or not isinstance(outer, Apply) or outer.function != "mod":
            continue
        if outer.left == whole:
            pairs.append((atom_index(outer), mod(inner.left, inner.right * outer.right)))
    return pairs


# -- reading IR -------------------------------------------------------------------

_BINARY: dict[str, Callable[[Index, Index], Index]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": floordiv,
    "arith.minsi": minimum,
    "arith.maxsi": maximum,
    "arith.ceildivsi": ceildiv,
}


def read(value: ir.Value) -> Index:
    """The expression that an index value computes; what is no index arithmetic is a leaf."""
    known = known_facts.get()
    if known is None:
        return _find(value)
    found = known.expressions.get(value)
    if found is None:
        found = known.expressions[value] = _find(value)
    return found


def _find(value: ir.Value) -> Index:
    owner = defining(value)
    if owner is None:
        return leaf(value)
    name = owner.name
    if name == "arith.constant" and isinstance(value.type, ir.IndexType):
        return Index({}, ir.IntegerAttr(owner.attributes["value"]).value)
    if not isinstance(value.type, ir.IndexType):
        return leaf(value)
    if name == "affine.apply":
        operands = [read(operand) for operand in owner.operands]
        form = affine_form(owner.attributes["map"])
        return merge_split(evaluate(form, operands, as_index, FUNCTIONS))
    if name == "arith.index_cast":
        inner = defining(owner.operands[0])
        if inner is not None and inner.name == "arith.index_cast":
            return read(inner.operands[0])
        return leaf(value)
    if name == "arith.remsi":
        left, right = read(owner.operands[0]), read(owner.operands[1])
        if proves_nonnegative(left) and proves_nonnegative(right):
            return mod(left, right)
        return leaf(value)
    if name in _BINARY:
        return merge_split(_BINARY[name](read(owner.operands[0]), read(owner.operands[1])))
    return leaf(value)
