"""The TensorIR functions of a module while operators are legalised: names and sharing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.dims import symbols
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.mlir import ir
from relax_mlir.tir.function import PrimFunc

_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass
class _Known:
    """A private function of the module; its text is made when it is first compared."""

    name: str
    operation: ir.Operation
    text: str | None = None

    def has(self, text: str) -> bool:
        if self.text is None:
            self.text = content(self.operation)
        return self.text == text


class PrimFuncs:
    """Adds functions to a module; one that equals a private function there is not added again."""

    def __init__(self, state: ModuleState):
        self._body = state.module.body
        self._names: set[str] = set()
        # By their types: most functions are alone with theirs, and need not be compared.
        self._known: dict[str, list[_Known]] = {}
        self._before: ir.Operation | None = None
        self.calls: dict[str, tuple[str, list[str]]] = {}
        """What operators that were legalised became: a function, and the symbols it is given."""
        self._symbols: set[str] = set()
        self._module = state.module
        self._text: str | None = None
        for op in state.functions():
            name = ir.StringAttr(op.attributes["sym_name"]).value
            self._names.add(name)
            if "tir.attrs" not in op.attributes:
                self._before = self._before or op
            elif "sym_visibility" in op.attributes:
                self._alike(op).append(_Known(name, op))

    def add(self, function: PrimFunc, hint: str) -> str:
        """The name under which the module holds the function, private."""
        op = function.operation.clone()
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        alike = self._alike(op)
        text = content(op) if alike else None
        same = None if text is None else next((k.name for k in alike if k.has(text)), None)
        if same is not None:
            op.erase()
            return same
        name = self._fresh(hint)
        op.attributes["sym_name"] = ir.StringAttr.get(name)
        alike.append(_Known(name, op, text))
        if self._before is None:
            self._body.append(op)
        else:
            ir.InsertionPoint(self._before).insert(op)
        return name

    def _alike(self, op: ir.Operation) -> list[_Known]:
        """The private functions of an operation's type."""
        return self._known.setdefault(str(op.attributes["function_type"]), [])

    def fresh_symbol(self, hint: str) -> str:
        """A name for a symbolic size that no function uses."""
        if self._text is None:
            self._text = str(self._module)
        name, number = hint, 0
        while name in self._symbols or name in self._text:
            number += 1
            name = f"{hint}_{number}"
        self._symbols.add(name)
        return name

    def _fresh(self, hint: str) -> str:
        name, number = hint, 0
        while name in self._names:
            number += 1
            name = f"{hint}{number}"
        self._names.add(name)
        return name


def content(op: ir.Operation) -> str:
    """A text equal for functions that differ only in names of themselves, parameters, symbols."""
    copy = op.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get("f")
    parameters = [from_attribute(a) for a in ir.ArrayAttr(copy.attributes["arg_attrs"])]
    renamed: dict[str, str] = {}
    for parameter in parameters:
        name = parameter.pop("tir.name", None)
        if "tir.shape" not in parameter:  # a scalar may be a symbol
            parameter["position"] = name if name in renamed else ""
        for dim in parameter.get("tir.shape", ()):
            for symbol in symbols(dim):
                renamed.setdefault(symbol, f"s{len(renamed)}")
    copy.attributes["arg_attrs"] = ir.ArrayAttr.get([to_attribute(p) for p in parameters])
    text = copy.get_asm(assume_verified=True)
    copy.erase()
    if not renamed:
        return text
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, renamed))})\b")

    def rename(literal: re.Match[str]) -> str:
        return pattern.sub(lambda symbol: renamed[symbol[0]], literal[0])

    return _NAMES.sub(rename, text)
