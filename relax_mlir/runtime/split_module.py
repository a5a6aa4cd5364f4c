"""Dividing a module of the llvm dialect, so that its parts become machine code at the same time.

Kernels do not know each other: each part has some of them, and the rest of the module, which calls
them, only declares those.  A part is in a context of its own, so that threads can work on it.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import mlir
from relax_mlir.lowering.to_llvm.make_packed_api import KERNEL_SUFFIX
from relax_mlir.mlir import ir

__all__ = ["Part", "Survey", "divide", "survey"]

# A thread, its context and the move there cost as much as machine code of so many operations.
MIN_OPERATIONS = 4000


@dataclass(frozen=True)
class Part:
    """A module in a context of its own, and the functions it has for the others."""

    module: ir.Module
    symbols: tuple[str, ...]


@dataclass
class Survey:
    """Of a module: how often each operation occurs, and for each of its symbols the operation
    that defines it, how many are inside, and which symbols it refers to."""

    operations: Counter[str] = field(default_factory=Counter)
    definitions: dict[str, ir.Operation] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    references: dict[str, set[str]] = field(default_factory=dict)

    def referenced(self) -> Collection[str]:
        """The symbols that something refers to: all of them when that is not known."""
        found = set[str]().union(*self.references.values())
        return self.definitions if _UNKNOWN in found else found


_REFERENCES = {
    "llvm.call": "callee",
    "llvm.mlir.addressof": "global_name",
}
# Other operations may refer to symbols too: what has one of them stays where it is.
_UNKNOWN = "?"
_PLAIN = ("llvm.", "omp.parallel", "omp.wsloop", "omp.loop_nest", "omp.terminator", "omp.yield")
_BODY = "__body"
_MODULE_ATTRIBUTES = ("llvm.", "dlti.", "omp.")


def survey(module: ir.Module) -> Survey:
    """Look at every operation of a module once."""
    found = Survey()
    for op in module.body.operations:
        inside: Counter[str] = Counter()
        symbols: set[str] = set()

        def visit(
            op: ir.Operation, inside: Counter[str] = inside, symbols: set[str] = symbols
        ) -> ir.WalkResult:
            name = op.name
            inside[name] += 1
            if name in _REFERENCES:
                attributes = op.attributes
                if _REFERENCES[name] in attributes:
                    symbols.add(ir.FlatSymbolRefAttr(attributes[_REFERENCES[name]]).value)
            return ir.WalkResult.ADVANCE

        op.operation.walk(visit)
        if not all(name.startswith(_PLAIN) for name in inside):
            symbols.add(_UNKNOWN)
        found.operations += inside
        if "sym_name" in op.attributes:
            symbol = ir.StringAttr(op.attributes["sym_name"]).value
            found.definitions[symbol] = op.operation
            found.sizes[symbol], found.references[symbol] = inside.total(), symbols
    return found


def divide(module: ir.Module, found: Survey, threads: int) -> tuple[Part, list[Part]] | None:
    """What calls kernels, and the kernels in at most `threads` parts of about one size; None for a
    module that is not worth it."""
    if len(found.definitions) != len(module.body.operations):
        return None  # something without a name, of which we do not know who needs it
    kernels = {name: found.sizes[name] for name in found.definitions if _may_move(name, found)}
    count = min(threads, len(kernels), sum(kernels.values()) // MIN_OPERATIONS)
    if count < 2:
        return None
    groups = _balanced(kernels, count)
    moved = set(kernels)
    return (
        _part(module, _operations_without(moved, found), ()),
        [_part(module, _operations_of(group, found), group) for group in groups],
    )


def _may_move(name: str, found: Survey) -> bool:
    """Whether a function is a kernel that refers to nothing but declarations and constants."""
    op = found.definitions[name]
    if not name.endswith(KERNEL_SUFFIX) or not _is_function(op) or _is_declaration(op):
        return False
    return all(
        symbol in found.definitions and _may_copy(symbol, found)
        for symbol in found.references[name]
    )


def _may_copy(symbol: str, found: Survey) -> bool:
    op = found.definitions[symbol]
    if _is_function(op):
        return _is_declaration(op)
    return (
        op.name == "llvm.mlir.global"
        and "constant" in op.attributes
        and not (found.references[symbol])
    )


def _is_function(op: ir.Operation) -> bool:
    return op.name == "llvm.func"


def _is_declaration(op: ir.Operation) -> bool:
    return len(op.regions[0].blocks) == 0


def _balanced(sizes: Mapping[str, int], count: int) -> list[tuple[str, ...]]:
    """The names in groups of about the same size: the largest first, to the smallest group."""
    groups: list[list[str]] = [[] for _ in range(count)]
    filled = [0] * count
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        smallest = filled.index(min(filled))
        groups[smallest].append(name)
        filled[smallest] += sizes[name]
    return [tuple(group) for group in groups]


def _operations_of(names: Sequence[str], found: Survey) -> Iterator[ir.Operation]:
    """Copies of functions, and of what they refer to."""
    needed = {symbol for name in names for symbol in found.references[name]}
    for symbol in sorted(needed):
        yield found.definitions[symbol].clone()
    for name in names:
        copy = found.definitions[name].clone()
        copy.attributes["sym_name"] = ir.StringAttr.get(name + _BODY)
        _drop_attributes(copy)
        yield copy
        yield _alias(name, copy)


def _operations_without(moved: Collection[str], found: Survey) -> Iterator[ir.Operation]:
    """Copies of all operations; of the functions that move only declarations."""
    for name, op in found.definitions.items():
        if name not in moved:
            yield op.clone()
            continue
        attributes = {key: op.attributes[key] for key in op.attributes}
        declaration = ir.Operation.create("llvm.func", attributes=attributes, regions=1)
        declaration.attributes["linkage"] = _external()
        _drop_attributes(declaration)
        yield declaration


def _alias(name: str, function: ir.Operation) -> ir.Operation:
    """The name by which other parts know an internal function: functions that are not internal get
    a second form, for packed arguments, that nobody needs of kernels."""
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "alias_type": function.attributes["function_type"],
        "linkage": _external(),
    }
    alias = ir.Operation.create("llvm.mlir.alias", attributes=attributes, regions=1)
    pointer = ir.Type.parse("!llvm.ptr")
    symbol = ir.FlatSymbolRefAttr.get(name + _BODY)
    with ir.InsertionPoint(ir.Block.create_at_start(alias.regions[0])):
        address = ir.Operation.create(
            "llvm.mlir.addressof", results=[pointer], attributes={"global_name": symbol}
        )
        ir.Operation.create("llvm.return", operands=[address.result])
    return alias


def _external() -> ir.Attribute:
    return ir.Attribute.parse("#llvm.linkage<external>")


def _drop_attributes(function: ir.Operation) -> None:
    """Leave out what only passes of ours read."""
    for name in list(function.attributes):
        if name == "sym_visibility" or name.startswith(("tir.", "relax.")):
            del function.attributes[name]


def _part(whole: ir.Module, operations: Iterator[ir.Operation], symbols: Sequence[str]) -> Part:
    with mlir.scope():
        module = ir.Module.create()
        attributes = whole.operation.attributes
        for name in attributes:
            if name.startswith(_MODULE_ATTRIBUTES):
                module.operation.attributes[name] = attributes[name]
        for op in operations:
            module.body.append(op)
        written = io.BytesIO()
        module.operation.write_bytecode(written)
    context = mlir.own_context()
    with context, ir.Location.unknown(context):
        return Part(ir.Module.parse(written.getvalue()), tuple(symbols))
