"""The repository's shape: which way imports go, and how long files and functions may grow."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE_LINES = 600
FUNCTION_LINES = 60

# Lower layers know nothing of higher ones. What is not named here is of the highest.
LAYERS = {
    "relax_mlir.cores": 0,
    "relax_mlir.errors": 0,
    "relax_mlir.mlir": 0,
    "relax_mlir.on_demand": 0,
    "relax_mlir.dialects": 1,
    "relax_mlir.ir": 2,
    "relax_mlir.tir": 3,
    "relax_mlir.te": 3,
    "relax_mlir.topi": 3,
    "relax_mlir.lowering": 4,
}
HIGHEST = 5

# Loads our dialects into the context that it makes, which is why it may name them.
DOOR_TO_MLIR = "relax_mlir.mlir"


def sources() -> list[Path]:
    folders = [ROOT / "dialects", ROOT / "lowering", ROOT / "relax_mlir"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    # Depending on the version of Python, rglob follows the links into dialects and lowering.
    return sorted({path.resolve() for path in files})


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts if parts[0] == "relax_mlir" else ("relax_mlir", *parts)
    return ".".join(part for part in package if part != "__init__")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def layer(module: str) -> int:
    return next(
        (rank for name, rank in LAYERS.items() if f"{module}.".startswith(f"{name}.")), HIGHEST
    )


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, also those inside functions; not those for type checkers."""
    for_types = {
        id(node)
        for guard in ast.walk(tree(path))
        if isinstance(guard, ast.If) and "TYPE_CHECKING" in ast.unparse(guard.test)
        for node in ast.walk(guard)
    }
    for node in ast.walk(tree(path)):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            module = node.module or ""
            # `from relax_mlir import tir` names a part, `from relax_mlir.tir import For` a thing.
            parts = [f"{module}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, part) for part in parts)


def test_imports_go_one_way() -> None:
    upwards = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources()
        if module_name(path) != DOOR_TO_MLIR
        for line, module in imports(path)
        if module.startswith("relax_mlir.") and layer(module) > layer(module_name(path))
    ]
    assert not upwards


def test_one_door_to_the_bindings() -> None:
    direct = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources()
        if module_name(path) != DOOR_TO_MLIR
        for line, module in imports(path)
        if module.split(".")[0] in {"torch_mlir", "mlir", "tvm", "dialects", "lowering"}
    ]
    assert not direct


def test_files_stay_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    long = [
        f"{path.relative_to(ROOT)}, {length} lines"
        for path, length in lengths.items()
        if length > FILE_LINES
    ]
    assert not long


def test_functions_stay_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}, {length} lines"
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert not long


@pytest.mark.parametrize("name", ["dialects", "lowering"])
def test_folders_refuse_their_bare_names(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import {name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode != 0
    assert f"'relax_mlir.{name}'" in run.stderr
