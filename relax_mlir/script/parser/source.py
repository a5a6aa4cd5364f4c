"""Where the user's program is written: its text, its syntax tree, and spans in the user's columns.

The whole file is parsed, never a cut-out, so that lines and columns are the user's own.  Files,
notebook cells, and anything else registered with `linecache` work.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any, TypeAlias

from relax_mlir.errors import Error, ParseError, Span

Definition: TypeAlias = "ast.FunctionDef | ast.ClassDef"
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Source:
    """A piece of source text whose tree has the line and column numbers of `file`.

    `first_line` is what to add to the tree's line numbers to get the file's.
    """

    file: str
    lines: tuple[str, ...]
    tree: ast.Module
    line_shift: int = 0

    @classmethod
    def from_text(cls, text: str, file: str = "<str>") -> Source:
        """Parse text that may be indented as a whole.  Raises ParseError."""
        lines = tuple(text.splitlines())
        first = next((line for line in lines if line.strip()), "")
        indented = first[:1] in (" ", "\t")
        # A line in front, not a dedent: the columns stay the user's.
        tree = _parse("if 1:\n" + text if indented else text, file, lines, -1 if indented else 0)
        if not indented:
            return cls(file, lines, tree)
        body = tree.body[0]
        assert isinstance(body, ast.If)
        return cls(file, lines, ast.Module(body.body, []), -1)

    def span(self, node: ast.AST) -> Span:
        """The place of a node: 1-based line and column, counted in characters."""
        line = getattr(node, "lineno", 1) + self.line_shift
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else None
        start = _characters(text, getattr(node, "col_offset", 0))
        end_line = getattr(node, "end_lineno", None)
        end_offset = getattr(node, "end_col_offset", None)
        if end_line is None or end_line + self.line_shift != line or end_offset is None:
            end = len(text.rstrip()) if text is not None else start + 1
        else:
            end = _characters(text, end_offset)
        return Span(self.file, line, start + 1, text, max(end, start + 1) + 1)

    def error(
        self, message: str, node: ast.AST, *, hint: str | None = None, span: Span | None = None
    ) -> ParseError:
        """A ParseError at a node; raise it."""
        return ParseError(message, span=span or self.span(node), hint=hint)


def _characters(text: str | None, offset: int) -> int:
    """A column in characters from one in UTF-8 bytes, as `ast` gives it."""
    if text is None or text.isascii():
        return offset
    return len(text.encode()[:offset].decode(errors="ignore"))


def _parse(text: str, file: str, lines: tuple[str, ...], shift: int) -> ast.Module:
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        line = (error.lineno or 1) + shift
        shown = lines[line - 1] if 0 < line <= len(lines) else None
        span = Span(file, line, error.offset or 1, shown)
        raise ParseError(error.msg, span=span) from None


_files: dict[str, tuple[tuple[str, ...], Source]] = {}


def file_source(file: str, module_globals: dict[str, Any] | None = None) -> Source | None:
    """The parsed file, or None when its text cannot be found or is no Python."""
    linecache.checkcache(file)
    lines = tuple(line.rstrip("\n") for line in linecache.getlines(file, module_globals))
    if not lines:
        return None
    known = _files.get(file)
    if known is not None and known[0] == lines:
        return known[1]
    try:
        source = Source(file, lines, ast.parse("\n".join(lines) + "\n", file))
    except (SyntaxError, ValueError):
        return None
    _files[file] = (lines, source)
    return source


def of_function(function: Callable[..., Any]) -> tuple[Source, ast.FunctionDef]:
    """The source and definition of a Python function.  Raises Error when there is none."""
    code = function.__code__
    source = file_source(code.co_filename, function.__globals__)
    if source is None:
        source = _from_inspect(function)
    for node in definitions(source.tree):
        if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
            continue
        if first_line(node) + source.line_shift == code.co_firstlineno:
            return source, node
    raise _missing(function.__name__, code.co_filename)


def of_class(cls: type, frame: FrameType) -> tuple[Source, ast.ClassDef]:
    """The source and definition of the class that `frame` is decorating.

    The decorator's line decides between classes of one name.  Raises Error when there is none.
    """
    file = frame.f_code.co_filename
    source = file_source(file, frame.f_globals)
    if source is None:
        source = _from_inspect(cls)
    named = [
        node
        for node in definitions(source.tree)
        if isinstance(node, ast.ClassDef) and node.name == cls.__name__
    ]
    line = frame.f_lineno - source.line_shift
    around = [n for n in named if first_line(n) <= line <= (n.end_lineno or n.lineno)]
    # A plain call, `ir_module(cls)`, stands after the class.
    before = [n for n in named if n.lineno <= line]
    candidates = around[-1:] or before[-1:] or named[-1:]
    if not candidates:
        raise _missing(cls.__name__, file)
    return source, candidates[0]


def enclosing_class(frame: FrameType) -> tuple[Source, ast.ClassDef] | None:
    """The class whose body `frame` is executing, if it is one and its source is known."""
    source = file_source(frame.f_code.co_filename, frame.f_globals)
    if source is None:
        return None
    name, line = frame.f_code.co_name, frame.f_lineno
    for node in definitions(source.tree):
        if not isinstance(node, ast.ClassDef) or node.name != name:
            continue
        if first_line(node) <= line <= (node.end_lineno or node.lineno):
            return source, node
    return None


@lru_cache(maxsize=64)
def definitions(tree: ast.Module) -> tuple[Definition, ...]:
    """Every function and class definition in a tree, outer ones first."""
    return tuple(node for node in ast.walk(tree) if isinstance(node, _DEFINITIONS))


def first_line(node: Definition) -> int:
    """The line of the first decorator, or of the definition."""
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _from_inspect(definition: Any) -> Source:
    """The source of one definition when its file as a whole does not parse."""
    try:
        lines, first = inspect.getsourcelines(definition)
        file = inspect.getsourcefile(definition) or "<unknown>"
    except (OSError, TypeError):
        raise _missing(definition.__name__, "its file") from None
    source = Source.from_text("".join(lines), file)
    padding = ("",) * (first - 1)
    return Source(file, padding + source.lines, source.tree, source.line_shift + first - 1)


def _missing(name: str, where: str) -> Error:
    return Error(
        f"the source of '{name}' was not found in {where}",
        hint="a program given as text is read by relax_mlir.script.from_source(text)",
    )
