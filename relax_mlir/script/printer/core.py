"""What the printers of the dialects share: options, indentation, names, and the module's frame.

A dialect's printer is a function `print_<kind>(face, printer) -> list[str]` that returns the lines
of one function, decorator included, not indented.  It gets a `Printer`:

- `printer.T`, `printer.R`, `printer.I` are the namespace prefixes; using one notes that the text
  needs it, so that the header names it;
- `printer.names` is a `NameTable`, fresh for each function: `names.define(key, hint)` makes a
  unique Python name for any key (an MLIR value, say), `names[key]` finds it,
  `with names.scope():` frees the names defined inside;
- `printer.line(text)` and `with printer.indent():` write lines, `printer.take()` returns them;
- `printer.options` are the user's, `printer.in_module` says whether the function stands in a
  module's class, `printer.constants` collects the constants printed as `metadata[...]`, and
  `printer.objects` what else is.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import Reference

if TYPE_CHECKING:
    from relax_mlir.ir.function import BaseFunc

SYNTAXES = ("tir", "tirx")


@dataclass(frozen=True)
class PrinterOptions:
    """The options of `script()` and `show()`, with TVM's names where TVM has them.

    `syntax` is the spelling: "tir" writes `T.block` and `out_sinfo=` (TVM to 0.23), "tirx" writes
    `T.sblock` and `out_ty=` (TVM 0.27).  `name` is the module's class name.  `show_meta` prints the
    large constants after the program.  `syntax_sugar=False` writes `T.axis.spatial` lines instead
    of `T.axis.remap` and one loop instead of `T.grid`.
    """

    syntax: str = "tir"
    name: str = "Module"
    show_meta: bool = False
    indent_spaces: int = 4
    module_alias: str = "cls"
    syntax_sugar: bool = True
    show_all_struct_info: bool = True

    def __post_init__(self) -> None:
        if self.syntax not in SYNTAXES:
            raise ValueError(f"syntax is one of {', '.join(SYNTAXES)}, not {self.syntax!r}")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> PrinterOptions:
        """Options from keywords.  Raises TypeError for an unknown one."""
        known = [option.name for option in fields(cls)]
        for name in options:
            if name not in known:
                raise TypeError(f"script() has no option '{name}'; it has {', '.join(known)}")
        return cls(**options)


class NameTable:
    """Unique Python names for values."""

    def __init__(self, reserved: tuple[str, ...] = ()):
        self._names: dict[Hashable, str] = {}
        self._taken: set[str] = {*keyword.kwlist, *reserved}

    def reserve(self, *names: str) -> None:
        """Let no value be called so."""
        self._taken.update(names)

    def define(self, key: Hashable, hint: str | None) -> str:
        """A name for `key`: the hint, or the hint with the first free number."""
        base = identifier(hint or "v")
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._names[key] = name
        return name

    def alias(self, key: Hashable, name: str) -> None:
        """Let `key` be known by a name or text that exists already."""
        self._names[key] = name

    def __getitem__(self, key: Hashable) -> str:
        return self._names[key]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._names

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names defined inside are free again afterwards."""
        names, taken = dict(self._names), set(self._taken)
        try:
            yield
        finally:
            self._names, self._taken = names, taken


def identifier(hint: str) -> str:
    """A Python identifier close to `hint`."""
    name = re.sub(r"\W", "_", hint)
    return f"v_{name}" if not name or name[0].isdigit() else name


OBJECTS_KEY = "ffi.Module"
"""Where the metadata of a text has the external modules that its attributes name."""


class Printer:
    """The state of printing a function or a module."""

    def __init__(self, options: PrinterOptions, in_module: bool):
        self.options = options
        self.in_module = in_module
        self.used: set[str] = set()
        self.constants: list[Any] = []
        self.objects: list[Any] = []
        self.names = NameTable()
        self._lines: list[str] = []
        self._depth = 0

    @property
    def T(self) -> str:
        self.used.add("T")
        return "T"

    @property
    def R(self) -> str:
        self.used.add("R")
        return "R"

    @property
    def I(self) -> str:  # noqa: E743  (the name of TVMScript's module)
        self.used.add("I")
        return "I"

    def line(self, text: str) -> None:
        self._lines.append(" " * (self.options.indent_spaces * self._depth) + text)

    @contextmanager
    def indent(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def take(self) -> list[str]:
        """The lines written since the last `take`."""
        lines, self._lines = self._lines, []
        return lines

    def attributes(self, values: Mapping[str, Any]) -> str:
        """The attributes of a module; objects without a text (external modules) are of the
        metadata."""
        return literal(values, self._object)

    def _object(self, value: Any) -> str:
        self.objects.append(value)
        return f'metadata["{OBJECTS_KEY}"][{len(self.objects) - 1}]'

    def function(self, face: BaseFunc) -> list[str]:
        """The lines of a function, by the printer of its kind."""
        reserved = ["T"]
        if face.attrs_key != "tir.attrs":
            reserved += ["R"]
        self.names = NameTable(tuple(reserved))
        return _function_printer(face)(face, self)

    def header(self) -> list[str]:
        """The commented imports of the namespaces that were used."""
        rows = [("I", "ir"), ("T", self.options.syntax), ("R", "relax")]
        return [
            f"# from tvm.script import {module} as {prefix}"
            for prefix, module in rows
            if prefix in self.used
        ]


def _function_printer(face: BaseFunc) -> Callable[[Any, Printer], list[str]]:
    if face.attrs_key == "tir.attrs":
        from relax_mlir.script.printer.tir import print_prim_func

        return print_prim_func
    from relax_mlir.script.printer.relax import print_relax_function

    return print_relax_function


def literal(value: Any, other: Callable[[Any], str] | None = None) -> str:
    """A Python value of attributes and annotations as program text; infinities and NaN as
    `float("inf")`.  `other` gives the text of what has none.  Raises TypeError without it."""
    if isinstance(value, Reference):
        return str(value)
    if isinstance(value, str):
        return f'"{_escape(value)}"'
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        items = (f"{literal(str(k))}: {literal(v, other)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(literal(v, other) for v in value)}]"
    if other is not None:
        return other(value)
    raise TypeError(f"a {type(value).__name__} cannot be printed as a literal: {value!r}")


def _escape(text: str) -> str:
    return text.encode("unicode_escape").decode().replace('"', '\\"') if text else text
