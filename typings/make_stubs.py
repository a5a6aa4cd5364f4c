"""Writes the type stubs of MLIR's bindings that pyright reads: their classes and how they derive.

The wheel brings no stubs. What matters most to our code is there: a class that does not exist or is
misspelt is found, and isinstance narrows. Methods are not described: their results are of type Any.

    python typings/make_stubs.py
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

from torch_mlir import ir

FOLDER = Path(__file__).resolve().parent / "torch_mlir"
GENERATED = "# Written by typings/make_stubs.py.\n"
ANYTHING = f"{GENERATED}from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"
MODULES = ["__init__", "execution_engine", "passmanager", "rewrite", "runtime"]
DIALECTS = [
    "__init__",
    "affine",
    "arith",
    "cf",
    "func",
    "gpu",
    "irdl",
    "linalg",
    "llvm",
    "math",
    "memref",
    "nvgpu",
    "nvvm",
    "omp",
    "scf",
    "tensor",
    "transform",
    "vector",
]

HEAD = f"""{GENERATED}from collections.abc import Iterator
from types import TracebackType
from typing import Any, Generic

from typing_extensions import Self, TypeVar

T = TypeVar("T", default=Any)

class _Meta(type):
    def __getattr__(cls, name: str) -> Any: ...

class _Object(metaclass=_Meta):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __delitem__(self, index: Any) -> None: ...
    def __contains__(self, item: Any) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
"""

EXT = f"""{GENERATED}from typing import Any

from torch_mlir import ir
from torch_mlir.ir import OpResult as Result
from torch_mlir.ir import Region as Region
from torch_mlir.ir import Value as Operand

__all__ = [
    "Attribute",
    "Dialect",
    "DialectAlreadyLoadedError",
    "Operand",
    "Operation",
    "Pure",
    "Region",
    "Result",
    "Type",
]

class DialectAlreadyLoadedError(RuntimeError): ...

Pure: Any
ConstraintLoweringContext: Any
partition_fields: Any

class Operation(ir.OpView):
    def __init_subclass__(
        cls, *, name: str | None = ..., traits: list[Any] | None = ..., **kwargs: Any
    ) -> None: ...

class Type(ir.DynamicType):
    def __init_subclass__(cls, *, name: str | None = ..., **kwargs: Any) -> None: ...

class Attribute(ir.DynamicAttr):
    def __init_subclass__(cls, *, name: str | None = ..., **kwargs: Any) -> None: ...

class Dialect(ir.Dialect):
    Operation: type[Operation]
    Type: type[Type]
    Attribute: type[Attribute]
    def __init_subclass__(cls, *, name: str, **kwargs: Any) -> None: ...
    @classmethod
    def load(cls, *, register: bool = ..., reload: bool = ...) -> None: ...
"""


def bases(cls: type, known: dict[str, type]) -> str:
    names = [base.__name__ for base in cls.__bases__ if base.__name__ in known]
    if cls.__name__ == "Value":
        names.append("Generic[T]")
    if cls.__name__ in {"OpResult", "BlockArgument"}:
        return "Value[T]"
    return ", ".join(names if names and names != ["Generic[T]"] else ["_Object", *names])


def classes(module: ModuleType) -> dict[str, type]:
    """The public classes of a module, each after those it derives from."""
    found = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and name == value.__name__ and not name.startswith("_")
        if "mlir" in value.__module__
    }
    return dict(sorted(found.items(), key=lambda item: (len(item[1].__mro__), item[0])))


def ir_stub() -> str:
    known = classes(ir)
    lines = [HEAD]
    for name, cls in known.items():
        if issubclass(cls, Exception):
            lines.append(f"class {name}(Exception):")
            lines.append("    def __getattr__(self, name: str) -> Any: ...")
        else:
            lines.append(f"class {name}({bases(cls, known)}): ...")
    functions = [
        name
        for name, value in vars(ir).items()
        if callable(value) and not name.startswith("_") and name not in known
        if "mlir" in getattr(value, "__module__", "")
    ]
    lines.extend(f"def {name}(*args: Any, **kwargs: Any) -> Any: ..." for name in sorted(functions))
    return "\n".join(lines) + "\n"


def main() -> None:
    (FOLDER / "dialects").mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        (FOLDER / f"{name}.pyi").write_text(ANYTHING, encoding="utf-8")
    for name in DIALECTS:
        (FOLDER / "dialects" / f"{name}.pyi").write_text(ANYTHING, encoding="utf-8")
    (FOLDER / "ir.pyi").write_text(ir_stub(), encoding="utf-8")
    (FOLDER / "dialects" / "ext.pyi").write_text(EXT, encoding="utf-8")


if __name__ == "__main__":
    main()
