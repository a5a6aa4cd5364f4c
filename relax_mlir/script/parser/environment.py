"""The names a program can use: what the user's Python code defined, and the program's own."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


def calling_frame(depth: int = 1) -> FrameType:
    """The frame of the caller of the function that asks, or of one further out."""
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        assert frame is not None
        frame = frame.f_back
    assert frame is not None
    return frame


class Environment:
    """Python names visible where a program is written, in Python's order of lookup."""

    def __init__(self, *tables: Mapping[str, Any]):
        self.tables = [*tables, vars(builtins)]

    @classmethod
    def of_frame(cls, frame: FrameType, *first: Mapping[str, Any]) -> Environment:
        """The names in scope in a frame: its locals, those of the functions around it (also the
        ones that Python did not capture because only annotations mention them), its globals."""
        return cls(*first, *_lexical_locals(frame), frame.f_globals)

    @classmethod
    def of_function(cls, function: Callable[..., Any], frame: FrameType) -> Environment:
        """The names a function sees: its closure, then those of the frame that defines it."""
        closure: dict[str, Any] = {}
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            # A cell is empty until its variable is assigned, as in recursive definitions.
            try:
                closure[name] = cell.cell_contents
            except ValueError:
                continue
        if frame.f_globals is function.__globals__:
            return cls(closure, *_lexical_locals(frame), function.__globals__)
        return cls(closure, function.__globals__)

    def with_names(self, names: Mapping[str, Any]) -> Environment:
        """The same environment with names in front of all others."""
        extended = Environment()
        extended.tables = [names, *self.tables]
        return extended

    def lookup(self, name: str) -> Any:
        """The value of a name.  Raises NameError."""
        for table in self.tables:
            if name in table:
                return table[name]
        raise NameError(f"name '{name}' is not defined")


def _lexical_locals(frame: FrameType) -> list[dict[str, Any]]:
    """The locals of a frame and of the frames whose code contains it."""
    found: list[dict[str, Any]] = []
    code: CodeType | None = None
    current: FrameType | None = frame
    while current is not None:
        if code is None or code in current.f_code.co_consts:
            code = current.f_code
            if current.f_locals is not current.f_globals:
                found.append(dict(current.f_locals))
        current = current.f_back
    return found


class VariableTable:
    """The variables of a program, a scope for each region that has its own."""

    def __init__(self, environment: Environment):
        self.environment = environment
        self._scopes: list[dict[str, Any]] = [{}]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope: what is defined inside is gone afterwards."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    def define(self, name: str, value: Any) -> None:
        """Define or shadow a variable in the innermost scope."""
        self._scopes[-1][name] = value

    def assign(self, name: str, value: Any) -> None:
        """Rebind a variable in the scope that has it, or define it in the innermost one."""
        for scope in reversed(self._scopes):
            if name in scope:
                scope[name] = value
                return
        self.define(name, value)

    def is_local(self, name: str) -> bool:
        """True for a variable of the program, false for a name of the Python code around it."""
        return any(name in scope for scope in self._scopes)

    def lookup(self, name: str) -> Any:
        """The value of a name.  Raises NameError."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return self.environment.lookup(name)

    def snapshot(self) -> list[dict[str, Any]]:
        """The scopes as they are now, for a closure that runs later."""
        return list(self._scopes)
