"""Options of passes in pipeline text: `name{key=value other=1,2}` fills the fields of the pass."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import Pass, find_pass

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueError("expected true or false")
    return _BOOLEANS[text]


def _strings(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in _strings(text))


_READERS: dict[str, Callable[[str], Any]] = {
    "bool": _boolean,
    "int": int,
    "float": float,
    "str": str,
    "tuple[str, ...]": _strings,
    "tuple[int, ...]": _integers,
}
"""Readers by the annotation of the field; `X | None` reads as X."""


def parse_pass(name: str, options: str = "") -> Pass:
    """The pass of that name with options in mlir-opt's spelling (`a=1 b=true`).

    Raises PassError for an unknown pass, an unknown option, or a value of the wrong kind.
    """
    cls = find_pass(name)
    if cls is None:
        raise PassError(f"there is no pass '{name}'")
    known = {f.name.replace("_", "-"): f for f in fields(cls) if _reader(f) is not None}
    values: dict[str, Any] = {}
    for item in shlex.split(options):
        key, equals, value = item.partition("=")
        field = known.get(key.replace("_", "-"))
        if field is None:
            expected = ", ".join(known) or "it takes none"
            raise PassError(f"pass '{name}' has no option '{key}'", hint=f"options: {expected}")
        values[field.name] = _read(name, field, value if equals else "true")
    return cls(**values)


def _reader(field: Field[Any]) -> Callable[[str], Any] | None:
    annotation = str(field.type).removesuffix(" | None")
    return _READERS.get(annotation)


def _read(name: str, field: Field[Any], text: str) -> Any:
    reader = _reader(field)
    assert reader is not None  # parse_pass keeps only fields that can be read
    try:
        return reader(text)
    except ValueError as error:
        key = field.name.replace("_", "-")
        raise PassError(f"pass '{name}', option '{key}': {text!r} is no {field.type}") from error
