"""Types of Relax values as TVMScript spells them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from relax_mlir.dialects.dims import COMPARISONS, Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.dialect import ObjectType
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class TypeStyle:
    """How types are spelled: the namespaces' names, quoted symbols, and the name of "any object".

    `renamed` maps symbols to the names they have in the text.
    """

    relax: str = "R"
    tir: str = "T"
    quoted: bool = False
    any_object: str = "Object"
    renamed: Mapping[str, str] = field(default_factory=dict)

    def text(self, kind: ir.Type) -> str:
        """TVMScript of a type."""
        tensor = types.tensor_info(kind)
        if tensor is not None:
            parts = self._tensor(tensor)
            if tensor.place:
                return f"{self.relax}.{types.placed_form(tensor.place, parts)}"
            return f"{self.relax}.Tensor({', '.join(parts)})"
        fields = types.tuple_fields(kind)
        if fields is not None:
            inner = ", ".join(map(self.text, fields))
            return f"{self.relax}.Tuple({inner})" if inner else f"{self.relax}.Tuple"
        shape = types.shape_info(kind)
        if shape is not None:
            known = shape.dims is not None
            inner = f"[{', '.join(map(self.dim, shape.dims or ()))}]"
            return f"{self.relax}.Shape({inner if known else f'ndim={shape.ndim}'})"
        prim = types.prim_info(kind)
        if prim is not None:
            return self._prim(*prim)
        if isinstance(kind, ir.FunctionType):
            params = self._group([self.text(k) for k in kind.inputs])
            return f"{self.relax}.Callable({params}, {self.text(kind.results[0])})"
        opaque = self.any_object if isinstance(kind, ObjectType) else "Callable"
        return f"{self.relax}.{opaque}"

    def dim(self, dim: Dim) -> str:
        """A dimension: `n // 2`, or `"n // 2"` when symbols are quoted."""
        if isinstance(dim, int):
            return str(dim)
        text = _DimText(self).text(dim)
        return f'"{text}"' if self.quoted else text

    def _tensor(self, info: types.TensorInfo) -> list[str]:
        parts: list[str] = []
        if info.dims is not None:
            parts.append(self._group([self.dim(dim) for dim in info.dims]))
        if info.dtype is not None:
            parts.append(f'dtype="{info.dtype}"')
        if info.dims is None and info.ndim >= 0:
            parts.append(f"ndim={info.ndim}")
        return parts

    def _prim(self, dtype: str, value: Dim | None) -> str:
        parts = [] if value is not None and dtype == "int64" else [f'"{dtype}"']
        if value is not None:
            parts.append(f"value={self.dim(value)}")
        return f"{self.relax}.Prim({', '.join(parts)})"

    @staticmethod
    def _group(parts: list[str]) -> str:
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def type_text(kind: ir.Type) -> str:
    """A type in the default style: `R.Tensor((n, 784), dtype="float32")`."""
    return TypeStyle().text(kind)


_OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", 1),
    ast.Sub: ("-", 1),
    ast.Mult: ("*", 2),
}
_DIVISIONS = {"floordiv": "//", "floormod": "%"}


@lru_cache(maxsize=4096)
def _parsed(dim: str) -> ast.expr:
    return ast.parse(dim, mode="eval").body


class _DimText:
    """Canonical dimension text with Python's operators for the functions that have them."""

    def __init__(self, style: TypeStyle):
        self.style = style

    def text(self, dim: str) -> str:
        return self._node(_parsed(dim), 0)

    def _node(self, node: ast.expr, level: int) -> str:
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.Name):
            return self.style.renamed.get(node.id, node.id)
        if isinstance(node, ast.UnaryOp):
            return f"-{self._node(node.operand, 3)}"
        if isinstance(node, ast.BinOp):
            symbol, rank = _OPERATORS[type(node.op)]
            text = f"{self._node(node.left, rank)} {symbol} {self._node(node.right, rank + 1)}"
            return f"({text})" if rank < level else text
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        a, b = node.args
        comparison = COMPARISONS.get(node.func.id)
        if comparison is not None:
            text = f"{self._node(a, 0)} {comparison} {self._node(b, 0)}"
            return f"({text})" if level > 0 else text
        operator = _DIVISIONS.get(node.func.id)
        if operator is None:
            prefix = "" if self.style.quoted else f"{self.style.tir}."
            return f"{prefix}{node.func.id}({self._node(a, 0)}, {self._node(b, 0)})"
        text = f"{self._node(a, 2)} {operator} {self._node(b, 3)}"
        return f"({text})" if level > 2 else text
