"""The one door to MLIR's Python bindings.

Every other module takes `ir`, the upstream dialects, the pass manager and the rewrite drivers from
here, so that another wheel of the same bindings can take over by editing this file.  The process
uses a single context (DESIGN.md, decision 12): `context()` makes it on first use and loads our
dialects into it; `scope()` enters it, which every function that builds or parses IR does.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch_mlir import ir, passmanager, rewrite
from torch_mlir.dialects import (
    affine,
    arith,
    cf,
    ext,
    func,
    irdl,
    math,
    memref,
    scf,
    tensor,
    vector,
)
from torch_mlir.passmanager import PassManager

if TYPE_CHECKING:
    from torch_mlir.dialects import gpu, linalg, llvm

__all__ = [
    "PassManager",
    "affine",
    "arith",
    "c_library",
    "cf",
    "context",
    "dialect_names",
    "dynamic",
    "execution_engine",
    "ext",
    "func",
    "gpu",
    "ir",
    "irdl",
    "linalg",
    "llvm",
    "math",
    "memref",
    "operations_named",
    "own_context",
    "passmanager",
    "pointer_to",
    "rewrite",
    "scf",
    "scope",
    "stablehlo",
    "stablehlo_context",
    "tensor",
    "vector",
]


_DIALECT_MODULES = "torch_mlir.dialects"

# Half of the time that importing all bindings takes, and few programs need them.
_ON_DEMAND = ("gpu", "linalg", "llvm")


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    full = f"{_DIALECT_MODULES}.{name}"
    stands_in = _LATE.get(name) and isinstance(sys.modules.get(full), _StandIn)
    module = sys.modules[full] if stands_in else _whole(full)
    globals()[name] = module
    return module


@cache
def context() -> ir.Context:
    """The process-wide MLIR context, with every upstream dialect and ours loaded."""
    ctx = ir.Context()
    ctx.load_all_available_dialects()
    # Worker threads cost more than they bring for the module sizes met here, and Python passes
    # must not run on them.
    ctx.enable_multithreading(False)
    with ctx, ir.Location.unknown(ctx):
        from relax_mlir.dialects.relax.dialect import Relax
        from relax_mlir.dialects.tir.dialect import Tir

        import_operations()
        Relax.load()
        Tir.load()
    # The bindings look for a Python module of an operation's dialect whenever they wrap one, and
    # do not remember that there is none: a quarter of the time of a small compilation.
    for name in ("relax", "tir"):
        module = f"{_DIALECT_MODULES}.{name}"
        sys.modules.setdefault(module, ModuleType(module))
    for name in _LATE:
        _defer(name)
    return ctx


# Importing these costs 50 ms each, most of it for what only programs written against them use: the
# bindings get a stand-in, with the plain operations where we build some.
_LATE = {"linalg": "_linalg_ops_gen", "llvm": ""}


class _StandIn(ModuleType):
    """A dialect's module until something is asked of it that it does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_whole(self.__name__), name)


def _defer(name: str) -> None:
    full = f"{_DIALECT_MODULES}.{name}"
    if full in sys.modules:
        return
    made = _StandIn(full)
    made.__spec__ = spec = importlib.util.find_spec(full)
    if spec is not None and spec.submodule_search_locations is not None:
        made.__path__ = list(spec.submodule_search_locations)
    sys.modules[full] = made
    if _LATE[name]:
        light = importlib.import_module(f"{_DIALECT_MODULES}.{_LATE[name]}")
        made.__dict__.update((k, v) for k, v in vars(light).items() if k.endswith("Op"))


def _whole(full: str) -> ModuleType:
    """The module itself, imported in place of its stand-in."""
    if isinstance(sys.modules.get(full), _StandIn):
        del sys.modules[full]
    return importlib.import_module(full)


def import_operations() -> None:
    """Import the files that declare operations; a dialect is loaded with what is declared then."""
    import relax_mlir.dialects.relax.all_ops
    import relax_mlir.dialects.tir.all_ops  # noqa: F401


@contextmanager
def scope(location: ir.Location | None = None) -> Iterator[ir.Context]:
    """Enter the context and a location (unknown by default) for the time of a `with`."""
    ctx = context()
    with ctx, location or ir.Location.unknown(ctx):
        yield ctx


def stablehlo() -> Any:
    """The readers of StableHLO's attributes, and its portable artifacts."""
    return importlib.import_module("torch_mlir._mlir_libs._stablehlo")


@cache
def stablehlo_context() -> ir.Context:
    """A context for programs in StableHLO, which keeps operations of dialects without bindings
    (CHLO) in their generic form."""
    ctx = ir.Context()
    ctx.allow_unregistered_dialects = True
    stablehlo().register_dialect(ctx)
    for name in ("chlo", "stablehlo"):  # see `context`
        full = f"{_DIALECT_MODULES}.{name}"
        sys.modules.setdefault(full, ModuleType(full))
    return ctx


def dialect_names() -> list[str]:
    """The dialects of the context: upstream's that have bindings, and ours."""
    from pathlib import Path

    from torch_mlir import dialects

    folder = Path(dialects.__path__[0])
    ctx = context()
    names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    return sorted(name for name in {*names, "relax", "tir"} if ctx.is_dialect_loaded(name))


def operations_named(root: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """The operations inside `root` that have one of these names, inner ones first.

    Walks without calling Python but for what it finds: ten times as fast as `walk`.
    """
    found: list[ir.Operation] = []

    def match(op: ir.Operation, _: Any) -> bool:
        found.append(op.operation)
        return True  # no rewrite

    patterns = rewrite.RewritePatternSet()
    for name in names:
        patterns.add(name, match)
    rewrite.walk_and_apply_patterns(root, patterns.freeze())
    return found


@cache
def dynamic() -> int:
    """MLIR's marker for a size that is only known at run time."""
    return ir.ShapedType.get_dynamic_size()


def execution_engine() -> Any:
    """The ExecutionEngine class; imported on demand because it pulls in ctypes helpers."""
    from torch_mlir.execution_engine import ExecutionEngine

    return ExecutionEngine


def own_context() -> ir.Context:
    """A context apart from the process's, for the llvm dialect only: what is in it may be worked on
    while the interpreter runs."""
    ctx = ir.Context()
    ctx.enable_multithreading(False)
    ctx.allow_unregistered_dialects = True
    return ctx


@cache
def c_library(holds_interpreter: bool = False) -> ctypes.CDLL:
    """MLIR's C API.  Unlike the bindings, its functions let other Python threads run meanwhile,
    unless it `holds_interpreter`, as what touches the process's context must."""
    from torch_mlir._mlir_libs import _mlirExecutionEngine

    kind = ctypes.PyDLL if holds_interpreter else ctypes.CDLL
    return kind(_mlirExecutionEngine.__file__)


def pointer_to(module: ir.Module) -> int:
    """The address by which the C API knows a module."""
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    address_of.restype, address_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = attrgetter("_CAPIPtr")(module)
    return address_of(capsule, name_of(capsule))
