"""Programs as text, TVMScript and MLIR, with tokens or lines of them changed.

The programs are those of the tests.  A changed one is refused with a diagnostic that names file,
line and column, or it is a program as good as any other.
"""

from __future__ import annotations

import ast
import io
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import numpy as np

import relax_mlir
from relax_mlir.errors import Error, ParseError
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.tools import relax_opt
from relax_mlir.transform import PassContext
from tests.fuzz.diagnostics import INTERNAL, Fault, check_refusal, check_span

__all__ = ["check_mlir", "check_script", "mlir_mutant", "mutated", "script_mutant"]

TESTS = Path(__file__).resolve().parent.parent
DECORATORS = ("prim_func", "R.function", "relax.function", "ir_module")
LARGEST = 6000
"""Characters of a program; longer ones say the same more slowly."""

TOKEN = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"  # strings
    r"|[%@#!^]?[A-Za-z_][\w.$]*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"  # names and numbers
    r"|->|==|!=|<=|>=|//|\*\*|:=|[^\s\w]"
)
NAME = re.compile(r"[%@#!^]?[A-Za-z_]")
DTYPES = ("float32", "float16", "float64", "bfloat16", "int32", "int64", "int8", "uint8", "bool",
          "handle", "float8_e4m3fn", "int4", "float32x4", "void", "f32", "f16", "i64", "i1",
          "index")  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "7", "16", "-1", "1.5", "1000003", "9223372036854775807",
           "1e400")  # fmt: skip


# -- changes ----------------------------------------------------------------------------------


def _spans(text: str, fits: Callable[[str], bool] = bool) -> list[tuple[int, int]]:
    return [match.span() for match in TOKEN.finditer(text) if fits(match[0])]


def _choice(rng: np.random.Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]


def _replace(
    text: str, rng: np.random.Generator, fits: Callable[[str], bool], options: Sequence[str]
) -> str:
    """The text with one token of those that fit replaced by one of the options."""
    found = _spans(text, fits)
    if not found or not options:
        return text
    start, end = found[int(rng.integers(len(found)))]
    return text[:start] + _choice(rng, options) + text[end:]


def _is_name(token: str) -> bool:
    return NAME.match(token) is not None


def _is_dtype(token: str) -> bool:
    return token.strip("'\"") in DTYPES


def _tokens(text: str, fits: Callable[[str], bool] = bool) -> list[str]:
    return [text[start:end] for start, end in _spans(text, fits)]


def other_name(text: str, rng: np.random.Generator) -> str:
    return _replace(text, rng, _is_name, _tokens(text, _is_name))


def other_number(text: str, rng: np.random.Generator) -> str:
    return _replace(text, rng, str.isdecimal, NUMBERS)


def other_dtype(text: str, rng: np.random.Generator) -> str:
    quote = '"' if '"float' in text or '"int' in text else ""
    return _replace(text, rng, _is_dtype, [f"{quote}{name}{quote}" for name in DTYPES])


def other_token(text: str, rng: np.random.Generator) -> str:
    return _replace(text, rng, bool, _tokens(text))


def without_token(text: str, rng: np.random.Generator) -> str:
    return _replace(text, rng, bool, [""])


def token_twice(text: str, rng: np.random.Generator) -> str:
    start, end = _spans(text)[int(rng.integers(len(_spans(text))))]
    return f"{text[:end]} {text[start:end]}{text[end:]}"


def tokens_swapped(text: str, rng: np.random.Generator) -> str:
    found = _spans(text)
    if len(found) < 2:
        return text
    at = int(rng.integers(len(found) - 1))
    (a, b), (c, d) = found[at], found[at + 1]
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def without_line(text: str, rng: np.random.Generator) -> str:
    lines = text.splitlines(keepends=True)
    del lines[int(rng.integers(len(lines)))]
    return "".join(lines)


def line_twice(text: str, rng: np.random.Generator) -> str:
    lines = text.splitlines(keepends=True)
    at = int(rng.integers(len(lines)))
    return "".join([*lines[:at], lines[at], *lines[at:]])


def line_elsewhere(text: str, rng: np.random.Generator) -> str:
    lines = text.splitlines(keepends=True)
    line = lines.pop(int(rng.integers(len(lines))))
    lines.insert(int(rng.integers(len(lines) + 1)), line)
    return "".join(lines)


def other_indentation(text: str, rng: np.random.Generator) -> str:
    lines = text.splitlines(keepends=True)
    at = int(rng.integers(len(lines)))
    line = lines[at]
    lines[at] = "    " + line if rng.random() < 0.5 else line.removeprefix("    ")
    return "".join(lines)


