"""Values of the names that a program takes from the Python code around it.

The file around the program is read, never run as a whole: for each name the statement that gives
it a value is found and carried out, with the names it needs found the same way.  A parameter of the
function around takes its default, or the first value that the tests in the file give it.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

_MISSING = object()
_TEST_PARAMETERS = ("tvm.testing.parameter", "tvm.testing.parameters")


class Unresolved(Exception):
    """A name whose value cannot be found."""


def resolve(record: Mapping[str, Any], repositories: Mapping[str, str]) -> dict[str, Any]:
    """The values of the record's free names.  Raises Unresolved."""
    if not record["free"]:
        return {}
    tree = file_of(record, repositories)
    around = [e.partition(":")[2] for e in record["enclosing"] if not e.startswith("with:")]
    scopes = _scopes(tree, around, record["line"])
    names = _Names(scopes, _package(record["path"]))
    return {name: names[name] for name in record["free"]}


def file_of(record: Mapping[str, Any], repositories: Mapping[str, str]) -> ast.Module:
    """The syntax tree of the file a record is from.  Raises Unresolved when it is not at hand."""
    return _file(repositories.get(record["source"], ""), record["commit"], record["path"])


def registered_names(tree: ast.Module) -> set[str]:
    """What a file adds to TVMScript itself, with `tvm.script.registry.register`."""
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and any(ast.unparse(d).rpartition(".")[2] == "register" for d in node.decorator_list)
    } | {
        argument.value.rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("register_op_attr")
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


@lru_cache(maxsize=64)
def _file(repository: str, commit: str, path: str) -> ast.Module:
    if not repository:
        raise Unresolved("the file is not at hand")
    command = ["git", "--git-dir", repository, "show", f"{commit}:{path}"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    try:
        return ast.parse(done.stdout.decode("utf-8", "replace"))
    except SyntaxError:
        raise Unresolved("the file cannot be read") from None


def _scopes(tree: ast.Module, around: list[str], line: int) -> list[ast.AST]:
    """The file, then the definitions around a line, from the outermost in."""
    scopes: list[ast.AST] = [tree]
    for node in ast.walk(tree):
        is_definition = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if is_definition and node.lineno < line <= (node.end_lineno or 0) and node.name in around:
            scopes.append(node)
    return scopes


def _package(path: str) -> str:
    """The package a file is in: "tvm.tir" of python/tvm/tir/schedule.py."""
    return ".".join(path.removeprefix("python/").split("/")[:-1])


class _Names(dict[str, Any]):
    """Names found on first use; the globals of every statement that is carried out."""

    def __init__(self, scopes: list[ast.AST], package: str = ""):
        super().__init__()
        self.scopes = scopes
        self.package = package
        self._open: set[str] = set()

    def __missing__(self, name: str) -> Any:
        import builtins

        if hasattr(builtins, name):
            return getattr(builtins, name)
        if name in self._open or len(self._open) > 40:
            raise Unresolved(name)
        self._open.add(name)
        try:
            value = self._find(name)
        except Unresolved:
            raise
        except Exception as error:
            raise Unresolved(f"{name}: {error}") from None
        finally:
            self._open.discard(name)
        self[name] = value
        return value

    def _find(self, name: str) -> Any:
        empty = _MISSING  # `index_map = None` before a branch gives it another value
        for scope in reversed(self.scopes):
            for statement in _statements(scope):
                value = self._from_statement(statement, name)
                if value is None:
                    empty = None
                elif value is not _MISSING:
                    return value
            if empty is None:
                return None
            if isinstance(scope, ast.FunctionDef):
                value = self._parameter(scope, name)
                if value is not _MISSING:
                    return value
        raise Unresolved(name)

    def _from_statement(self, node: ast.stmt, name: str) -> Any:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._import(node, name)
        if isinstance(node, ast.Assign) and any(name in _targets(t) for t in node.targets):
            return self._assigned(node.targets, node.value, name)
        if isinstance(node, ast.AnnAssign) and node.value and name in _targets(node.target):
            return self._assigned([node.target], node.value, name)
        if isinstance(node, ast.For) and name in _targets(node.target):
            first = next(iter(self.value(node.iter)))
            return self._unpacked(node.target, first, name)
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return self._function(node)
        if isinstance(node, ast.ClassDef) and node.name == name:
            return self._text(node)
        return _MISSING

    def _assigned(self, targets: list[ast.expr], value: ast.expr, name: str) -> Any:
        if isinstance(value, ast.Call) and ast.unparse(value.func) in _TEST_PARAMETERS:
            return self.value(value.args[0])
        result = self.value(value)
        target = next(t for t in targets if name in _targets(t))
        return self._unpacked(target, result, name)

    def _unpacked(self, target: ast.expr, value: Any, name: str) -> Any:
        if isinstance(target, ast.Name):
            return value
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Unresolved(name)
        for element, part in zip(target.elts, value, strict=False):
            if name in _targets(element):
                return self._unpacked(element, part, name)
        raise Unresolved(name)

    def value(self, node: ast.expr) -> Any:
        """The value of an expression, its names found as needed."""
        from relax_mlir.script.parser.entry import StandardNames

        code = compile(ast.Expression(node), "<closure>", "eval")
        standard = StandardNames()
        known: dict[str, Any] = {"__builtins__": __import__("builtins")}
        for used in _names_in(code):
            try:
                known[used] = self[used]
            except Unresolved:
                if used in standard:
                    known[used] = self[used] = standard[used]
        # Functions inside the expression see what is known, the expression itself finds the rest.
        return eval(code, known, self)

    def _imports_in(self, node: ast.FunctionDef, known: dict[str, Any]) -> None:
        """Standard names (`T`, `tvm`) that a helper uses without a statement that can be found."""
        from relax_mlir.script.parser.entry import StandardNames

        for used in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            if used in StandardNames.MODULES and used not in known:
                known[used] = StandardNames()[used]

    def _function(self, node: ast.FunctionDef) -> Any:
        decorators = [ast.unparse(d) for d in node.decorator_list]
        if decorators:
            return self._text(node)
        code = compile(ast.Module([node], []), "<closure>", "exec")
        # A function's globals must be a plain dictionary, so what it may use is found now.
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        known: dict[str, Any] = {}
        for used in names - {node.name}:
            try:
                known[used] = self[used]
            except Unresolved:
                continue
        self._imports_in(node, known)
        exec(code, known)
        return known[node.name]

    def _text(self, node: ast.FunctionDef | ast.ClassDef) -> Any:
        """A program or macro that another program uses."""
        import linecache

        from tools.corpus.records import is_dialect

        text = ast.unparse(node) + "\n"
        file = f"<closure {id(node)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        known: dict[str, Any] = {"__name__": file}
        for name in used - {node.name}:
            try:
                known[name] = self[name]
            except Unresolved:
                continue
        if not any(
            is_dialect(d) or "macro" in ast.unparse(d) or "inline" in ast.unparse(d)
            for d in node.decorator_list
        ) and isinstance(node, ast.ClassDef):
            raise Unresolved(node.name)
        exec(compile(text, file, "exec"), known)
        return known[node.name]

    def _import(self, node: ast.Import | ast.ImportFrom, name: str) -> Any:
        for alias in node.names:
            if (alias.asname or alias.name.partition(".")[0]) != name:
                continue
            from relax_mlir.script.parser.entry import import_names
            from relax_mlir.script.parser.environment import Environment, VariableTable
            from relax_mlir.script.parser.source import Source

            table = VariableTable(Environment())
            single: ast.Import | ast.ImportFrom = ast.Import([alias])
            if isinstance(node, ast.ImportFrom):
                parents = self.package.split(".")
                inside = parents[: len(parents) - node.level + 1] if node.level else []
                module = ".".join([*inside, *([node.module] if node.module else [])])
                single = ast.ImportFrom(module, [alias], 0)
            ast.copy_location(single, node)
            import_names(Source.from_text(""), table, single)
            return table.lookup(name)
        return _MISSING

    def _parameter(self, function: ast.FunctionDef, name: str) -> Any:
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        names = [a.arg for a in arguments]
        if name not in names:
            return _MISSING
        for decorator in function.decorator_list:
            value = self._parametrized(decorator, name)
            if value is not _MISSING:
                return value
        value = self._test_parameter(name)
        if value is not _MISSING:
            return value
        value = self._default(function, name)
        if value is not _MISSING:
            return value
        return self._from_calls(function, names, name)

    def _parametrized(self, decorator: ast.expr, name: str) -> Any:
        """`@pytest.mark.parametrize("a, b", [(1, 2)])`"""
        if not isinstance(decorator, ast.Call) or "parametrize" not in ast.unparse(decorator.func):
            return _MISSING
        listed = self.value(decorator.args[0])
        parts = listed.replace(" ", "").split(",") if isinstance(listed, str) else list(listed)
        if name not in parts:
            return _MISSING
        rows = decorator.args[1]
        first = rows.elts[0] if isinstance(rows, (ast.List, ast.Tuple)) else None
        if first is None:
            row = next(iter(self.value(rows)))
        elif isinstance(first, ast.Call) and ast.unparse(first.func) == "pytest.param":
            row = [self.value(a) for a in first.args]
            row = row if len(parts) > 1 else row[0]
        else:
            row = self.value(first)
        return row if len(parts) == 1 else row[parts.index(name)]

    def _test_parameter(self, name: str) -> Any:
        """`dtype = tvm.testing.parameter("float32")` or `a, b = tvm.testing.parameters((1, 2))`"""
        for scope in reversed(self.scopes):
            for node in _statements(scope):
                if isinstance(node, ast.Assign) and any(name in _targets(t) for t in node.targets):
                    return self._assigned(node.targets, node.value, name)
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return self._fixture(node)
        return _MISSING

    def _fixture(self, node: ast.FunctionDef) -> Any:
        inner = _Names([*self.scopes, node], self.package)
        for statement in ast.walk(node):
            if isinstance(statement, ast.Return) and statement.value is not None:
                return inner.value(statement.value)
        raise Unresolved(node.name)

    def _default(self, function: ast.FunctionDef, name: str) -> Any:
        args = function.args
        positional = [*args.posonlyargs, *args.args]
        with_default = positional[len(positional) - len(args.defaults) :]
        for argument, default in (
            *zip(with_default, args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ):
            if argument.arg == name and default is not None:
                return self.value(default)
        return _MISSING

    def _from_calls(self, function: ast.FunctionDef, names: list[str], name: str) -> Any:
        """The value that the first call in the file gives."""
        for node in ast.walk(self.scopes[0]):
            if not isinstance(node, ast.Call):
                continue
            if ast.unparse(node.func).rpartition(".")[2] != function.name:
                continue
            given = dict(zip([n for n in names if n != "self"], node.args, strict=False))
            given.update({k.arg: k.value for k in node.keywords if k.arg})
            if name not in given:
                continue
            try:
                return _Names(_scopes_of(self.scopes[0], node)).value(given[name])
            except Exception:
                continue
        raise Unresolved(name)


def _scopes_of(tree: ast.AST, node: ast.Call) -> list[ast.AST]:
    return [tree] + [
        d
        for d in ast.walk(tree)
        if isinstance(d, (ast.FunctionDef, ast.ClassDef))
        and d.lineno < node.lineno <= (d.end_lineno or 0)
    ]


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a scope, those in its branches and loops too, not those of others."""
    for node in getattr(scope, "body", []):
        yield node
        if isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            yield from _statements(node)
            yield from _statements(ast.Module(getattr(node, "orelse", []), []))


def _names_in(code: CodeType) -> Iterator[str]:
    """The names that code uses, that of functions inside of it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _targets(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
