"""Where in the user's program something happens: the innermost frame outside this package."""

from __future__ import annotations

import inspect
import linecache
import os
import re
from types import FrameType

import relax_mlir
from relax_mlir.errors import Span
from relax_mlir.mlir import ir

_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*[\w.]+\((is_size_var=\w+)?\)\s*(#.*)?$")
_PACKAGE = os.path.dirname(os.path.realpath(relax_mlir.__file__))
# The package's own folders: two of them are links to the top of the repository.
_OWN = tuple(
    {
        os.path.realpath(path) + os.sep
        for path in (
            _PACKAGE,
            os.path.join(_PACKAGE, "dialects"),
            os.path.join(_PACKAGE, "lowering"),
        )
    }
)


def user_frame() -> FrameType | None:
    """The innermost frame whose code is not this package's."""
    frame = inspect.currentframe()
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_span() -> Span | None:
    """File, line, column and text of the user's call."""
    frame = user_frame()
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).rstrip("\n") or None
    column, end = _columns(frame, line)
    return Span(file, line, column, text, end)


def assigned_name() -> str:
    """What the call of our caller, by a user, is assigned to: `n` of `n = T.int64()`.

    Empty where the call is not all that the line assigns, and where it is this package's.
    """
    here = inspect.currentframe()
    called = None if here is None else here.f_back
    frame = None if called is None else called.f_back
    if frame is None or _is_own(frame.f_code.co_filename):
        return ""
    found = _ASSIGNMENT.match(linecache.getline(frame.f_code.co_filename, frame.f_lineno))
    return found[1] if found else ""


def user_location() -> ir.Location:
    """The user's call as an MLIR location.  Must be called inside `mlir.scope()`."""
    frame = user_frame()
    if frame is None:
        return ir.Location.unknown()
    return ir.Location.file(frame.f_code.co_filename, frame.f_lineno, 0)


_known: dict[str, bool] = {}


def _is_own(file: str) -> bool:
    own = _known.get(file)
    if own is None:
        own = _known[file] = os.path.realpath(file).startswith(_OWN)
    return own


def _columns(frame: FrameType, line: int) -> tuple[int, int | None]:
    positions = getattr(frame.f_code, "co_positions", None)  # Python 3.11
    if positions is None:
        return 1, None
    table = list(positions())
    first, last, column, end = table[frame.f_lasti // 2]
    if first != line or column is None:
        return 1, None
    return column + 1, end + 1 if last == line and end is not None else None
