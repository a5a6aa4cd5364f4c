"""Diagnostics of MLIR and of ours in one form, and mlir-opt's `--verify-diagnostics` on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class Diagnostic:
    """One message; `line` is 0 when the place is unknown."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = field(default=())

    def render(self, source: Source) -> str:
        """The message as mlir-opt prints it: place, text, source line, caret."""
        if not self.line:
            return f"{source.name}: {self.severity}: {self.message}"
        place = self.file if self.file != "-" else source.name
        text = [f"{place}:{self.line}:{self.column}: {self.severity}: {self.message}"]
        if self.file in ("-", source.name) and self.line <= len(source.lines):
            text += [source.lines[self.line - 1], " " * (self.column - 1) + "^"]
        return "\n".join([*text, *(note.render(source) for note in self.notes)])


@dataclass(frozen=True)
class Source:
    """The input file: its name and its lines."""

    name: str
    lines: Sequence[str]


def from_mlir(info: Any, first_line: int = 1) -> Diagnostic:
    """A diagnostic of MLIR; lines of the text "-" count from `first_line`."""
    file, line, column = place_of(info.location)
    if line and file == "-":
        line += first_line - 1
    severity = str(info.severity).rpartition(".")[2].lower()
    notes = tuple(from_mlir(note, first_line) for note in info.notes)
    return Diagnostic(severity, str(info.message), file, line, column, notes)


def from_exception(error: BaseException, first_line: int = 1) -> list[Diagnostic]:
    """The diagnostics behind an exception raised by parsing or by a pass."""
    source: BaseException | None = error
    while source is not None and not isinstance(source, ir.MLIRError):
        source = source.__cause__
    if source is not None and source.error_diagnostics:
        return [from_mlir(info, first_line) for info in source.error_diagnostics]
    if isinstance(error, Error):
        hint = f" (hint: {error.hint})" if error.hint else ""
        span = error.span
        if span is None:
            return [Diagnostic("error", error.message + hint)]
        line = span.line + (first_line - 1 if span.file == "-" else 0)
        return [Diagnostic("error", error.message + hint, span.file, line, span.column)]
    return [Diagnostic("error", f"{type(error).__name__}: {error}")]


def place_of(location: ir.Location) -> tuple[str, int, int]:
    """(file, line, column) of the first source place inside a location; ("", 0, 0) for none."""
    location = ir.Location.from_attr(location.attr)
    if isinstance(location, ir.FileLineColLoc):
        return str(location.filename).strip('"'), location.start_line, location.start_col
    inner: list[ir.Location] = []
    if isinstance(location, ir.NameLoc):
        inner = [location.child_loc]
    elif isinstance(location, ir.FusedLoc):
        inner = list(location.locations)
    elif isinstance(location, ir.CallSiteLoc):
        inner = [location.callee]
    for child in inner:
        place = place_of(child)
        if place[1]:
            return place
    return "", 0, 0


@contextmanager
def collected(first_line: int = 1) -> Iterator[list[Diagnostic]]:
    """Collect what MLIR emits inside the `with`; errors come as exceptions instead."""
    found: list[Diagnostic] = []

    def handler(info: Any) -> bool:
        found.append(from_mlir(info, first_line))
        return True

    attached = mlir.context().attach_diagnostic_handler(handler)
    try:
        yield found
    finally:
        attached.detach()


# -- --verify-diagnostics ---------------------------------------------------------------------

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<regex>-re)?\s*"
    r"(?:@(?P<at>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_EMBEDDED = re.compile(r"\{\{(.*?)\}\}")
_OPERATION_NOTE = "see current operation"


@dataclass
class Expectation:
    """One `expected-...` comment; `line` is 0 for `@unknown`."""

    severity: str
    pattern: str
    is_regex: bool
    line: int
    where: int
    met: bool = False

    def matches(self, found: Diagnostic) -> bool:
        if self.met or found.severity != self.severity or found.line != self.line:
            return False
        if self.is_regex:
            return re.search(self.pattern, found.message) is not None
        return self.pattern in found.message


def expectations(lines: Sequence[str], first_line: int = 1) -> list[Expectation]:
    """The expectations in a piece of a file that starts at `first_line`."""
    found: list[Expectation] = []
    for number, line in enumerate(lines, first_line):
        match = _EXPECTED.search(line)
        if match:
            found.append(_expectation(match, number, lines, first_line))
    return found


def _expectation(
    match: re.Match[str], number: int, lines: Sequence[str], first_line: int
) -> Expectation:
    at, text = match["at"], match["text"]
    is_regex = match["regex"] is not None
    return Expectation(
        match["severity"],
        _regex(text) if is_regex else text,
        is_regex,
        _line_meant(at, number, lines, first_line),
        number,
    )


def _line_meant(at: str | None, number: int, lines: Sequence[str], first_line: int) -> int:
    if at is None:
        return number
    if at == "unknown":
        return 0
    if at not in ("above", "below"):
        return number + int(at)
    # The nearest line in that direction that is not itself an expectation.
    step = -1 if at == "above" else 1
    line = number + step
    while first_line <= line < first_line + len(lines) and _EXPECTED.search(
        lines[line - first_line]
    ):
        line += step
    return line


def _regex(text: str) -> str:
    """`a {{b.*}} c`: the parts in double braces are regular expressions, the rest is literal."""
    parts = _EMBEDDED.split(text)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


def verify(found: Sequence[Diagnostic], expected: list[Expectation]) -> list[Diagnostic]:
    """What differs between the diagnostics found and the expected ones; empty when all agree."""
    problems: list[Diagnostic] = []
    for diagnostic in _with_notes(found):
        match = next((e for e in expected if e.matches(diagnostic)), None)
        if match is not None:
            match.met = True
        elif not diagnostic.message.startswith(_OPERATION_NOTE):
            text = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            problems.append(
                Diagnostic("error", text, diagnostic.file, diagnostic.line, diagnostic.column)
            )
    for missed in expected:
        if not missed.met:
            text = f'expected {missed.severity} "{missed.pattern}" was not produced'
            problems.append(Diagnostic("error", text, "-", missed.where, 1))
    return problems


def _with_notes(found: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in found:
        yield diagnostic
        yield from _with_notes(diagnostic.notes)
