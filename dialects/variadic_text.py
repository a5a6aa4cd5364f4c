"""MLIR text without the segment attributes of variadic operations (`variadic.py`): taken out after
printing, put back before parsing."""

from __future__ import annotations

import re

from relax_mlir.dialects.variadic import OPERANDS, RESULTS, SLOTS, VARIADIC

_SEGMENT = rf"(?:{OPERANDS}|{RESULTS}) = array<i32(?:: (?:\d+, ){{{SLOTS - 1}}}\d+)?>"
_ALONE = re.compile(rf" \{{{_SEGMENT}(?:, {_SEGMENT})*\}}")
_FIRST = re.compile(rf"(?<=\{{){_SEGMENT}, ")
_LATER = re.compile(rf", {_SEGMENT}")
_OPERATION = re.compile(
    r"^(?P<indent>[^\"\n/]*)\"(?P<name>\w+\.\w+)\"\((?P<operands>[^()\"]*)\)", re.MULTILINE
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def remove_segments(text: str) -> str:
    """The text of operations without the attributes that `insert_segments` can make again."""
    if "SegmentSizes" not in text:
        return text
    return _LATER.sub("", _FIRST.sub("", _ALONE.sub("", text)))


def insert_segments(text: str) -> str:
    """The text with the segment attributes that variadic operations lack."""
    edits: list[tuple[int, str]] = []
    for match in _OPERATION.finditer(text):
        wanted = VARIADIC.get(match["name"])
        if not wanted:
            continue
        position = _after_regions(text, match.end())
        present = text[position : _statement_end(text, position)]
        counts = {OPERANDS: _count(match["operands"]), RESULTS: _results(match["indent"])}
        missing = [
            f"{name} = {_array(counts[name])}"
            for name in wanted
            if f"{name} =" not in present and counts[name] <= SLOTS
        ]
        if missing:
            edits.append(_edit(text, position, ", ".join(missing)))
    for position, inserted in sorted(edits, reverse=True):
        text = text[:position] + inserted + text[position:]
    return text


def _edit(text: str, position: int, attributes: str) -> tuple[int, str]:
    """Where to insert: into the attribute dictionary, or as one before the colon."""
    opening = re.compile(r"\s*\{").match(text, position)
    if opening is None:
        return position, f" {{{attributes}}}"
    empty = text[opening.end() :].lstrip().startswith("}")
    return opening.end(), attributes if empty else f"{attributes}, "


def _array(count: int) -> str:
    return f"array<i32: {', '.join(['1'] * count + ['0'] * (SLOTS - count))}>"


def _count(operands: str) -> int:
    return operands.count("%")


def _results(indent: str) -> int:
    """The number of results named before the operation: `%a, %b = ` or `%0:2 = `."""
    grouped = re.findall(r":(\d+)", indent)
    return sum(map(int, grouped)) + indent.count("%") - len(grouped)


def _after_regions(text: str, position: int) -> int:
    """The position behind `({...}, {...})`, if regions follow the operands."""
    if not re.compile(r"\s*\(\s*\{").match(text, position):
        return position
    depth = 0
    i = position
    while i < len(text):
        if text[i] == '"':
            literal = _STRING.match(text, i)
            i = literal.end() if literal else i + 1
            continue
        if text.startswith("//", i):
            i = text.find("\n", i) % (len(text) + 1)
            continue
        depth += (text[i] in "({") - (text[i] in ")}")
        i += 1
        if depth == 0 and text[i - 1] == ")":
            return i
    return position


def _statement_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
