"""What counts as refusing a program: an error for the user that says what and where."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable
from typing import Any

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import Error, Span
from relax_mlir.ir import IRModule
from relax_mlir.mlir import ir
from relax_mlir.transform import PassContext

__all__ = ["Fault", "check_cause", "check_refusal", "check_span", "run_imported"]

INTERNAL = re.compile(
    r"\b(KeyError|IndexError|AttributeError|TypeError|AssertionError|RecursionError|NameError"
    r"|UnboundLocalError|ZeroDivisionError|OverflowError|StopIteration|RuntimeError|NotImplementedError"
    r"|UnicodeDecodeError|UnicodeEncodeError|ValueError|Exception|MLIRError)\b: "
)  # fmt: skip
"""What the message of an error of Python's begins with."""


EVALUATORS = tuple(
    f"script/parser/{name}.py"
    for name in ("evaluator", "prim_func", "memory_forms", "relax_function")
)
"""Where calls, subscripts and attributes of a TVMScript program are evaluated as Python does."""


class Fault(Exception):
    """A program was refused, but by an error that is no error for its user."""


def check_refusal(error: Error) -> None:
    """Raise Fault for an error without a message, or that hides one of the compiler's own."""
    text = str(error).strip()
    if not text:
        raise Fault("an error without a message")
    if INTERNAL.search(text):
        raise Fault(f"the message is a Python error: {text[:300]}") from error
    check_cause(error)


def run_imported(module: IRModule, inputs: Iterable[Any]) -> tuple[str, Any]:
    """What became of a changed program that an importer took: "uncompiled", "raised" when it ran,
    or "accepted" with its result.  Raises whatever is no error for the user."""
    module.verify()
    try:
        with PassContext(opt_level=0):
            machine = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())
    except Error as error:
        check_cause(error)
        return "uncompiled", None
    try:
        return "accepted", machine["main"](*inputs)
    except (Error, TypeError, ValueError, IndexError, MemoryError, RuntimeError) as error:
        if not str(error).strip():
            raise Fault("an error without a message") from error
        return "raised", None


def check_cause(error: Error) -> None:
    """Raise Fault for an error that was made of one that nobody raised for the user."""
    text = str(error)
    cause = error.__cause__
    while cause is not None:
        if not isinstance(cause, (Error, ir.MLIRError)) and not _is_meant(cause):
            raise Fault(f"{text[:300]} (hides {place_of(cause)})") from error
        cause = cause.__cause__


def _is_meant(error: BaseException) -> bool:
    """True for an exception that a `raise` wrote for the user, or that Python raised for an
    expression of the user's program."""
    if isinstance(error, (AssertionError, RecursionError, KeyError)):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return False
    return (frames[-1].line or "").startswith("raise") or frames[-1].filename.endswith(EVALUATORS)


def place_of(error: BaseException) -> str:
    """The type of an exception and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{at}"


def check_span(span: Span | None, file: str, lines: int) -> None:
    """Raise Fault unless a span lies in the file of so many lines."""
    if span is None:
        raise Fault("the error says no place")
    if span.file != file or not 1 <= span.line <= lines + 1 or span.column < 1:
        raise Fault(f"the error is at {span}, the program has {lines} lines")
