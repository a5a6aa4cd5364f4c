"""The errors users meet.  All derive from `Error`; each message says what was wrong, where, and
what was expected.  The built-in base classes let `except TypeError` and `except ValueError` work
as a Python programmer expects.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A place in the user's source: file, 1-based line and column, and the text of the line."""

    file: str
    line: int
    column: int
    text: str | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The source line with a caret under the place, or an empty string."""
        if self.text is None:
            return ""
        width = max(1, (self.end_column or self.column + 1) - self.column)
        return f"  {self.text.rstrip()}\n  {' ' * (self.column - 1)}{'^' * width}"


class Error(Exception):
    """Base of every error raised by relax_mlir.

    `span` is the user's source line when it is known; `hint` says what to try.  An error that came
    out of a pass has its name in `pass_name`, and in `reproducer` the module and the pipeline that
    repeat it.
    """

    pass_name: str | None = None
    reproducer: str | None = None

    def __init__(self, message: str, *, span: Span | None = None, hint: str | None = None):
        self.message = message
        self.span = span
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        parts = [self.message if self.span is None else f"{self.span}: {self.message}"]
        if self.span is not None and self.span.text is not None:
            parts.append(self.span.excerpt())
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


class ParseError(Error, SyntaxError):
    """A TVMScript program that does not follow the language (TVM: DiagnosticError)."""

    __str__ = Error.__str__


class TypeInferenceError(Error, TypeError):
    """Operands whose types do not fit an operator."""


class VerificationError(Error, ValueError):
    """IR that breaks an invariant of its dialect."""


class ScheduleError(Error, RuntimeError):
    """A schedule primitive that was refused; the message shows the loop nest and the reason."""


class CompileError(Error, RuntimeError):
    """A module that cannot be lowered for the requested target."""


class PassError(Error, RuntimeError):
    """A pass or pipeline that does not exist, or that failed."""


TVMError = InternalError = OpError = Error
"""TVM's names of the base class."""
DiagnosticError = ParseError
"""TVM's name of the error of a TVMScript program."""
OpNotImplemented = CompileError
"""TVM's name of the error of an operator that the target does not have."""
