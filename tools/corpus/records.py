"""Programs as they were collected: what is tried, what is left out and why, and their text."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

_DECORATORS = ("ir_module", "prim_func", "function", "tir")
_TRIED = ("ir_module", "prim_func", "relax_func", "implicit", "script_tir")

# 2026's tile and raw-PTX dialects, which are other languages.
_TILE = re.compile(
    r"\bTx\.|\bT\.(ptx|cuda|nki|metal|ptx_legacy|device_entry|kernel|cta|warpgroup|cluster|gemm|cta_id|"
    r"thread_id|warp_id|lane_id|alloc_shared|jit|constexpr|hint|local_scalar)\b"
)
_TILE_SOURCES = ("tirx.tile", "tirx.layout", "tirx.lang", "tirx.cuda", "tirx.operator")
# What a file calls so without a statement that the collection has kept.
_USUAL = ("tir", "tirx", "relax", "te", "topi")
_MEANT_TO_FAIL = re.compile(r"#\s*(error|check_error|should fail|invalid|not allowed)\b", re.I)


@dataclass
class Program:
    """One distinct program and the eras it is part of."""

    record: dict[str, Any]
    eras: set[str] = field(default_factory=set)

    @cached_property
    def text(self) -> str:
        return program_text(self.record)

    @property
    def where(self) -> str:
        return f"{self.record['source']}:{self.record['path']}:{self.record['line']}"


def load(paths: Iterable[Path]) -> tuple[dict[str, Program], dict[tuple[str, str], int]]:
    """Distinct programs by key, and how many were left out by (era, reason)."""
    programs: dict[str, Program] = {}
    left_out: dict[tuple[str, str], int] = {}
    for path in paths:
        seen: set[str] = set()
        for record in _records(path):
            if record["hash"] in seen or record["kind"] not in _TRIED:
                continue
            seen.add(record["hash"])
            reason = exclusion(record)
            if reason is not None:
                key = (record["era"], reason)
                left_out[key] = left_out.get(key, 0) + 1
                continue
            program = Program(record)
            known = programs.setdefault(_key(program), program)
            known.eras.add(record["era"])
    return programs, left_out


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _key(program: Program) -> str:
    """Programs with closures are one only within one file."""
    record = program.record
    closures = record["path"] if record["free"] else ""
    parts = (record["hash"], record["kind"], closures, *record["imports"])
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def exclusion(record: dict[str, Any]) -> str | None:
    """Why a program is left out, or None."""
    code = record["code"]
    if any(around.startswith("with:raises") for around in record["enclosing"]):
        return "meant to be refused"
    if _MEANT_TO_FAIL.search(code) or "error_report" in record["path"]:
        return "meant to be refused"
    names = record["aliases"].values()
    if _TILE.search(code) or any(s in name for name in names for s in _TILE_SOURCES):
        return "tile dialect"
    return None


def is_called_ill_formed(record: Mapping[str, Any], tree: ast.Module) -> bool:
    """Whether the test around a program says that TVM's own check refuses it: the program's name
    is given to `verify_well_formed` (or `well_formed`) in a `with pytest.raises` or `assert not`.
    """
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.lineno <= record["line"] <= (node.end_lineno or 0)
        and any(around == f"def:{node.name}" for around in record["enclosing"])
    ]
    checks = [
        inner
        for test in tests
        for node in ast.walk(test)
        if _says_no(node)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and "well_formed" in ast.unparse(inner.func)
    ]
    return any(
        isinstance(name, ast.Name) and name.id == record["name"]
        for check in checks
        for argument in check.args
        for name in ast.walk(argument)
    )


def _says_no(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return any("raises" in ast.unparse(item.context_expr) for item in node.items)
    test = node.test if isinstance(node, ast.Assert) else None
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def program_text(record: dict[str, Any]) -> str:
    """The program with the imports it needs and the decorators that are TVMScript's."""
    tree = ast.parse(record["code"])
    (definition,) = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    if record["kind"] == "implicit":
        _decorate(definition)
    else:
        definition.decorator_list = [d for d in definition.decorator_list if is_dialect(d)]
    body = ast.unparse(ast.Module([definition], []))
    used = set(re.findall(r"\w+", body))
    imports = [_plain(line, used) for line in record["imports"] if _binds(line) & used]
    bound = {name for line in imports for name in _binds(line)}
    names = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name)} - bound
    imports += [f"from tvm import {n}" for n in _USUAL if n in names - {*record["free"]}]
    return "\n".join([*dict.fromkeys(imports), "", body, ""])


def _decorate(definition: ast.FunctionDef | ast.ClassDef) -> None:
    """Give a method of a test class the decorator that the class gives it."""
    is_function = isinstance(definition, ast.FunctionDef)
    is_relax = is_function and "R." in ast.unparse(definition.args)
    decorator = "R.function" if is_relax else "T.prim_func"
    if isinstance(definition, ast.ClassDef):
        decorator = "I.ir_module"
    elif definition.args.args and definition.args.args[0].arg == "self":
        del definition.args.args[0]
    definition.decorator_list = [ast.parse(decorator, mode="eval").body]


def is_dialect(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).rpartition(".")[2] in _DECORATORS


def _plain(line: str, used: set[str]) -> str:
    """An import without what it loads for the file's other code."""
    (statement,) = ast.parse(line).body
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    statement.names = [a for a in statement.names if (a.asname or a.name.partition(".")[0]) in used]
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            alias.name = alias.name if alias.asname else alias.name.partition(".")[0]
    return ast.unparse(statement)


def _binds(line: str) -> set[str]:
    (statement,) = ast.parse(line).body
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