CHANGES = (other_name, other_name, other_number, other_number, other_dtype, other_dtype,
           other_token, without_token, token_twice, tokens_swapped, without_line, line_twice,
           line_elsewhere, other_indentation)  # fmt: skip


def mutated(text: str, rng: np.random.Generator) -> str:
    """The text with one to three changes."""
    before = text
    for _ in range(20):
        for _ in range(int(rng.integers(1, 4))):
            if text.strip():
                text = CHANGES[int(rng.integers(len(CHANGES)))](text, rng)
        if text != before:
            return text
    return text


# -- TVMScript --------------------------------------------------------------------------------


@cache
def script_programs() -> list[str]:
    """The functions and modules in the tests that a decorator of TVMScript is on."""
    found: list[str] = []
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(decorator in text for decorator in DECORATORS):
            found += _decorated(text)
    return [text for text in found if len(text) < LARGEST]


def _decorated(text: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        shown = [ast.unparse(decorator) for decorator in node.decorator_list]
        if any(name in decorator for decorator in shown for name in DECORATORS):
            first = min(decorator.lineno for decorator in node.decorator_list)
            yield dedent("".join(lines[first - 1 : node.end_lineno]))


@cache
def _stands_alone(text: str) -> bool:
    try:
        from_source(text)
    except Error:
        return False
    return True


def script_mutant(seed: int) -> str:
    """A changed program of the tests; those that use names of their file are passed over."""
    rng = np.random.default_rng(seed)
    while True:
        text = _choice(rng, script_programs())
        if _stands_alone(text):
            return mutated(text, rng)


def check_script(seed: int) -> str:
    """What became of a changed TVMScript program: "refused" by the parser, "uncompiled" (refused
    later) or "accepted".  Raises whatever is no error for the user."""
    text = script_mutant(seed)
    try:
        found = from_source(text, file="program.py")
    except ParseError as error:
        check_refusal(error)
        check_span(error.span, "program.py", text.count("\n") + 1)
        return "refused"
    module = found if isinstance(found, IRModule) else IRModule({"main": found})
    module.verify()
    from_source(module.script(show_meta=True))
    try:
        with PassContext(opt_level=0):
            relax_mlir.compile(module, "llvm")
    except Error as error:
        check_refusal(error)
        return "uncompiled"
    return "accepted"


# -- MLIR -------------------------------------------------------------------------------------

RUN = re.compile(r"// RUN: relax-opt (.*)")


@dataclass(frozen=True)
class Piece:
    """A module of a lit test, and the options that it is run with."""

    text: str
    options: tuple[str, ...]


@cache
def mlir_pieces() -> list[Piece]:
    """The modules of the lit tests."""
    found: list[Piece] = []
    for path in sorted((TESTS / "lit").rglob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        run = RUN.search(text)
        if run is None or "%s" not in run[1] or "\\" in run[1]:
            continue
        words = shlex.split(run[1].partition("|")[0].partition(">")[0])
        left_out = ("%s", "--split-input-file", "--verify-diagnostics", "2", "-o", "not")
        options = tuple(word for word in words if word not in left_out and "%" not in word)
        plain = re.sub(r"//[^\n]*", "", text.replace("// -----", "\0"))
        found += [Piece(part.strip() + "\n", options) for part in plain.split("\0")]
    return [piece for piece in found if piece.text.strip() and len(piece.text) < LARGEST]


def mlir_mutant(seed: int) -> Piece:
    """A changed module of the lit tests."""
    rng = np.random.default_rng(seed)
    pieces = mlir_pieces()
    piece = pieces[int(rng.integers(len(pieces)))]
    return Piece(mutated(piece.text, rng), piece.options)


def check_mlir(seed: int) -> str:
    """What relax-opt said of a changed module: "refused" or "accepted".  Raises Fault when it
    failed without a diagnostic, or with one that is no diagnostic for the user."""
    piece = mlir_mutant(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(piece.text, encoding="utf-8")
        code, said = relax_opt_output([*piece.options, str(path)])
    if code == 0:
        return "accepted"
    errors = [line for line in said.splitlines() if " error: " in line]
    if not errors:
        raise Fault(f"relax-opt failed without an error: {said[:300]!r}")
    if INTERNAL.search(said):
        raise Fault(f"the message is a Python error: {said[:400]!r}")
    functions = re.findall(r"@(\w+)", piece.text)
    if not re.search(r":\d+:\d+: error: ", said) and not any(f in said for f in functions):
        raise Fault(f"relax-opt names no place and no function: {said[:400]!r}")
    return "refused"


def relax_opt_output(arguments: list[str]) -> tuple[int, str]:
    """relax-opt's exit code and what it wrote to stderr."""
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = relax_opt.main(arguments)
    return code, said.getvalue()
