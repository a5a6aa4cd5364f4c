"""Evaluates Python expressions of a program, one syntax node at a time.

Python's own `eval` would do for values, but a program also builds expressions: `a and b`, `not a`,
`a if c else b` and `a < b < c` must not ask an expression for its truth.  A dialect says what they
mean by a `Semantics`.  Every failure becomes a ParseError at the innermost node that failed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from relax_mlir.errors import Error, ParseError
from relax_mlir.script.parser.environment import VariableTable
from relax_mlir.script.parser.source import Source

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}


class Semantics:
    """What a dialect's expressions mean where Python would ask for their truth."""

    parser: Any  # the dialect's parser, which sets it; a dialect's semantics narrow its type

    def is_symbolic(self, value: Any) -> bool:
        """True when the value is an expression of the program, not a Python value."""
        return False

    def both(self, left: Any, right: Any) -> Any:
        """`left and right`, at least one of them symbolic."""
        raise TypeError("'and' is not supported here")

    def either(self, left: Any, right: Any) -> Any:
        """`left or right`, at least one of them symbolic."""
        raise TypeError("'or' is not supported here")

    def invert(self, value: Any) -> Any:
        """`not value`, symbolic."""
        raise TypeError("'not' is not supported here")

    def choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`then if condition else otherwise`, the condition symbolic."""
        raise TypeError("a conditional expression is not supported here")

    def binary(self, function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """A binary operator; `function` is the one of the `operator` module."""
        return function(left, right)

    def unary(self, function: Callable[[Any], Any], value: Any) -> Any:
        """A unary operator; `function` is the one of the `operator` module."""
        return function(value)

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`."""
        return getattr(value, name)

    def subscript(self, value: Any, index: Any) -> Any:
        """`value[index]`."""
        return value[index]

    def call(self, function: Any, positional: list[Any], keywords: dict[str, Any]) -> Any:
        """A call."""
        return function(*positional, **keywords)


