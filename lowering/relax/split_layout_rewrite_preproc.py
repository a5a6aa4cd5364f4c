"""relax-split-layout-rewrite-preproc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.attach_attr_layout_free_buffers import FREE
from relax_mlir.lowering.relax.functions import (
    call_tir_operands,
    callee_of,
    entry_block,
    is_private,
    prim_functions,
    references,
    relax_functions,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.prim_func_parts import make_part, statements
from relax_mlir.lowering.relax.rewriting import OperatorWriter, replace
from relax_mlir.lowering.to_llvm.ffi_arguments import ScalarSpec, TensorSpec
from relax_mlir.lowering.to_llvm.ffi_signature import read_signature
from relax_mlir.mlir import ir, operations_named

MARK = "meta_schedule.layout_rewrite_preproc"
"""The annotation of blocks that only lay out a parameter anew."""


@register_pass("relax-split-layout-rewrite-preproc")
@dataclass(frozen=True)
class SplitLayoutRewritePreproc(Pass):
    """Let a function of its own lay out the weights of TensorIR functions anew.

    Blocks with the annotation `meta_schedule.layout_rewrite_preproc` copy a parameter into a buffer
    of another layout.  They move into `<function>_weight_prepack`; `<function>_prepacked` takes
    what that returns.  What calls the one and then the other may call the first ahead of time
    (`relax-lift-transform-params`).
    """

    def run(self, state: ModuleState) -> None:
        parts: dict[str, _Parts] = {}
        for name, kernel in prim_functions(state).items():
            marked = [op for op in statements(kernel) if _is_preprocessing(op, name)]
            if marked:
                parts[name] = _split(state, kernel, marked)
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.call_tir"]):
                if callee_of(op) in parts:
                    _call_parts(op, parts[callee_of(op)])
        used = set[str]().union(*(references(f) for f in state.functions()))
        for name, kernel in prim_functions(state).items():
            if name in parts and is_private(kernel) and name not in used:
                kernel.erase()


@dataclass
class _Parts:
    """What became of one function: the rewritten positions, and the types of their new layouts."""

    prepack: str
    compute: str
    positions: list[int]
    layouts: list[ir.Type]


def _is_preprocessing(statement: ir.Operation, name: str) -> bool:
    blocks = [op for op in (statement, *walk(statement)) if op.name == "tir.block"]
    marks = [_is_marked(block) for block in blocks]
    if any(marks) and not all(marks):
        raise PassError(f"'{name}': a loop nest mixes blocks with and without '{MARK}'")
    return any(marks)


def _is_marked(block: ir.Operation) -> bool:
    if "annotations" not in block.attributes:
        return False
    return bool(from_attribute(block.attributes["annotations"]).get(MARK))


def _split(state: ModuleState, kernel: ir.Operation, marked: Sequence[ir.Operation]) -> _Parts:
    name = symbol_name(kernel)
    rewrites = [_rewritten(op, name) for op in marked]
    sources, targets = [list(values) for values in zip(*rewrites, strict=True)]
    layouts = dict(zip(sources, targets, strict=True))
    rest = [op for op in statements(kernel) if op not in marked]
    prepack = make_part(
        state, kernel, f"{name}_weight_prepack", marked, [*sources, *targets], (FREE,)
    )
    parameters = [layouts.get(value, value) for value in entry_block(kernel).arguments]
    compute = make_part(state, kernel, f"{name}_prepacked", rest, parameters, (FREE,))
    for op in walk(prepack):
        if op.name == "tir.block":
            _unmark(op)
    outputs = read_signature(prepack)[len(sources) :]
    return _Parts(
        symbol_name(prepack),
        symbol_name(compute),
        [source.arg_number for source in sources],
        [_tensor_type(spec, name) for spec in outputs],
    )


def _rewritten(statement: ir.Operation, name: str) -> tuple[ir.BlockArgument, ir.Value]:
    """The parameter that a marked nest reads, and the buffer in which it lays it out."""
    read = {op.operands[0] for op in walk(statement) if op.name == "tir.read"}
    written = {op.operands[0] for op in walk(statement) if op.name == "tir.write"}
    if len(read) != 1 or len(written) != 1:
        raise PassError(f"'{name}': a block with '{MARK}' reads one buffer and writes one")
    source, target = read.pop(), written.pop()
    if not isinstance(source, ir.BlockArgument) or isinstance(target, ir.BlockArgument):
        raise PassError(
            f"'{name}': a block with '{MARK}' copies a parameter to a buffer of the function"
        )
    return source, target


def _unmark(block: ir.Operation) -> None:
    annotations = from_attribute(block.attributes["annotations"])
    del annotations[MARK]
    if annotations:
        block.attributes["annotations"] = to_attribute(annotations)
    else:
        del block.attributes["annotations"]


def _tensor_type(spec: TensorSpec | ScalarSpec, name: str) -> ir.Type:
    if isinstance(spec, TensorSpec) and spec.dims is not None:
        sizes = [dim for dim in spec.dims if isinstance(dim, int)]
        if len(sizes) == len(spec.dims):
            return types.tensor_type(sizes, spec.dtype)
    raise PassError(f"'{name}': the layout that '{MARK}' makes needs constant sizes")


def _call_parts(op: ir.Operation, parts: _Parts) -> None:
    arguments, tir_vars = call_tir_operands(op)
    writer, layouts = OperatorWriter(op), parts.layouts
    kind = layouts[0] if len(layouts) == 1 else types.tuple_type(layouts)
    given = [arguments[position] for position in parts.positions]
    packed = writer.raw("relax.call_tir", kind, given, _callee(parts.prepack))
    for field, position in enumerate(parts.positions):
        arguments[position] = packed if len(layouts) == 1 else writer.field(packed, field)
    scalars = [] if tir_vars is None else [tir_vars]
    operands = [*arguments, *scalars]
    replace(op, writer.raw("relax.call_tir", op.results[0].type, operands, _callee(parts.compute)))


def _callee(name: str) -> dict[str, ir.Attribute]:
    return {"callee": ir.FlatSymbolRefAttr.get(name)}
