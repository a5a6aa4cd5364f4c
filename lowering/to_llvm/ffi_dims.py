"""Symbolic sizes as values of host code."""

from __future__ import annotations

import ast

from relax_mlir.dialects import dims
from relax_mlir.errors import CompileError
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText

__all__ = ["DimensionValues"]

_OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "addi",
    ast.Sub: "subi",
    ast.Mult: "muli",
    ast.FloorDiv: "floordivsi",
}
_COMPARISONS = {"equal": "eq", "not_equal": "ne", "less": "slt", "less_equal": "sle"}
_CALLS = {"min": "minsi", "max": "maxsi", "floordiv": "floordivsi"}


class DimensionValues:
    """Maps symbols to SSA names and writes the arithmetic of expressions over them.

    Sizes are 64-bit.  An expression is computed once as long as the point of use is dominated by
    where it was computed; `branch()` gives a copy for code that runs only sometimes.
    """

    def __init__(self, text: FunctionText) -> None:
        self._text = text
        self._values: dict[str, str] = {}

    def branch(self) -> DimensionValues:
        inner = DimensionValues(self._text)
        inner._values = dict(self._values)
        return inner

    def bind(self, symbol: str, value: str) -> None:
        self._values[symbol] = value

    def fresh(self, stem: str) -> str:
        """A symbol for a size that has no name in the program."""
        name = "".join(char if char.isalnum() else "_" for char in f"_{stem}")
        while name in self._values:
            name += "_"
        return name

    def knows(self, dim: dims.Dim) -> bool:
        """True when every symbol of `dim` has a value."""
        return all(symbol in self._values for symbol in dims.symbols(dim))

    def value(self, dim: dims.Dim) -> str:
        """The SSA name (i64) of a size.  Raises CompileError for a symbol without a value."""
        if isinstance(dim, int):
            return self._text.constant(dim)
        if dim not in self._values:
            self._values[dim] = self._expression(ast.parse(dim, mode="eval").body)
        return self._values[dim]

    def _expression(self, node: ast.expr) -> str:
        text = self._text
        match node:
            case ast.Constant(value=int(number)):
                return text.constant(number)
            case ast.Name(id=symbol):
                if symbol not in self._values:
                    raise CompileError(f"the symbolic size {symbol!r} is defined nowhere")
                return self._values[symbol]
            case ast.UnaryOp(op=ast.USub()):
                return text.binary("subi", text.constant(0), self._expression(node.operand))
            case ast.BinOp(op=ast.Mod()):
                return self._modulo(node.left, node.right)
            case ast.BinOp() if type(node.op) in _OPERATIONS:
                left, right = self._expression(node.left), self._expression(node.right)
                return text.binary(_OPERATIONS[type(node.op)], left, right)
            case ast.Call(func=ast.Name(id="floormod"), args=[left, right]):
                return self._modulo(left, right)
            case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in _COMPARISONS:
                a, b = self._expression(left), self._expression(right)
                holds = text.compare(_COMPARISONS[name], a, b)
                return text.value(f"arith.extui {holds} : i1 to i64")
            case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in _CALLS:
                return text.binary(_CALLS[name], self._expression(left), self._expression(right))
        raise CompileError(f"size expression {ast.unparse(node)!r} cannot be computed")

    def _modulo(self, left: ast.expr, right: ast.expr) -> str:
        """Python's remainder: the sign of the divisor."""
        text = self._text
        a, b = self._expression(left), self._expression(right)
        whole = text.binary("muli", text.binary("floordivsi", a, b), b)
        return text.binary("subi", a, whole)