class Evaluator:
    """Evaluates expressions with the names of a VariableTable."""

    def __init__(self, source: Source, names: VariableTable, semantics: Semantics | None = None):
        self.source = source
        self.names = names
        self.semantics = semantics or Semantics()

    def __call__(self, node: ast.expr) -> Any:
        """The value of an expression.  Raises ParseError."""
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            raise self.source.error(f"{type(node).__name__} expressions are not supported", node)
        try:
            return visit(node)
        except ParseError as error:
            if error.span is None:
                raise self.source.error(error.message, node, hint=error.hint) from error
            raise
        except Error as error:
            raise self.source.error(error.message, node, hint=error.hint) from error
        except NameError as error:
            raise self.source.error(str(error), node) from None
        except Exception as error:
            raise self.source.error(_message(error), node) from error

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The positional and keyword arguments of a call, stars expanded."""
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                keywords.update(self(keyword.value))
            else:
                keywords[keyword.arg] = self(keyword.value)
        return self._elements(node.args), keywords

    # -- one method a node type ---------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        return self.names.lookup(node.id)

    def _attribute(self, node: ast.Attribute) -> Any:
        return self.semantics.attribute(self(node.value), node.attr)

    def _call(self, node: ast.Call) -> Any:
        function = self(node.func)
        positional, keywords = self.arguments(node)
        return self.semantics.call(function, positional, keywords)

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self(node.left), self(node.right)
        return self.semantics.binary(BINARY[type(node.op)], left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = self(node.operand)
        if not isinstance(node.op, ast.Not):
            return self.semantics.unary(_UNARY[type(node.op)], value)
        return self.semantics.invert(value) if self.semantics.is_symbolic(value) else not value

    def _boolop(self, node: ast.BoolOp) -> Any:
        conjunction = isinstance(node.op, ast.And)
        combine = self.semantics.both if conjunction else self.semantics.either
        result = self(node.values[0])
        for operand in node.values[1:]:
            if not self.semantics.is_symbolic(result) and bool(result) != conjunction:
                return result
            value = self(operand)
            symbolic = self.semantics.is_symbolic(result) or self.semantics.is_symbolic(value)
            result = combine(result, value) if symbolic else value
        return result

    def _compare(self, node: ast.Compare) -> Any:
        left = self(node.left)
        result: Any = True
        for op, operand in zip(node.ops, node.comparators, strict=True):
            right = self(operand)
            step = self.semantics.binary(_COMPARE[type(op)], left, right)
            if result is True:
                result = step
            elif self.semantics.is_symbolic(result) or self.semantics.is_symbolic(step):
                result = self.semantics.both(result, step)
            else:
                result = result and step
            if not self.semantics.is_symbolic(result) and result is False:
                return False
            left = right
        return result

    def _ifexp(self, node: ast.IfExp) -> Any:
        condition = self(node.test)
        if self.semantics.is_symbolic(condition):
            return self.semantics.choose(condition, self(node.body), self(node.orelse))
        return self(node.body) if condition else self(node.orelse)

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.semantics.subscript(self(node.value), self(node.slice))

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self(part) for part in parts))

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._elements(node.elts))

    def _list(self, node: ast.List) -> list[Any]:
        return self._elements(node.elts)

    def _set(self, node: ast.Set) -> set[Any]:
        return set(self._elements(node.elts))

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self(value))
            else:
                result[self(key)] = self(value)
        return result

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(self(part)) for part in node.values)

    def _formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self(node.value)
        converted = {115: str, 114: repr, 97: ascii}.get(node.conversion, lambda v: v)(value)
        return format(converted, "" if node.format_spec is None else self(node.format_spec))

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        value = self(node.value)
        self.names.define(node.target.id, value)
        return value

    def _listcomp(self, node: ast.ListComp) -> list[Any]:
        return list(self._generate(node.generators, lambda: self(node.elt)))

    def _setcomp(self, node: ast.SetComp) -> set[Any]:
        return set(self._generate(node.generators, lambda: self(node.elt)))

    def _generatorexp(self, node: ast.GeneratorExp) -> Iterator[Any]:
        # Not lazy: the names it uses may change before it is consumed.
        return iter(list(self._generate(node.generators, lambda: self(node.elt))))

    def _dictcomp(self, node: ast.DictComp) -> dict[Any, Any]:
        return dict(self._generate(node.generators, lambda: (self(node.key), self(node.value))))

    def _lambda(self, node: ast.Lambda) -> Callable[..., Any]:
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        defaults = [self(default) for default in node.args.defaults]
        rest = node.args.vararg.arg if node.args.vararg else None
        optional = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))

        def function(*args: Any, **keywords: Any) -> Any:
            if len(args) > len(names) and rest is None:
                raise TypeError(f"the lambda takes {len(names)} arguments, {len(args)} given")
            bound = {**optional, **dict(zip(names, args, strict=False)), **keywords}
            absent = [name for name in names if name not in bound]
            if absent:
                raise TypeError(f"the lambda's argument '{absent[0]}' is missing")
            if rest is not None:
                bound[rest] = args[len(names) :]
            with self.names.scope():
                for name, value in bound.items():
                    self.names.define(name, value)
                return self(node.body)

        return function

    # -- parts --------------------------------------------------------------------------------

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        result: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                result.extend(self(node.value))
            else:
                result.append(self(node))
        return result

    def _generate(
        self, generators: list[ast.comprehension], element: Callable[[], Any]
    ) -> Iterator[Any]:
        if not generators:
            yield element()
            return
        first, *rest = generators
        for item in self(first.iter):
            with self.names.scope():
                bind(self, first.target, item)
                if all(self(condition) for condition in first.ifs):
                    yield from self._generate(rest, element)


def bind(evaluate: Evaluator, target: ast.expr, value: Any) -> None:
    """Bind names to values as Python unpacks them.  Raises ParseError when they do not fit."""
    for name, part in unpack(evaluate.source, target, value):
        evaluate.names.define(name.id, part)


def unpack(source: Source, target: ast.expr, value: Any) -> Iterator[tuple[ast.Name, Any]]:
    """The names of an assignment target with their values."""
    if isinstance(target, ast.Name):
        yield target, value
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise source.error("cannot assign to this expression", target)
    try:
        values = list(value)
    except TypeError:
        raise source.error(f"a {type(value).__name__} cannot be unpacked", target) from None
    star = [i for i, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
    targets = list(target.elts)
    if star:
        extra = len(values) - len(targets) + 1
        if extra >= 0:
            inner = values[star[0] : star[0] + extra]
            values[star[0] : star[0] + extra] = [inner]
            starred = targets[star[0]]
            assert isinstance(starred, ast.Starred)
            targets[star[0]] = starred.value
    if len(values) != len(targets):
        message = f"{len(targets)} names on the left, {len(values)} values on the right"
        raise source.error(message, target)
    for element, part in zip(targets, values, strict=True):
        yield from unpack(source, element, part)


def _message(error: Exception) -> str:
    text = str(error)
    if isinstance(error, KeyError):
        return f"key {text} is missing"
    return text or type(error).__name__
